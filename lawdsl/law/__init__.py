"""Declarations -> Law: SymPy expressions, domains, claims."""

from lawdsl.law.law import Law as Law
from lawdsl.law.law import load as load
