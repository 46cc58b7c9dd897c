"""What each message about tables, fits and the command line means, with an example of a table.

The examples are CSV files for the law chinchilla: `bad` ones are answered with the code, `good`
is the table mended. Where it is the law that is wrong, they are laws; where it takes a file, a fit
or a command, there is none.
"""

from __future__ import annotations

from lawdsl.messages import Message

_ROWS = """\
1e8,2e9,3.4248
1e8,2e10,2.9684
1e8,2e11,2.7770
1e9,2e9,2.9942
1e9,2e10,2.5351
1e9,2e11,2.3183
1e10,2e9,2.8034
1e10,2e10,2.3426
1e10,2e11,2.1265
"""
_HEAD = "N,D,L\n"
_SHARE = """\
law share
variable r in [0, 1]
parameter c, k, t1, t2 > 0
L = c + k*exp(TERMS)
require L finite
"""
_GOOD = _HEAD + _ROWS


def _with(row: str) -> str:
    """The good table with another third row."""
    return _GOOD.replace("1e8,2e11,2.7770", row)


def _only(*starts: str) -> str:
    """The rows of the good table that begin so."""
    return _HEAD + "".join(line + "\n" for line in _ROWS.splitlines() if line.startswith(starts))


# twenty-five runs, with noise of a ten-thousandth
_GRID = (
    _HEAD
    + """\
1e8,2e9,3.4386
1e8,6e9,3.1656
1e8,2e10,2.9681
1e8,6e10,2.8510
1e8,2e11,2.7659
3e8,2e9,3.1858
3e8,6e9,2.9132
3e8,2e10,2.7158
3e8,6e10,2.5981
3e8,2e11,2.5135
1e9,2e9,3.0005
1e9,6e9,2.7269
1e9,2e10,2.5302
1e9,6e10,2.4121
1e9,2e11,2.3275
3e9,2e9,2.8866
3e9,6e9,2.6131
3e9,2e10,2.4163
3e9,6e10,2.2985
3e9,2e11,2.2141
1e10,2e9,2.8033
1e10,6e9,2.5300
1e10,2e10,2.3333
1e10,6e10,2.2152
1e10,2e11,2.1307
"""
)

