"""Reports: what a page contains, that it requests nothing, and that no text of a user becomes markup."""

from __future__ import annotations

import errno
import json
import re
import shlex
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core import optional_packages
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit
from lawdsl.language import library
from lawdsl.reporting.report.commands import fit_command, solve_command
from lawdsl.reporting.report.entries import entries_of
from lawdsl.reporting.report.explorer import explorer_of
from lawdsl.solving.solve import Asked

ROOT = Path(lawdsl.__file__).resolve().parent.parent
DATA = ROOT / "laws" / "data"
MAX_BYTES = 2_500_000
ATTACK = "</style><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7 * 7 }}"
LOADING = ("src", "href", "srcset", "data", "action", "poster", "xlink:href")


class Page(HTMLParser):
    """The elements of a page, and the text of each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        hidden = ("style", "script")
        return " ".join(data.strip() for tag, data in self.texts if tag not in hidden)


QUICK: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}
"""Options of fits of which a test looks neither at claims nor at intervals."""


def chinchilla_runs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    N, D = 10 ** rng.uniform(7, 9, 40), 10 ** rng.uniform(9, 11, 40)
    L = (1.7 + 400 / N**0.34 + 400 / D**0.28) * np.exp(0.002 * rng.normal(size=40))
    return {"N": N, "D": D, "L": L}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a fit, an answer, and their report."""
    path = tmp_path_factory.mktemp("report")
    rows = zip(*chinchilla_runs().values(), strict=True)
    lines = ["params,D,loss,kept", *(f"{n!r},{d!r},{x!r},1" for n, d, x in rows)]
    (path / "runs.csv").write_text("\n".join(lines).replace("np.float64(", "").replace(")", ""))
    columns = ("N=params", "L=loss", "--where", "kept = 1", "--fix", "E=1.7")
    made = run("fit", "chinchilla", "runs.csv", *columns, "-o", "fit.json", cwd=path)
    assert made.returncode == 0, made.stderr
    answer = run("solve", "chinchilla.allocation", "loss=fit.json", "C=1e22", "--json", cwd=path)
    (path / "answer.json").write_text(answer.stdout)
    made = run("report", "fit.json", "answer.json", cwd=path)
    assert (made.returncode, made.stderr) == (0, "wrote report.html\n"), made.stderr
    return path


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def test_a_report_has_its_sections_in_the_order_of_a_reader(page: Page):
    titles = [data for tag, data in page.texts if tag == "h2"]
    assert titles == [
        "The answer",
        "The law",
        "The data",
        "The fit",
        "What to distrust",
        "Try values",
        "How this report was made",
    ]


def test_headings_leave_out_no_level(page: Page):
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))


def test_every_link_leads_to_a_part_of_the_page(page: Page):
    identifiers = [a["id"] for _, a in page.elements if "id" in a]
    assert max(Counter(identifiers).values()) == 1
    targets = [str(a["href"]) for a in page.all("a")]
    assert targets and {t.removeprefix("#") for t in targets} <= set(identifiers)
    labels = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    assert set(labels) <= set(identifiers)


