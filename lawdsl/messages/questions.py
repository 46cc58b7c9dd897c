"""What each message about questions means, with an example."""

from __future__ import annotations

from lawdsl.messages.message import Message


def question(*lines: str, goal: str = "minimize loss(N, D)") -> str:
    """A small question with some lines of its own."""
    head = ("question example", "uses loss : chinchilla", "given D > 0", "choose N > 0")
    return "\n".join((*head, *lines, goal, ""))


def _mixture(goal: str) -> str:
    """A question about a law with index sets."""
    head = ("question example", "index i over validation", "index j over training")
    return "\n".join((*head, "uses loss : mixing.m4", "choose r[j] in simplex", goal, ""))


QUESTIONS: dict[str, Message] = {
    "L0701": Message(
        "a law at values that it cannot be taken at",
        "In a question `loss(N, D)` is the law that `loss` is a fit of, at values of its variables. "
        "Each has one: a name alone stands for the variable of that name, any other value after the "
        "variable's name, `loss(N, D = 20*N)`. A law with index sets is taken for a label, "
        "`loss[i](r[j])`, where i and j run over the sets that its own indices run over; a variable "
        "with a value for each label is one of the question too, of the same name.",
        (
            question(goal="minimize loss(N) + D"),
            question(goal="minimize loss(N, 20*D)"),
            question(goal="minimize loss(N, D, r = 1)"),
            question(goal="minimize loss(N, D, D = 1e9)"),
            question("index i over domain", goal="minimize sum(loss[i](N, D) for i)"),
            _mixture("minimize loss(r[j])"),
            _mixture("minimize sum(loss[j](r[j]) for j)"),
            _mixture("minimize sum(loss[i](r = 1) for i)"),
        ),
        question(goal="minimize loss(N, D = 20*D)"),
    ),
    "L0702": Message(
        "a question that asks for nothing",
        "A question has one line that says what is best, `minimize loss(N, D)` or `maximize …`, and "
        "names what may be chosen, `choose N > 0`. What is best depends on each of those, by itself "
        "or by what it is subject to; otherwise every choice would do.",
        (
            question(goal=""),
            question("choose x > 0"),
            question(goal="minimize D\nsubject to loss(N, D) < 3"),
            "question example\nuses loss : chinchilla\ngiven N, D\nminimize loss(N, D)\n",
        ),
        question(),
    ),
    "L0703": Message(
        "a discrete choice that cannot be one",
        "`choose n in {4, 8, 16}` lists numbers, each once; `choose n integer in [1, 64]` is a whole "
        "number of an interval. Variables, parameters and givens have intervals for domains.",
        (
            question("choose n in {4, 4}", "subject to n*N <= 1e12"),
            question("choose n in {4, D}", "subject to n*N <= 1e12"),
            question("given n in {4, 8}", "subject to n*N <= 1e12"),
        ),
        question("choose n in {4, 8}", "subject to n*N <= 1e12"),
    ),
    "L0340": Message(
        "a file that is not called like its law or question",
        "A file is given by its path, `lawdsl solve folder/file.law`, whatever its question is called. "
        "The name in its first line is the one that answers carry; where the two differ, the name "
        "alone does not find the file. `extends`, `uses` and `step` find a law `a.b` in the file b.law "
        "of a folder a, and nowhere else: give law and file one name.",
    ),
}

