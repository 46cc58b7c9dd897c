"""Functions that generated Python modules define, where they use them: name -> source text.

They are constant texts: nothing of a law is in them.
"""

from __future__ import annotations

from collections.abc import Mapping

SHARED: Mapping[str, str] = {
    "_shares": '''
def _shares(name, values, labels, rest):
    """Shares in the order of the labels; one of them is 1 minus the others."""
    shares = _by_label(name, values, labels)
    for label, share in zip(labels, shares):
        _require(f"{name}[{label}]", share, share >= 0, "at least 0")
    total = sum(shares)
    _require(f"the sum of {name}", total, abs(total - 1) <= 0.02, "1")
    left = 1 - sum(share for k, share in enumerate(shares) if k != rest)
    shares[rest] = WHERE
    return shares
''',
    "_parameters": '''
def _parameters(parameters):
    """Values of all parameters: those that are given, and PARAMETERS for the others."""
    for name in parameters or {}:
        if name not in PARAMETERS:
            raise ValueError(f"{name!r} is none of the parameters: {', '.join(PARAMETERS)}")
    return {**PARAMETERS, **(parameters or {})}
''',
    "_position": """
def _position(name, label, labels):
    if str(label) not in labels:
        raise ValueError(f"{name} = {label!r} is none of {', '.join(labels)}")
    return labels.index(str(label))
""",
    "_labelled": '''
def _labelled(name, values, labels):
    """The values of a mapping, in the order of the labels."""
    if set(values.keys()) != set(labels):
        raise ValueError(f"{name} needs a value for each of {', '.join(labels)}, and no other")
    return [values[label] for label in labels]
''',
    "_at": """
def _at(values, positions):
    for position in positions:
        values = values[position]
    return values
""",
    "_free_slopes": '''
def _free_slopes(slopes, terms):
    """The derivatives by the free parameters, which move several elements where others are tied."""
    return [sum(factor * _at(slopes[name], at) for factor, name, at in each) for each in terms]
''',
    "_standard_error": '''
def _standard_error(slopes, factor, null_space, scale):
    """The length of F·g; infinite where the fitted rows do not determine the prediction."""
    error = _length([sum(f * g for f, g in zip(row, slopes)) for row in factor])
    if null_space:
        scaled = [s * g for s, g in zip(scale, slopes)]
        missed = _length([sum(x * g for x, g in zip(row, scaled)) for row in null_space])
        error = MISSED
    return INFINITE
''',
    "_length": """
def _length(values):
    return SQRT
""",
}
"""WHERE, MISSED, INFINITE and SQRT are expressions in the spelling of the target."""

PYTHON: Mapping[str, str] = {
    "_number": """
def _number(name, x):
    try:
        x = float(x)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {x!r:.80} is not a number") from None
    if not math.isfinite(x):
        raise ValueError(f"{name} = {x} is not a finite number")
    return x
""",
    "_require": """
def _require(name, x, inside, domain):
    if not inside:
        raise ValueError(f"{name} = {x} is outside its domain: {domain}")
""",
    "_by_label": """
def _by_label(name, values, labels):
    if not hasattr(values, "__iter__") or isinstance(values, str):
        raise TypeError(f"{name} needs a value for each of {', '.join(labels)}, not {values!r:.80}")
    values = _labelled(name, values, labels) if hasattr(values, "keys") else list(values)
    if len(values) != len(labels):
        raise ValueError(f"{name} needs a value for each of {', '.join(labels)}")
    return [_number(f"{name}[{label}]", x) for label, x in zip(labels, values)]
""",
    "_power": '''
def _power(x, y):
    """x**y by the rules of IEEE 754: never complex, never an exception."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan
''',
    "_divide": """
def _divide(x, y):
    try:
        return x / y
    except ZeroDivisionError:
        return math.copysign(math.inf, x) * math.copysign(1.0, y) if x < 0 or x > 0 else math.nan
""",
    "_exp": """
def _exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
""",
    "_log": """
def _log(x):
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan
""",
    "_log10": """
def _log10(x):
    return math.log10(x) if x > 0 else -math.inf if x == 0 else math.nan
""",
    "_sqrt": """
def _sqrt(x):
    return math.sqrt(x) if x >= 0 else math.nan
""",
    **{
        f"_{name}": f"""
def _{name}(x):
    return math.{name}(x) if math.isfinite(x) else math.nan
"""
        for name in ("sin", "cos", "tan")
    },
    "_sinh": """
def _sinh(x):
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(math.inf, x)
""",
    "_cosh": """
def _cosh(x):
    try:
        return math.cosh(x)
    except OverflowError:
        return math.inf
""",
    "_max": """
def _max(x, y):
    return x if x >= y or x != x else y
""",
    "_min": """
def _min(x, y):
    return x if x <= y or x != x else y
""",
    "_sign": """
def _sign(x):
    return float(x > 0) - float(x < 0) if x == x else x
""",
    "_step": """
def _step(x):
    return 1.0 if x > 0 else 0.0 if x < 0 else x + 0.5
""",
}