def test_a_page_requests_nothing(page: Page, folder: Path):
    for tag, attributes in page.elements:
        for name in LOADING:
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:image/svg+xml")), (tag, value)
    policy = page.all("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert str(policy["content"]).startswith("default-src 'none';")
    # scripts are known by their digests, and none is allowed by its place
    sources = re.findall(r"script-src ([^;]*);", str(policy["content"]))[0].split()
    assert sources and all(source.startswith("'sha256-") for source in sources)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "url(" not in text and "@import" not in text and "http://" not in text


def test_a_page_is_small(folder: Path):
    assert (folder / "report.html").stat().st_size < MAX_BYTES


def test_figures_have_alternative_texts_and_captions(page: Page):
    images = page.all("img")
    assert len(images) >= 2
    assert all(len(str(image["alt"])) > 40 for image in images)
    assert len(page.all("figcaption")) == len(images)


def test_tables_have_captions_and_headings(page: Page):
    assert len(page.all("caption")) == len(page.all("table")) > 6
    assert all(a.get("scope") in ("col", "row") for a in page.all("th"))


def test_the_formula_is_set_without_scripts(page: Page):
    assert len(page.all("math")) == 1
    assert "L = E + A/N^alpha + B/D^beta" in page.text


def test_a_report_has_values_with_intervals_and_units(page: Page, folder: Path):
    fit = lawdsl.load_fit(folder / "fit.json")
    answer = json.loads((folder / "answer.json").read_text())["result"]
    for name, p in fit.parameters.items():
        assert f"{name} {p.value:.6g}" in " ".join(page.text.split())
    assert f"{answer['unknowns'][0]['value']:.6g}" in page.text
    assert "param" in page.text and "token" in page.text and "± " in page.text


def test_proofs_are_folded(page: Page):
    assert [data for tag, data in page.texts if tag == "summary"][:1] == [
        "The goal along the unknowns"
    ]
    assert "Proofs" in [data for tag, data in page.texts if tag == "summary"]
    assert all("open" not in a for a in page.all("details"))


def test_the_commands_make_the_same_fit_and_answer(folder: Path, page: Page):
    lines = [data for tag, data in page.texts if tag == "pre"][-1].splitlines()
    assert [line.split()[1] for line in lines] == ["fit", "solve", "report"]
    before = lawdsl.load_fit(folder / "fit.json")
    (folder / "again").mkdir()
    (folder / "again" / "runs.csv").write_bytes((folder / "runs.csv").read_bytes())
    made = run(*shlex.split(lines[0])[1:], cwd=folder / "again")
    assert made.returncode == 0, made.stderr
    after = lawdsl.load_fit(folder / "again" / "fit.json")
    assert after.law.digest == before.law.digest and after.data == before.data
    assert after.values == pytest.approx(before.values, rel=1e-9)
    command, _, file = lines[1].partition(" > ")
    answer = run(*shlex.split(command)[1:], cwd=folder / "again")
    assert file == "answer.json"
    assert json.loads(answer.stdout)["result"] == json.loads((folder / file).read_text())["result"]


def test_the_summary_has_the_interval_with_the_error_of_the_laws(folder: Path):
    answer = json.loads((folder / "answer.json").read_text())["result"]
    summary, _, _ = (folder / "report.html").read_text().partition('<section id="answers"')
    assert '<th scope="col">laws wrong by 2 %/decade</th>' in summary
    for name in ("N", "D"):
        low, high = answer["law_error"]["ends"][name]
        assert f"{low:.3g} to {high:.3g}" in summary
    asked = lawdsl.load_fit(folder / "fit.json")
    plain = lawdsl.solve("chinchilla.allocation", loss=asked, C=1e22, discrepancy=0)
    text = asked.report(folder / "plain.html", plain).read_text()
    assert "laws wrong by" not in text.partition('<section id="answers"')[0]


def test_a_file_that_is_named_twice_is_reported_once(folder: Path):
    names = ("fit.json", folder / "fit.json", "answer.json", "./answer.json")
    made = run("report", *names, "-o", "once.md", cwd=folder)
    assert made.returncode == 0, made.stderr
    text = (folder / "once.md").read_text(encoding="utf-8")
    assert text.count("Fitted parameters") == 1 and text.count("\n## The answer\n") == 1
    fit = lawdsl.load_fit(folder / "fit.json")
    again = fit.report(folder / "once.md", fit).read_text(encoding="utf-8")
    assert again.count("Fitted parameters") == 1


def test_no_pictures_are_written_without_their_text(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("lawdsl.reporting.report.write.write", full)
    fit = lawdsl.load_fit(folder / "fit.json")
    with pytest.raises(LawdslError) as caught:
        fit.report(tmp_path / "page.md")
    assert caught.value.diagnostics[0].code == "L0313"
    assert list(tmp_path.iterdir()) == []


def test_advice_in_a_report_names_commands_that_have_its_options(folder: Path):
    made = run("report", "fit.json", "-o", "advice.md", cwd=folder)
    assert made.returncode == 0, made.stderr
    drawn = (folder / "fit-residuals.svg").read_text(encoding="utf-8")
    words = " ".join(re.sub(r"<[^>]*>", " ", drawn).split())
    assert "the order of the rows needs their table: lawdsl plot --data TABLE" in words


def test_an_answer_is_drawn_from_its_file_where_its_fit_is_there(folder: Path, page: Page):
    alone = run("report", "answer.json", "-o", "alone.html", cwd=folder)
    assert alone.returncode == 0, alone.stderr
    without = Page((folder / "alone.html").read_text(encoding="utf-8"))
    assert len(page.all("img")) > len(without.all("img"))


def test_a_question_is_answered_for_a_report(folder: Path):
    made = run(
        *("report", "fit.json", "--question", "chinchilla.allocation", "loss=fit.json", "C=1e21"),
        *("-o", "asked.html"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    text = Page((folder / "asked.html").read_text(encoding="utf-8")).text
    value = lawdsl.solve("chinchilla.allocation", loss=str(folder / "fit.json"), C=1e21)["N"]
    assert "C = 1e+21 FLOP" in text and f"{value:.6g}" in text


def test_markdown_has_the_same_content_and_figures_beside_it(folder: Path, page: Page):
    made = run("report", "fit.json", "answer.json", "-o", "report.md", "--json", cwd=folder)
    files = json.loads(made.stdout)["result"]["files"]
    assert files[0] == "report.md" and len(files) == 1 + len(page.all("img"))
    text = (folder / "report.md").read_text(encoding="utf-8")
    titles = [data for tag, data in page.texts if tag == "h2" and data != "Try values"]
    assert re.findall("^## (.*)$", text, re.MULTILINE) == titles  # but for the sliders
    assert text.count("| --- |") + text.count("|---|") >= 1 and "$$L = " in text
    for file in files[1:]:
        assert f"](<{file}>)" in text
        assert (folder / file).read_bytes().startswith(b"<svg")


def test_texts_of_laws_tables_and_questions_do_not_become_markup(tmp_path: Path):
    law = tmp_path / "evil.law"
    title = ATTACK.replace('"', "”")
    law.write_text(
        f'law evil "{title}"\nsource "{title}"\nvariable N > 0 "{title}"\n'
        f'parameter E, A > 0 "{title}"\nL = E + A/N\nrequire L > E\n',
        encoding="utf-8",
    )
    N = np.linspace(1, 9, 12)
    fit = lawdsl.fit(law, {"N": N, ATTACK: 2 + 3 / N}, L=ATTACK, starts=2)
    assert isinstance(fit, Fit)
    path = fit.report(tmp_path / "evil.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    # the sliders' settings, their script, and the law: none of the text that was attacked with
    kinds = ["application/json", "text/javascript", "module"]
    assert [a["type"] for a in page.all("script")] == kinds and text.count("<script") == 3
    assert text.lower().count("</script") == 3
    assert len(page.all("style")) == 1
    assert all("onerror" not in attributes for _, attributes in page.elements)
    assert "alert(1)" in page.text and "{{ 7 * 7 }}" in page.text and "49" not in page.text.split()


def test_sliders_reach_from_the_fitted_rows_to_the_trust_horizon(folder: Path):
    fit = lawdsl.load_fit(folder / "fit.json")
    assert isinstance(fit, Fit) and fit.horizon is not None
    made = explorer_of(entries_of([fit])[0])
    assert made is not None and [s.name for s in made.sliders] == ["N", "D"]
    for slider in made.sliders:
        low, high = fit.data.ranges[slider.name]
        assert slider.low == low and slider.fitted == (low, high)
        assert slider.logarithmic and low < slider.start < high <= slider.high
        times = {r.within: r.times for r in fit.horizon.by_variable[slider.name]}[0.05]
        end = fit.horizon.variables[slider.name] * min(max(times, 1), 1e4)
        assert slider.high == pytest.approx(max(high, end))
    assert json.loads(made.settings)["level"] == 0.95


def test_the_slider_of_one_fitted_value_stays_in_its_domain(tmp_path: Path):
    law = tmp_path / "share.law"
    law.write_text(
        'law share "t"\nvariable N > 0\nvariable r in [0, 1]\nparameter E, A > 0\nL = E + A*(1 + r)/N\n'
    )
    N = np.linspace(1, 9, 12)
    fit = lawdsl.fit(law, {"N": N, "r": np.ones(12), "L": 2 + 3 / N}, starts=2, claims=False)
    made = explorer_of(entries_of([fit])[0])
    assert made is not None
    share = made.sliders[1]
    assert (share.name, share.low, share.high, share.fitted) == ("r", 0.5, 1.0, (1.0, 1.0))


def test_fits_of_labels_are_reported(tmp_path: Path):
    fits = lawdsl.fit(
        "mixing.m4",
        DATA / "four_domains.csv",
        where=("phase = end", "step = 400", "model = 0.08M"),
        columns={"r": "r_*", "L": "L_*"},
        starts=2,
        **QUICK,
    )
    made = explorer_of(entries_of([fits])[0])
    assert made is not None
    # the share that is 1 minus the others is in no column of the fit
    assert sum(slider.fitted is None for slider in made.sliders) == 1
    page = Page(fits.report(tmp_path / "mix.html").read_text(encoding="utf-8"))
    assert page.text.count("1 minus the others") == 1
    assert page.text.count("fitted from") == len(made.sliders) - 1
    for label in fits.outputs:
        assert label in [data for tag, data in page.texts if tag == "th"]
    assert "t[perl]" in page.text


def test_two_fits_of_one_law_have_it_once(tmp_path: Path):
    runs = chinchilla_runs()
    fits = [
        lawdsl.fit("chinchilla", {**runs, "L": runs["L"] * scale}, starts=2, **QUICK)
        for scale in (1, 1.1)
    ]
    path = fits[0].report(tmp_path / "two.html", fits[1])
    page = Page(path.read_text(encoding="utf-8"))
    assert len(page.all("math")) == 1
    assert "as fitted: chinchilla 2" in page.text


def test_what_cannot_be_reported_is_refused(folder: Path, tmp_path: Path):
    fit = lawdsl.load_fit(folder / "fit.json")
    with pytest.raises(LawdslError) as caught:
        fit.report(tmp_path / "report.pdf")
    assert caught.value.diagnostics[0].code == "G0121"
    (tmp_path / "broken.json").write_text('{"schema": 1, "question": "chinchilla.allocation"}')
    for file in ("broken.json",):
        refused = run("report", tmp_path / file, "-o", "x.html", cwd=tmp_path)
        assert refused.returncode == 3 and "G0122" in refused.stderr
        assert not (tmp_path / "x.html").exists()
    nothing = run("report", "nothing.json", cwd=tmp_path)
    assert nothing.returncode == 3 and "F0108" in nothing.stderr


def test_without_the_libraries_the_command_that_installs_them_is_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = optional_packages.importlib.util.find_spec

    def find(name: str, *rest: Any) -> Any:
        return None if name in ("jinja2", "altair") else found(name, *rest)

    monkeypatch.setattr(optional_packages.importlib.util, "find_spec", find)
    fit = lawdsl.load_fit(folder / "fit.json")
    with pytest.raises(LawdslError) as caught:
        fit.report(tmp_path / "report.html")
    assert "lawdsl[figures]" in str(caught.value)
    # Markdown needs none of them, and says that figures are left out
    text = fit.report(tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Figures are left out" in text and "## The law" in text


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "squared(raw)"},
        {"objective": "quantile(log)", "quantile": 0.3},
        {"delta": 0.01, "seed": 4},
        {"intervals": "bootstrap", "resamples": 100, "level": 0.9},
        {"fix": {"E": 1.7}, "priors": ["log(alpha) = log(0.35) +- 0.35"]},
        {"tie": {"beta": "alpha"}},
    ],
    ids=str,
)
def test_options_of_a_fit_are_in_its_command(options: dict[str, Any], tmp_path: Path):
    rows = zip(*chinchilla_runs().values(), strict=True)
    table = tmp_path / "runs.csv"
    table.write_text("N,D,L\n" + "".join(f"{n:.17g},{d:.17g},{x:.17g}\n" for n, d, x in rows))
    fit = lawdsl.fit("chinchilla", table, claims=False, **options)
    command = fit_command(entries_of([fit])[0])
    made = run(*shlex.split(command)[1:], cwd=tmp_path)
    assert made.returncode in (0, 1), made.stderr
    again = lawdsl.load_fit(tmp_path / "chinchilla.json")
    assert again.objective.name == fit.objective.name
    assert again.values == pytest.approx(fit.values, rel=1e-6)
    assert again.intervals.level == fit.intervals.level
    assert again.law.digest == fit.law.digest


@pytest.mark.parametrize(
    "options",
    [
        {"discrepancy": 0.05, "safe": 0.95, "seed": 3},
        {"discrepancy": "learned"},
        {"discrepancy": 0},
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in (
                {"discrepancy": 0.05},
                {"discrepancy": 0.02},
                {"discrepancy": 0, "seed": 3},
                {"seed": 3},
            )
        ),
        {"level": 0.9},
        {"compare": [{"N": 7e9, "D": 1e22 / 42e9}]},
    ],
    ids=str,
)
def test_options_of_an_answer_are_in_its_command(options: dict[str, Any], folder: Path):
    name, values = (
        ("tokens_for_loss", {"N": 1e9, "target": 2.4})
        if "safe" in options
        else ("allocation", {"C": 1e22})
    )
    parsed, _ = library.question(f"chinchilla.{name}")
    answer = Asked(parsed, loss=str(folder / "fit.json")).answer(values, **options)
    entry = replace(entries_of([answer])[0], fits={"loss": "fit.json"})
    command, _, _ = solve_command(entry, []).partition(" > ")
    again = run(*shlex.split(command)[1:], cwd=folder)
    result, expected = json.loads(again.stdout)["result"], answer.to_json()
    assert result["asked_fits"]["loss"].pop("file") == "fit.json"
    assert expected["asked_fits"]["loss"].pop("file") == str(folder / "fit.json")
    assert result == expected


def test_an_answer_is_not_said_to_be_that_of_another_fit(folder: Path, tmp_path: Path):
    parsed, _ = library.question("chinchilla.allocation")
    answer = Asked(parsed, loss=str(folder / "fit.json")).answer(C=1e22)
    document: dict[str, Any] = {"command": "solve", "result": answer.to_json(), "schema": 1}
    # the fit was made again since
    document["result"]["asked_fits"]["loss"]["file"] = "fit.json"
    (tmp_path / "answer.json").write_text(json.dumps(document), encoding="utf-8")
    runs = chinchilla_runs()
    other = lawdsl.fit("chinchilla", {**runs, "L": 1.05 * runs["L"]}, starts=2, **QUICK)
    other.save(tmp_path / "fit.json")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "fit.json").write_bytes((folder / "fit.json").read_bytes())

    pages = {}
    for name in ("fit.json", "own/fit.json"):
        done = run("report", name, "answer.json", "-o", "page.md", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        pages[name] = (tmp_path / "page.md").read_text(encoding="utf-8")
    warning = "answer does not follow from the fits of this report"
    assert warning in pages["fit.json"] and "loss=FIT.json" in pages["fit.json"]
    assert warning not in pages["own/fit.json"] and "loss=own/fit.json" in pages["own/fit.json"]


def test_a_command_says_that_a_table_in_memory_cannot_be_read(folder: Path, tmp_path: Path):
    fit = lawdsl.fit("chinchilla", chinchilla_runs(), starts=2, **QUICK)
    text = fit.report(tmp_path / "memory.md").read_text(encoding="utf-8")
    assert "No file has the values given, which was in memory: write it to one" in text
    text = lawdsl.load_fit(folder / "fit.json").report(tmp_path / "file.md").read_text()
    assert "in memory" not in text


@pytest.mark.slow
def test_the_demonstration_ends_with_its_report(tmp_path: Path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    said = run("demo", cwd=tmp_path, environment=environment)
    (written,) = folder.glob("*/report.html")
    assert said.returncode == 0 and f"wrote {written}: the same as one page" in said.stderr
    assert list(tmp_path.iterdir()) == [folder]
    page = Page(written.read_text(encoding="utf-8"))
    assert "share of domain data" in page.text and len(page.all("img")) > 4
