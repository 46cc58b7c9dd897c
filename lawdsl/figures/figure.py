"""The record of a figure: its table, chart and title; and the files that it is saved to."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import PageEncoder, write_bytes
from lawdsl.core.output_files import writing

if TYPE_CHECKING:
    import altair as alt

Format = Literal["svg", "png", "pdf", "html", "json"]

FORMATS: Mapping[str, Format] = {
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
    ".html": "html",
    ".json": "json",
}
"""Suffix of a file -> the format that Altair writes."""
_COORDINATES = re.compile(r' (?:transform|d)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e[-+]\d+)?")
VEGA_LITE = "application/vnd.vegalite.v6+json"
"""The media type of live charts. Altair's own media type ends in `.json`, which notebook files may
only use for JSON values.
"""
PNG_SCALE = 2.0
"""Pixels of a PNG per pixel of the figure: 2 for high-density screens."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of a result.

    Attributes:
        kind: one of the kinds in `lawdsl.figures.draw`.
        title: what the figure shows, as a sentence.
        columns: the tidy table that is drawn: name -> one value for each row.
        chart: the Altair chart of that table, with title and theme.
        description: the alternative text, for readers who do not see the figure.
        notes: which data were thinned, binned or left out.
        warnings: F0110 if the fit should not be trusted; also stated in the figure.
    """

    kind: str
    title: str
    columns: Mapping[str, Sequence[Any]] = field(repr=False)
    chart: alt.TopLevelMixin = field(repr=False)
    description: str = field(repr=False)
    notes: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """The title, and what was thinned, binned or left out."""
        return "\n".join([self.title, *self.notes])

    def save(self, path: str | Path) -> Path:
        """Write the figure in the format of the file's name.

        Args:
            path: .svg, .png or .pdf; .html, one page that needs no network; .json, the Vega-Lite
                specification with its data.

        Returns:
            The path.

        Raises:
            LawdslError: another suffix (G0105), or a file that cannot be written (L0313).
        """
        path = Path(path)
        content = self.encoded(figure_format(path))
        with writing(path):
            write_bytes(path, content)
        return path

    def encoded(self, format: Format) -> bytes:
        """The figure as the content of a file.

        Args:
            format: svg, png, pdf, html or json.

        Returns:
            The bytes: UTF-8 text of svg, html and json.

        Raises:
            ValueError: another format.
        """
        if format == "svg":
            return self._with_description(self._svg()).encode()
        options: dict[str, Any] = {}
        if format == "png":
            options["scale_factor"] = PNG_SCALE
        elif format == "html":
            options |= {"inline": True, "json_kwds": {"cls": PageEncoder}}
        if format in ("html", "json"):
            text = io.StringIO()
            self.chart.save(text, format=format, **options)
            return text.getvalue().encode()
        image = io.BytesIO()
        self.chart.save(image, format=format, **options)
        return image.getvalue()

    def _svg(self) -> str:
        """The chart as Altair draws it."""
        from altair.utils.mimebundle import spec_to_mimebundle

        # `chart.save` would check the specification against Vega-Lite's schema, which takes half as
        # long as drawing it
        specification = self.chart.to_dict(validate=False)
        drawn = spec_to_mimebundle(specification, "svg", mode="vega-lite")
        assert isinstance(drawn, dict)
        return str(drawn["image/svg+xml"])

    def _with_description(self, svg: str) -> str:
        """The SVG file with its description for screen readers, and coordinates to a hundredth of a
        pixel.
        """
        tag, end, marks = svg.partition(">")
        rounded = _COORDINATES.sub(
            lambda found: _LONG.sub(lambda number: f"{float(number[0]):.2f}", found[0]), marks
        )
        said = f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
        return f'{tag} role="img"{end}{said}{rounded}'

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        """The chart in notebooks: live where they draw Vega-Lite themselves, else an SVG.

        Altair's default is a page that loads its scripts from the network. A renderer that the user
        has enabled, `altair.renderers.enable("jupyter")`, is not replaced.
        """
        import altair as alt

        if alt.renderers.active != "default":
            return self.chart._repr_mimebundle_(*arguments, **options)
        return {
            VEGA_LITE: json.loads(self.encoded("json")),
            "image/svg+xml": self.encoded("svg").decode(),
            "text/plain": self.title,
        }


def figure_format(path: Path) -> Format:
    """The format of a figure file, by its suffix.

    Raises:
        LawdslError: a suffix that no figure has (G0105).
    """
    format = FORMATS.get(path.suffix.lower())
    if format is None:
        message = f"a figure cannot be written as {path.suffix or path.name!r}"
        help = f"end the name of the file in one of {', '.join(FORMATS)}"
        raise LawdslError(Diagnostic("G0105", message, help=help))
    return format


def refuse_own_columns(what: str, names: Iterable[str], own: Iterable[str]) -> None:
    """Raise an error for names of a law that a figure would overwrite by columns of its own.

    Args:
        what: the kind of the figure.
        names: the names that become columns of its table.
        own: the columns that it adds.

    Raises:
        LawdslError: a name that is also one of these columns (G0107).
    """
    both = sorted({*names} & {*own})
    if both:
        message = f"{' and '.join(both)} would be overwritten by what a figure of kind {what} adds"
        help = f"rename {both[0]} in a copy of the law: the figure has columns {', '.join(own)}"
        raise LawdslError(Diagnostic("G0107", message, help=help))


def chart_of(columns: Mapping[str, Any]) -> alt.Chart:
    """A chart whose data are a tidy table.

    Args:
        columns: name -> values, all of one length.
    """
    chart, data = _shared_classes()
    made: alt.Chart = chart(data(records(columns)))
    return made


@cache
def _shared_classes() -> tuple[Any, Any]:
    """Chart and data classes whose copies share their contents.

    Altair copies each layer of a chart, with every cell of its table and every property, about ten
    times while it composes the chart, but never modifies marks, encodings or data in place.
    """
    import altair as alt

    class SharedChart(alt.Chart):
        def __deepcopy__(self, memo: Any = None) -> SharedChart:
            known: dict[str, Any] = self._kwds
            lists = [n for n in ("transform", "params") if isinstance(known.get(n), list)]
            return self.copy(deep=lists)

    class SharedData(alt.InlineData):
        def __deepcopy__(self, memo: Any = None) -> SharedData:
            return self

    return SharedChart, SharedData


def records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A tidy table as rows of plain values, in which numbers that are not finite are null.

    Args:
        columns: name -> values, all of one length.
    """
    plain = {name: _plain(values) for name, values in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _plain(values: Sequence[Any]) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        return [None if x is None else x for x in values]
    if array.dtype.kind == "f":
        return [x if np.isfinite(x) else None for x in array.tolist()]
    return list(array.tolist())
