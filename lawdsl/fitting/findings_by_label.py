"""Fits of many labels -> their diagnostics, each once, with the labels that it concerns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged
from lawdsl.fitting.result import Fit
from lawdsl.language.label_texts import INDEXED_NAME, split_element, with_subscripts

MAX_LABELS_LISTED = 8  # labels in the location of a diagnostic


def merge_findings(parts: Sequence[Fit]) -> list[Diagnostic]:
    """Merge the diagnostics of several fits, in the order in which they first occur.

    Diagnostics that differ only in the label of the rows are merged: those about `t[github, web]`
    and about `t[books, web]` become one about `t[i, web]`.
    """
    parts_by_finding: dict[Diagnostic, list[tuple[str, Diagnostic]]] = {}
    for part in parts:
        for d in part.diagnostics:
            parts_by_finding.setdefault(_generalise_diagnostic(d, part), []).append(
                (label_of(part), d)
            )
    return [
        _diagnostic_of_labels(general, labelled, len(parts))
        for general, labelled in parts_by_finding.items()
    ]


def label_of(part: Fit) -> str:
    """The label of the rows of a part; empty if the part contains rows of all labels."""
    return part.law.instance.text if part.law.instance else ""


def generalise_labels(text: str, part: Fit) -> str:
    """Replace the labels of a part by their indices in a text about its parameters.

    Args:
        text: the text, with names of parameters, `t[github, web]`.
        part: the fit that the text is about.
    """
    if part.law.instance is None or not part.law.instance.at:
        return text
    names = {*part.parameters, *part.held}
    labels_of_rows = part.law.instance.at
    return INDEXED_NAME.sub(
        lambda m: generalise_name(m[0], labels_of_rows) if m[0] in names else m[0], text
    )


def generalise_name(name: str, labels: Mapping[str, str]) -> str:
    """Replace labels by their indices in the name of a parameter: `t[github, web]` -> `t[i, web]`.

    Args:
        name: the name of the parameter.
        labels: index -> label.
    """
    base, chosen = split_element(name)
    subscripts = list(chosen)
    for index, label in labels.items():
        if label in subscripts:
            subscripts[subscripts.index(label)] = index
    return with_subscripts(base, subscripts)


def _generalise_diagnostic(d: Diagnostic, part: Fit) -> Diagnostic:
    return replace(
        d,
        message=generalise_labels(d.message, part),
        notes=tuple(generalise_labels(note, part) for note in d.notes),
        help=None if d.help is None else generalise_labels(d.help, part),
    )


def _diagnostic_of_labels(
    general: Diagnostic, labelled: Sequence[tuple[str, Diagnostic]], parts: int
) -> Diagnostic:
    """One diagnostic for all labels that it concerns."""
    labels = [label for label, _ in labelled]
    if len(labelled) == 1:
        return replace(labelled[0][1], place=", ".join(filter(None, (labels[0], general.place))))
    listing = listed_labels(labels, parts)
    return replace(general, place=f"{listing}: {general.place}" if general.place else listing)


def listed_labels(labels: Sequence[str], parts: int) -> str:
    """List labels as text, at most eight by name.

    Args:
        labels: the labels to list.
        parts: the total number of labels; the text is "all N labels" if these are all.
    """
    if len(labels) == parts > 1:
        return f"all {parts} labels"
    return abridged(labels, MAX_LABELS_LISTED)
