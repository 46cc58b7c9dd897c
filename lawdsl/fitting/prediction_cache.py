"""A cache of what predictions need of the law of a fit, in files of the user.

The first prediction of a fit reads its law, compiles it, and checks that the numbers of the fit are
consistent with it. Later ones find the result here, under the SHA-256 of the whole fit and of the
code of lawdsl: another fit, or the same after an edit of one character, has no entry. So what a fit file
from elsewhere contains is never taken at its word. An entry is checked too, and a damaged one is
replaced; verdicts and proofs are not in this cache.
"""

from __future__ import annotations

import contextlib

from lawdsl.core.entry_cache import LAW_FOLDERS, EntryCache
from lawdsl.fitting.ready_law import ready, with_ready_law
from lawdsl.fitting.result import Fit
from lawdsl.fitting.storage import NO_FIT, content_of

CACHE = EntryCache("predictions", 1, (*LAW_FOLDERS, "fitting", "fitting/preparation"))
MAX_ENTRIES = 256  # beyond these the oldest are removed


def ready_fit(text: str) -> Fit | None:
    """A fit with its law at hand, for predictions only.

    Args:
        text: the text of the file of the fit.

    Returns:
        The fit; None if the cache has no intact entry for it.
    """
    with contextlib.suppress(OSError, *NO_FIT):
        entry = CACHE.read(text)
        if entry is not None:
            return with_ready_law(Fit.of_json(content_of(text)), entry)
    return None


def keep(text: str, fit: Fit) -> None:
    """Keep what predictions of a fit need, if the cache is writable.

    Args:
        text: the text of the file of the fit.
        fit: the fit that was read from this text, and has predicted.
    """
    with contextlib.suppress(OSError, *NO_FIT):
        content = ready(fit)
        if content is not None:
            CACHE.keep(text, content, MAX_ENTRIES)
