"""Law -> structural identifiability: the directions of its parameters that no data can determine.

A symmetry is a transformation of the parameters that changes no prediction. Ball arithmetic at
random points shows in which directions the law's derivatives vanish (`points`, `null_space`);
closed forms for them are guessed (`closed_forms`), verified by algebra (`zero_test`) and integrated
(`orbits`).
"""

from lawdsl.proof.identifiability.findings import findings
from lawdsl.proof.identifiability.result import Freedom, Symmetry
from lawdsl.proof.identifiability.symmetries import freedom

__all__ = ["Freedom", "Symmetry", "findings", "freedom"]
