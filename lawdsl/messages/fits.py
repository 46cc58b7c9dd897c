"""Messages about fits, comparisons, trends and the command line: code -> meaning and examples.

Examples are CSV files for the law chinchilla, or laws where the law itself is wrong. Messages that
need a fit or a command to occur have no example.
"""

from __future__ import annotations

from lawdsl.messages.examples import GOOD, GRID, GRID_ROUNDED, HEAD, ROWS, SHARE, table_of
from lawdsl.messages.extrapolation import EXTRAPOLATION
from lawdsl.messages.message import Message

FITS: dict[str, Message] = {
    "F0101": Message(
        "parameters that the data do not determine",
        "The predictions hardly change when these parameters change together, so their values "
        "say nothing, although the fit may be good. The cause is given where it is seen: a variable "
        "with one or two values, two variables that move together, or some that add up to one "
        "number. Where D = 20 N in all rows, the terms of N and D may change places as well: a second "
        "fit, with the exponents exchanged, is as good on these rows and differs off that line. "
        "Measure where they differ, or fit a law without one of them. It is a warning "
        "where two variables lie on a line and only the form of the law tells their effects "
        "apart, and where rows scatter about a line, but too little for the noise. What no data could tell is F0114.",
        (
            table_of("1e9") + "1e9,4e9,2.8\n1e9,8e9,2.65\n1e9,8e10,2.39\n",
            HEAD + "".join(f"{n}e9,{20 * n}e9,{2 + 0.7 / n**0.5:.4f}\n" for n in range(1, 10)),
        ),
        GOOD,
    ),
    "F0102": Message(
        "too few rows to test the law",
        "With as many rows as parameters the law passes through every point whatever is measured, "
        "and nothing is left to tell a right law from a wrong one. With one or two more the noise, and "
        "each interval with it, is known to a factor of several only, and no row can be judged by "
        "the others. Copies of a row count once, rows with little of the weight hardly, and nearly "
        "equal settings are one: measurements repeated at as many settings as there are parameters "
        "tell the noise, but not whether the law is right. Measure more.",
        (HEAD + "".join(ROWS.splitlines(keepends=True)[i] for i in (0, 1, 2, 5, 8)),),
        GOOD,
    ),
    "F0103": Message(
        "a parameter on its bound",
        "The best fit lies at the edge of what the law allows: the data would take the parameter "
        "further. Question the bound, the law or the data. A bound is left out with `--without`.",
        (
            HEAD
            + "".join(
                f"{n},{d},{8 / float(n) ** 0.1 + 30 / float(d) ** 0.2 - 0.3:.4f}\n"
                for n in ("1e8", "1e9", "1e10")
                for d in ("2e9", "2e10", "2e11", "2e12")
            ),
        ),
        GOOD,
    ),
    "F0104": Message(
        "a minimum that hardly any start has reached",
        "Searches that begin elsewhere have ended higher, so one more start might end lower. Ask "
        "for more with --starts. A fit from one start is compared with none and says so too.",
    ),
    "F0105": Message(
        "a search that did not reach a minimum",
        "It ended before the objective stopped falling, most often because the data leave a "
        "direction open along which it wanders (F0101). Ask for more starts, or measure there.",
    ),
    "F0106": Message(
        "starts that cannot be used",
        "A search begins inside the law's domain. Give a number of starts, `declared` for the "
        "`start` lines of the law, or values of its parameters that lie in their domains. Starts "
        "outside are left out with a warning while others remain.",
    ),
    "F0107": Message(
        "a law that has no value on these data",
        "At every start the formula overflows, divides by 0 or has no logarithm on some row, which "
        "the message names by its variables. Where a part of the formula has no value there whatever "
        "the parameters, correct the row or leave it out with --where; else declare starts where "
        "the law has a value, or domains that keep it defined.",
    ),
    "F0108": Message(
        "a fit that cannot be read or written",
        "A fit is kept as one JSON file, written whole or not at all. A file of another kind, one that has "
        "been changed by hand or comes from another version is refused: make the fit again.",
    ),
    "F0109": Message(
        "a prediction outside the fitted range",
        "The law was never compared with measurements so far out, and a law that fits well inside "
        "its data can be wrong beyond them. The message says by what factor, the help within what "
        "the prediction is known at 95 %, and up to where the fit predicts within 1, 2 and 5 %, with the "
        "same error of the law as the interval (--wrong). Within 2 % there is no warning. Measure "
        "there before you rely on it.",
    ),
    "F0110": Message(
        "a prediction with a fit that is not trusted",
        "The fit had findings that make its parameters meaningless; a prediction from it may be "
        "so too: parameters that the rows do not determine (F0101) or no data could (F0114), a search that did not "
        "end (F0105), or a law worse than the mean (F0112). `lawdsl fit` has listed them, and the file "
        "keeps them under `diagnostics`. Other findings make the verdict `caution`, without this "
        "warning; among them are larger runs that miss their predictions (F0140), which harm "
        "predictions beyond the rows.",
    ),
    "F0111": Message(
        "a law without parameters",
        "A fit looks for the values of parameters, and this law declares none. Declare them: "
        "`parameter A, alpha > 0`.",
    ),
    "F0112": Message(
        "a law that describes the data worse than their mean",
        "The best fit is further from the measurements than a constant would be. The columns may "
        "be bound to the wrong variables, a unit may be wrong, or it is not the law of these data. A fit "
        "of a quantile other than the median is compared with that quantile of the measurements.",
    ),
    "F0113": Message(
        "a claim that fails on the fitted values",
        "The law promises a trend, perhaps under a condition, and the fitted values break it "
        "somewhere on the domain of the variables: the message names a point. Where bounds of the "
        "parameters are known that keep the claim, `--enforce` fits again within them; compare the "
        "two fits before you believe either.",
    ),
    "F0114": Message(
        "parameters that no data can distinguish",
        "The law says the same for many values of these parameters, whatever its variables are, so "
        "those of a fit are picked at random. The message says how they move together, the note "
        "the identity behind it, the help which of them to fix; predictions are not harmed. Where "
        "the law is checked it is a warning, in a fit an error: its values would be read. That "
        "there may be such parameters is said too, where it was not found out.",
        (
            SHARE.replace("TERMS", "t1*r + t2*(1 - r)"),
            SHARE.replace("TERMS", "t1*t2*r"),
        ),
        SHARE.replace("TERMS", "t1*r^t2"),
    ),
    "F0115": Message(
        "rows far from the law",
        "The scatter of the other rows does not explain how far these lie from the law, be its "
        "tail Gaussian or as heavy as they show it: a typing error, a run that diverged, another "
        "unit. Or the residuals fall into two clouds with nothing between them. Or a value is far "
        "from all others, and too few rows are left to judge it by the law. The rows are "
        "named by line; look at them, correct them or leave them out, and compare the fits.",
        (
            GRID.replace("2.6131", "26.131"),
            GRID.replace("2.6131", "3.0131").replace("2.8033", "1.8033"),
        ),
        GRID,
    ),
    "F0116": Message(
        "a pattern in the residuals",
        "What the law leaves over is not noise: it follows a variable, two variables together, or "
        "the prediction, more clearly than one table in 600,000 would by chance. The law lacks "
        "something. Inside the data it may still serve; beyond them it will be wrong by more. It "
        "is an error where the law misses more than a tenth of the output's own spread. Compare "
        "with another law, or fit a smaller range.",
        (
            HEAD
            + "".join(
                f"{n},{d},{((6e13 / float(n)) ** 0.74 + 2e13 / float(d)) ** 0.1:.4f}\n"
                for n in ("1e7", "3e7", "1e8", "3e8", "1e9", "3e9")
                for d in ("1e9", "3e9", "1e10", "3e10", "1e11", "3e11")
            ),
        ),
        GRID,
    ),
    "F0117": Message(
        "noise of another kind than the objective supposes",
        "The residuals scatter further at one end of a variable than at the other, or have "
        "heavier tails than a squared loss can bear. The fit then follows the noisy rows, and "
        "intervals are wrong. Weigh the rows, or choose the scale or the loss that suits the "
        "noise: `--objective 'huber(log)'`.",
    ),
    "F0118": Message(
        "several optima of equal value",
        "Searches ended at different parameters that describe the data equally well, so which of "
        "them is reported is chance. Where two terms of the law may change places the predictions "
        "are the same, and a bound such as `parameter a > b` picks one; else measure where the "
        "optima differ.",
    ),
    "F0119": Message(
        "rows that are not independent",
        "Residuals of neighbouring rows are correlated, as those of checkpoints of one run do, or of "
        "one run evaluated several times. There is less in the table than its rows promise, so "
        "intervals that count rows are too narrow. Count runs: intervals by run, or one row a run.",
    ),
    "F0120": Message(
        "intervals that cannot be made",
        "Intervals are found by `delta` (from the slopes at the fit), `profile` (from how far each "
        "parameter can go) or `bootstrap` (from fits to rows or runs drawn again), at a level "
        "between 0.5 and 0.999, the bootstrap from 100 resamples or more.",
    ),
    "F0121": Message(
        "resamples that could not be fitted",
        "Drawn again, the rows often leave some parameter open, and the search for it ends "
        "nowhere: the fit hangs on few rows. Compare with --intervals profile, or measure more.",
    ),
    "F0122": Message(
        "too little for intervals",
        "A bootstrap draws rows or training runs again; where there are hardly more of them than "
        "parameters, most draws determine nothing, and the scatter of the others says nothing of "
        "the truth. Of a single run no interval by runs can be made at all. Where a parameter is "
        "chosen before the others are fitted, slopes at the fit say nothing of how far it is off: "
        "only a bootstrap repeats the choice. Where four or more bounds depend on other parameters, a "
        "profile tries 27 of the sets of bounds that may be active, and might end further out on "
        "another one. Where the effects of parameters are nearly collinear, as those of a and b in "
        "a + b*x with x from 1e8 to 1e8 + 11, resamples cannot be fitted precisely enough for a "
        "bootstrap, and of directions that rounding hides no interval has an end. Where more than "
        "half of the rows lie exactly on a fit by `absolute` or `quantile`, as rounded measurements "
        "may, the density of the errors at 0, which intervals need, is not known. A profile has no interval of a "
        "parameter on a bound that depends on other parameters, nor where its search does not converge. An end "
        "beyond which the refits of the other parameters do not converge is open: no value there is rejected. A "
        "profile that a fit has chosen itself is given up where it takes far more evaluations than others do; "
        "intervals are then those of the delta method.",
    ),
    "F0124": Message(
        "a parameter that cannot be chosen before the fit",
        "`minimize squared(L, c = straightest(log(L - c)))` first chooses c, from its lower bound to "
        "the smallest measured L, where log(L - c) is nearest to linear, and then fits the rest. So c "
        "needs a number as its lower bound, below all measurements, and the law is c plus a product "
        "of powers and exponentials, whose logarithm is linear: c + k*exp(t*r), c + A/N^alpha. "
        "Comparisons and choices of groups fit in one step: give them another --objective.",
    ),
    "F0125": Message(
        "predictions without intervals",
        "An interval carries the noise of the rows that were fitted to the prediction, by the "
        "covariance of the parameters, which a fit keeps under `spread`. There is none where no row "
        "is left to tell the noise by, where a parameter was chosen before the others and no "
        "bootstrap repeated that, for more than 100 parameters, and in older files.",
    ),
    "F0126": Message(
        "a prediction that the rows leave open",
        "Parameters that the rows do not determine (F0101) can take other values and fit as well, "
        "and there the law would predict otherwise: no interval is wide enough. Two model sizes do "
        "not tell the loss of a third. Measure where the prediction is wanted.",
    ),
    "F0127": Message(
        "a prediction below the inflection ratio",
        "The law claims that its output falls with a variable, as the loss does with the tokens, and "
        "the rows that were fitted show that it rises with it at small shares: below the inflection "
        "ratio (D-CPT, arXiv:2406.01375, appendix I.3). No values of the parameters let the law "
        "follow that, so what it predicts there is wrong the further it looks ahead. The warning "
        "is given below the upper end of the interval of the ratio. `lawdsl trends` shows what was "
        "measured. Stay above it, measure at shares nearer to it to know it better, or fit a law that "
        "rises with the tokens at small shares: dcpt.forgetting, in which the ratio is a parameter.",
    ),
    "F0130": Message(
        "parameters that the rows hardly determine",
        "The ends of a parameter's interval differ by more than a factor of 100, so its value says "
        "little, although predictions near the rows may be good. Measure more, further apart, or "
        "with less noise, or fit a law without the parameter. Of a parameter in which the law is "
        "linear, as A in A/N^alpha, the size depends on the unit of N: it is judged by alpha. Where the "
        "interval is narrow only because another parameter is held on its bound, the table has none. The "
        "interval that is judged is that of the delta method; profile intervals beside it may be narrower.",
        (
            HEAD
            + "".join(
                f"{n},{d},{loss}\n"
                for n, losses in (
                    ("1e9", ("3.0691", "2.7843", "2.5785", "2.4286", "2.3241")),
                    ("1.26e9", ("3.0388", "2.7558", "2.5599", "2.4105", "2.2861")),
                    ("1.6e9", ("3.0018", "2.7309", "2.5256", "2.3811", "2.2740")),
                )
                for d, loss in zip(
                    ("2e9", "6.32e9", "2e10", "6.32e10", "2e11"), losses, strict=True
                )
            ),
        ),
        GRID,
    ),
    "F0131": Message(
        "predictions that the rows leave open between their values",
        "Each variable varies, but two of them vary together in all rows, so that a prediction at "
        "other combinations inside the same ranges is open: D near 20 N says nothing of much D for "
        "a small N. Predictions near the line of the rows may be good. Measure off that line.",
        (
            HEAD
            + """\
1e8,2.04e9,3.4837
1.5e8,2.91e9,3.2810
2.3e8,4.65e9,3.0815
3.5e8,6.86e9,2.9177
5.3e8,1.08e10,2.7704
8.1e8,1.57e10,2.6466
1.2e9,2.42e10,2.5284
1.9e9,3.72e10,2.4264
2.8e9,5.71e10,2.3379
4.3e9,8.34e10,2.2684
6.6e9,1.33e11,2.1939
1e10,1.96e11,2.1326
""",
        ),
        GRID,
    ),
    "F0132": Message(
        "measurements that are rounded further than their noise",
        "The steps between measured values are as large as the residuals, so that a good part of "
        "these are rounding errors. They repeat where the curve does, are "
        "not independent of each other, and shift the fit as a whole. Losses are logged with more "
        "digits than tables print: give them.",
        (GRID_ROUNDED,),
        GRID,
    ),
    "F0133": Message(
        "a discrepancy outside 0 to 1",
        "Beyond the fitted rows a law is taken to be wrong by some percentage for each decade of "
        "distance: `--wrong 2%`, or `discrepancy=0.02` in Python. 0 takes the law as right.",
    ),
    "F0170": Message(
        "an unknown ensemble",
        "An ensemble is a kind and a number of members: `bag:30` fits each member to rows drawn with "
        "replacement, `subbag:30` to four fifths of the rows, `starts:30` to all rows from one random "
        "start each, and `boost:30` to rows drawn by AdaBoost.R2, those with large errors more often.",
    ),
    "F0171": Message(
        "samples of rows that could not be fitted",
        "Each member of an ensemble is fitted to a sample of the rows. At some samples the law has no "
        "value from any start, and the ensemble has fewer members. Samples without replacement "
        "(subbag) have more different rows than those with it (bag, boost).",
    ),
    "F0172": Message(
        "members of an ensemble that have too few rows",
        "Samples with replacement (bag, boost) leave out about a third of the rows. Members with fewer "
        "different rows than parameters have no unique optimum. Samples without replacement (subbag), "
        "more rows or a law with fewer parameters help.",
    ),
    "F0156": Message(
        "a method of intervals that the loss does not allow",
        "The losses `absolute` and `quantile` have a kink at 0 in place of a curvature. Their "
        "intervals come from the density of the errors there, by `--intervals delta`; a profile and "
        "a bootstrap follow the curvature of the objective. Use delta, or a loss such as `huber`.",
    ),
    "F0157": Message(
        "priors beside a loss without a curvature",
        "The weight of a prior beside the rows is told by the curvature of the loss, which `absolute` "
        "and `quantile` lack. Leave the priors out, `--prior none`, or choose another loss.",
    ),
    "F0158": Message(
        "a fitted parameter in a condition",
        "A parameter in the condition of a piecewise law, D0 in `if D > D0 then … else …`, decides which "
        "part holds for a row. Where it passes a row the objective has a kink or jumps, so that it has many "
        "minima in it: the best of all starts is reported, and its interval and those of the others are "
        "those of a fit in which no row changes parts. A bootstrap finds the parts again for each sample. "
        "A parameter that does nothing else has no interval; the range of values that fit as well is "
        "stated. Compare fits with it held, or hold it at a value that is known.",
    ),
    "F0155": Message(
        "rows of a single run",
        "The column `run`, `run_id` or `run_name` says that all rows are of one training run. They "
        "tell the noise from checkpoint to checkpoint, but not how far another run, with another "
        "seed or other data, would lie. Intervals are those of this run, and too narrow for "
        "others. Measure another run; or say that the rows are independent: `--run none`.",
    ),
    "F0134": Message(
        "predictions without the error of the law",
        "The error of a law is a factor that is conditioned on the residuals of the fitted rows, "
        "which a fit keeps under `rows`. There is none where a measured or fitted value is not "
        "positive, after fits of a quantile other than the median, whose residuals are not centered "
        "at 0, and in older files. Such fits have no trust horizon, and a quantile's verdict says so. "
        "Fit again, or take the law as right: `--wrong 0`.",
    ),
}