_TABLES = {
    "D0101": Message(
        "a table that cannot be read",
        "Tables are CSV files in UTF-8, Parquet files, read from a file or a pipe, and the table "
        "`runs` of a SQLite file. Save the table in one of these forms, or correct the path. A table "
        "of runs that a later lawdsl has written is not read in part; collect it again.",
        ("N,D,L\n1e8,2e9,\0\n", "# lawdsl runs, schema 2: 10 evaluations of 2 runs\n" + _GOOD),
        _GOOD,
    ),
    "D0102": Message(
        "a table that is not a table",
        "Every row has a cell for every column, and cells are separated by commas. Other readers "
        "fill a short row or guess a separator; here nothing is guessed. Correct the row that is "
        "named. A number with commas in it is one cell only in quotes, and no number then.",
        (
            _with("1e8,2e11"),
            _with("1e8,2e11,2.7770,1"),
            _with("100,000,000,2e11,2.7770"),
            _with('1e8,"2e11,2.7770'),
            _GOOD.replace(",", ";"),
            _GOOD.replace(",", "\t"),
        ),
        _GOOD,
    ),
    "D0103": Message(
        "a table without rows",
        "There is nothing to fit: the file is empty, or no row meets the conditions of --where, "
        "or --drop-bad has left every row out.",
        ("", "# only a comment\n", _HEAD),
        _GOOD,
    ),
    "D0104": Message(
        "a column that is not there",
        "Each variable of the law, and its output, is read from the column of the same name. "
        "Where a column is called otherwise, bind it: `lawdsl fit LAW runs.csv L=loss`.",
        (_GOOD.replace("N,D,L", "N,D,loss"), _GOOD.replace("N,D,L", "n,D,L")),
        _GOOD,
    ),
    "D0105": Message(
        "column names that do not name columns",
        "The first line that is no comment names the columns, and no two have one name. Name "
        "them; a line that begins with # is a comment, not a header.",
        (_GOOD.replace("N,D,L", "N,D,D"), _ROWS, "# N,D,L\n" + _ROWS),
        _GOOD,
    ),
    "D0106": Message(
        "a cell that is no number",
        "A column that the law uses holds plain numbers: 1000000, 2.5, 1e9. Separators, units and "
        "words are not read. The unit of a column goes into its header, as `D [Gtoken]`; rows "
        "without a value are left out, and counted, with --drop-bad. Text in a data frame is no "
        "number even where it looks like one.",
        (
            _with("1e8,2e11,oops"),
            _with("1e8,200B,2.7770"),
            _with('"100,000,000",2e11,2.7770'),
            _with("1_000,2e11,2.7770"),
            _with("1e8,2e11,n/a"),
            _with("1e8,2e11,"),
        ),
        _GOOD,
    ),
    "D0107": Message(
        "a number that is not finite",
        "nan, inf and numbers beyond 1.8e308 are no measurements. Correct the cell, or leave such "
        "rows out, and have them counted, with --drop-bad. A run that diverged is not a run of "
        "this law.",
        (_with("1e8,2e11,nan"), _with("1e8,2e11,-inf"), _with("1e8,1e400,2.7770")),
        _GOOD,
    ),
    "D0108": Message(
        "a value outside the domain of its variable",
        "The law declares where its variables may lie, and claims nothing elsewhere. Correct the "
        "cell, choose rows with --where, or change the setting that the domain is made of: "
        "`--set D_min=0.05`.",
        (_with("1e8,0,2.7770"), _with("1e8,-2e11,2.7770"), _with("-0,2e11,2.7770")),
        _GOOD,
    ),
    "D0109": Message(
        "a measured value without a logarithm",
        "The objective compares logarithms, which only numbers above 0 have. Correct the cell, or "
        "compare the values themselves: `--objective squared`.",
        (_with("1e8,2e11,-2.7770"), _with("1e8,2e11,0")),
        _GOOD,
    ),
    "D0110": Message(
        "fewer rows than parameters",
        "So few measurements leave infinitely many laws that meet all of them exactly. Measure "
        "more, or fit a law with fewer parameters.",
        (_only("1e8"),),
        _GOOD,
    ),
    "D0111": Message(
        "an output that never changes",
        "Every row has the same measured value, from which no law can be learned. It is most "
        "often the wrong column; bind another.",
        (_HEAD + "".join(row.rsplit(",", 1)[0] + ",2.5\n" for row in _ROWS.splitlines()),),
        _GOOD,
    ),
    "D0112": Message(
        "a unit that does not fit",
        "A unit in a header, as `N [Mparam]`, is converted to the unit of the law's variable. It "
        "must be one that lawdsl knows, and measure the same thing: tokens are no parameters.",
        (
            _GOOD.replace("N,D,L", "N [parrot],D,L"),
            _GOOD.replace("N,D,L", "N [Mtoken],D,L"),
            _GOOD.replace("N,D,L", "N,D,L [nat/]"),
        ),
        _GOOD.replace("N,D,L", "N [param],D [token],L [nat/token]"),
    ),
    "D0113": Message(
        "two scales in one column",
        "The values lie in two clouds with a wide gap between them, as they do when part of a "
        "column counts tokens and part counts billions of them. Give all rows one unit.",
        (_GOOD.replace("2e11", "200"),),
        _GOOD,
    ),
    "D0114": Message(
        "rows that repeat other rows",
        "A quarter of the rows or more are exact copies in all that the law sees. Each counts as "
        "a measurement of its own, which a copy is not, so the fit looks better founded than it "
        "is. Keep one of each.",
        (_GOOD + _ROWS,),
        _GOOD,
    ),
    "D0115": Message(
        "a condition that is none",
        "Rows are chosen by a column, a relation and a value: `--where 'size = 70M'`, `--where "
        "'step > 0'`. Text can be equal or not (= and !=); the other relations compare numbers.",
    ),
    "D0116": Message(
        "a column bound to nothing",
        "In NAME=COLUMN the name is a variable of the law or its output. Correct the name; "
        "`lawdsl show LAW` lists them.",
    ),
    "D0117": Message(
        "weights that cannot be used",
        "A weight says how many rows a row stands for: a finite number from 0 on, in the column that "
        "--weights names (in Python also an array of one number a row). Rows of weight 0 are left "
        "out. Correct the cell, or leave such rows out with --drop-bad.",
    ),
    "D0118": Message(
        "a row of no known training run",
        "--run names the columns that tell training runs apart, and each row has a label in them: "
        "the rows of one run are not independent of each other. Fill the cell in, or leave such "
        "rows out with --drop-bad.",
    ),
    "D0119": Message(
        "a standard error that is none",
        "--se names the column of the standard errors of the output, which says how much of a "
        "difference is noise: finite numbers above 0, in the output's unit. Correct the cell, or "
        "choose rows with --where.",
    ),
}

