"""The figures of docs/law-and-schedule.md, drawn from the tables in laws/data.

    python docs/figures/law_and_schedule.py [FOLDER]

writes eta.svg, decays.svg and cosine.svg into FOLDER (docs/figures). It needs Altair and
vl-convert: `pip install -e '.[figures]'`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import altair as alt
import numpy as np

import lawdsl
from lawdsl.data.read import read_table
from lawdsl.data.table import Table

HERE = Path(__file__).resolve().parent
TABLES = HERE.parent.parent / "laws" / "data"
PAGE = HERE.parent / "law-and-schedule.md"
# Okabe and Ito's colours, which colour-blind readers tell apart
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
SIZE = {"width": 380, "height": 230}


def main(folder: Path) -> None:
    """Draw all figures.

    Args:
        folder: where they are written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in {"eta": eta(), "decays": decays(), "cosine": cosine()}.items():
        chart.configure_view(stroke=None).save(folder / f"{name}.svg")


def law_of_page() -> lawdsl.Law:
    """The law at one size that the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    shown = re.search(r"\(`one_size\.law`\):\n\n```\n(.*?)```", text, re.S)
    assert shown is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one_size.law"
        path.write_text(shown[1], encoding="utf-8")
        return lawdsl.load(path)


def eta() -> alt.LayerChart:
    """The fitted eta, with its 95 % interval, by what the base model had seen."""
    fits = lawdsl.fit(
        law_of_page(), TABLES / "exposure.csv", where="phase = end", L="L_code", r="r_code"
    )
    assert isinstance(fits, lawdsl.Fits)
    rows = []
    for part in fits.parts:
        (name,) = (name for name in part.parameters if name.startswith("eta["))
        if name in part.intervals.ends:  # the rows determine it
            low, high = part.intervals.ends[name]
            seen = float(name.removeprefix("eta[x").removesuffix("]"))
            rows.append({"seen": seen, "eta": part.values[name], "low": low, "high": high})
    base = alt.Chart(
        alt.Data(values=rows),
        title="The best eta by what the base model has seen of the domain",
    ).encode(
        x=alt.X(
            "seen:Q",
            title="tokens of code seen before / tokens of the longest run",
            axis=alt.Axis(values=[0, 0.5, 1, 2, 3]),
        )
    )
    bound = alt.Chart(alt.Data(values=[{"eta": 1}])).mark_rule(strokeDash=[4, 4], color=GREY)
    scale = alt.Scale(type="log")
    return alt.layer(
        bound.encode(y=alt.Y("eta:Q", scale=scale)),
        base.mark_rule(color=BLUE).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=60, color=BLUE, opacity=1).encode(
            y=alt.Y("eta:Q", title="eta, with its 95 % interval", scale=scale)
        ),
    ).properties(**SIZE)


def decays() -> alt.LayerChart:
    """How far the general loss falls from 0.41 to 1.02 million tokens, by share, for both decays."""
    rows = []
    for decay, name in {
        "a fifth of D": "proportional_decays.csv",
        "100 steps": "code_and_english.csv",
    }.items():
        table = read_table(TABLES / name)
        chosen = _where(table, model="0.02M", phase="end", seed="1")
        r, step, loss = (table.numbers(c)[chosen] for c in ("r_general", "step", "L_general"))
        for share in np.unique(r):
            first, last = (loss[(r == share) & (step == end)][0] for end in (400, 1000))
            rows.append({"r": float(share), "fall": float(first - last), "decay": decay})
    base = alt.Chart(
        alt.Data(values=rows), title="Longer decays lower the loss at every share"
    ).encode(
        x=alt.X("r:Q", title="share of English"),
        y=alt.Y("fall:Q", title="fall of the loss on English, nat/token"),
        color=alt.Color("decay:N", title="decay", scale=alt.Scale(range=[BLUE, ORANGE]), sort=None),
    )
    zero = alt.Chart(alt.Data(values=[{"fall": 0}])).mark_rule(color=GREY).encode(y="fall:Q")
    return alt.layer(zero, base.mark_line(), base.mark_point(filled=True, opacity=1)).properties(
        **SIZE
    )


def cosine() -> alt.LayerChart:
    """The loss on code along four cosine schedules, at a share of code of 0.1."""
    table = read_table(TABLES / "cosine.csv")
    chosen = (table.numbers("r_code") == 0.1) & (table.numbers("step") >= 50)
    rows = [
        {"D": d / 1e6, "loss": loss, "schedule": f"{model} steps", "phase": phase}
        for d, loss, model, phase in zip(
            table.numbers("D")[chosen].tolist(),
            table.numbers("L_code")[chosen].tolist(),
            np.asarray(table.texts("model"))[chosen].tolist(),
            np.asarray(table.texts("phase"))[chosen].tolist(),
            strict=True,
        )
    ]
    base = alt.Chart(
        alt.Data(values=rows),
        title="The middle of a cosine schedule is not the end of a shorter one",
    ).encode(
        x=alt.X("D:Q", title="tokens, million"),
        y=alt.Y("loss:Q", title="loss on code, nat/token", scale=alt.Scale(domain=[3.94, 4.2])),
        detail="schedule:N",
    )
    ends = base.transform_filter("datum.phase == 'end'")
    return alt.layer(
        base.mark_line(color=GREY, strokeWidth=1),
        ends.mark_line(color=ORANGE, strokeDash=[4, 4]).encode(detail="phase:N"),
        ends.mark_point(filled=True, size=60, color=ORANGE, opacity=1),
        ends.mark_text(align="left", dx=6, dy=10, color=ORANGE).encode(text="schedule:N"),
    ).properties(**SIZE)


def _where(table: Table, **values: str) -> np.ndarray:
    """The rows with these texts, shape (rows,)."""
    return np.all([np.asarray(table.texts(c)) == value for c, value in values.items()], axis=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
