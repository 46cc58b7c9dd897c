"""Messages about the choice of mixtures."""

from __future__ import annotations

from lawdsl.messages.message import Message

MIXTURES: dict[str, Message] = {
    "M0101": Message(
        "a domain that cannot be used",
        "Domains are written `web=3.2T`, with the tokens that there are of each, and --target says "
        "how many are trained on; or `web` alone, with `--cap web=0.25` where its share is to be "
        "bounded. Names have letters, digits and _ . - and become columns r_NAME; each is given "
        "once, and there are two or more.",
    ),
    "M0102": Message(
        "largest shares that do not sum to 1",
        "A share is at most epochs * supply / target, so that no token is seen more often than "
        "--epochs allows. Together these are below 1: there is not enough text. See it more often, "
        "train on less, or find another domain.",
    ),
    "M0103": Message(
        "a number of mixtures that cannot be had",
        "Mixtures that are chosen all differ, and on this grid and under these caps there are fewer "
        "than were asked for. A finer --grid has more.",
    ),
    "M0104": Message(
        "a grid that cannot be used",
        "The steps of a grid make up 1, so it is 1 divided by a whole number: `--grid 1/16`. Mixtures "
        "are counted exactly, which takes too long where there are many domains and the grid is "
        "very fine.",
    ),
    "M0105": Message(
        "a domain that no mixture has",
        "Shares that are halved are multiples of the grid or 0, and the largest share of this domain "
        "is less than the grid. A law fitted to such mixtures could say nothing of the domain. Choose "
        "a finer --grid.",
    ),
    "M0106": Message(
        "more or fewer mixtures without some domain",
        "A quarter of the mixtures is drawn from those that lack some domain, the others from those "
        "that have all. One of the two has too few, and the other makes up for them.",
    ),
    "M0107": Message(
        "mixtures that cannot be selected",
        "From a table of runs of some mixtures fewer of them are chosen, by fits to groups of them. A "
        "group that cannot be fitted, most often for having fewer rows than the law has parameters, "
        "is left out; where none can be, nothing is chosen.",
    ),
}
