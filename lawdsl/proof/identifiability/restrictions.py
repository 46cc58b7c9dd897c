"""Preferences of symmetry directions -> the parameters to fix, one for each.

Directions and parameters form a bipartite graph, whose matching is extended along augmenting paths
(Cormen, Leiserson, Rivest and Stein (2009), Introduction to Algorithms, 3rd ed., section 26.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawdsl.proof.identifiability.null_space import Unclear


def choose_fixed(
    preferred: Sequence[Sequence[str]],
    names: Sequence[str],
    independent: Callable[[Sequence[str]], bool],
) -> list[str]:
    """A parameter to fix for each direction, the most preferred one where that is possible.

    The first direction takes its first choice. What a later one prefers may already be determined
    by the parameters that are fixed: of a - b, c - d and a - c, with a and c fixed, the third has
    no parameter left. Then some other parameter (b or d) is fixed too and the directions exchange
    theirs, along an augmenting path of the bipartite matching between directions and parameters.

    Args:
        preferred: the parameters that each direction moves, the best one to fix first.
        names: all parameters.
        independent: whether the first n directions, reduced to these n parameters, are independent.

    Raises:
        Unclear: to the precision of the directions, no choice of parameters determines them.
    """
    owner: dict[str, int] = {}  # parameter -> direction
    for k, choices in enumerate(preferred):
        candidates = [name for name in dict.fromkeys((*choices, *names)) if name not in owner]
        new = next((name for name in candidates if independent([*owner, name])), None)
        if new is None:
            raise Unclear
        if new in choices:
            owner[new] = k
        elif not _assigned(k, preferred, {*owner, new}, owner, set()):
            raise Unclear
    fixed = {k: name for name, k in owner.items()}
    return [fixed[k] for k in range(len(preferred))]


def _assigned(
    k: int,
    preferred: Sequence[Sequence[str]],
    allowed: set[str],
    owner: dict[str, int],
    visited: set[str],
) -> bool:
    """Assign a parameter to a direction along an augmenting path: a direction that already has the
    parameter is assigned another one."""
    for name in preferred[k]:
        if name not in allowed or name in visited:
            continue
        visited.add(name)
        if name not in owner or _assigned(owner[name], preferred, allowed, owner, visited):
            owner[name] = k
            return True
    return False
