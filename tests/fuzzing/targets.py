"""What a campaign runs on each input. Anything raised but a message to the user is a fault."""

from __future__ import annotations

import io
import json
import random
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
from asking import question_text, values_for
from mutating import adjust_json, mutate_json, mutate_text
from rewriting import rewrite
from tables import mutate_table

from lawdsl import cli
from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text, render
from lawdsl.language import library
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl.messages.table import MESSAGES

ROOT = Path(__file__).resolve().parent.parent.parent
SECTION = re.compile(r"^[ \t]*(law|question|pipeline)\b", re.MULTILINE)
TIME = "0.05"  # s for a claim
LIMIT = ("--time-limit", "5")  # s for an answer, or a fit
ROUND = 3000  # characters of a text that is printed and read again


@dataclass(frozen=True)
class Case:
    """One input: the content of its file, the ending of the file's name, how it is run."""

    content: bytes
    suffix: str = ".law"
    arguments: tuple[str, ...] = ()  # of which FILE is the file


Made = Callable[[random.Random, Sequence[str]], Case]
Run = Callable[[Case, Path], str]


def seeds() -> list[str]:
    """The shipped files, the fixtures of tests, and the examples of messages."""
    folders = (ROOT / "laws", ROOT / "tests" / "fixtures")
    texts = [p.read_text(encoding="utf-8") for f in folders for p in sorted(f.rglob("*.law"))]
    texts += [text for m in MESSAGES.values() for text in (*m.bad, m.good)]
    return list(dict.fromkeys(t for t in texts if SECTION.search(t) and len(t) < 5_000))


# Reading


def make_text(rng: random.Random, corpus: Sequence[str]) -> Case:
    light = rng.random() < 0.4
    return Case(mutate_text(rng, corpus, light=light).encode("utf-8", "surrogatepass"))


def read_text(case: Case, folder: Path) -> str:
    """Read and resolve a text, print it, and show every message."""
    text = case.content.decode("utf-8", "surrogatepass")
    found = SECTION.search(text)
    kinds = {"question": library.declared_question, "pipeline": library.declared_pipeline}
    read: Callable[..., Any] = kinds.get(found[1] if found else "law", library.declared)
    document, mistakes = parse(text)
    if len(text) < ROUND and not any(d.severity == "error" for d in mistakes):
        printed = print_document(document)
        again, more = parse(printed)
        assert not any(d.severity == "error" for d in more), f"printed as {printed[:200]!r}"
        assert print_document(again) == printed, "printed in two ways"
    try:
        _, said = read(Text("fuzz.law", text), ROOT / "tests" / "fixtures" / "extends")
    except LawdslError as error:
        return _show(error.diagnostics)
    _show(said)
    return "answered"


def _show(diagnostics: Sequence[Diagnostic]) -> str:
    """Show messages as text and as JSON; the first says why the input is refused."""
    for diagnostic in diagnostics:
        assert diagnostic.code in MESSAGES, diagnostic.code
        render(diagnostic)
        json.dumps(diagnostic.to_json(), allow_nan=False)
    return f"refused {diagnostics[0].code}" if diagnostics else "answered"


# Commands


def command(*arguments: str) -> str:
    """Run a command in this process; its outcome, by the exit code."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    try:
        with redirect_stdout(out), redirect_stderr(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = cli.cli.main(list(arguments), prog_name="lawdsl", standalone_mode=False)
    except LawdslError as error:
        return _show(error.diagnostics)
    except (click.UsageError, click.exceptions.Exit):
        return "refused C0001"
    assert code in (0, 1), code
    if "--json" in arguments:
        return _outcome(json.loads(out.buffer.getvalue()))
    if "--sarif" in arguments:
        json.loads(out.buffer.getvalue())
    return "answered"


def _outcome(document: dict[str, Any]) -> str:
    """How a command ended: with which verdict or kind of answer, for one claim of several."""
    told, result = document["command"], document["result"]
    if isinstance(result, list):  # answers to several questions
        result = result[0] if result else {}
    if told == "check":
        verdicts = [claim["verdict"] for claim in result["claims"]]
        return f"check {verdicts[len(verdicts) // 2] if verdicts else 'of no claim'}"
    return f"{told} {result.get('status') or result.get('verdict') or 'answered'}"


def run_command(case: Case, folder: Path) -> str:
    """Write the file, and run the case's command on it."""
    path = folder / f"input{case.suffix}"
    path.write_bytes(case.content)
    return command(*(a.replace("FILE", str(path)) for a in case.arguments))


@cache
def sound(kind: str) -> list[str]:
    """The seeds that are laws, or questions, without a mistake."""
    read = {"law": library.declared, "question": library.declared_question}[kind]
    found = []
    for text in seeds():
        head = SECTION.search(text)
        if head is not None and head[1] == kind:
            with suppress(LawdslError):
                read(Text("seed.law", text), ROOT / "tests" / "fixtures" / "extends")
                found.append(text)
    return found


