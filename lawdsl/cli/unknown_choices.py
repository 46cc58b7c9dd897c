"""A value of an option that is not among its choices -> the choice that is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lawdsl.core.losses import LOSSES
from lawdsl.language.keywords import nearest

UNKNOWN = re.compile(r"'(?P<value>.*)' is not one of ", re.DOTALL)

OTHER_NAMES = {
    "--intervals": {
        "bootstrap": "boot bootstrapping resample resampling percentile bca",
        "delta": "wald hessian fisher laplace linear linearised linearized asymptotic gaussian "
        "normal sandwich",
        "profile": "likelihood profile-likelihood profile_likelihood lr",
    },
    "--to": {
        "torch": "pytorch",
        "python": "py python3",
        "numpy": "np",
        "latex": "tex",
        "javascript": "js node",
    },
    "--kind": {
        "fit": "scatter line curve prediction predictions fitted",
        "residuals": "error errors",
        "landscape": "contour contours surface heatmap 3d",
        "profile": "likelihood",
    },
    "--device": {"cuda": "gpu nvidia", "cpu": "host"},
    "--deduplicate": {"none": "no off false", "documents": "docs", "paragraphs": "par"},
}
"""Option -> choice -> names that other programs have for it."""

LOSS_WORDS = {
    "squared": "mse rmse msle ols l2 lsq leastsquares least square squares squared quadratic "
    "gaussian nls",
    "absolute": "mae mape l1 lad abs absolute laplace",
    "quantile": "quantile pinball",
    "huber": "huber smooth_l1 pseudo_huber",
}
"""Loss -> words for it in other programs."""
_LOSS_OF = {word: loss for loss, words in LOSS_WORDS.items() for word in words.split()}

_NUMBER = re.compile(r"(?<![\w.])[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?(?![\w.])")


def meant_choice(option: str, value: str, choices: Sequence[str]) -> str | None:
    """What to write for a value that is not among the choices: `--to torch`; None if not known.

    Args:
        option: the name of the option.
        value: the unknown value.
        choices: the known ones.
    """
    if option == "--objective":
        return _objective(value, choices)
    if option == "--intervals" and re.fullmatch(r"0?\.[0-9]+|[0-9.]+\s*%", value.strip()):
        percent = value.strip().removesuffix("%").strip()
        return f"--level {float(percent) / (100 if '%' in value else 1):g}"
    word = value.strip().strip("\"'").lower()
    for choice, others in OTHER_NAMES.get(option, {}).items():
        if word in others.split() and choice in choices:
            return f"{option} {choice}"
    alike = nearest(word, choices)
    return f"{option} {alike}" if alike else None


def _objective(value: str, choices: Sequence[str]) -> str | None:
    """The options for an objective as papers and other programs write it: `huber(log(L), 1e-3)`."""
    words = re.findall(r"[a-z]+[0-9]?(?:_[a-z0-9]+)?", value.lower())
    parts = [part for word in words for part in (word, *word.split("_"))]
    known = {**_LOSS_OF, **{row: row for row in LOSSES}}
    loss = next((known[part] for part in parts if part in known), None)
    alike = None if loss else nearest(words[0] if words else value, LOSSES)
    loss = loss or alike
    if loss is None:
        return None
    logarithmic = bool({"log", "ln", "msle", "log10"} & set(parts)) or any(
        part.startswith("log") for part in parts
    )
    scale = "(log)" if logarithmic else "(raw)" if "raw" in parts or "linear" in parts else ""
    written = f"{loss}{scale}"
    if written not in choices:
        return None
    options = f"--objective {written}" if not scale else f"--objective '{written}'"
    number = _NUMBER.search(value)
    row = LOSSES[loss]
    if number and row.parameters:
        options += f" --{row.parameters[0]} {number[0]}"
    return options
