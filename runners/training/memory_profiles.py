"""The memory profiles of a model, each counted once: in this process, and for this user.

    python -m lawdsl.runners.training.memory_profiles

reads a source and settings as JSON from standard input, and writes the profiles as the last line of
standard output: for a process that is in a process group, and cannot count sharded passes itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict

import torch
import torch.distributed as dist
import transformers

from ..run.memory import MemoryProfile, PassSettings
from ..run.profile_cache import read_profile, write_profile
from ..spec import canonical_json
from .configurations import Source, plain_of
from .memory import profile
from .models import UNIMPORTANT

COUNTING = 1  # incremented whenever the counts of the same operations change; part of each key
# -P: a file of the working directory must not be imported in place of a module
COMMAND = (sys.executable, "-P", "-m", "lawdsl.runners.training.memory_profiles")
_COUNTED: dict[str, MemoryProfile] = {}  # in this process, in case the cache is not writable


def profiles_of(source: Source, settings: PassSettings) -> dict[bool, MemoryProfile]:
    """Return the profiles of a model, from the cache if available.

    Args:
        source: the model's folder, or its configuration as plain data.
        settings: the settings of the passes.

    Returns:
        The profiles by whether activations are checkpointed.

    Raises:
        Exception: any error, if the passes of the model cannot be counted on fake tensors.
    """
    return {
        checkpointed: _profile(source, settings, checkpointed) for checkpointed in (False, True)
    }


def _profile(source: Source, settings: PassSettings, checkpointed: bool) -> MemoryProfile:
    plain = {name: value for name, value in plain_of(source).items() if name not in UNIMPORTANT}
    key = {
        "counting": COUNTING,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "configuration": plain,
        "checkpointed": checkpointed,
        # the bytes depend only on whether there is a coefficient
        **asdict(settings) | {"router_loss": float(settings.router_loss != 0)},
    }
    name = canonical_json(key)
    if name not in _COUNTED:
        cached = read_profile(key)
        if cached is None:
            cached = _counted(source, settings, checkpointed)
            write_profile(key, cached)
        _COUNTED[name] = cached
    return _COUNTED[name]


def _counted(source: Source, settings: PassSettings, checkpointed: bool) -> MemoryProfile:
    if settings.shards == 1 or not dist.is_initialized():
        return profile(source, **asdict(settings), checkpointed=checkpointed)
    request = json.dumps([source, asdict(settings), checkpointed])
    done = subprocess.run(COMMAND, input=request, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the passes of the model could not be counted:\n{done.stderr}")
    return MemoryProfile.from_json(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    model, passes, is_checkpointed = json.load(sys.stdin)
    print(json.dumps(asdict(profile(model, **passes, checkpointed=is_checkpointed))))