def resolves(kind: str) -> Callable[[str], bool]:
    """Whether a text is a law, or a question, without a mistake."""
    read: Callable[..., Any] = library.declared
    if kind == "question":
        read = library.declared_question

    def valid(text: str) -> bool:
        try:
            read(Text("input.law", text), ROOT)
        except LawdslError:
            return False
        except Exception:  # the run itself says that this is a fault
            return True
        return True

    return valid


def make_check(rng: random.Random, corpus: Sequence[str]) -> Case:
    """A law to be checked, mostly; or shown, or formatted."""
    if rng.random() < 0.85:
        text = rewrite(rng, sound("law"), resolves("law"))
    else:
        text = mutate_text(rng, sound("law"), light=rng.random() < 0.5)
    how = rng.choices(("check", "sarif", "show", "latex", "fmt"), (88, 4, 4, 2, 2))[0]
    arguments = {
        "check": ("check", "FILE", "--time-limit", TIME, "--json"),
        "sarif": ("check", "FILE", "--time-limit", TIME, "--sarif"),
        "show": ("show", "FILE"),
        "latex": ("show", "FILE", "--latex"),
        "fmt": ("fmt", "--check", "FILE"),
    }[how]
    return Case(text.encode("utf-8", "surrogatepass"), arguments=arguments)


def make_solve(rng: random.Random, corpus: Sequence[str]) -> Case:
    """A question with parameters and givens at random values."""
    text = question_text(rng, sound("question"), resolves("question"))
    arguments = ["solve", "FILE", *LIMIT, *rng.choice((("--json",),) * 4 + ((),))]
    with suppress(Exception):  # the run itself says whether that is a fault
        arguments += values_for(rng, text, {law: str(p) for law, p in stored_fits().items()})
    return Case(text.encode("utf-8", "surrogatepass"), arguments=tuple(arguments))


# Tables

FITS = (
    ("dcpt.share", "c4_share.csv"),
    ("cmr.share", "cmr_table2.csv", "--where", "size = 460M"),
    ("mixing.critical", "mixing_critical.csv", "L=L_pile"),
    ("dcpt.l3", "small.csv"),
    ("chinchilla", "small.csv"),
    ("mixing.m4", "mixture.csv"),
    ("mixing.powers", "mixture.csv"),
    ("kaplan", "small.csv"),
    ("mixing.m1", "mixture.csv"),
    ("cmr.ratio", "cmr_table5.csv"),
)
COSTS = (5, 5, 5, 1, 5, 1, 1, 3, 1, 3)  # of a fit, how often each is asked for by


