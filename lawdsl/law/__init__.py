"""Declarations -> Law: SymPy expressions, domains, claims."""

from lawdsl.law.law import Law as Law, load as load
