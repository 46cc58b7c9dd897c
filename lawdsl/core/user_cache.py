"""The location of caches of results, which are kept between commands."""

from __future__ import annotations

import os
from pathlib import Path

OFF = "LAWDSL_NO_CACHE"


def user_cache(kind: str) -> Path | None:
    """Return the folder of a user's cache: `kind` in `$XDG_CACHE_HOME/lawdsl`, by default in
    `~/.cache/lawdsl`.

    Where the environment variable LAWDSL_NO_CACHE is set to any text, there is no cache.

    It need not exist and may not be writable, so callers must work without a cache.

    Args:
        kind: the name of the cache.

    Returns:
        The folder; None for a user without a home directory, or without a cache.
    """
    if os.environ.get(OFF):
        return None
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # according to the XDG specification, a relative path is invalid and ignored
        base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base / "lawdsl" / kind