FITS |= EXTRAPOLATION

COMPARISONS: dict[str, Message] = {
    "F0201": Message(
        "a protocol that is none",
        "A protocol says what is held out when laws are compared: `--protocol leave-one-out:N`, "
        "`segments:D`, or `all` for nothing. `lawdsl compare --help` lists them, with the names "
        "that papers use. All but `all` need a column after the colon.",
    ),
    "F0202": Message(
        "a protocol that cannot be run on these data",
        "To leave a size out and predict it, two others at least must be left; a curve that is "
        "cut in three has three values at least. The message says what there is. Measure more, "
        "or choose another protocol. It is a warning where no protocol was asked for: then those "
        "that can be run are.",
    ),
    "F0203": Message(
        "laws that cannot be compared",
        "All laws are judged by the same objective on the same measurements, or their scores "
        "would mean different things. Choose the objective with --objective and --delta, and "
        "bind the outputs of all laws to one column. Laws with index sets are compared label by "
        "label, so all of them have such sets, and the same labels.",
    ),
    "F0204": Message(
        "a law that failed in some folds",
        "It could not be fitted to the rows of the fold, most often because they are fewer than "
        "its parameters, or it has no value on rows that were held out. It ranks after the laws "
        "that have a score in every fold; its mean scores are of the folds that are left. In a table "
        "of scores (--table) it has no average.",
    ),
    "F0205": Message(
        "folds that do not determine every parameter",
        "With one value left out, too few may remain: two sizes cannot tell E, A and alpha apart. "
        "Fits that are equally good on such a fold can predict differently what was held out, by "
        "the factor that is named; laws whose scores overlap in this way share a rank. Measure "
        "more values of what is left out.",
    ),
    "F0206": Message(
        "fits of folds that may not be the best",
        "In these folds no two starts have reached the same minimum, or the search did not end "
        "in one, so a lower one may exist and the law be judged too hard. Ask for more --starts.",
    ),
    "F0207": Message(
        "a cost that cannot be computed",
        "`--protocol largest:cost` holds out the most expensive runs. A run costs 6*N*D where the laws "
        "have the variables N and D, or one variable in parameters and one in tokens. Otherwise give "
        "it as a product, quotient or power of variables, columns and numbers: `--cost 6*N*D`, "
        "`--cost gpus*hours`. A sum is refused: its terms would need the same unit.",
    ),
    "F0208": Message(
        "a cost that is not above 0",
        "Runs are compared by ratios of what they cost, or of the column after `largest:`, so "
        "each is a finite number above 0. Correct it, or leave such rows out with --where.",
    ),
    "F0209": Message(
        "largest runs that the smaller ones do not determine",
        "Few runs cost at most a third or a tenth of the largest, and they may leave a law "
        "undetermined there: two model sizes do not determine the loss of a third. Its intervals are "
        "infinite, and so is its score: it ranks last in that part and in the whole. An R at which no "
        "law has a score is left out of the mean of all. The notes name law, R and reason.",
    ),
    "F0210": Message(
        "variables that are measured on rows that a comparison holds out",
        "`measure k[d] = L(step = 1000)` reads a variable from the runs that are not held out. Where "
        "all runs of a label are held out, its own first steps are read. The errors are then those "
        "for a label whose first steps are known, as in a prediction with --runs; a law without such "
        "variables does not have this information.",
    ),
}