ANSWERS: dict[str, Message] = {
    "F0519": Message(
        "discrete choices that are too many, or without bounds",
        "Every combination of the discrete choices is tried, so that the best one is known for certain. "
        "`choose n integer` needs both ends of its interval, and all combinations together are "
        "limited. Narrow the interval, list the numbers that matter, or leave `integer` out.",
    ),
    "F0501": Message(
        "fits that do not fit the question",
        "A question is answered by a fit for each name after its `uses`, `general=fit.json`, or by "
        "all parameters of that law as numbers, `general.E=1.7`. A fit may be of another law that "
        "has the same variables in units of the same kinds, if it depends on what is chosen; fits of laws "
        "with index sets have the same labels.",
    ),
    "F0502": Message(
        "a value that is missing, unknown or no number",
        "Every given of a question has a value, `D=1e12` or `D=1Ttoken`, and a setting may have "
        "another than its own. `cap=0.4` is for all labels, `cap[web]=0.2` for one of them. With "
        "--at each unknown has a value. `lawdsl solve NAME` alone says what a question needs.",
    ),
    "F0503": Message(
        "a value outside its domain",
        "Givens keep to the domains that their lines declare, and the laws to those of their "
        "variables: beyond them nothing is promised of a law. Often a value stands in another unit than "
        "the question has, which is converted if it is written after the value: N=7Gparam.",
    ),
    "F0504": Message(
        "an answer whose error is not known",
        "The interval of an answer carries the noise of the fits to it. There is none where parameters "
        "were given as numbers, and where a fit does not know the errors of its parameters: too few rows, "
        "a fit in two steps, a file of an older version. Fit again, with more rows. The goal has none "
        "where kinks or constraints coincide that the noise moves apart, as it has no slope there.",
    ),
    "F0505": Message(
        "an answer within part of the errors only",
        "Answers are drawn within the errors of the fits, and for some of the draws there is none: "
        "no choice keeps the constraints. The interval is of the others. Near a constraint that can "
        "hardly be kept, measure more, or relax it.",
    ),
    "F0506": Message(
        "parameters that do not keep a bound of their law",
        "Parameters that are given as numbers may break a bound that depends on other parameters, as "
        "C > C0 of the D-CPT Law: the law is then taken without it, as `lawdsl fit --without` does. "
        "What the law claims because of the bound need not hold for these values.",
    ),
    "F0507": Message(
        "a fit of another law than the question names",
        "A fit of any law does whose variables are those that the question gives values to: "
        "mixing.m4 in place of mixing.powers. Whether it predicts what the question is about, such "
        "as the general loss and not the loss on the domain, only its user knows.",
    ),
    "F0515": Message(
        "a safe answer to a question without a fitted law in its constraints",
        "`--safe 0.95` asks for a choice whose constraints with fitted laws hold with that probability. "
        "Where fitted laws are in the goal alone, no constraint depends on a fitted law.",
    ),
    "F0516": Message(
        "a safe answer that is not computed",
        "Safe answers need fits that keep their rows and the errors of their parameters. A fit has no "
        "rows where a measured value is not positive, and in older files: `--wrong 0` takes its law as right, "
        "and counts noise alone. A fitted law in an equation holds with probability 0 at any choice: "
        "write it as an inequality.",
    ),
    "F0517": Message(
        "a probability of a safe answer outside its limits",
        "`--safe 0.95`, in Python `safe=0.95`, is the probability with which the constraints hold: "
        "from 0.5 to 0.9999.",
    ),
    "F0518": Message(
        "an answer without the error of its laws",
        "Where an answer leaves the fitted rows, the interval of its goal and the probability that its "
        "constraints hold have the error of the laws in them. That needs fits that keep their rows, and "
        "rows that determine the laws at the answer; without, the answer takes its laws as right, and "
        "its intervals are too narrow.",
    ),
    "F0520": Message(
        "a question about a piecewise law",
        "Where a condition changes with the unknowns, each part is answered by itself, and the best of these "
        "answers is that of the question; of other fits another part may be the best. Where a condition "
        "depends on fitted parameters alone, the part is that of the fitted values. Intervals and "
        "sensitivities are of that part. A question has at most 32 parts.",
    ),
    "F0521": Message(
        "an input that is probably in per cent",
        "`T` in 1 + T is a part of 1: T=0.02, or T=2%, tolerates 2 %, and T=2 tolerates 200 %. "
        "`T=200%` says that this is meant.",
    ),
    "F0570": Message(
        "several choices that are equally good",
        "Searches ended at different choices of the unknowns with the same value of the goal, so which "
        "of them is reported as the answer is chance; the others are listed. Intervals and "
        "sensitivities are those of the one that is reported. Add a constraint that picks one, or a "
        "term of the goal that tells them apart.",
    ),
}
