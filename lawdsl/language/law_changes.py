"""Options of functions and commands, or the texts that a fit stores -> the changes of a law.

The changes are other values of settings, bounds left out or added, parameters that are fixed or tied,
and priors. The record applies them to a law; it loads neither the parser nor any algebra, so that
commands can read their options with it before they load anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, TypeVar

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.language.label_texts import LEFT_SIDE, split_element

_STATEMENT = re.compile(rf"\s*(?:fix|tie)\s+(?P<name>{LEFT_SIDE.pattern})")


class ChangeableLaw(Protocol):
    """A law that can be changed; each method returns the changed law."""

    def with_settings(self, **values: float) -> Self:
        """The law with other values of its settings."""
        ...

    def without(self, bound: str) -> Self:
        """The law without one bound."""
        ...

    def with_bound(self, bound: str) -> Self:
        """The law with one more bound."""
        ...

    def holding(self, statements: Iterable[str]) -> Self:
        """The law with further `fix` and `tie` statements, applied simultaneously."""
        ...

    def with_priors(self, texts: Iterable[str]) -> Self:
        """The law with further priors; `none` removes its own."""
        ...


ChangedLaw = TypeVar("ChangedLaw", bound=ChangeableLaw)


@dataclass(frozen=True)
class FixOrTie:
    """A statement that determines a parameter: `fix E = 1.69` or `tie beta = alpha`.

    Attributes:
        text: the statement. Fits store it as it is, and the digest of a law depends on it.
    """

    text: str

    @property
    def parameter(self) -> str:
        """The name of the parameter; empty where the text is not such a statement."""
        match = _STATEMENT.match(self.text)
        return match["name"].strip() if match else ""

    @property
    def base(self) -> str:
        """The name of the parameter without its subscripts."""
        return self.shape[0]

    @property
    def shape(self) -> tuple[str, int]:
        """The name of the parameter without its subscripts, and the number of these."""
        name, subscripts = split_element(self.parameter)
        return name, len(subscripts)

    @classmethod
    def fix(cls, name: str, number: float) -> FixOrTie:
        """The statement that fixes a parameter.

        Raises:
            LawdslError: the number is not finite.
        """
        if not math.isfinite(number):
            help = "fix it at a number inside its domain"
            message = f"`{name}` cannot be fixed at {number}"
            raise LawdslError(Diagnostic("L0413", message, help=help))
        # up to 1e15 a float is written without an exponent, and `fix E = 2` reads better than 2.0
        is_whole = float(number).is_integer() and abs(number) < 1e15
        return cls(f"fix {name} = {int(number) if is_whole else repr(float(number))}")

    @classmethod
    def tie(cls, name: str, formula: str) -> FixOrTie:
        """The statement that ties a parameter to a formula of others."""
        return cls(f"tie {name} = {' '.join(formula.split())}")


@dataclass(frozen=True)
class LawChanges:
    """The changes of a law.

    Attributes:
        settings: setting -> value in its unit.
        dropped: texts of the bounds that are left out: `C > C0`.
        added: texts of the bounds that are added: `C > B/gamma`.
        determined: the statements that fix and tie parameters, applied simultaneously.
        priors: texts of priors, `log(alpha) = log(0.35) ± 0.35`; `none` removes the law's own.
    """

    settings: Mapping[str, float] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    determined: tuple[FixOrTie, ...] = ()
    priors: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        settings: Mapping[str, float] | None = None,
        without: str | Sequence[str] = (),
        fix: Mapping[str, float] | None = None,
        tie: Mapping[str, str] | None = None,
        priors: str | Sequence[str] = (),
    ) -> LawChanges:
        """The changes that the options of a function or command ask for.

        Args:
            settings: setting -> value in its unit.
            without: one bound to leave out, `"C > C0"`, or several.
            fix: parameter -> number.
            tie: parameter -> formula of others as text.
            priors: one prior, `"log(alpha) = log(0.35) ± 0.35"`, or several; `"none"` removes the
                law's own.

        Raises:
            LawdslError: a parameter is fixed at a number that is not finite.
        """
        return cls(
            settings=dict(settings or {}),
            dropped=as_texts(without),
            determined=(
                *(FixOrTie.fix(name, number) for name, number in (fix or {}).items()),
                *(FixOrTie.tie(name, formula) for name, formula in (tie or {}).items()),
            ),
            priors=as_texts(priors),
        )

    @property
    def statements(self) -> tuple[str, ...]:
        """The texts of the `fix` and `tie` statements, as fits store them."""
        return tuple(statement.text for statement in self.determined)

    def __bool__(self) -> bool:
        """Whether there is any change."""
        changes = (self.settings, self.dropped, self.added, self.determined, self.priors)
        return any(map(bool, changes))

    def apply(self, law: ChangedLaw) -> ChangedLaw:
        """The law with these changes.

        Parameters are fixed and tied last: their bounds are checked with the settings, and without
        the bounds, that the other changes lead to.

        Raises:
            LawdslError: a setting, bound or parameter that the law does not have, or a change that
                contradicts its domains.
        """
        if self.settings:
            law = law.with_settings(**self.settings)
        for bound in self.dropped:
            law = law.without(bound)
        for bound in self.added:
            law = law.with_bound(bound)
        law = law.holding(self.statements)
        return law.with_priors(self.priors) if self.priors else law

    def determining(self, names: Collection[str]) -> LawChanges:
        """Only the statements that fix or tie one of the names, or some of its elements."""
        chosen = (s for s in self.determined if s.base in names or s.parameter in names)
        return LawChanges(determined=tuple(chosen))

    def freeing(self, names: Collection[str]) -> LawChanges:
        """The changes without the statements that fix or tie one of the names, or its elements."""
        chosen = self.determining(names).determined
        remaining = tuple(s for s in self.determined if s not in chosen)
        return replace(self, determined=remaining)
