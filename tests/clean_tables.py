"""Tables without a broken premise: the shipped ones at the ends of runs, public and simulated ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planted import PLANTED, sample_of

import lawdsl
from lawdsl.data.binding import bind
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.premises.findings import PREMISES
from lawdsl.data.read import read_table
from lawdsl.law.law import Law, load

ROOT = Path(__file__).resolve().parent.parent
Clean = tuple[str, Any, Any]
"""The name of a table, the law (or law and bindings), and the table."""

RUN_TABLES = (
    "closed_loop",
    "code_and_english",
    "cosine",
    "exposure",
    "four_domains",
    "proportional_decays",
    "cross_domain",
)


def premise_codes(
    law: Any, table: Any, columns: Mapping[str, str] | None = None, where: tuple[str, ...] = ()
) -> list[str]:
    """The codes of broken premises that a fit of a law to a table would report."""
    if isinstance(law, tuple):
        law, columns, where = law
    law, columns = law if isinstance(law, Law) else load(law), columns or {}
    if law.indexed:
        fit = lawdsl.fit(law, table, starts=2, claims=False, rolled_check=False, columns=columns)
        return [d.code for d in fit.diagnostics if d.code in PREMISES]
    read = read_table(table, columns)
    runs = bind(with_settings_of(law, read), read, columns, where=where, positive=False)
    return [d.code for d in runs.warnings if d.code in PREMISES]


def shipped_tables() -> Iterator[Clean]:
    """Yield the shipped tables of runs, their ends, with two laws and all losses; and the others."""
    folder = ROOT / "laws" / "data"
    for name in RUN_TABLES:
        path = folder / f"{name}.csv"
        read = read_table(path, {})
        losses = [c for c in read.columns if c.startswith("L_") and c != "L_domain"]
        for loss in losses:
            share = loss.replace("L_", "r_")
            where = ("phase = end", f"{share} > 0")
            yield f"{name} {loss}", ("chinchilla", {"L": loss}, where), path
            yield f"{name} {loss} l5", ("dcpt.l5", {"L": loss, "r": share}, where), path
    for name, law, columns in (
        ("c4_share", "dcpt.share", {}),
        ("cmr_table2", "cmr.share", {}),
        ("cmr_table5", "cmr.ratio", {}),
        ("dcpt_table5", "dcpt.share", {"r": "r_general", "L": "L_general"}),
        ("dcpt_table6", "dcpt.share", {}),
        ("dcpt_table12", "chinchilla", {}),
        ("mixing_critical", "mixing.two_domain", {"L": "L_pile"}),
    ):
        yield name, (law, columns, ()), folder / f"{name}.csv"


def simulated_tables() -> Iterator[Clean]:
    """Yield a table of each shipped law with known parameters, with columns that people keep beside:
    each row a run of its own, one tokenizer, one epoch, a cosine schedule, a peak learning rate.
    """
    for name, planted in PLANTED.items():
        law = sample_of(name)
        count = len(next(iter(planted.columns.values())))
        columns = {plain_name(q.name): planted.columns[q.name] for q in law.variables}
        exact = planted.formula(**planted.columns, **planted.parameters)
        columns[plain_name(law.output)] = exact
        bound = {name: plain_name(name) for name in (*(q.name for q in law.variables), law.output)}
        beside = {
            "run": [f"r{i}" for i in range(count)],
            "tokenizer": ["gpt2"] * count,
            "Vocab Size": [50304] * count,
            "schedule": ["constant" if name.startswith("cmr.") else "cosine"] * count,
            "peak_lr": [3e-4] * count,
            "seed": [i % 3 for i in range(count)],
            "date": ["2024-05-01"] * count,
            "epoch": [1.0] * count,
        }
        table = {**{k: v for k, v in beside.items() if k not in columns}, **columns}
        yield name, (law, bound, ()), table


def plain_name(name: str) -> str:
    """The name of an element as a column: `r[web]` -> `r_web`."""
    return name.replace("[", "_").replace(", ", "_").replace("]", "")


def public_tables(shared: Path) -> Iterator[Clean]:
    """Yield public tables of measurements without a broken premise, with laws of their variables.

    Args:
        shared: the folder of the tables.
    """
    data = {
        "chinchilla_points/chinchilla_points.csv": ("chinchilla", {"L": "loss"}, ()),
        "isoflops_dev/comma.csv": ("chinchilla", {"L": "loss"}, ()),
        "isoflops_dev/dclm.csv": ("chinchilla", {"L": "loss"}, ()),
        "steplaw_dense/runs.csv": ("chinchilla", {"L": "loss"}, ()),
        "datablations/runs_182_outliers_removed.csv": ("repeated", {"L": "loss"}, ()),
        "datablations/runs_296_all.csv": ("repeated", {"L": "loss"}, ()),
        "parscale/runs.csv": ("mixing.size", {"L": "loss"}, ()),
        "upcycled/runs.csv": ("chinchilla", {"N": "N_active", "D": "D2", "L": "loss"}, ()),
        "published/c4_share_4p2B_84Btokens.csv": ("dcpt.share", {}, ()),
    }
    for name, law in data.items():
        path = shared / name
        if path.exists():
            yield name, law, path
    pairs = shared / "loss_to_loss" / "pairs.csv"
    for loss in ("loss_fineweb", "loss_starcoder") if pairs.exists() else ():
        columns = {"N": "params", "D": "tokens", "L": loss}
        yield f"pairs {loss}", ("chinchilla", columns, ()), pairs
    finetune = shared / "finetune_wmt19" / "runs.csv"
    if finetune.exists():
        yield "finetune_wmt19", ("mixing.step", {"S": "D"}, ("D > 0",)), finetune
    for column in ("r_github", "r_pilecc"):
        two = shared / "mixing_laws" / "2Mix.csv"
        if two.exists():
            law = ("mixing.two_domain", {"r": column, "L": "loss"}, ("step = 30000",))
            yield f"2Mix {column}", law, two
