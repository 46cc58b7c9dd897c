"""A value of a sweep in another unit, or a word of other trainers -> what to write, as advice.

`branches` are parts of the steps, `warmup` is a number of steps; `bf16` is bfloat16.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

OTHER_WORDS: Mapping[str, Mapping[str, str]] = {
    "precision": {
        "bfloat16": "bf16 bfloat brain bf16-mixed bf16-true mixed amp torch.bfloat16",
        "float32": "fp32 f32 float single full 32 32-true torch.float32",
        "tf32": "tensorfloat tensorfloat32 tensorfloat-32 tf-32",
        "auto": "automatic",
    },
    "schedule": {
        "cosine": "cos cosine_with_restarts cosine-annealing cosine_annealing annealing",
        "constant": "const flat none fixed constant_with_warmup constant-with-warmup",
        "warmup-stable-decay": "wsd warmup_stable_decay trapezoidal trapezoid stable",
    },
    "initialization": {
        "width-scaled": "scaled mup mup width normal xavier",
        "transformers": "default hf huggingface auto random",
    },
    "log": {"wandb": "w&b weights-and-biases", "tensorboard": "tb board"},
}
"""Key -> its word -> words of other trainers for it."""
HALF = ("fp16", "float16", "half", "f16", "16", "16-mixed", "torch.float16")
MAX_LISTED = 4  # runs of a message
STEP_WORDS = ("linear", "uniform", "regular", "steps", "step", "every", "fixed", "constant")
"""Words for evaluations at equal intervals."""


def meant_word(key: str, value: Any) -> str:
    """The advice about a word that is not one of the choices; empty if its meaning is not known.

    Args:
        key: the key.
        value: its value.
    """
    word = str(value).strip().lower()
    if key == "precision" and word in HALF:
        return 'precision = "bfloat16" has 16 bits too: float16 is not supported'
    for choice, others in OTHER_WORDS.get(key, {}).items():
        if word in others.split():
            return f'write {key} = "{choice}"'
    return ""


def meant_evaluation(tag: Any, evaluation: Mapping[str, Any], schedules: Sequence[str]) -> str:
    """The advice about an unknown schedule of evaluations.

    Args:
        tag: the value of `schedule`.
        evaluation: the table.
        schedules: the schedules that there are.
    """
    word = str(tag).strip().lower()
    if word in ("logarithmic", "log", "geometric", "log-spaced", "doubling", "powers"):
        return 'list the steps: schedule = "list", steps = [10, 20, 40, 80]'
    if word in STEP_WORDS or "every" in evaluation:
        every = evaluation.get("every")
        after = (
            f"after every {every} steps" if isinstance(every, int) else "after every `every` steps"
        )
        return f'write schedule = "dense": {after}'
    if "steps" in evaluation:
        return 'write schedule = "list": after the steps in `steps`'
    return f'write one of {", ".join(schedules)}; "dense" evaluates after every `every` steps'


def meant_parts(table: Any, steps: Any) -> str:
    """The advice about ends of branches as numbers of steps or in per cent; empty if neither fits.

    Args:
        table: the value of `branches`.
        steps: `training.steps`.
    """
    entries = table if isinstance(table, list) else [table]
    numbers = [n for n in entries if isinstance(n, (int, float)) and not isinstance(n, bool)]
    if not numbers or len(numbers) < len(entries) or min(numbers) <= 0 or max(numbers) <= 1:
        return ""
    known = isinstance(steps, int) and not isinstance(steps, bool)
    forms = [("steps", steps)] if known and max(numbers) <= steps else []
    if max(numbers) <= 100 and not (known and max(numbers) == steps):
        forms.append(("per cent", 100))
    if not forms:
        return "branches are parts of the steps, such as [0.25, 0.5, 1]"
    whole = f"the {steps} steps" if known else "the steps"
    written = [
        (kind, f"[{', '.join(_part(number, total) for number in numbers)}]")
        for kind, total in forms
    ]
    if len(written) == 1:
        return f"branches are parts of {whole}: write branches = {written[0][1]}"
    meant = ", or ".join(f"{text} if these are {kind}" for kind, text in written)
    return f"branches are parts of {whole}: write {meant}"


def _part(number: float, total: int) -> str:
    part = Fraction(str(number)) / total
    decimal = f"{float(part):.6g}"
    if Fraction(decimal) == part:
        return decimal
    return f'"{part}"'


def meant_steps(key: str, value: Any, steps: Any) -> str:
    """The advice about a number of steps that is written as a part of all steps, or in per cent;
    empty if it is not.

    Args:
        key: the key, `warmup`.
        value: its value.
        steps: `training.steps`.
    """
    part = _fraction(value)
    if part is None or not isinstance(steps, int) or isinstance(steps, bool) or steps <= 0:
        return ""
    number = max(round(part * steps), 1)
    return (
        f"`{key}` is a number of steps; {float(part * 100):g} % of {steps} steps is {number}: "
        f"write {key} = {number}"
    )


def meant_decay(value: Any) -> str:
    """The advice about a decay of branches that is a number of steps, or in per cent; else empty.

    Args:
        value: the value of `decay` in [schedule].
    """
    if isinstance(value, int) and value > 1:
        return f"a decay is a part of its branch, such as 0.1; in steps write decay_steps = {value}"
    part = _fraction(value)
    return f"write decay = {float(part):g}" if part is not None else ""


def _fraction(value: Any) -> Fraction | None:
    """A number between 0 and 1, `10%`, or "1/10"."""
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    percent = text.endswith("%")
    try:
        number = Fraction(text.rstrip("% ")) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        return None
    return number if 0 < number < 1 or (percent and number == 1) else None


def meant_runs(label: str, labels: Sequence[str]) -> str:
    """The advice about a label without all its parts, or with them in another order; empty if none
    has all that it names.

    Args:
        label: the label, `20k_code=0.1` or `code=0.1`.
        labels: the labels that there are.
    """
    named = _label_parts(label)
    found = [other for other in labels if named <= _label_parts(other)]
    cells = [other for other in found if not any(other.startswith(f"{o}_") for o in found)]
    if not named or not cells:
        return ""
    if len(cells) == 1:
        return f"did you mean `{cells[0]}`?"
    listed = ", ".join(f'"{cell}"' for cell in cells[:MAX_LISTED])
    more = f", and {len(cells) - MAX_LISTED} more" if len(cells) > MAX_LISTED else ""
    return f"it names {len(cells)} runs: list those that are meant, {listed}{more}"


def _label_parts(label: str) -> set[str]:
    parts = re.split(r"[\s_,;/]+", label.strip())
    return {re.sub(r"=(0?\.[0-9]*?)0+$", r"=\1", part) for part in parts if part}
