"""How large a `.law` file may be: it is untrusted, and within these all stages are fast."""

BYTES = 1 << 20
TOKENS = 50_000
NODES = 20_000  # of one formula after expansion of lets and extended laws
DEPTH = 100  # of brackets, signs and powers after expansion of lets and extended laws
DIGITS = 18  # of a number literal
NAME = 64  # characters of a name
EXPONENT = 1_000  # magnitude of a number in an exponent
DECLARATIONS = 2_000
ORDER = 6  # of a derivative
UNIT_POWER = 9  # magnitude of a power of a unit
INDICES = 8  # of a law
SUBSCRIPTS = 3  # of a name
LABELS = 100  # of a set that a law numbers or lists
TERMS = 50_000  # of the sums of a law at given labels; elements and constraints of a question
STARTS = 1_000_000  # of all grids crossed
FILES = 64  # laws that one law is built on
CHAIN = 16  # laws each built on the next
MISTAKES = 100  # errors after which the rest of a file is not checked
