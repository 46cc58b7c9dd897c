"""Messages about how the text of a law is written."""

from __future__ import annotations

from lawdsl.messages.examples import law, lets
from lawdsl.messages.message import Message

LEXICAL: dict[str, Message] = {
    "L0101": Message(
        "a character that has no place in a law",
        "Formulas are written in ASCII and Greek letters, so that two names that look alike are "
        "alike. Texts in quotes and comments may hold other letters, but none that control how a "
        "terminal shows them. Type the character that the help names, or remove it.",
        (
            law(equation="L = A·N^alpha"),
            law(equation="L = A/N^alpha;"),
            "law example 'A law'\nvariable N > 0\nparameter A > 0\nL = A/N\n",
            "law example\nvariable N > 0\nparameter А > 0\nL = A/N\n",
            law("# it says \x1b[2Knothing"),
        ),
        law(equation="L = A*N^alpha"),
    ),
    "L0102": Message(
        "a text without its closing quote",
        'A text begins and ends with `"` on one line. Close it; a `"` within a text is not possible.',
        (law('source "Hoffmann et al. 2022'),),
        law('source "Hoffmann et al. 2022"'),
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
            law(equation="L = " + "(" * 101 + "A/N^alpha" + ")" * 101),
            law(equation="L = A/N^" + "-" * 101 + "alpha"),
        ),
        law(equation="L = (A/N^alpha)"),
    ),
    "L0105": Message(
        "a formula that is too involved",
        "With its lets and extended laws written out a formula may have 20,000 parts, and algebra "
        "gets one second to build it; derivatives go up to order 6. Write the formula more simply.",
        (
            law("require diff(L, N, N, N, N, N, N, N) < 0"),
            law(lets(14), "L = A/N^alpha + a13"),
        ),
        law("require diff(L, N, N) > 0"),
    ),
    "L0106": Message(
        "a number that cannot be kept",
        "Numbers have at most 18 digits and go up to 1.8e308: beyond that they would be rounded "
        "or become infinite. Write large numbers with an exponent, as 1e20.",
        (
            law(equation="L = A/N^alpha + 1234567890123456789"),
            law(equation="L = A/N^alpha + 1e400"),
        ),
        law(equation="L = A/N^alpha + 1.23456789e18"),
    ),
    "L0107": Message(
        "a number so small that it becomes 0",
        "The smallest number above 0 that can be computed with is 5e-324; what is smaller is 0. "
        "Write 0 if that is meant, or measure in a smaller unit.",
        (law(equation="L = A/N^alpha + 1e-400"),),
        law(equation="L = A/N^alpha + 1e-300"),
    ),
    "L0108": Message(
        "a name that is too long",
        "Names have at most 64 characters, each Greek letter counted as its name. Shorten it; the "
        'text in quotes after a declaration can say more: parameter E "loss without limits".',
        (law(f"parameter {'a' * 65} > 0"),),
        law(f"parameter {'a' * 64} > 0", f"L = A/N^alpha + {'a' * 64}"),
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
    "L0111": Message(
        "a value that is not a finite number",
        "Settings and parameters are finite numbers: nothing can be proved, fitted or predicted at "
        "`nan` or `inf`. To see what a law does far out, claim a limit, `require L -> E as D -> oo`, "
        "or give a large number.",
    ),
}

GRAMMATICAL: dict[str, Message] = {
    "L0201": Message(
        "a word or sign where it cannot stand",
        "The line begins like a statement but does not go on like one. The help says what could "
        "stand there; the statements are listed with examples in the grammar's opening comment.",
        (
            law(equation="L = A/N^alpha + .5"),
            law(equation="L = A/ * N"),
            law("parameter B = 3"),
            law("variable r in 0..1"),
            law("require L = 0"),
            law("require 0 < L < 1"),
            law("start A in [0, 1]"),
            law("let c = np.exp(N)"),
            law('setting s = 1 "doc" unit param'),
        ),
        law(equation="L = A/N^alpha + 0.5"),
    ),
    "L0202": Message(
        "a bracket that is never closed",
        "Every bracket that is opened is closed in the same statement. A statement goes on over "
        "line ends while a bracket is open, but not beyond a line that begins another statement.",
        (law(equation="L = A/(N^alpha"),),
        law(equation="L = A/(N^alpha)"),
    ),
    "L0203": Message(
        "a missing operator",
        "Products are written with `*`: `2 A` or `(a)(b)` would leave open what `A(b)` means. "
        "Values beside each other in a list are separated by commas.",
        (
            law(equation="L = 2 A/N^alpha"),
            law(equation="L = (A + 1)(N + 1)^alpha"),
            law("start A = 1 alpha = 2"),
        ),
        law(equation="L = 2*A/N^alpha"),
    ),
    "L0204": Message(
        "a power written in another way",
        "Powers are written with `^`, as N^2: neither as N**2 nor as N².",
        (law(equation="L = A/N**alpha"), law(equation="L = A/N²^alpha")),
        law(equation="L = A/N^alpha"),
    ),
    "L0205": Message(
        "a line that begins no statement",
        "Every line begins with the keyword of its statement; only the law's own equation has "
        "none, and begins `L = `. A formula that goes on in the next line ends with its operator.",
        (
            law("paramter E > 0"),
            law("∂L/∂N < 0"),
            "law example\nvariable N > 0\nparameter A > 0\nL(N) = A/N\n",
            law(equation="L = A/N^alpha\n  + 1"),
        ),
        law("parameter E > 0", "L = E + A/N^alpha"),
    ),
    "L0206": Message(
        "a word of the language used as a name",
        "Words that begin or join statements cannot be names, so that a line can be read in one "
        "way only. Choose another name.",
        (law("let start = 2"), law("parameter in > 0")),
        law("let begin = 2", "L = A/N^alpha + begin"),
    ),
    "L0207": Message(
        "a line that ends too early",
        "Something must still follow. A line goes on in the next one only while a bracket is open "
        "or after an operator or comma.",
        (law(equation="L = A/N^"), law("require ∂L/∂N")),
        law(equation="L = A/N^alpha"),
    ),
    "L0208": Message(
        "a closing bracket too many",
        "This bracket closes nothing: remove it, or open one where it belongs.",
        (law(equation="L = A/N^alpha)"),),
        law(equation="L = (A/N^alpha)"),
    ),
    "L0209": Message(
        "`==` for `=`",
        "Equality is written with one `=`, in definitions and in equations. A claim that two "
        "formulas agree is written `require L(r = r0) is chinchilla`, or as two claims <= and >=.",
        (law(equation="L == A/N^alpha"),),
        law(equation="L = A/N^alpha"),
    ),
    "L0210": Message(
        "a derivative whose order is not the number of its names",
        "The order above says how often the names below are derived by: ∂²L/∂D∂r or ∂²L/∂r², in "
        "ASCII diff(L, D, r) or diff(L, r, r). Correct the one or the other.",
        (law("require ∂²L/∂N > 0"),),
        law("require ∂²L/∂N² > 0"),
    ),
    "L0212": Message(
        "a comment begun in another way",
        "Comments begin with `#` and go to the end of the line.",
        (law(equation="L = A/N^alpha  // the loss"),),
        law(equation="L = A/N^alpha  # the loss"),
    ),
}
