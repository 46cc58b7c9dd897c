"""What no data can tell about a law's parameters, found before any data are seen.

A symmetry is a way to change the parameters that changes no prediction. Numbers of Arb say at random
points in which directions the law's slopes vanish (`balls`, `directions`); formulas for them are
guessed (`formulas`), verified by algebra (`identities`) and integrated (`flows`).
"""

from lawdsl.symmetries.finding import freedom
from lawdsl.symmetries.findings import findings
from lawdsl.symmetries.records import Freedom, Symmetry

__all__ = ["Freedom", "Symmetry", "findings", "freedom"]