_FITS = {
    "F0101": Message(
        "parameters that the data do not determine",
        "The predictions hardly change when these parameters change together, so their values "
        "say nothing, although the fit may be good. The cause is given where it is seen: a variable "
        "with one or two values, two variables that move together, or some that add up to one "
        "number. Measure where they differ, or fit a law without one of them. It is a warning "
        "where two variables lie on a line and only the form of the law tells their effects "
        "apart. What no data could tell is F0114.",
        (
            _only("1e9") + "1e9,4e9,2.8\n1e9,8e9,2.65\n1e9,8e10,2.39\n",
            _HEAD + "".join(f"{n}e9,{20 * n}e9,{2 + 0.7 / n**0.5:.4f}\n" for n in range(1, 10)),
        ),
        _GOOD,
    ),
    "F0102": Message(
        "no row to test the law",
        "With as many rows as parameters the law passes through every point whatever is measured, "
        "and nothing is left to tell a right law from a wrong one. Measure more.",
        (_HEAD + "".join(_ROWS.splitlines(keepends=True)[i] for i in (0, 1, 2, 5, 8)),),
        _GOOD,
    ),
    "F0103": Message(
        "a parameter on its bound",
        "The best fit lies at the edge of what the law allows: the data would take the parameter "
        "further. Question the bound, the law or the data. A bound is left out with `--without`.",
        (
            _HEAD
            + "".join(
                f"{n},{d},{8 / float(n) ** 0.1 + 30 / float(d) ** 0.2 - 0.3:.4f}\n"
                for n in ("1e8", "1e9", "1e10")
                for d in ("2e9", "2e10", "2e11", "2e12")
            ),
        ),
        _GOOD,
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
        "At every start the formula overflows, divides by 0 or has no logarithm on some row. "
        "Declare starts where it has a value, or domains that keep it defined.",
    ),
    "F0108": Message(
        "a fit that cannot be read or written",
        "A fit is kept as one JSON file, written whole or not at all. What is no such file, has "
        "been changed by hand or comes from another version is refused: make the fit again.",
    ),
    "F0109": Message(
        "a prediction outside the fitted range",
        "The law was never compared with measurements so far out, and a law that fits well inside "
        "its data can be wrong beyond them. The message says by what factor. Measure there "
        "before you rely on it.",
    ),
    "F0110": Message(
        "a prediction with a fit that is not trusted",
        "The fit had findings that make its parameters meaningless; a prediction from it may be "
        "so too. `lawdsl fit` has listed them, and the file keeps them under `diagnostics`.",
    ),
    "F0111": Message(
        "a law without parameters",
        "A fit looks for the values of parameters, and this law declares none. Declare them: "
        "`parameter A, alpha > 0`.",
    ),
    "F0112": Message(
        "a law that describes the data worse than their mean",
        "The best fit is further from the measurements than a constant would be. The columns may "
        "be bound to the wrong variables, a unit may be wrong, or it is not the law of these data.",
    ),
    "F0113": Message(
        "a claim that fails on the fitted values",
        "The law promises a trend, perhaps under a condition, and the fitted values break it "
        "somewhere on the domain of the variables: the message names a point. Where bounds of the "
        "parameters are known that keep the claim, `--enforce` fits again within them; compare the "
        "two fits before you believe either.",
    ),
    "F0114": Message(
        "parameters that no data can tell apart",
        "The law says the same for many values of these parameters, whatever its variables are, so "
        "those of a fit are picked at random. The message says how they move together, the note "
        "the identity behind it, the help which of them to fix; predictions are not harmed. Where "
        "the law is checked it is a warning, in a fit an error: its values would be read. That "
        "there may be such parameters is said too, where it was not found out.",
        (
            _SHARE.replace("TERMS", "t1*r + t2*(1 - r)"),
            _SHARE.replace("TERMS", "t1*t2*r"),
        ),
        _SHARE.replace("TERMS", "t1*r^t2"),
    ),
    "F0115": Message(
        "rows far from the law",
        "The scatter of the other rows does not explain how far these lie from the law, be its "
        "tail Gaussian or as heavy as they show it: a typing error, a run that diverged, another "
        "unit. Or the residuals fall into two clouds with nothing between them. The rows are "
        "named by line; look at them, correct them or leave them out, and compare the fits.",
        (
            _GRID.replace("2.6131", "26.131"),
            _GRID.replace("2.6131", "3.0131").replace("2.8033", "1.8033"),
        ),
        _GRID,
    ),
    "F0116": Message(
        "a pattern in the residuals",
        "What the law leaves over is not noise: it follows a variable, two variables together, or "
        "the prediction, more clearly than one table in 600,000 would by chance. The law lacks "
        "something. Inside the data it may still serve; beyond them it will be wrong by more. It "
        "is an error where the law misses more than a tenth of the output's own spread. Compare "
        "with another law, or fit a smaller range.",
        (
            _HEAD
            + "".join(
                f"{n},{d},{((6e13 / float(n)) ** 0.74 + 2e13 / float(d)) ** 0.1:.4f}\n"
                for n in ("1e7", "3e7", "1e8", "3e8", "1e9", "3e9")
                for d in ("1e9", "3e9", "1e10", "3e10", "1e11", "3e11")
            ),
        ),
        _GRID,
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
        "Residuals of neighbouring rows go together, as those of checkpoints of one run do, or of "
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
        "the truth. Of a single run no interval by runs can be made at all.",
    ),
}

_COMPARISONS = {
    "F0201": Message(
        "a protocol that is none",
        "A protocol says what is held out when laws are compared: `--protocol leave-one-out:N`, "
        "`segments:D`, or `all` for nothing. `lawdsl compare --help` lists them, with the names "
        "that papers use. All but `all` need a column behind the colon.",
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
        "bind the outputs of all laws to one column.",
    ),
    "F0204": Message(
        "a law that failed in some folds",
        "It could not be fitted to the rows of the fold, most often because they are fewer than "
        "its parameters, or it has no value on rows that were held out. It ranks behind the laws "
        "that have a score in every fold; its mean scores are of the folds that are left.",
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
}

_TRENDS = {
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
        "differs in more, in its schedule or its corpus, is told apart by --by COLUMN.",
    ),
}

_COMMANDS = {
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
}

DATA_MESSAGES: dict[str, Message] = _TABLES | _FITS | _COMPARISONS | _TRENDS | _COMMANDS
