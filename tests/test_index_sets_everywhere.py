"""Laws with index sets in commands beyond fits: premises, questions, pipelines and comparisons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lawdsl

M4 = (
    "law example\nindex i over validation\nindex j over training\nvariable r[j] in simplex\n"
    "parameter c[i] >= 0\nparameter k[i] > 0\nparameter t[i, j]\n"
    "L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))\n"
)


@pytest.mark.parametrize("identity", ["", "identify sum(t[i, j] for j) = 0\n"])
@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("L[i] decreasing in r[a] against r[b] for t[i, a] < t[i, b]", "proved"),
        ("L[i] decreasing in r[a] against r[b] for t[i, b] > t[i, a]", "proved"),
        ("L[i] increasing in r[a] against r[b] for t[i, a] > t[i, b]", "proved"),
        ("L[i] decreasing in r[a] against r[b] for t[i, a] > t[i, b]", "refuted"),
    ],
)
def test_a_premise_about_elements_is_used(tmp_path, identity, claim, verdict):
    path = tmp_path / "example.law"
    path.write_text(f"{M4}{identity}require {claim}\n")
    (decided,) = lawdsl.check(path).claims
    assert decided.verdict == verdict


def table_of_runs() -> dict[str, np.ndarray]:
    """Losses of two validation sets beside each other, for mixtures, sizes and steps."""
    exponents = {"en": (-2.0, 1.5, 0.5), "py": (1.0, -3.0, 2.0)}
    rng = np.random.default_rng(0)
    shares = [np.array(w) / 2 for w in itertools.product(range(3), repeat=3) if sum(w) == 2]
    rows = []
    for mixture, r in enumerate(shares):
        for N, S in itertools.product((1e6, 4e6, 1.6e7), (1e4, 1.5e4, 2e4, 2.5e4, 3e4)):
            size_and_steps = 30 / N**0.3 + 20 / S**0.5
            L = [1.5 + 0.5 * np.exp(r @ np.array(t)) + size_and_steps for t in exponents.values()]
            rows.append((mixture, N, S, *r, *(L * np.exp(0.0005 * rng.normal(size=2)))))
    names = ("mixture", "N", "S", "r_web", "r_code", "r_books", "L_en", "L_py")
    return dict(zip(names, np.array(rows).T, strict=True))


def test_a_pipeline_takes_a_column_of_losses_for_each_label():
    table = table_of_runs()
    settings = {"S_target": 1e5, "N_target": 1e8}
    wide = lawdsl.run_pipeline("mixing.nested", table, settings=settings, draws=0, r="r_*", L="L_*")
    shared = {n: np.tile(x, 2) for n, x in table.items() if not n.startswith("L_")}
    shared["L"] = np.concatenate([table["L_en"], table["L_py"]])
    shared["validation"] = np.repeat(["en", "py"], len(table["N"]))
    long = lawdsl.run_pipeline("mixing.nested", shared, settings=settings, draws=0, r="r_*")
    for one, other in zip(wide.fits, long.fits, strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-12)


def test_a_column_of_the_output_beside_wide_losses_is_ambiguous():
    table = {**table_of_runs(), "L": np.ones(90)}
    settings = {"S_target": 1e5, "N_target": 1e8}
    columns = {"r": "r_*", "L": "L_*"}
    with pytest.raises(lawdsl.LawdslError, match="column L stands beside"):
        lawdsl.run_pipeline("mixing.nested", table, settings=settings, draws=0, columns=columns)


MEASURED = (
    "law {name}\nindex d over domain\nvariable step > 0\nvariable k[d] > 0\n"
    "measure k[d] = L(step = 1)\nparameter E, A, b > 0\nL = E{k} + A/step^b\n"
)


def test_a_comparison_measures_the_covariates_of_its_laws(tmp_path):
    steps = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
    rng = np.random.default_rng(0)
    columns = {
        "domain": np.repeat(["code", "web", "books"], 8),
        "step": np.tile(steps, 3),
        "L": np.concatenate([0.3 * first + 2 / steps**0.5 for first in (5.0, 4.0, 3.0)])
        * np.exp(0.002 * rng.normal(size=24)),
    }
    for name, text in (("with_k", "*k[d]"), ("without_k", "+0*k[d]")):
        path = tmp_path / f"{name}.law"
        path.write_text(MEASURED.format(name=name, k=text))
    compared = lawdsl.compare(
        [tmp_path / "with_k.law", tmp_path / "without_k.law"],
        columns,
        where="step >= 2",
        starts=4,
        protocols=["all"],
    )
    (part,) = compared.parts.values()
    assert part.rankings[0].standings[0].law == "with_k"
    assert "F0210" not in {d.code for d in compared.diagnostics}


def runs_of_domains(first_loss: float = 0.0) -> dict[str, np.ndarray]:
    """Three domains at four shares; something is added to the first loss of one run."""
    rng, rows = np.random.default_rng(0), []
    for domain, k in (("code", 5.0), ("web", 4.0), ("books", 3.0)):
        for r, step in itertools.product((0.2, 0.4, 0.6, 0.8), 2.0 ** np.arange(8)):
            L = (0.3 * k + 2 / step**0.5 + 0.1 * r) * np.exp(0.002 * rng.normal())
            if (domain, r, step) == ("code", 0.8, 1.0):
                L += first_loss
            rows.append((domain, r, step, L))
    return dict(
        zip(("domain", "r", "step", "L"), map(np.array, zip(*rows, strict=True)), strict=True)
    )


def test_covariates_are_measured_on_the_rows_that_are_not_held_out(tmp_path):
    path = tmp_path / "example.law"
    path.write_text(
        MEASURED.format(name="example", k="*k[d]")
        .replace("parameter", "variable r in [0, 1]\nparameter c\nparameter", 1)
        .replace("+ A", "+ c*r + A")
    )

    def compared(first_loss, protocol):
        table = runs_of_domains(first_loss)
        return lawdsl.compare([path], table, where="step >= 2", starts=2, protocols=[protocol])

    def folds(first_loss, protocol):
        (part,) = compared(first_loss, protocol).parts.values()
        return {f.fold: f.parameters for f in part.rankings[0].standings[0].folds}

    plain, wrong = (folds(first_loss, "leave-one-out:r") for first_loss in (0, 2))
    assert plain["r = 0.8"] == wrong["r = 0.8"]  # the run with the wrong loss is not read
    assert plain["r = 0.2"] != wrong["r = 0.2"]
    # a domain that is held out is known by its own first steps
    diagnostics = compared(0, "leave-one-out:domain").diagnostics
    (found,) = [d.message for d in diagnostics if d.code == "F0210"]
    assert "in 3 of 3 folds" in found and "books, code, web" in found


def test_a_question_constrains_the_loss_of_one_label(tmp_path):
    path = tmp_path / "bounded.law"
    path.write_text(
        "question bounded\nindex i over validation\nindex j over training\nuses loss : mixing.m4\n"
        "choose r[j] in simplex\ngiven most > 0 unit nat/token\n"
        "minimize sum(loss[i](r[j]) for i)\nsubject to loss[py](r[j]) <= most\n"
    )
    runs = table_of_runs()
    rows = (runs["N"] == 4e6) & (runs["S"] == 3e4)
    fits = lawdsl.fit(
        "mixing.m4", {n: x[rows] for n, x in runs.items()}, r="r_*", L="L_*", starts=6
    )
    free, bound = (lawdsl.solve(path, loss=fits, most=most) for most in (100, 2.1))
    assert bound.goal.value > free.goal.value
    assert "loss[py]" in bound.where and "loss[py]" not in free.where


def test_a_condition_names_a_declaration_only_where_one_can_be_written(tmp_path):
    path = tmp_path / "example.law"
    path.write_text(
        "law example\nindex d over domain\nvariable N > 0\nparameter A[d] > 0\nparameter b[d]\n"
        "L[d] = A[d]*N^b[d]\nrequire L[d] decreasing in N expect conditional\n"
    )
    assert lawdsl.check(path).claims[0].remedy == ("b[d] < 0",)
    # no declaration is about two labels
    assert lawdsl.check("mixing.m4").claims[-1].remedy == ()