TRENDS: dict[str, Message] = {
    "F0301": Message(
        "a trend that the table contradicts",
        "The law claims how the output moves with a variable, and the measurements say otherwise: "
        "by more than noise makes in one of 100 tables, or far more often than not. The notes say "
        "how often, by how much, and up to which value of which variable. A loss that rises with D "
        "where the share is small is known of continual pre-training; the share above which it "
        "falls is called the inflection ratio (D-CPT, appendix I.3). Fit and use the law where the "
        "claim holds, with --where, or take a law that does not make it. If all goes against the "
        "law, look for a column bound to the wrong variable.",
    ),
    "F0302": Message(
        "differences whose noise is not known",
        "Some differences go against what the law claims, and nothing says how large noise is: no "
        "standard errors, and fewer than five repeats. Name the column of the standard errors with "
        "--se, or measure some runs again with other seeds.",
    ),
    "F0303": Message(
        "a table that says nothing of the law's trends",
        "A trend shows between two rows that differ in one variable alone: the other variables, "
        "and the run or what --by names, are equal. There are no such rows, or the law claims no "
        "trend of its output. Measure a grid, or part of one.",
    ),
    "F0304": Message(
        "rows that repeat others",
        "Some rows agree in all variables of the law and in what is held equal. They are averaged, "
        "and their scatter is taken for noise, which is right for runs with other seeds. What "
        "differs in more, in its schedule or its corpus, is distinguished by --by COLUMN.",
    ),
}

