"""`fit.to_torch()`: a module of PyTorch that predicts what the fit does, and can be trained on."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from exports import fitted, points

import lawdsl
from lawdsl.core import optional_packages
from lawdsl.fitting.result import Fit
from lawdsl.fitting.transforms import to_free

C4 = "laws/data/c4_share.csv"
PLAIN = ("chinchilla", "dcpt.l3", "cmr.domain")
INDEXED = ("mixing.m4", "mixing.bimix", "mixing.implicit", "dcpt.cross_k3", "mixing.additive")


def share_fit(**options: object) -> Fit:
    fit = lawdsl.fit("dcpt.share", C4, claims=False, rolled_check=False, **options)
    assert isinstance(fit, Fit)
    return fit


def share_rows() -> dict[str, torch.Tensor]:
    rows = np.loadtxt(C4, delimiter=",", comments=("#", "r"))
    return {"r": torch.tensor(rows[:, 0]), "L": torch.tensor(rows[:, 1])}


@pytest.mark.parametrize("name", [*PLAIN, *INDEXED])
def test_predictions_are_those_of_the_fit(name: str):
    fit = fitted(name)
    at = points(fit)
    predicted = fit.to_torch()({**at.values, **at.labels}).detach().numpy()
    np.testing.assert_allclose(predicted, fit(**at.values, **at.labels), rtol=1e-12)


@pytest.mark.parametrize("name", PLAIN)
def test_gradients_are_those_of_the_fit(name: str):
    fit = fitted(name)
    assert isinstance(fit, Fit)
    law, at, made = fit.read_law(), points(fit, 4), fit.to_torch()
    inputs = {
        n: torch.tensor(np.asarray(x, dtype=float), requires_grad=True)
        for n, x in at.values.items()
    }
    predicted = made(inputs)
    columns = np.stack([np.asarray(at.values[q.name], dtype=float) for q in law.variables])
    objective = law.objective.__class__(log=False)
    problem = fit.compiled(law, False).problem(columns, np.ones(columns.shape[1]), objective, None)
    free = to_free(problem.transforms, fit.theta_of(law)[None])
    expected = problem.residuals_and_slopes(free)[1][0]
    for k, q in enumerate(law.parameters):
        parameter = made.unconstrained[q.name]
        slopes = [torch.autograd.grad(x, parameter, retain_graph=True)[0].item() for x in predicted]
        np.testing.assert_allclose(slopes, expected[:, k], rtol=1e-9, atol=1e-14)
    predicted.sum().backward()
    assert all(x.grad is not None and bool(torch.isfinite(x.grad).all()) for x in inputs.values())


def test_training_on_returns_to_the_optimum():
    fit, rows = share_fit(objective="squared(raw)"), share_rows()
    made = fit.to_torch()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.05
    search = torch.optim.LBFGS(
        made.parameters(),
        max_iter=2000,
        tolerance_grad=1e-14,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
        history_size=20,
    )

    def loss() -> torch.Tensor:
        search.zero_grad()
        total = 1e4 * torch.sum((made(r=rows["r"]) - rows["L"]) ** 2)
        total.backward()
        return total

    search.step(loss)
    for name, value in made.parameter_values().items():
        assert value.item() == pytest.approx(fit.values[name], rel=1e-4)
    assert loss().item() / 1e4 == pytest.approx(fit.objective.sum, rel=1e-8)


def test_bounds_hold_at_every_step():
    made = fitted("dcpt.l3").to_torch()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter -= 1000.0
    values = {name: x.item() for name, x in made.parameter_values().items()}
    law = fitted("dcpt.l3").read_law()
    known = values | {q.name: q.value for q in law.settings}
    numbers = {symbol: known[name] for name, symbol in law.symbols.items() if name in known}
    limits = [
        (q.name, b.lower, float(b.limit.subs(numbers))) for q in law.parameters for b in q.bounds
    ]
    assert any(limit > 0 for _, _, limit in limits)
    for name, lower, limit in limits:
        assert values[name] >= limit if lower else values[name] <= limit


def test_fixed_parameters_are_buffers_and_tied_ones_follow():
    table = {
        "N": 10 ** np.linspace(7, 9, 12),
        "D": 10 ** (9 + 2 * np.modf(np.arange(12) * 0.38)[0]),
    }
    table["L"] = 1.7 + 400 / table["N"] ** 0.35 + 1500 / table["D"] ** 0.35
    fit = lawdsl.fit(
        "chinchilla", table, tie={"beta": "alpha"}, fix={"E": 1.7}, claims=False, rolled_check=False
    )
    made = fit.to_torch()
    assert set(made.unconstrained) == {"A", "B", "alpha"}
    before = made(N=1e8, D=1e10)
    with torch.no_grad():
        made.unconstrained["alpha"] += 0.1
    alpha = made.parameter_values()["alpha"].item()
    expected = fit(N=1e8, D=1e10) * 0 + 1.7
    expected += fit.values["A"] / 1e8**alpha + fit.values["B"] / 1e10**alpha
    assert made(N=1e8, D=1e10).item() == pytest.approx(expected, rel=1e-12) != before.item()


def test_states_are_saved_and_loaded():
    made, other = fitted("dcpt.l3").to_torch(), fitted("dcpt.l3").to_torch()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter *= 1.01
    file = io.BytesIO()
    torch.save(made.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    at = points(fitted("dcpt.l3")).values
    assert torch.equal(other(at), made(at))
    assert "unconstrained.alpha" in made.state_dict()


def test_types_and_shapes():
    made = share_fit().to_torch(dtype=torch.float32)
    out = made(r=np.array([[0.2], [0.5]]))
    assert out.dtype == torch.float32 and out.shape == (2, 1)
    assert made(r=0.5).shape == () and made.double()(r=0.5).dtype == torch.float64
    assert "dcpt.share, inputs=['r']" in repr(made)


def test_labels_are_names_or_positions():
    where = ["phase = end", "step = 400", "model = 0.08M"]
    quick = {"starts": 2, "claims": False, "rolled_check": False}
    table = "laws/data/four_domains.csv"
    fits = lawdsl.fit("mixing.m4", table, where=where, r="r_*", L="L_*", **quick)
    made = fits.to_torch()
    labels, training = made.labels["validation"], made.labels["training"]
    shares = np.random.default_rng(0).dirichlet(np.ones(len(training)), 3)
    every = made(r=shares)
    assert every.shape == (3, len(labels))
    for k, column in enumerate(every.T):
        assert torch.equal(made(r=shares, validation=labels[k]), column)
    positions = torch.tensor([1, 0, 1])
    rows = made(r=shares, validation=positions)
    assert torch.equal(rows, every[torch.arange(3), positions])
    assert torch.equal(rows, made(r=shares, validation=[labels[k] for k in positions]))
    mapped = {label: shares[:, k] for k, label in enumerate(training)}
    assert torch.allclose(made(r=mapped), every, rtol=1e-14)
    mapped.pop(training[0])
    assert torch.allclose(made(r=mapped), every, rtol=1e-12)


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({"r": [0.5, 0.5]}, "a value for each of"),
        ({"r": {"nothing": 1.0}}, "nothing"),
        ({"shares": 1.0}, "no variable 'shares'"),
        ({}, "needs values of r"),
        ({"validation": "nowhere"}, "needs values|none of"),
    ],
)
def test_wrong_inputs_are_refused(inputs: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        fitted("mixing.m4").to_torch()(inputs)


def test_values_outside_the_domain_are_refused():
    with pytest.raises(ValueError, match="r = 1.5 is outside its domain: <= 1"):
        share_fit().to_torch()(r=1.5)
    with pytest.raises(ValueError, match="do not broadcast"):
        fitted("chinchilla").to_torch()(N=[1e8] * 2, D=[1e10] * 3)


def test_laws_with_values_are_modules_without_parameters():
    law = lawdsl.load("chinchilla").at(E=1.8172, A=482.01, B=2085.43, alpha=0.3478, beta=0.3658)
    made = law.to_torch()
    assert not list(made.parameters())
    expected = 1.8172 + 482.01 / 1e9**0.3478 + 2085.43 / 1e11**0.3658
    assert made(N=1e9, D=1e11).item() == pytest.approx(expected, rel=1e-14)


def test_without_pytorch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    fit = share_fit()
    monkeypatch.setattr(optional_packages, "missing", lambda *packages: list(packages))
    with pytest.raises(lawdsl.LawdslError, match="R0101.*torch"):
        fit.to_torch()
