"""What each message of the language means, with an example: what `lawdsl explain` prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """One code.

    Attributes:
        title: the mistake in a few words.
        meaning: why it is one, and what to do.
        bad: laws that are answered with this code and no other; none where it takes files or size.
        good: the same, mended.
    """

    title: str
    meaning: str
    bad: tuple[str, ...] = ()
    good: str = ""


def _law(lines: str = "", equation: str = "L = A/N^alpha") -> str:
    """A small law with some lines of its own."""
    between = f"{lines}\n" if lines else ""
    return f"law example\nvariable N > 0\nparameter A, alpha > 0\n{between}{equation}\n"


def _lets(count: int) -> str:
    return "\n".join(
        ["let a0 = N + N", *(f"let a{i} = a{i - 1} + a{i - 1}" for i in range(1, count))]
    )


_LEXICAL = {
    "L0101": Message(
        "a character that has no place in a law",
        "Formulas are written in ASCII and Greek letters, so that two names that look alike are "
        "alike. Texts in quotes and comments may hold other letters, but none that control how a "
        "terminal shows them. Type the character that the help names, or remove it.",
        (
            _law(equation="L = A·N^alpha"),
            _law(equation="L = A/N^alpha;"),
            "law example 'A law'\nvariable N > 0\nparameter A > 0\nL = A/N\n",
            "law example\nvariable N > 0\nparameter А > 0\nL = A/N\n",
            _law("# it says \x1b[2Knothing"),
        ),
        _law(equation="L = A*N^alpha"),
    ),
    "L0102": Message(
        "a text without its closing quote",
        'A text begins and ends with `"` on one line. Close it; a `"` within a text is not possible.',
        (_law('source "Hoffmann et al. 2022'),),
        _law('source "Hoffmann et al. 2022"'),
    ),
    "L0103": Message(
        "a file that is too large",
        "A law file may have 1 MiB and 50,000 words, so that a file from anywhere can be checked "
        "quickly. Laws of papers have a few hundred words; data belong into a table.",
    ),
    "L0104": Message(
        "a formula that is nested too deeply",
        "Brackets, powers, signs and functions may be nested 100 deep, lets and extended laws "
        "written out. Name a part of the formula with `let`, or write it with fewer levels.",
        (
            _law(equation="L = " + "(" * 101 + "A/N^alpha" + ")" * 101),
            _law(equation="L = A/N^" + "-" * 101 + "alpha"),
        ),
        _law(equation="L = (A/N^alpha)"),
    ),
    "L0105": Message(
        "a formula that is too involved",
        "With its lets and extended laws written out a formula may have 20,000 parts, and algebra "
        "gets one second to build it; derivatives go up to order 6. Write the formula more simply.",
        (
            _law("require diff(L, N, N, N, N, N, N, N) < 0"),
            _law(_lets(14), "L = A/N^alpha + a13"),
        ),
        _law("require diff(L, N, N) > 0"),
    ),
    "L0106": Message(
        "a number that cannot be kept",
        "Numbers have at most 18 digits and go up to 1.8e308: beyond that they would be rounded "
        "or become infinite. Write large numbers with an exponent, as 1e20.",
        (
            _law(equation="L = A/N^alpha + 1234567890123456789"),
            _law(equation="L = A/N^alpha + 1e400"),
        ),
        _law(equation="L = A/N^alpha + 1.23456789e18"),
    ),
    "L0107": Message(
        "a number so small that it becomes 0",
        "The smallest number above 0 that can be computed with is 5e-324; what is smaller is 0. "
        "Write 0 if that is meant, or measure in a smaller unit.",
        (_law(equation="L = A/N^alpha + 1e-400"),),
        _law(equation="L = A/N^alpha + 1e-300"),
    ),
    "L0108": Message(
        "a name that is too long",
        "Names have at most 64 characters, each Greek letter counted as its name. Shorten it; the "
        'text in quotes behind a declaration can say more: parameter E "loss without limits".',
        (_law(f"parameter {'a' * 65} > 0"),),
        _law(f"parameter {'a' * 64} > 0", f"L = A/N^alpha + {'a' * 64}"),
    ),
    "L0109": Message(
        "too many statements",
        "A file may have 2,000 statements. Write several laws, of which one extends the other.",
    ),
    "L0110": Message(
        "too many mistakes",
        "After 100 mistakes the rest of the file is not read. Mend those that are shown; often a "
        "few of them have caused the others.",
    ),
}

_GRAMMATICAL = {
    "L0201": Message(
        "a word or sign where it cannot stand",
        "The line begins like a statement but does not go on like one. The help says what could "
        "stand there; the statements are listed with examples in the grammar's opening comment.",
        (
            _law(equation="L = A/N^alpha + .5"),
            _law(equation="L = A/ * N"),
            _law("parameter B = 3"),
            _law("variable r in 0..1"),
            _law("require L = 0"),
            _law("require 0 < L < 1"),
            _law("start A in [0, 1]"),
            _law("let c = np.exp(N)"),
            _law('setting s = 1 "doc" unit param'),
        ),
        _law(equation="L = A/N^alpha + 0.5"),
    ),
    "L0202": Message(
        "a bracket that is never closed",
        "Every bracket that is opened is closed in the same statement. A statement goes on over "
        "line ends while a bracket is open, but not beyond a line that begins another statement.",
        (_law(equation="L = A/(N^alpha"),),
        _law(equation="L = A/(N^alpha)"),
    ),
    "L0203": Message(
        "a missing operator",
        "Products are written with `*`: `2 A` or `(a)(b)` would leave open what `A(b)` means. "
        "Values beside each other in a list are separated by commas.",
        (
            _law(equation="L = 2 A/N^alpha"),
            _law(equation="L = (A + 1)(N + 1)^alpha"),
            _law("start A = 1 alpha = 2"),
        ),
        _law(equation="L = 2*A/N^alpha"),
    ),
    "L0204": Message(
        "a power written in another way",
        "Powers are written with `^`, as N^2: neither as N**2 nor as N².",
        (_law(equation="L = A/N**alpha"), _law(equation="L = A/N²^alpha")),
        _law(equation="L = A/N^alpha"),
    ),
    "L0205": Message(
        "a line that begins no statement",
        "Every line begins with the keyword of its statement; only the law's own equation has "
        "none, and begins `L = `. A formula that goes on in the next line ends with its operator.",
        (
            _law("paramter E > 0"),
            _law("∂L/∂N < 0"),
            "law example\nvariable N > 0\nparameter A > 0\nL(N) = A/N\n",
            _law(equation="L = A/N^alpha\n  + 1"),
        ),
        _law("parameter E > 0", "L = E + A/N^alpha"),
    ),
    "L0206": Message(
        "a word of the language used as a name",
        "Words that begin or join statements cannot be names, so that a line can be read in one "
        "way only. Choose another name.",
        (_law("let start = 2"), _law("parameter in > 0")),
        _law("let begin = 2", "L = A/N^alpha + begin"),
    ),
    "L0207": Message(
        "a line that ends too early",
        "Something must still follow. A line goes on in the next one only while a bracket is open "
        "or after an operator or comma.",
        (_law(equation="L = A/N^"), _law("require ∂L/∂N")),
        _law(equation="L = A/N^alpha"),
    ),
    "L0208": Message(
        "a closing bracket too many",
        "This bracket closes nothing: remove it, or open one where it belongs.",
        (_law(equation="L = A/N^alpha)"),),
        _law(equation="L = (A/N^alpha)"),
    ),
    "L0209": Message(
        "`==` for `=`",
        "Equality is written with one `=`, in definitions and in equations. A claim that two "
        "formulas agree is written `require L(r = r0) is chinchilla`, or as two claims <= and >=.",
        (_law(equation="L == A/N^alpha"),),
        _law(equation="L = A/N^alpha"),
    ),
    "L0210": Message(
        "a derivative whose order is not the number of its names",
        "The order above says how often the names below are derived by: ∂²L/∂D∂r or ∂²L/∂r², in "
        "ASCII diff(L, D, r) or diff(L, r, r). Correct the one or the other.",
        (_law("require ∂²L/∂N > 0"),),
        _law("require ∂²L/∂N² > 0"),
    ),
    "L0211": Message(
        "a word that is reserved",
        "`question` and `pipeline` will begin sections of a later version; they mean nothing yet. "
        "Remove the section.",
        (_law() + 'question best "How large a model?"\n',),
        _law(),
    ),
    "L0212": Message(
        "a comment begun in another way",
        "Comments begin with `#` and go to the end of the line.",
        (_law(equation="L = A/N^alpha  // the loss"),),
        _law(equation="L = A/N^alpha  # the loss"),
    ),
}

_NAMES = {
    "L0301": Message(
        "an unknown name",
        "Every name in a formula is declared above it: as a variable (a column of the data), a "
        "setting, a parameter (to be fitted) or a let. The help names the declared name that is "
        "most like it.",
        (
            _law(equation="L = A/N^alpa"),
            _law("require dL/dN < 0"),
            _law(equation="L = A/N^alpha + exp"),
        ),
        _law(equation="L = A/N^alpha"),
    ),
    "L0302": Message(
        "a name declared twice",
        "A name means one thing in a law, those that it extends included. Rename one. A second "
        "domain for a name that stands is no second declaration: `parameter A > 0`, later "
        "`parameter A < A_max`.",
        (_law("let A = 2"), _law("setting N = 2")),
        _law("let B = 2", "L = A*B/N^alpha"),
    ),
    "L0303": Message(
        "a name that has a fixed meaning",
        "The names of functions (exp, log, max, …), of constants (pi, oo) and of objectives "
        "(huber, squared) cannot be declared. `E`, `I`, `N`, `S`, `beta` and `lambda` can.",
        (_law("parameter exp > 0"), _law("let pi = 3")),
        _law("parameter lambda > 0", "L = A/N^alpha + lambda"),
    ),
    "L0304": Message(
        "an unknown function",
        "The functions are exp, log (natural), log10, sqrt, sin, cos, tan, atan, tanh, abs, min "
        "and max. A parameter before a bracket is no function: write the product with `*`.",
        (
            _law(equation="L = A/N^alpha + ln(N)"),
            _law(equation="L = A(N + 1)^alpha"),
            _law("require L < huber(L, 1)"),
        ),
        _law(equation="L = A/N^alpha + log(N)"),
    ),
    "L0305": Message(
        "wrong arguments",
        "A function takes one argument, min and max 2 to 8. The law itself is taken at named "
        "values, each given once: L(N = 7, D = 140).",
        (
            _law(equation="L = A/max(N)^alpha"),
            _law(equation="L = A/exp(N, 2)^alpha"),
            _law("require L(7) > 0"),
        ),
        _law("require L(N = 7) > 0"),
    ),
    "L0306": Message(
        "a name used before it is declared",
        "A law is read from top to bottom, as a paper is: move the line that declares the name "
        "above this one.",
        (_law("let a = 2*b\nlet b = A", "L = a/N^alpha"),),
        _law("let b = A\nlet a = 2*b", "L = a/N^alpha"),
    ),
    "L0307": Message(
        "names made of each other",
        "The definitions or ties go in a circle, which the message writes out as a path. Define one "
        "of the names without the others.",
        (
            _law("tie A = alpha\ntie alpha = A/2"),
            _law("let a = b\nlet b = a", "L = a/N^alpha"),
            _law("parameter C > C", "L = C/N^alpha + A"),
            _law("parameter C > 0\nlet D = 2*C\nparameter C > D", "L = C/N^alpha + A"),
        ),
        _law("let a = A\nlet b = a", "L = b/N^alpha"),
    ),
    "L0308": Message(
        "a name where it cannot be used",
        "The domain of a variable is made of numbers and settings, that of a parameter also of "
        "parameters and of lets that do not change with a variable. `oo` stands only in limits, "
        "a derivative only in a claim, and derivatives are taken by what varies.",
        (
            _law("parameter C > N", "L = C/N^alpha + A"),
            _law("variable D > A", "L = A/N^alpha + D"),
            _law("let C0 = 2*N\nparameter C > C0", "L = C/N^alpha + A"),
            _law("variable r in [0, oo)", "L = A/N^alpha + r"),
            _law("let slope = ∂A/∂N", "L = A/N^alpha + slope"),
            _law("require ∂L/∂L > 0"),
            _law("start alpha = A"),
        ),
        _law("parameter C > A", "L = C/N^alpha"),
    ),
    "L0309": Message(
        "a name that is never used",
        "The name is declared but stands in no formula: it may be a slip, and a parameter that "
        "does nothing cannot be fitted. Use it or remove it.",
        (_law("parameter B > 0"),),
        _law("parameter B > 0", "L = B + A/N^alpha"),
    ),
    "L0310": Message(
        "a law that is not found",
        "A law is looked for beside the file (dcpt.l3 is dcpt/l3.law there, and says so in its "
        "first line), then among those that ship with the tool; `lawdsl laws` lists them.",
        (
            "law example\nextends chinchila\nparameter F > 0\nL = chinchilla + F\n",
            _law("require L is chinchila"),
        ),
        "law example\nextends chinchilla\nparameter F > 0\nL = chinchilla + F\n",
    ),
    "L0311": Message(
        "laws that are built on each other",
        "A law may extend another and compare itself with others, but not in a circle, and on no "
        "more than 64 others, 16 on each other. The message writes out the path.",
        (_law("extends example"),),
        _law(),
    ),
    "L0312": Message(
        "a file that cannot be read",
        "A law is a regular file in UTF-8; a law that another one names lies in the folder of that "
        "one, and no link leads out of it.",
    ),
    "L0313": Message(
        "a file that is not written",
        "What stands in the way is named in the message: a file of that name, a folder that is "
        "missing or may not be written to. Nothing was changed.",
    ),
}

_MEANING = {
    "L0401": Message(
        "no `law` line, or not at the top",
        'A file begins with one line as: law my_law "what it says".',
        (
            "variable N > 0\nparameter A > 0\nL = A/N\n",
            "variable N > 0\nlaw example\nparameter A > 0\nL = A/N\n",
        ),
        "law example\nvariable N > 0\nparameter A > 0\nL = A/N\n",
    ),
    "L0402": Message(
        "no equation",
        "The law itself is missing: the one line that begins with no keyword, `L = …`.",
        ("law example\nvariable N > 0\nparameter A > 0\n",),
        "law example\nvariable N > 0\nparameter A > 0\nL = A/N\n",
    ),
    "L0403": Message(
        "a second one of what there is one of",
        "A file has one law, a law one equation and one objective, and it extends one law. Name "
        "parts of the law with `let`; write a second law to a file of its own.",
        (
            _law(equation="L = A/N^alpha\nM = 2*A"),
            _law() + "law second\n",
            _law("minimize squared(L)\nminimize huber(L, 1)"),
        ),
        _law("let M = 2*A", "L = M/N^alpha"),
    ),
    "L0404": Message(
        "no objective",
        "A fit minimises the sum over the rows of a loss of the residuals, log or raw: Huber's "
        "with its delta, or the square. Huber's delta is a number above 0.",
        (_law("minimize mse(L)"), _law("minimize huber(log(L), 0)")),
        _law("minimize huber(log(L), 1e-3)"),
    ),
    "L0405": Message(
        "a start that cannot be used",
        "Starts are numbers for parameters, each given once: points `start A = 1, alpha = 0.5`, "
        "or grids of `A`, of `log(A)`, or of `log(C - C0)` with C0 declared above C. The grids of "
        "a file are crossed, to at most 1,000,000 starts.",
        (
            _law("start N = 2"),
            _law("start A in {1, ..., 5}"),
            _law("start A in {0, 2, ..., 5}"),
            _law("start A in {alpha}"),
            _law("start exp(A) in {1, 2}"),
            _law("start A in {1, 2}\nstart log(A) in {1, 2}"),
            _law("start A = 1, A = 2"),
            _law("start log(A - alpha) in {0, 1}"),
            _law("start A, alpha in {0, 1, ..., 1000}"),
        ),
        _law("start log(A) in {0, 1, ..., 5}"),
    ),
    "L0406": Message(
        "a domain in which nothing lies",
        "The lower bound is not below the upper one. Write the smaller number first; [1, 1] is "
        "the one point 1, (1, 1] is empty.",
        (
            _law("variable r in [1, 0]", "L = A/N^alpha + r"),
            _law("variable r > 1, r < 0", "L = A/N^alpha + r"),
        ),
        _law("variable r in [0, 1]", "L = A/N^alpha + r"),
    ),
    "L0407": Message(
        "an unknown verdict",
        "Behind `expect` stands what is known of a claim that is not proved: conditional, refuted "
        "or undecided; without it `proved` is expected.",
        (_law("require ∂L/∂N > 0  expect false"),),
        _law("require ∂L/∂N > 0  expect refuted"),
    ),
    "L0408": Message(
        "an equation for another name than that of the extended law",
        "The claims, the objective and the starts of the extended law speak of its own left-hand "
        "side; the law that extends it has the same one.",
        ("law example\nextends chinchilla\nparameter F > 0\nM = chinchilla + F\n",),
        "law example\nextends chinchilla\nparameter F > 0\nL = chinchilla + F\n",
    ),
    "L0409": Message(
        "an unknown unit",
        "The units are param, token, FLOP, nat, bit, byte, step and second, with the prefixes k M "
        "G T P E, joined by `*` and `/`, with whole powers from 1 to 9.",
        (
            _law("setting s = 2 unit Gtokn", "L = s*A/N^alpha"),
            _law("setting s = 2 unit token^0.5", "L = s*A/N^alpha"),
        ),
        _law("setting s = 2 unit Gtoken", "L = s*A/N^alpha"),
    ),
    "L0410": Message(
        "units that do not fit",
        "Only values in one unit can be added or compared, and formulas compute with the numbers "
        "as they stand in their units. Convert one of them, or give a parameter between them a "
        "unit. A parameter without a unit takes the one that its place needs.",
        (
            _law("setting s = 1 unit token\nsetting t = 2 unit param", "L = A/N^alpha*(s + t)"),
            _law("setting s = 1 unit Mtoken\nsetting t = 2 unit Gtoken", "L = A/N^alpha*(s + t)"),
            _law("setting s = 1 unit token\nvariable D > s unit param", "L = A/N^alpha + A*D"),
        ),
        _law("setting s = 1 unit token\nsetting t = 2 unit token", "L = A/N^alpha*(s + t)"),
    ),
    "L0411": Message(
        "a function or exponent of a value with a unit",
        "log(N) changes by a constant when N is measured in another unit, and exp(N) has no "
        "meaning of its own. Divide by a reference value; where the paper means the number in "
        "that unit, the warning can stay.",
        (_law("variable D > 0 unit token", "L = A/N^alpha + log(D)"),),
        _law("variable D > 0 unit token\nsetting D0 = 1 unit token", "L = A/N^alpha + log(D/D0)"),
    ),
    "L0412": Message(
        "a setting that is not a number",
        "A setting is a known constant that a user may change. What depends on others is a `let`.",
        (_law("setting s = 2*A", "L = s/N^alpha"),),
        _law("let s = 2*A", "L = s/N^alpha"),
    ),
    "L0413": Message(
        "a parameter that cannot be held",
        "`fix E = 1.69` holds a parameter at a number, `tie beta = alpha` makes it a formula of "
        "other parameters. Each parameter is held once; settings have values already, variables "
        "are columns of the data.",
        (
            _law("fix N = 7"),
            _law("tie N = A"),
            _law("setting s = 2\nfix s = 3", "L = A/N^alpha + s"),
            _law("fix alpha = 2*A"),
            _law("fix A = 2\ntie A = alpha"),
        ),
        _law("fix alpha = 0.5"),
    ),
    "L0414": Message(
        "a held parameter that leaves its domain",
        "What a domain promises is kept when the parameter is fixed or tied: its value lies inside, "
        "or the domains of the others make it so. Where a bound of another parameter does it, that "
        "bound is added: with `tie B = A - C` and `B > 0` it is A > C. Choose another value or "
        'formula, or leave the bound out: `--without "B > 0"`.',
        (
            _law("fix alpha = -0.5"),
            _law("tie alpha = -A"),
            _law("tie alpha = A^2 - 3*A"),
            _law("parameter B in [0, alpha]\nfix B = 0.5\nfix alpha = 0.1", "L = A/N^alpha + B"),
        ),
        _law("tie alpha = A/2"),
    ),
    "L0501": Message(
        "a formula without a value",
        "1/0, 0^0, the logarithm of 0 and roots of negative numbers have no value, wherever they "
        "stand. Correct the formula.",
        (
            _law(equation="L = A/N^alpha + 1/0"),
            _law(equation="L = A/N^alpha + (0 - 8)^(1/3)"),
            _law("let zero = 1 - 1", "L = A/N^alpha + log(zero)"),
        ),
        _law(equation="L = A/N^alpha + 1/2"),
    ),
    "L0502": Message(
        "a number that is too large to compute",
        "Numbers that stand in a formula are computed exactly, so their powers are bounded: "
        "exponents by 1,000, results by what a computer can hold (5e-324 to 1.8e308).",
        (
            _law(equation="L = A/N^alpha + 9^9^9"),
            _law(equation="L = A/N^alpha + N^100000"),
            _law(equation="L = A/N^alpha + 1e300*N*1e300"),
        ),
        _law(equation="L = A/N^alpha + 9^9"),
    ),
    "L0503": Message(
        "a formula that may have no value",
        "Somewhere on the domain a division by 0, a root of a negative number or the like is not "
        "excluded. Declare the domains that the formula needs, or claim where it holds: `require "
        "L finite for …`.",
        (_law("variable x", "L = A/N^alpha + 1/x"),),
        _law("variable x > 0", "L = A/N^alpha + 1/x"),
    ),
}

MESSAGES: dict[str, Message] = _LEXICAL | _GRAMMATICAL | _NAMES | _MEANING