COMMANDS: dict[str, Message] = {
    "C0001": Message(
        "a command line that is wrong",
        "An option or an argument is missing, unknown or of another form. `lawdsl COMMAND --help` "
        "shows what the command takes.",
    ),
    "C0003": Message(
        "output that cannot be written",
        "The disk is full or the place is not writable. Nothing else was changed; free some space, "
        "or send the output elsewhere.",
    ),
    "C0005": Message(
        "a fault of lawdsl",
        "The tool itself has failed, whatever your input was. The report named in the message "
        "says where; please send it to the authors.",
    ),
    "C0006": Message(
        "memory that is used up",
        "The command needs more memory than the machine has, or than a limit allows it. Give it fewer "
        "rows, labels or claims at once, or run it on a machine with more memory.",
    ),
    "C0007": Message(
        "a table where a law belongs",
        "Commands take the law first, or the fit, and then the table, as in `lawdsl fit chinchilla "
        "runs.csv`. Write them in this order.",
    ),
    "C0008": Message(
        "CPU time that is used up",
        "`fit`, `compare`, `pipeline` and `solve` stop when they have used the CPU time of "
        "`--time-limit`, and write nothing. Give more time, or less work, as the message says. "
        "`check` has limits too: what it does not reach is undecided.",
    ),
    "C0009": Message(
        "a process that has failed",
        "With `--threads`, fits are shared by several processes, and one of them was ended or failed. "
        "Often the memory was not enough for all of them: use fewer, or `--threads 1`.",
    ),
}
