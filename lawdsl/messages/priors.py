"""Messages about priors: as a law states them, and in fits."""

from __future__ import annotations

from lawdsl.messages.examples import law
from lawdsl.messages.message import Message

STATED: dict[str, Message] = {
    "L0150": Message(
        "a prior of what is not a parameter",
        "A prior says what is known before a fit of a parameter, `prior E = 1.7 ± 0.2`, or of its "
        "logarithm, `prior log(alpha) = log(0.35) ± 0.35`. Variables are measured, settings are known, "
        "and a parameter that is fixed or tied is not fitted: none of these has a prior. Of a parameter "
        "with subscripts a prior is of all elements, each for itself.",
        (
            law("prior N = 1e9 ± 1e8"),
            law("prior 2*alpha = 0.7 ± 0.1"),
            law("fix alpha = 0.3\nprior alpha = 0.3 ± 0.1"),
        ),
        law("prior log(alpha) = log(0.35) ± 0.35"),
    ),
    "L0151": Message(
        "numbers of a prior that are not a center and a standard deviation",
        "The center comes before `±`, one standard deviation after it, which is positive and from "
        "1e-150 to 1e150, as fits divide by its square. Both are numbers or formulas of numbers. The prior of a logarithm has both of the logarithm: "
        "`log(0.35) ± 0.35` is 0.35 times or divided by exp(0.35), about 1.4.",
        (
            law("prior alpha = 0.35 ± 0"),
            law("prior alpha = 0.35 ± -0.1"),
            law("prior alpha = A ± 0.1"),
        ),
        law("prior alpha = 0.35 ± 0.1"),
    ),
    "L0152": Message(
        "two priors of one parameter",
        "A parameter has one prior, on itself or on its logarithm. Keep one. A prior of a law that "
        "extends another, or of `--prior`, replaces that of the same parameter.",
        (law("prior alpha = 0.35 ± 0.1\nprior log(alpha) = log(0.35) ± 0.35"),),
        law("prior log(alpha) = log(0.35) ± 0.35\nprior A = 400 ± 100"),
    ),
    "L0153": Message(
        "a prior whose center lies outside the domain",
        "The most likely value beforehand is one that the law allows. Choose another center, or change "
        "the domain of the parameter. The rest of the Gaussian may reach beyond the domain: that part "
        "is cut off.",
        (law("prior alpha = -0.35 ± 0.1"),),
        law("prior alpha = 0.35 ± 0.1"),
    ),
    "L0154": Message(
        "a prior of the logarithm of a parameter that may be negative",
        "Only a parameter whose domain is positive has a logarithm. Declare it positive, or state the "
        "prior of the parameter itself.",
        (law("parameter b\nprior log(b) = 0 ± 1", "L = A/N^alpha + b"),),
        law("parameter b\nprior b = 0 ± 1", "L = A/N^alpha + b"),
    ),
}

FITTED: dict[str, Message] = {
    "F0135": Message(
        "priors that this fit cannot take",
        "Priors are weighed against the noise of the rows, which the fit without them tells. Where no "
        "row is left over to tell it, there is no weight: measure more, or hold what is known, "
        "`--fix alpha=0.35`. Nor do priors go with an objective in two steps, which chooses a parameter "
        "before there is a noise. And a prior is of all elements of a parameter, of which an `identify` "
        "line makes some a formula of the others: state priors in its place.",
    ),
    "F0136": Message(
        "rows that contradict a prior",
        "The fit without priors lies more than 3 standard deviations from the center, of the prior and "
        "of the fit together; or rows and priors fit together worse than in one of 370 cases, by "
        "chi-squared. The result is a compromise that neither supports. Question the prior, the "
        "law, or the rows: a fit to a few small runs may be far off without saying so. "
        "`--prior none` fits without priors.",
    ),
    "F0137": Message(
        "parameters that only the priors determine",
        "The rows leave these parameters open (F0101), and the declared priors close what is open. "
        "Values, intervals and predictions that depend on them are as good as the priors. The table of "
        "priors shows the fit without them.",
    ),
    "F0138": Message(
        "priors that are not used",
        "`lawdsl fit` and `fit` in Python use priors. Comparisons of laws, pipelines, ensembles and the choice of "
        "mixtures fit many times to parts of the rows, and use the rows alone; profile intervals by "
        "run do not take priors either. Ask for --intervals delta or bootstrap.",
    ),
    "F0139": Message(
        "a law without published values",
        "`--prior published` takes the values that are published of the parameters of some shipped "
        "laws, with their errors or a factor of 1.4: docs/priors.md lists them. A law of your own, or a "
        "changed copy, may count in other units. State the priors one by one.",
    ),
}
