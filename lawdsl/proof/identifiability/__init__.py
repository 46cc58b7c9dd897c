"""Structural identifiability: what no data can determine about a law's parameters.

A symmetry is a way to change the parameters that changes no prediction. Numbers of Arb say at
random points in which directions the law's slopes vanish (`balls`, `directions`); formulas for them
are guessed (`formulas`), verified by algebra (`identities`) and integrated (`flows`).
"""

from lawdsl.proof.identifiability.findings import findings
from lawdsl.proof.identifiability.result import Freedom, Symmetry
from lawdsl.proof.identifiability.symmetries import freedom

__all__ = ["Freedom", "Symmetry", "findings", "freedom"]
