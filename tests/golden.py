"""What commands print and write on shipped laws and tables, kept so that changes are seen.

`python tests/golden.py --record` writes `tests/golden/`, one file for each case; the test compares
them with tolerance for the last digits of numbers, `python tests/golden.py` without any.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner
from commands import run

import lawdsl
from lawdsl.cli import cli
from lawdsl.messages.table import MESSAGES

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(__file__).resolve().parent / "golden"

SHARE = "law share\nvariable r in (0, 1]\nparameter a, b, c > 0\nL = a + b/(r + c)\n"

# name -> commands, run in one folder in this order; ":" before a file prints it
CASES = {
    "laws": ["laws --json"],
    "show": [
        *(f"show {name} --json" for name in ("chinchilla", "dcpt.l3", "cmr.share", "dcpt.tradeoff")),
        "check --syntax mixing.nested",
        "show mixing.m4",
    ],
    "fmt": ["fmt --check share.law", "fmt messy.law", ":messy.law", "new fresh", ":fresh.law"],
    "check": [
        "check chinchilla dcpt.l3 cmr.domain cmr.share mixing.m4 mixing.two_domain --json",
        'check dcpt.l3 --without "C > C0"',
        "check share.law --sarif",
    ],
    "fit": [
        "fit dcpt.share laws/data/c4_share.csv -o c4.json --json",
        ":c4.json",
        "fit chinchilla laws/data/dcpt_table12.csv --json",
        "fit cmr.ratio laws/data/cmr_table2.csv --json",
        "fit share.law laws/data/c4_share.csv --fix c=0.1 --intervals profile --json",
        'fit cmr.share laws/data/c4_share.csv R=r --objective "squared(log)" --intervals bootstrap'
        " --resamples 100 --json",
        "fit dcpt.share laws/data/c4_share.csv",
    ],
    "fits": [
        'fit mixing.m4 laws/data/four_domains.csv "r=r_*" "L=L_*" --where "phase = end"'
        ' --where "step = 400" --where "model = 0.08M" -o mix.json --json',
        ":mix.json",
        'predict mix.json "r[code]=0.1,0.5" "r[c]=0.2" "r[perl]=0.2" --json',
    ],
    "use": [
        "check --fit c4.json --json",
        "predict c4.json r=0.15,0.5 --intervals --json",
        "predict c4.json laws/data/c4_share.csv -o out.csv", ":out.csv",
        "solve least.law loss=c4.json L0=2.4565 T=0,0.01,0.05 --json",
        "solve least.law loss=c4.json L0=2.4565 T=0.02 --at r=0.5",
        "solve chinchilla.allocation loss.E=1.8172 loss.A=482.01 loss.B=2085.43"
        " loss.alpha=0.3478 loss.beta=0.3658 C=1e21,1e22 --json",
    ],
    "trends": ["trends dcpt.share laws/data/c4_share.csv --json"],
    "compare": [
        "compare dcpt.share mixing.two_domain laws/data/c4_share.csv --protocol all --json",
        "compare dcpt.share cmr.share laws/data/c4_share.csv R=r --protocol leave-one-out:r",
    ],
    "pipeline": [
        "pipeline mixing.nested",
        "pipeline large.law laws/data/code_and_english.csv r=r_code L=L_code"
        " --set N_target=638880 --set r_target=0.4 --json",
    ],
    "mixtures": [
        "mixtures halving web=2T code=500G books=260G papers=230G wiki=180G --target 1T --count 6",
        "mixtures spread web code books --cap code=0.4 --cap books=0.1 --count 4 --grid 1/256 --json",
        "mixtures select mixing.two_domain laws/data/c4_share.csv --count 5 --groups 20 --json",
    ],
    "errors": [
        "check missing.law",
        "check bad.law",
        "fit dcpt.share laws/data/cmr_table5.csv",
        "fit dcpt.share laws/data/c4_share.csv --fix nothing=1",
        "predict c4.json r=2",
        "solve dcpt.tradeoff",
        "explain F0101",
    ],
}  # fmt: skip

FILES = {
    "share.law": SHARE,
    "messy.law": "law   messy\nvariable x>0 # of it\nparameter a,b>0\nL=a+b / x\n",
    "bad.law": "law bad\nvariable x > 0\nL = a + $x\nparameter b in (2, 1)\n",
    "large.law": (
        "pipeline large\ngiven N_target > 0 unit param\ngiven r_target in [0, 1]\n"
        'step mixing.size by r where model != "0.64M", phase = "end", step = 1000, r > 0'
        " at N = N_target\nstep dcpt.share at r = r_target\n"
    ),
    "least.law": (
        "question least\nuses loss : dcpt.share\ngiven L0 > 0, T >= 0\n"
        "choose r in [0.01, 1]\nminimize r\nsubject to loss(r) <= L0*(1 + T)\n"
    ),
}


def outputs(*names: str) -> Iterator[tuple[str, str]]:
    """(case, what its commands print), each as a user would see it, but for times."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "laws" / "data", Path(folder, "laws", "data"))
        for name, text in FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        try:
            os.chdir(folder)
            for name in names or CASES:
                shown = []
                for command in CASES[name]:
                    if command.startswith(":"):
                        text = Path(command[1:]).read_text(encoding="utf-8")
                    else:
                        done = run(*shlex.split(command), cwd=Path(folder), together=True)
                        text = f"{done.stdout}exit {done.returncode}\n"
                    shown.append(f"$ {command}\n{text}")
                yield (
                    name,
                    without_times(
                        "\n".join(shown).replace(folder, "FOLDER").replace(str(ROOT), "PROJECT")
                    ),
                )
        finally:
            os.chdir(before)
    if not names or "help" in names:
        yield "help", help_of_all()
    if not names or "explain" in names:
        yield "explain", explained()
    if not names or "signatures" in names:
        yield "signatures", signatures()


