"""Where results are cached for a user, between commands."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(kind: str) -> Path | None:
    """Return the folder of a cache of the user: `$XDG_CACHE_HOME/lawdsl`, by default
    `~/.cache/lawdsl`, and in it `kind`.

    It need not exist, and may not be writable: a cache must be dispensable.

    Args:
        kind: the name of the cache.

    Returns:
        The folder; None for a user without a home.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # the specification of XDG: a relative path is invalid and ignored
        base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base / "lawdsl" / kind
