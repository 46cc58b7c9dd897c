"""Parts of NumPy that SciPy loads without using them are not loaded.

SciPy copies every name of NumPy, and so loads its tools for Fortran and for tests, which take a quarter
of the time that SciPy itself takes. They become modules that Python loads when they are first used
(`importlib.util.LazyLoader`), whoever uses them.
"""

from __future__ import annotations

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

PARTS = ("numpy.f2py", "numpy.testing")


def postpone_unused_parts() -> None:
    """Let the parts wait until they are used. For commands that will load SciPy: this loads NumPy."""
    for name in PARTS:
        spec = None if name in sys.modules else find_spec(name)
        if spec is None or spec.loader is None:
            continue
        loader = spec.loader = LazyLoader(spec.loader)
        module = sys.modules[name] = module_from_spec(spec)
        loader.exec_module(module)
        package, _, part = name.rpartition(".")
        setattr(sys.modules[package], part, module)
