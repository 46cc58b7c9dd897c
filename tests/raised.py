"""The errors with which calls end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lawdsl.core.diagnostics import LawdslError


def code_and_text(call: Callable[[], object]) -> tuple[str, str]:
    """The code of the error that a call ends with, and all of its text."""
    with pytest.raises(LawdslError) as error:
        call()
    return error.value.diagnostics[0].code, str(error.value)


def code_of(call: Callable[[], object]) -> str:
    """The code of the error that a call ends with."""
    return code_and_text(call)[0]
