"""How large a `.law` file may be. A file is untrusted: every stage after these is fast and shallow."""

BYTES = 1 << 20
TOKENS = 50_000
NODES = 20_000  # of one formula, lets and extended laws written out
DEPTH = 100  # of brackets, signs and powers
DIGITS = 18  # of a number literal
NAME = 64  # characters of a name
FOLD_BITS = 1024  # of a number computed from numbers
DECLARATIONS = 2_000
ORDER = 6  # of a derivative
FILES = 64  # laws that one law is built on