@cache
def table_texts() -> dict[str, str]:
    """Tables that ship, and two small ones that are simulated."""
    import numpy as np

    folder = ROOT / "laws" / "data"
    found = {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.csv"))}
    found = {name: text for name, text in found.items() if len(text) < 20_000}
    draw = np.random.default_rng(0)
    lines = ["N [Mparam],D [Gtoken],r,L [nat/token],size"]
    for n in (70, 160, 410):
        for d in (1, 3, 9, 20):
            for r in (0.2, 0.5, 0.8):
                loss = 1.7 + 2 / n**0.3 + 1.5 / d**0.3 + 0.2 / (r + 0.1) ** 0.5
                lines.append(f"{n},{d},{r},{loss + draw.normal() / 500:.5f},{n}M")
    found["small.csv"] = "\n".join(lines) + "\n"
    lines = ["r[web],r[code],r[books],L[web],L[code]"]
    for row in draw.dirichlet((1, 1, 1), 20):
        cells = [*row.round(4), 2 + row[0] ** -0.2, 2.5 + np.exp(-row[1])]
        lines.append(",".join(f"{c:.5g}" for c in cells))
    found["mixture.csv"] = "\n".join(lines) + "\n"
    return found


OPTIONS: tuple[tuple[str, ...], ...] = (
    *((), (), (), (), ("--drop-bad",), ("--drop-bad",), ("--drop-bad",), ("--enforce",)),
    *(("--objective", "squared(log)"), ("--objective", "squared(raw)"), ("--delta", "1e-9")),
    *(("--objective", "huber(raw)"), ("--level", "0.999"), ("--intervals", "profile")),
)
OPTIONS_OF: dict[str, tuple[tuple[str, ...], ...]] = {
    "dcpt.share": (("--fix", "E=1"), ("--tie", "C=E"), ("--run", "r")),
    "chinchilla": (("--where", "size = 70M"), ("--run", "N"), ("--tie", "beta=alpha")),
    "kaplan": (("--where", "N > 100"), ("--run", "size"), ("--weights", "D")),
    "mixing.m4": (("--fix", "c=0"),),
    "mixing.powers": (("--fix", "E=0"),),
}


def make_table(rng: random.Random, corpus: Sequence[str]) -> Case:
    """A table to be fitted."""
    law, table, *bound = rng.choices(FITS, COSTS)[0]
    content, suffix = mutate_table(rng, [table_texts()[table]])
    arguments = ["fit", law, "FILE", *bound, "--starts", "1", "-q", "--json", *LIMIT]
    arguments += rng.choice((*OPTIONS, *OPTIONS_OF.get(law, ()) * 2))
    return Case(content, suffix, tuple(arguments))


# Stored fits

_FOLDER: list[Path] = []


def keep_fits(folder: Path) -> None:
    """Fit once what the mutated fits begin with, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _FOLDER[:] = [folder]
    for law, table, *bound in FITS:
        if law not in POINTS:
            continue
        path = folder / f"{law}.json"
        if not path.exists():
            source = folder / table
            source.write_text(table_texts()[table], encoding="utf-8")
            command("fit", law, str(source), *bound, "--starts", "4", "-q", "-o", str(path))


def stored_fits() -> dict[str, Path]:
    """Law -> its fit, where it could be fitted."""
    found = {law: _FOLDER[0] / f"{law}.json" for law in POINTS} if _FOLDER else {}
    return {law: path for law, path in found.items() if path.exists()}


POINTS = {
    "dcpt.share": ("r=0.3,0.5",),
    "cmr.share": ("R=0.3",),
    "mixing.critical": ("r=0.3",),
    "dcpt.l3": ("N=7e7", "D=1e9", "r=0.5"),
    "chinchilla": ("N=7e9", "D=2e12"),
    "mixing.m4": ("r[web]=0.3", "r[code]=0.3", "r[books]=0.4"),
    "mixing.powers": ("r[web]=0.3", "r[code]=0.3", "r[books]=0.4"),
}
ASKED = {
    "chinchilla": ("chinchilla.allocation", "loss", "C=1e20"),
    "dcpt.l3": ("dcpt.allocation", "domain", "r=0.5", "C=100"),
    "mixing.powers": ("mixing.best", "loss"),
}


def _fit_text(rng: random.Random, texts: Sequence[str]) -> str:
    """A changed fit; two in three are made again, up to ten times, until they can be read."""
    if rng.random() < 0.35:
        return mutate_json(rng, texts)
    from lawdsl.fitting.result_by_label import load_fit

    changed = texts[0]
    for _ in range(10):
        changed = adjust_json(rng, rng.choice(texts))
        path = _FOLDER[0] / "tried.json"
        path.write_text(changed, encoding="utf-8", errors="surrogatepass")
        try:
            load_fit(path)
        except LawdslError:
            continue
        except Exception:  # the run itself says that this is a fault
            break
        break
    return changed


def make_fit(rng: random.Random, corpus: Sequence[str]) -> Case:
    """A stored fit that is predicted with, checked, or asked."""
    law = rng.choice(list(stored_fits()))
    texts = [stored_fits()[law].read_text(encoding="utf-8")]
    content = _fit_text(rng, texts).encode("utf-8", "surrogatepass")
    how = rng.choices(("predict", "check", "solve"), (5, 2, 2))[0]
    arguments = ["predict", "FILE", *POINTS[law], *rng.choice(((), ("--intervals",)))]
    if how == "check":
        arguments = ["check", "--fit", "FILE", "--time-limit", TIME]
    elif how == "solve" and law in ASKED:
        question, use, *given = ASKED[law]
        arguments = ["solve", question, f"{use}=FILE", *given, *LIMIT]
    arguments += rng.choice((("--json",), ("--json",), ()))
    return Case(content, ".json", tuple(arguments))


FIRST = {
    "check": (("check", "kaplan"), ("show", "kaplan", "--latex"), ("fmt", "--check", "FILE")),
    "solve": (("solve", "chinchilla.allocation", "loss=FIT", "C=1e20"),),
    "tables": (("fit", "chinchilla", "TABLE", "--starts", "1", "-q"),),
    "fits": (
        ("predict", "FIT", "N=1e9", "D=1e9", "--intervals"),
        ("check", "--fit", "FIT"),
        ("solve", "chinchilla.allocation", "loss=FIT", "C=1e20"),
    ),
}


def warm_up(kind: str, folder: Path) -> None:
    """Load and compute once, before processes are forked, what all inputs of a kind need."""
    if kind == "texts":
        read_text(Case(b"law a\nL = 1\n"), folder)
        return
    sound("law" if kind == "check" else "question")
    (folder / "small.csv").write_text(table_texts()["small.csv"], encoding="utf-8")
    fit = stored_fits().get("chinchilla", folder)
    places = {"FILE": ROOT / "laws" / "kaplan.law", "TABLE": folder / "small.csv", "FIT": fit}
    for arguments in FIRST[kind]:
        told = list(arguments)
        for name, path in places.items():
            told = [a.replace(name, str(path)) for a in told]
        command(*told)


KINDS: dict[str, tuple[Made, Run]] = {
    "texts": (make_text, read_text),
    "check": (make_check, run_command),
    "solve": (make_solve, run_command),
    "tables": (make_table, run_command),
    "fits": (make_fit, run_command),
}
