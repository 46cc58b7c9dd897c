"""Wheel, sdist and editable install all carry the laws and the grammar."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROBE = (
    "import lawdsl, pathlib; from lawdsl.language.library import shipped; "
    "count = sum(len(shipped(kind)) for kind in ('law', 'question', 'pipeline')); "
    "print(pathlib.Path(lawdsl.__file__).parent, count, lawdsl.load('dcpt.l3').name)"
)
FILES = len([*ROOT.glob("laws/**/*.law")])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, so that nothing is built into the checkout."""
    copy = tmp_path_factory.mktemp("source") / "lawdsl"
    ignore = shutil.ignore_patterns(
        ".git", ".venv", "node_modules", "__pycache__", ".*_cache", "dist", ".hypothesis"
    )
    shutil.copytree(ROOT, copy, ignore=ignore)
    return copy


@pytest.fixture(scope="module")
def built(source: Path) -> dict[str, Path]:
    """The wheel and the sdist; the wheel is made from the sdist, as a package index would."""
    run(sys.executable, "-m", "build", "--no-isolation", cwd=source)
    files = list((source / "dist").iterdir())
    return {
        "wheel": next(f for f in files if f.suffix == ".whl"),
        "sdist": next(f for f in files if f.suffix == ".gz"),
    }


def run(*command: object, cwd: Path, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fresh_python(folder: Path) -> Path:
    """A new environment that sees the dependencies installed here, but not this checkout."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = Path(
        run(
            python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
        ).strip()
    )
    visible = folder / "dependencies"
    visible.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "lawdsl" not in path.name and path.suffix != ".pth":
            (visible / path.name).symlink_to(path)
    (site / "dependencies.pth").write_text(f"{visible}\n", encoding="utf-8")
    return python


def install(python: Path, *what: object, cwd: Path) -> None:
    flags = ("--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *flags, *what, cwd=cwd)


@pytest.mark.parametrize(
    "kind", ["wheel", *(pytest.param(k, marks=pytest.mark.slow) for k in ("sdist", "editable"))]
)
def test_an_install_carries_laws_and_grammar(
    kind: str, built: dict[str, Path], source: Path, tmp_path: Path
):
    python = fresh_python(tmp_path / "environment")
    install(python, *(("-e", source) if kind == "editable" else (built[kind],)), cwd=tmp_path)
    home, count, name = run(python, "-c", PROBE, cwd=tmp_path).split()
    assert (int(count), name) == (FILES, "dcpt.l3")
    assert Path(home) == (source / "lawdsl" if kind == "editable" else Path(home))
    assert str(ROOT) not in home
    printed = run(python.parent / "lawdsl", "check", "chinchilla", "--quiet", cwd=tmp_path)
    assert printed.count("PROVED") == 6


def test_the_wheel_holds_the_code_and_the_laws_and_nothing_else(
    built: dict[str, Path], source: Path
):
    wheel = zipfile.ZipFile(built["wheel"])
    places = {"lawdsl": "", "laws": "lawdsl/", "grammars": "lawdsl/", "runners": "lawdsl/"}
    files = {
        f"{prefix}{path.relative_to(source).as_posix()}"
        for folder, prefix in places.items()
        for path in (source / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if folder != "lawdsl" or path.name != "docs.md"
    }
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == files
    assert "lawdsl/grammars/law.lark" in names and "lawdsl/laws/dcpt/l3.law" in names
    tables = sum(i.compress_size for i in wheel.infolist() if "/laws/data/" in i.filename)
    assert tables < 0.375 * 2**20
    others = [i for i in wheel.infolist() if "/laws/data/" not in i.filename]
    assert max(i.compress_size for i in others) < 2**16  # each is text that people write


def test_the_sdist_can_run_its_own_tests(built: dict[str, Path]):
    with tarfile.open(built["sdist"]) as archive:
        names = [n.partition("/")[2] for n in archive.getnames()]
    assert {"Makefile", "README.md", "tests/conftest.py", "grammars/law.lark"} <= set(names)
    papers = {"LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "docs/README.md"}
    assert papers <= set(names)


def test_the_license_travels(built: dict[str, Path]):
    wheel = zipfile.ZipFile(built["wheel"])
    names = wheel.namelist()
    assert [n for n in names if n.endswith("dist-info/licenses/LICENSE")]
    (metadata,) = (n for n in names if n.endswith("dist-info/METADATA"))
    assert "License-Expression: Apache-2.0" in wheel.read(metadata).decode("utf-8")