def help_of_all() -> str:
    """The help of all commands, one after another."""
    parts = [printed("--help")]
    for name in re.findall(r"^  ([a-z]+)  ", parts[0].split("Commands:")[1], re.M):
        text = printed(name, "--help")
        parts.append(text)
        if "Commands:" in text:
            subcommands = re.findall(r"^  ([a-z]+)  ", text.split("Commands:")[1], re.M)
            parts += [printed(name, each, "--help") for each in subcommands]
    return "\n".join(parts)


def printed(*arguments: str) -> str:
    """What a command prints in this process, which costs less than one of its own."""
    return CliRunner().invoke(cli, arguments, prog_name="lawdsl", terminal_width=78).stdout


def signatures() -> str:
    """The public names of the package, with their parameters and attributes."""
    lines = []
    for name in sorted(lawdsl.__all__):
        public = getattr(lawdsl, name)
        lines.append(f"{name}{inspect.signature(public)}")
        if inspect.isclass(public):
            lines += [f"  {each}" for each in dir(public) if not each.startswith("_")]
    return "".join(f"{line}\n" for line in lines)


def explained() -> str:
    """A hash of what `explain` says of each code: a line for each."""
    codes = sorted(MESSAGES)
    digests = [hashlib.sha256(printed("explain", code).encode()).hexdigest() for code in codes]
    return "".join(f"{c} {d[:16]}\n" for c, d in zip(codes, digests, strict=True))


def without_times(text: str) -> str:
    """Times of computations are no results."""
    text = re.sub(r'("(?:warning_)?seconds": )[0-9.e+-]+', r"\1 0", text)
    return re.sub(r"\b\d+(?:\.\d+)? (s|ms)\b", r"0 \1", text)


def main() -> None:
    """Record, or compare with what was recorded, to the last digit."""
    FOLDER.mkdir(exist_ok=True)
    differ = 0
    for name, text in outputs():
        path = FOLDER / f"{name}.txt"
        if "--record" in sys.argv:
            path.write_text(text, encoding="utf-8")
            continue
        before = path.read_text(encoding="utf-8")
        if before != text:
            differ += 1
            lines = difflib.unified_diff(before.splitlines(), text.splitlines(), name, "now", n=1)
            print("\n".join(line[:300] for line in list(lines)[:30]))
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
