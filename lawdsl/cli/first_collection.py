"""No collection of garbage while a command starts.

Imports make hundreds of thousands of objects, none of which is garbage; Python's collector looks at
them again and again, for a tenth of the time of a short command.
"""

from __future__ import annotations

import gc

OBJECTS = 400_000
"""So many objects are made before the first collection. Those of all imports of a command are fewer."""


def postpone_first_collection() -> None:
    """Let the collector of this process wait for OBJECTS objects, and then go on as usual."""
    usual = gc.get_threshold()

    def go_on(phase: str, info: dict[str, int]) -> None:
        gc.set_threshold(*usual)
        gc.callbacks.remove(go_on)

    # 0: the collector is switched off
    if 0 < usual[0] < OBJECTS:
        gc.callbacks.append(go_on)
        gc.set_threshold(OBJECTS, *usual[1:])
