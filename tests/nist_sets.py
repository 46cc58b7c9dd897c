"""The 27 sets of NIST StRD nonlinear regression, as laws without bounds and without starts.

Source: NIST/ITL Statistical Reference Datasets, which are in the public domain; the rows are in
fixtures/nist/data. A set is solved where the residual sum of squares is the certified one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from simulated import Case

DATA = Path(__file__).parent / "fixtures" / "nist" / "data"

EXPONENTIALS = "b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"
PEAKS = "b1*exp(-b2*x) + b3*exp(-(x - b4)^2/b5^2) + b6*exp(-(x - b7)^2/b8^2)"
CUBICS = "(b1 + b2*x + b3*x^2 + b4*x^3)/(1 + b5*x + b6*x^2 + b7*x^3)"
CHWIRUT = "exp(-b1*x)/(b2 + b3*x)"
CYCLES = "b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12)"
CYCLES += "".join(
    f" + {c}*cos(2*pi*x/{p}) + {s}*sin(2*pi*x/{p})"
    for p, c, s in (("b4", "b5", "b6"), ("b7", "b8", "b9"))
)
FORMULAS: dict[str, tuple[str, float]] = {
    "Misra1a": ("b1*(1 - exp(-b2*x))", 1.2455138894e-1),
    "Chwirut2": (CHWIRUT, 5.1304802941e2),
    "Chwirut1": (CHWIRUT, 2.3844771393e3),
    "Lanczos3": (EXPONENTIALS, 1.6117193594e-8),
    "Gauss1": (PEAKS, 1.3158222432e3),
    "Gauss2": (PEAKS, 1.2475282092e3),
    "DanWood": ("b1*x^b2", 4.3173084083e-3),
    "Misra1b": ("b1*(1 - (1 + b2*x/2)^(-2))", 7.5464681533e-2),
    "Kirby2": ("(b1 + b2*x + b3*x^2)/(1 + b4*x + b5*x^2)", 3.9050739624),
    "Hahn1": (CUBICS, 1.5324382854),
    "Nelson": ("exp(b1 - b2*x1*exp(-b3*x2))", 3.7976833176),
    "MGH17": ("b1 + b2*exp(-x*b4) + b3*exp(-x*b5)", 5.4648946975e-5),
    "Lanczos1": (EXPONENTIALS, 1.4307867721e-25),
    "Lanczos2": (EXPONENTIALS, 2.2299428125e-11),
    "Gauss3": (PEAKS, 1.2444846360e3),
    "Misra1c": ("b1*(1 - (1 + 2*b2*x)^(-0.5))", 4.0966836971e-2),
    "Misra1d": ("b1*b2*x/(1 + b2*x)", 5.6419295283e-2),
    "Roszman1": ("b1 - b2*x - atan(b3/(x - b4))/pi", 4.9484847331e-4),
    "ENSO": (CYCLES, 7.8853978668e2),
    "MGH09": ("b1*(x^2 + x*b2)/(x^2 + x*b3 + b4)", 3.0750560385e-4),
    "Thurber": (CUBICS, 5.6427082397e3),
    "BoxBOD": ("b1*(1 - exp(-b2*x))", 1.1680088766e3),
    "Rat42": ("b1/(1 + exp(b2 - b3*x))", 8.0565229338),
    "MGH10": ("b1*exp(b2/(x + b3))", 8.7945855171e1),
    "Eckerle4": ("b1/b2*exp(-0.5*((x - b3)/b2)^2)", 1.4635887487e-3),
    "Rat43": ("b1/(1 + exp(b2 - b3*x))^(1/b4)", 8.7864049080e3),
    "Bennett5": ("b1*(b2 + x)^(-1/b3)", 5.2404744073e-4),
}
"""Set -> its formula, and the certified residual sum of squares."""


def _case(name: str, formula: str, known: float) -> Case:
    path = DATA / f"{name.lower()}.csv"
    header = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    columns = np.loadtxt(path, delimiter=",", skiprows=1).T
    variables = ", ".join(header[1:])
    count = max(int(c) for c in "123456789" if f"b{c}" in formula)
    parameters = ", ".join(f"b{i}" for i in range(1, count + 1))
    goal = "squared(log(y))" if name == "Nelson" else "squared(y)"
    domain = " > 0" if name == "DanWood" else ""
    law = f"variable {variables}{domain}\nparameter {parameters}\ny = {formula}\nminimize {goal}"
    table = dict(zip(header, columns, strict=True))
    rounding = 1e-20 * float(np.sum(table["y"] ** 2)) if name == "Lanczos1" else 0.0
    return Case(name, law, table, known, rounding=rounding)


SETS = [_case(name, formula, known) for name, (formula, known) in FORMULAS.items()]
