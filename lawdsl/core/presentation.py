"""Displays of public results, such as figures, which are implemented in packages that import the
records.

Records of results have methods such as `plot`. To avoid circular imports, `lawdsl/__init__.py`
registers the functions that implement them; they are imported when they are first called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from lawdsl.core.optional_packages import needs
from lawdsl.core.warning_categories import NotTrustedWarning, warn

_homes: dict[str, str] = {}


def register(homes: Mapping[str, str]) -> None:
    """Register the functions that implement the displays of results.

    Args:
        homes: name of a display -> its function as `module:function`, `lawdsl.figures.draw:draw`.
    """
    _homes.update(homes)


def presenter(name: str) -> Callable[..., Any]:
    """The function that implements a display.

    Args:
        name: the name of the display.

    Raises:
        KeyError: a display that is not registered.
    """
    module, _, function = _homes[name].partition(":")
    return getattr(import_module(module), function)


class Presented:
    """The displays that every public record of a result has."""

    __slots__ = ()

    def __str__(self) -> str:
        """The report of this result as plain text, as on a terminal."""
        text: str = presenter("text")(self)
        return text

    def _repr_html_(self) -> str:
        """The report of this result as HTML, for notebooks."""
        html: str = presenter("html")(self)
        return html

    def to_frame(self) -> Any:
        """The rows of this result as a data frame: the parameters of a fit, the claims of a check, …

        Returns:
            A frame of pandas, of polars where pandas is not installed, else a table of pyarrow.
        """
        return presenter("frame")(self)

    def plot(self, kind: str | None = None, /, **options: Any) -> Any:
        """Draw a figure of this result.

        Args:
            kind: one of the kinds listed by `lawdsl plot --help`; by default the first that the
                result has.
            options: the options of the kind, such as `x`, `color` and `data` of `fit`.

        Returns:
            A `lawdsl.figures.figure.Figure`: its tidy table, its Altair chart and its title. A
            notebook shows it; `.save("fit.svg")` writes it. There is a `NotTrustedWarning` where
            the fit is not trusted, and the figure says so.

        Raises:
            LawdslError: Altair is not installed (G0101), a kind that this result does not have
                (G0102), or invalid options (G0103, G0104).
        """
        figure = presenter("plot")(self, kind, **options)
        warn(figure.warnings, NotTrustedWarning)
        return figure

    def report(self, path: str | Path, /, *others: Any) -> Path:
        """Write a report of this result: law, claims, data, fit, figures, answers, commands.

        Args:
            path: .html, one page without network requests; .md, Markdown with its figures beside
                it.
            others: further results for the report: `fit.report("report.html", answer)`.

        Returns:
            The path.

        Raises:
            LawdslError: another suffix (G0121), libraries that are not installed (R0101), or a file
                that cannot be written (L0313).
        """
        written: Path = presenter("report")(self, path, *others)
        return written


class Exportable:
    """Export of the formula of fits and laws for use elsewhere.

    Modules for Python, NumPy, PyTorch, JAX and JavaScript depend on that library only. They check
    domains, and compute predictions, intervals and derivatives.
    """

    __slots__ = ()

    def export(self, to: str, /, **options: Any) -> str:
        """The formula with its values in another language, as text.

        Args:
            to: latex, python, numpy, torch, jax, javascript or json.
            options: `level` of the intervals, 0.95 for 95 %.

        Raises:
            LawdslError: another target (E0101), a law with a parameter that has no value (E0102), or
                a level outside 0.5 to 0.999 (F0120).
        """
        text: str = presenter("export")(self, to, **options)
        return text

    def to_latex(self) -> str:
        """The formula, its definitions and the values of the parameters, for a paper."""
        return self.export("latex")

    def to_python(self, **options: Any) -> str:
        """A Python module that computes with floats and needs no library."""
        return self.export("python", **options)

    def to_numpy(self, **options: Any) -> str:
        """A Python module on NumPy arrays."""
        return self.export("numpy", **options)

    def to_torch(self, **options: Any) -> Any:
        """A `torch.nn.Module` that predicts, passes gradients on, and can be trained on.

        The text of a Python module that needs PyTorch alone is `export("torch")`.

        Args:
            options: `dtype`, torch.float64 by default, and `device`.

        Returns:
            A `lawdsl.exporting.torch_module.LawModule`. Its trained parameters are the
            unconstrained coordinates of the fit, so that every step stays inside the domains.

        Raises:
            LawdslError: PyTorch is not installed (R0101); a law with a parameter that has no value
                (E0102).
        """
        needs("torch")
        return presenter("torch")(self, **options)

    def to_jax(self, **options: Any) -> str:
        """A Python module on JAX arrays, for `jit`, `grad` and `vmap` too."""
        return self.export("jax", **options)

    def to_javascript(self, **options: Any) -> str:
        """A JavaScript module without dependencies."""
        return self.export("javascript", **options)