NUMPY: Mapping[str, str] = {
    "_array": """
def _array(name, x):
    try:
        return np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {x!r:.80} is neither a number nor an array of them") from None
""",
    "_number": """
def _number(name, x):
    x = _array(name, x)
    _require(name, x, np.isfinite(x), "a finite number")
    return x
""",
    "_require": """
def _require(name, x, inside, domain):
    if not np.all(inside):
        bad = np.ravel(x)[~np.ravel(inside)][0]
        raise ValueError(f"{name} = {bad} is outside its domain: {domain}")
""",
    "_by_label": """
def _by_label(name, values, labels):
    if hasattr(values, "keys"):
        values = _labelled(name, values, labels)
    else:
        values = _array(name, values)
        if values.shape[-1:] != (len(labels),):
            raise ValueError(f"the last axis of {name} has a value for each of {', '.join(labels)}")
        values = [values[..., k] for k in range(len(labels))]
    return [_number(f"{name}[{label}]", x) for label, x in zip(labels, values)]
""",
}

TORCH: Mapping[str, str] = {
    "_tensor": '''
def _tensor(x):
    """Tensors of floats as they are, with their gradients; all else in float64."""
    if isinstance(x, torch.Tensor) and x.is_floating_point():
        return x
    return torch.as_tensor(x, dtype=torch.float64)
''',
    "_given": """
def _given(name, x):
    try:
        return _tensor(x)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} = {x!r:.80} is neither a number nor a tensor of them") from None
""",
    "_number": """
def _number(name, x):
    x = _given(name, x)
    _require(name, x, torch.isfinite(x), "a finite number")
    return x
""",
    "_require": """
def _require(name, x, inside, domain):
    if not torch.all(inside):
        bad = x.reshape(-1)[~inside.reshape(-1)][0].item()
        raise ValueError(f"{name} = {bad} is outside its domain: {domain}")
""",
    "_by_label": """
def _by_label(name, values, labels):
    if hasattr(values, "keys"):
        values = _labelled(name, values, labels)
    else:
        values = _given(name, values)
        if values.shape[-1:] != (len(labels),):
            raise ValueError(f"the last axis of {name} has a value for each of {', '.join(labels)}")
        values = [values[..., k] for k in range(len(labels))]
    return [_number(f"{name}[{label}]", x) for label, x in zip(labels, values)]
""",
    "_sign": """
def _sign(x):
    return torch.where(x == x, torch.sign(x), x)  # torch.sign(NaN) is 0
""",
    "_choice": """
def _choice(condition, x, y):
    condition = _tensor(condition)
    x, y = (torch.as_tensor(v, dtype=condition.dtype, device=condition.device) for v in (x, y))
    return torch.where(condition > 0, x, torch.where(condition <= 0, y, condition))
""",
    "_max": """
def _max(x, y):
    return torch.maximum(_tensor(x), _tensor(y))
""",
    "_min": """
def _min(x, y):
    return torch.minimum(_tensor(x), _tensor(y))
""",
}

JAX: Mapping[str, str] = {
    "_array": """
def _array(name, x):
    try:
        return jnp.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {x!r:.80} is neither a number nor an array of them") from None
""",
    "_number": """
def _number(name, x):
    x = _array(name, x)
    _require(name, x, jnp.isfinite(x), "a finite number")
    return x
""",
    "_require": """
def _require(name, x, inside, domain):
    if isinstance(inside, jax.core.Tracer):
        return  # within jit, grad or vmap: there are no values yet
    if not jnp.all(inside):
        bad = jnp.ravel(x)[~jnp.ravel(inside)][0]
        raise ValueError(f"{name} = {bad} is outside its domain: {domain}")
""",
    "_by_label": """
def _by_label(name, values, labels):
    if hasattr(values, "keys"):
        values = _labelled(name, values, labels)
    else:
        values = _array(name, values)
        if values.shape[-1:] != (len(labels),):
            raise ValueError(f"the last axis of {name} has a value for each of {', '.join(labels)}")
        values = [values[..., k] for k in range(len(labels))]
    return [_number(f"{name}[{label}]", x) for label, x in zip(labels, values)]
""",
}
