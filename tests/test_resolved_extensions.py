"""Names of laws that are built on others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_resolver import EXTENDS, bounds, codes

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.language import library, size_limits
from lawdsl.language.printer import print_formula
from lawdsl.language.resolver import spread
from lawdsl.law.law import load


def test_a_law_takes_over_what_it_extends():
    found, _ = library.declarations(str(EXTENDS / "cross_k3.law"))

    assert found.symbols["alpha"].kind == "parameter"
    assert found.symbols["dcpt.l3"].kind == "law"
    assert bounds(found, "C") == ["> C0"]
    assert set(found.laws) == {"dcpt.l3", "chinchilla"}
    assert len(found.claims) == 5 + 3  # the reduction of dcpt.l3 is not its own
    assert found.objective == Objective()
    assert load(str(EXTENDS / "cross_k3.law")).parameters[-1].name == "w2"


def test_own_grids_replace_those_of_the_extended_law():
    found, _ = library.declarations(str(EXTENDS / "cross_k3.law"))
    grids = [
        (", ".join(print_formula(t) for t in grid.targets), len(spread(grid.values)))
        for grid in found.grids
    ]

    assert ("log(A), log(B)", 7) in grids
    assert [values for targets, values in grids if "C - C0" in targets] == [2]


def test_a_chain_of_laws_is_written_out():
    two = load(str(EXTENDS / "two.law"))

    assert str(two.expression) == "2*a*x**b + 3*c"
    assert set(two.texts) == {"two", "one", "base"}
    assert two.objective == Objective("squared", log=False)
    assert two.sources == ("nowhere",)


def test_a_claim_that_is_made_again_replaces_that_of_the_extended_law():
    found, _ = library.declarations(str(EXTENDS / "one.law"))

    assert len(found.claims) == 1
    assert found.claims[0].text.name.endswith("one.law")


def test_a_law_in_a_folder_has_a_dotted_name():
    assert str(load(str(EXTENDS / "outer.law")).expression) == "q*z"


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("circle/a", "L0311", "laws are built on each other: a -> b -> c -> a"),
        ("wrong_name", "L0310", "the file of `misnamed` holds the law `something_else`"),
        ("on_error", "L0204", "the law `broken` is in error (line 3)"),
        (
            "other_side",
            "L0408",
            "the equation is for `z`, that of the extended law for another name",
        ),
    ],
)
def test_laws_that_cannot_be_extended(name: str, code: str, message: str):
    with pytest.raises(LawdslError) as caught:
        library.declarations(str(EXTENDS / f"{name}.law"))
    (found,) = caught.value.diagnostics

    assert (found.code, found.message) == (code, message)
    assert found.text is not None and found.text.name.endswith(f"{name}.law")


def test_a_law_that_extends_itself_is_refused():
    assert codes("law self\nextends self\ny = self\n") == ["L0311"]


def test_a_long_chain_of_laws_is_refused(tmp_path: Path):
    count = size_limits.MAX_CHAIN + 2
    for i in range(count):
        text = f"law l{i}\nextends l{i + 1}\nparameter a{i} > 0\ny = l{i + 1} + a{i}\n"
        last = f"law l{i}\nvariable x > 0\ny = x\n"
        (tmp_path / f"l{i}.law").write_text(text if i + 1 < count else last)

    assert len(library.declarations(str(tmp_path / "l2.law"))[0].laws) == size_limits.MAX_CHAIN - 1
    with pytest.raises(LawdslError, match="L0311"):
        library.declarations(str(tmp_path / "l0.law"))


SECRET = "root:x:0:0"


def extending(folder: Path, name: str) -> str:
    """What is said of a law that extends another one."""
    (folder / "main.law").write_text(f"law main\nextends {name}\ny = {name}\n")
    with pytest.raises(LawdslError) as caught:
        library.declarations(str(folder / "main.law"))
    assert SECRET not in str(caught.value)
    (found,) = caught.value.diagnostics
    return found.code


def test_no_link_leads_out_of_the_folder(tmp_path: Path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir(), inside.mkdir()
    (outside / "secret.law").write_text(f"law secret\n{SECRET}\n")
    (outside / "passwd").write_text(SECRET)
    (inside / "secret.law").symlink_to(outside / "secret.law")
    (inside / "passwd.law").symlink_to(outside / "passwd")
    (inside / "up").symlink_to(outside)
    (inside / "zero.law").symlink_to("/dev/zero")
    (inside / "loop.law").symlink_to("loop.law")

    assert extending(inside, "secret") == "L0312"
    assert extending(inside, "passwd") == "L0312"
    assert extending(inside, "up.secret") == "L0312"
    assert extending(inside, "zero") == "L0310"
    assert extending(inside, "loop") == "L0310"


def test_a_link_within_the_folder_is_followed(tmp_path: Path):
    (tmp_path / "real.law").write_text("law alias\nparameter a > 0\ny = a\n")
    (tmp_path / "alias.law").symlink_to("real.law")
    (tmp_path / "main.law").write_text("law main\nextends alias\ny = alias\n")

    assert library.declarations(str(tmp_path / "main.law"))[0].laws.keys() == {"alias"}


def test_only_regular_utf8_files_are_extended_and_nothing_of_them_is_shown(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo.law")
    (tmp_path / "folder.law").mkdir()
    (tmp_path / "latin.law").write_bytes(f"law latin \xff {SECRET}\n".encode("latin-1"))
    (tmp_path / "data.law").write_text(f"{SECRET}\n")

    assert extending(tmp_path, "fifo") == "L0310"
    assert extending(tmp_path, "folder") == "L0310"
    assert extending(tmp_path, "latin") == "L0312"
    assert extending(tmp_path, "data") == "L0205"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "fifo.law", "folder.law", "latin.law",
                                  "missing.law", "closed/x.law", "x" * 5000 + ".law", "a\0.law"])  # fmt: skip
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, path: str):
    os.mkfifo(tmp_path / "fifo.law")
    (tmp_path / "folder.law").mkdir()
    (tmp_path / "latin.law").write_bytes(b"law latin \xff\n")
    with pytest.raises(LawdslError) as caught:
        library.declarations(str(tmp_path / path))
    (found,) = caught.value.diagnostics

    assert found.code == "L0312"
    assert found.place == str(tmp_path / path)
    assert found.help


def test_a_name_that_is_neither_law_nor_file_is_compared_with_the_shipped_laws():
    with pytest.raises(LawdslError, match="did you mean `chinchilla`"):
        library.declarations("chinchila")
