"""Law -> structural identifiability: the directions of its parameters that no data can determine.

A symmetry is a transformation of the parameters that changes no prediction. Ball arithmetic at
random points shows in which directions the law's derivatives vanish (`points`, `null_space`);
closed forms for them are guessed (`closed_forms`), verified by algebra (`zero_test`) and integrated
(`orbits`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lawdsl.proof.identifiability.findings import findings
from lawdsl.proof.identifiability.result import Freedom, Symmetry

if TYPE_CHECKING:
    from lawdsl.proof.identifiability.symmetries import freedom

__all__ = ["Freedom", "Symmetry", "findings", "freedom"]


def __getattr__(name: str) -> Any:
    if name == "freedom":  # which loads computer algebra: cached results do without
        return import_module("lawdsl.proof.identifiability.symmetries").freedom
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
