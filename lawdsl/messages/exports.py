"""Messages about exports and imports of formulas."""

from __future__ import annotations

from lawdsl.messages.message import Message

EXPORTS: dict[str, Message] = {
    "E0101": Message(
        "an export to an unknown language",
        "Fits are exported to LaTeX, Python, NumPy, PyTorch, JAX, JavaScript and JSON: "
        '`lawdsl export fit.json --to numpy`, in Python `fit.export("numpy")`.',
    ),
    "E0102": Message(
        "an export of a law without values",
        "An exported formula has numbers for its parameters and settings. Fit the law and export the "
        "fit, or give all values: `lawdsl export chinchilla --to python --set E=1.69 …`, in Python "
        '`law.at(E=1.69, …).export("python")`. Index sets get their labels from a fit.',
    ),
}
