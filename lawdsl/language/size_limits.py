"""How large a `.law` file may be: it is untrusted, and within these all stages are fast."""

MAX_BYTES = 1 << 20  # of a file; of all files that one law is built on
MAX_TOKENS = 50_000
MAX_NODES = 20_000  # of one formula after expansion of lets and extended laws
MAX_NESTING = 100  # of brackets, signs and powers after expansion of lets and extended laws
MAX_DIGITS = 18  # of a number literal
MAX_NAME_LENGTH = 64  # characters of a name
MAX_LITERAL_EXPONENT = 1_000  # magnitude of a number in an exponent
MAX_DECLARATIONS = 2_000
MAX_DERIVATIVE_ORDER = 6  # of a derivative
MAX_UNIT_POWER = 9  # magnitude of a power of a unit
MAX_INDICES = 8  # of a law
MAX_SUBSCRIPTS = 3  # of a name
MAX_LABELS = 100  # of a set that a law numbers or lists
MAX_TERMS = 50_000  # of the sums of a law at given labels; elements and constraints of a question
MAX_STARTS = 1_000_000  # of all grids crossed
MAX_FILES = 64  # laws that one law is built on
MAX_CHAIN = 16  # laws each built on the next
MAX_ERRORS = 100  # errors after which the rest of a file is not checked
