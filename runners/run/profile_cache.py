"""A cache of memory profiles in files of the user; torch is not loaded.

The name of a file is the hash of everything that determines the profile. If a file is damaged or
cannot be written, the passes are counted again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lawdsl.core.files import read_json, write
from lawdsl.core.user_cache import user_cache

from .memory import MemoryProfile

KIND = "memory"
MAX_BYTES = 2**20  # bytes; a profile has some kilobytes


def read_profile(key: Mapping[str, Any]) -> MemoryProfile | None:
    """Read a profile.

    Args:
        key: all that decides it, as plain data.

    Returns:
        The profile; None if no intact one is cached.
    """
    path = _path(key)
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        if path is not None:
            cached = read_json(path, limit=MAX_BYTES)
            if cached["digest"] == _digest(key, cached["profile"]):
                return MemoryProfile.from_json(cached["profile"])
    return None


def write_profile(key: Mapping[str, Any], profile: MemoryProfile) -> None:
    """Store a profile, if the cache is writable.

    Args:
        key: all that decides it, as plain data.
        profile: the profile.
    """
    path = _path(key)
    if path is None:
        return
    plain = json.loads(json.dumps(asdict(profile)))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, json.dumps({"profile": plain, "digest": _digest(key, plain)}) + "\n")


def _path(key: Mapping[str, Any]) -> Path | None:
    folder = user_cache(KIND)
    return None if folder is None else folder / f"{_digest(key)}.json"


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
