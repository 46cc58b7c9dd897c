"""Messages about what a law says: its names, domains, claims and formulas."""

from __future__ import annotations

from lawdsl.messages.examples import law
from lawdsl.messages.message import Message

NAMES: dict[str, Message] = {
    "L0301": Message(
        "an unknown name",
        "Every name in a formula is declared above it: as a variable (a column of the data), a "
        "setting, a parameter (to be fitted) or a let. The help names the declared name that is "
        "most like it.",
        (
            law(equation="L = A/N^alpa"),
            law("require dL/dN < 0"),
            law(equation="L = A/N^alpha + exp"),
        ),
        law(equation="L = A/N^alpha"),
    ),
    "L0302": Message(
        "a name declared twice",
        "A name means one thing in a law, those that it extends included. Rename one. A second "
        "domain for a declared name is not a second declaration: `parameter A > 0`, later "
        "`parameter A < A_max`.",
        (
            law("let A = 2"),
            law("setting N = 2"),
            law("parameter B, C, B > 0", "L = A/N^alpha + B + C"),
        ),
        law("let B = 2", "L = A*B/N^alpha"),
    ),
    "L0303": Message(
        "a name that has a fixed meaning",
        "The names of functions (exp, log, max, …), of constants (pi, oo) and of objectives "
        "(huber, squared, straightest) cannot be declared. `E`, `I`, `N`, `S`, `beta` and `lambda` can.",
        (law("parameter exp > 0"), law("let pi = 3")),
        law("parameter lambda > 0", "L = A/N^alpha + lambda"),
    ),
    "L0304": Message(
        "an unknown function",
        "The functions are exp, log (natural), log10, sqrt, sin, cos, tan, atan, tanh, abs, min "
        "and max. A parameter before a bracket is not a function: write the product with `*`.",
        (
            law(equation="L = A/N^alpha + ln(N)"),
            law(equation="L = A(N + 1)^alpha"),
            law("require L < huber(L, 1)"),
        ),
        law(equation="L = A/N^alpha + log(N)"),
    ),
    "L0305": Message(
        "wrong arguments",
        "A function takes one argument, min and max 2 to 8. The law itself is taken at named "
        "values, each given once: L(N = 7, D = 140).",
        (
            law(equation="L = A/max(N)^alpha"),
            law(equation="L = A/exp(N, 2)^alpha"),
            law("require L(7) > 0"),
        ),
        law("require L(N = 7) > 0"),
    ),
    "L0306": Message(
        "a name used before it is declared",
        "A law is read from top to bottom, as a paper is: move the line that declares the name "
        "above this one.",
        (law("let a = 2*b\nlet b = A", "L = a/N^alpha"),),
        law("let b = A\nlet a = 2*b", "L = a/N^alpha"),
    ),
    "L0307": Message(
        "names made of each other",
        "The definitions or ties go in a circle, which the message writes out as a path. Define one "
        "of the names without the others.",
        (
            law("tie A = alpha\ntie alpha = A/2"),
            law("let a = b\nlet b = a", "L = a/N^alpha"),
            law("parameter C > C", "L = C/N^alpha + A"),
            law("parameter C > 0\nlet D = 2*C\nparameter C > D", "L = C/N^alpha + A"),
        ),
        law("let a = A\nlet b = a", "L = b/N^alpha"),
    ),
    "L0308": Message(
        "a name where it cannot be used",
        "The domain of a variable is made of numbers and settings, that of a parameter also of "
        "parameters and of lets that do not change with a variable. `oo` stands only in limits, "
        "a derivative only in a claim, and derivatives are taken by what varies.",
        (
            law("parameter C > N", "L = C/N^alpha + A"),
            law("variable D > A", "L = A/N^alpha + D"),
            law("let C0 = 2*N\nparameter C > C0", "L = C/N^alpha + A"),
            law("variable r in [0, oo)", "L = A/N^alpha + r"),
            law("let slope = ∂A/∂N", "L = A/N^alpha + slope"),
            law("require ∂L/∂L > 0"),
            law("start alpha = A"),
        ),
        law("parameter C > A", "L = C/N^alpha"),
    ),
    "L0309": Message(
        "a name that is never used",
        "The name is declared but stands in no formula: it may be a slip, and a parameter that "
        "does nothing cannot be fitted. Use it or remove it.",
        (law("parameter B > 0"),),
        law("parameter B > 0", "L = B + A/N^alpha"),
    ),
    "L0323": Message(
        "a claim that is made twice",
        "Two `require` lines of the file claim the same under the same conditions; the claim is "
        "decided once. One of them may be meant to be another.",
        (law(equation="L = A/N^alpha\nrequire L finite\nrequire L finite"),),
        law(equation="L = A/N^alpha\nrequire L finite"),
    ),
    "L0310": Message(
        "a law that is not found",
        "A law is looked for beside the file (dcpt.l3 is dcpt/l3.law there, and says so in its "
        "first line), then among those that ship with the tool; `lawdsl laws` lists them.",
        (
            "law example\nextends chinchila\nparameter F > 0\nL = chinchilla + F\n",
            law("require L is chinchila"),
        ),
        "law example\nextends chinchilla\nparameter F > 0\nL = chinchilla + F\n",
    ),
    "L0311": Message(
        "laws that are built on each other",
        "A law may extend another and compare itself with others, but not in a circle, and on no "
        "more than 64 others, 16 on each other. The message writes out the path.",
        (law("extends example"),),
        law(),
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

MEANING: dict[str, Message] = {
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
            law(equation="L = A/N^alpha\nM = 2*A"),
            law() + "law second\n",
            law("minimize squared(L)\nminimize huber(L, 1)"),
        ),
        law("let M = 2*A", "L = M/N^alpha"),
    ),
    "L0404": Message(
        "no objective",
        "A fit minimises the sum over the rows of a loss of the residuals, log or raw: Huber's "
        "with its delta, the square, the absolute value, or the check loss of a quantile. Huber's "
        "delta is a number above 0, a quantile one between 0 and 1. One parameter, without "
        "subscripts, may be chosen before the others are fitted: where log(L - c) is nearest to "
        "linear, of 10 to 1,000,000 values if a number is given.",
        (
            law("minimize mse(L)"),
            law("minimize huber(log(L), 0)"),
            law("minimize quantile(log(L), 1)"),
            law("minimize absolute(log(L), 0.1)"),
            law("minimize squared(L, N = straightest(log(L - N)))"),
            law("minimize squared(L, A = straightest(log(L - alpha)))"),
            law("minimize squared(L, A = straightest(log(L - A), 2.5))"),
        ),
        law("minimize huber(log(L), 1e-3)"),
    ),
    "L0405": Message(
        "a start that cannot be used",
        "Starts are numbers for parameters within their bounds, each given once: points `start A = 1, alpha = 0.5`, "
        "or grids of `A`, of `log(A)`, or of `log(C - C0)` with C0 declared above C. The grids of "
        "a file are crossed, to at most 1,000,000 starts.",
        (
            law("start N = 2"),
            law("start A in {1, ..., 5}"),
            law("start A in {0, 2, ..., 5}"),
            law("start A in {alpha}"),
            law("start exp(A) in {1, 2}"),
            law("start A in {1, 2}\nstart log(A) in {1, 2}"),
            law("start A = 1, A = 2"),
            law("start log(A - alpha) in {0, 1}"),
            law("start A, alpha in {1, 2, ..., 1001}"),
            law("start alpha in {0, 1}"),
        ),
        law("start log(A) in {0, 1, ..., 5}"),
    ),
    "L0406": Message(
        "a domain in which nothing lies",
        "The lower bound is not below the upper one. Write the smaller number first; [1, 1] is "
        "the one point 1, (1, 1] is empty. Bounds of several names may exclude each other, too: "
        "a > 0, b > a and b < 0.",
        (
            law("variable r in [1, 0]", "L = A/N^alpha + r"),
            law("variable r > 1, r < 0", "L = A/N^alpha + r"),
            law("parameter C > A, C < 0", "L = A/N^alpha + C"),
        ),
        law("variable r in [0, 1]", "L = A/N^alpha + r"),
    ),
    "L0407": Message(
        "an unknown verdict",
        "Behind `expect` stands what is known of a claim that is not proved: conditional, refuted "
        "or undecided; without it `proved` is expected.",
        (law("require ∂L/∂N > 0  expect false"),),
        law("require ∂L/∂N > 0  expect refuted"),
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
        "The units are param, token, FLOP, nat, bit, byte, step, char, example, second, hour and GPU, "
        "with the prefixes k M G T P E, joined by `*` and `/`, with whole powers from 1 to 9.",
        (
            law("setting s = 2 unit Gtokn", "L = s*A/N^alpha"),
            law("setting s = 2 unit token^0.5", "L = s*A/N^alpha"),
        ),
        law("setting s = 2 unit Gtoken", "L = s*A/N^alpha"),
    ),
    "L0410": Message(
        "units that do not fit",
        "Only values in one unit can be added or compared, and formulas compute with the numbers "
        "as they stand in their units. Convert one of them, or give a parameter between them a "
        "unit. A parameter without a unit takes the one that its place needs. A condition that compares "
        "a variable without a unit with one that has a unit is a warning.",
        (
            law("setting s = 1 unit token\nsetting t = 2 unit param", "L = A/N^alpha*(s + t)"),
            law("setting s = 1 unit Mtoken\nsetting t = 2 unit Gtoken", "L = A/N^alpha*(s + t)"),
            law("setting s = 1 unit token\nvariable D > s unit param", "L = A/N^alpha + A*D"),
        ),
        law("setting s = 1 unit token\nsetting t = 2 unit token", "L = A/N^alpha*(s + t)"),
    ),
    "L0411": Message(
        "a function or exponent of a value with a unit",
        "log(N) changes by a constant when N is measured in another unit, and exp(N) has no "
        "meaning of its own. Divide by a reference value; where the paper means the number in "
        "that unit, the warning can stay.",
        (law("variable D > 0 unit token", "L = A/N^alpha + log(D)"),),
        law("variable D > 0 unit token\nsetting D0 = 1 unit token", "L = A/N^alpha + log(D/D0)"),
    ),
    "L0412": Message(
        "a setting that is not a number",
        "A setting is a known constant that a user may change. What depends on others is a `let`.",
        (law("setting s = 2*A", "L = s/N^alpha"),),
        law("let s = 2*A", "L = s/N^alpha"),
    ),
    "L0413": Message(
        "a parameter that cannot be held",
        "`fix E = 1.69` holds a parameter at a number, `tie beta = alpha` makes it a formula of "
        "other parameters. Each parameter is held once; settings have values already, variables "
        "are columns of the data.",
        (
            law("fix N = 7"),
            law("tie N = A"),
            law("setting s = 2\nfix s = 3", "L = A/N^alpha + s"),
            law("fix alpha = 2*A"),
            law("fix A = 2\ntie A = alpha"),
        ),
        law("fix alpha = 0.5"),
    ),
    "L0414": Message(
        "a held parameter that leaves its domain",
        "What a domain promises is kept when the parameter is fixed or tied: its value lies inside, "
        "or the domains of the others make it so. Where a bound of another parameter does it, that "
        "bound is added: with `tie B = A - C` and `B > 0` it is A > C. Choose another value or "
        'formula, or leave the bound out: `--without "B > 0"`.',
        (
            law("fix alpha = -0.5"),
            law("tie alpha = -A"),
            law("tie alpha = A^2 - 3*A"),
            law("parameter B in [0, alpha]\nfix B = 0.5\nfix alpha = 0.1", "L = A/N^alpha + B"),
        ),
        law("tie alpha = A/2"),
    ),
    "L0501": Message(
        "a formula without a value",
        "1/0, 0^0, the logarithm of 0 and roots of negative numbers have no value, wherever they "
        "stand. Correct the formula.",
        (
            law(equation="L = A/N^alpha + 1/0"),
            law(equation="L = A/N^alpha + (0 - 8)^(1/3)"),
            law("let zero = 1 - 1", "L = A/N^alpha + log(zero)"),
        ),
        law(equation="L = A/N^alpha + 1/2"),
    ),
    "L0502": Message(
        "a number that is too large to compute",
        "Numbers that stand in a formula are computed exactly, so their powers are bounded: "
        "exponents by 1,000, results by what a computer can hold (5e-324 to 1.8e308).",
        (
            law(equation="L = A/N^alpha + 9^9^9"),
            law(equation="L = A/N^alpha + N^100000"),
            law(equation="L = A/N^alpha + 1e300*N*1e300"),
        ),
        law(equation="L = A/N^alpha + 9^9"),
    ),
    "L0503": Message(
        "a formula that may have no value",
        "Somewhere on the domain a division by 0, a root of a negative number or the like is not "
        "excluded. Declare the domains that the formula needs, or claim where it holds: `require "
        "L finite for …`.",
        (law("variable x", "L = A/N^alpha + 1/x"),),
        law("variable x > 0", "L = A/N^alpha + 1/x"),
    ),
}
