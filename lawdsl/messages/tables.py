"""Messages about tables of measurements: code -> meaning and examples.

Examples are CSV files for the law chinchilla: the `bad` ones produce the code, and `good` is the
corrected table. Messages that need a file to occur have no example.
"""

from __future__ import annotations

from lawdsl.messages.examples import GOOD, HEAD, ROWS, table_of, table_with
from lawdsl.messages.message import Message

TABLES: dict[str, Message] = {
    "D0101": Message(
        "a table that cannot be read",
        "Tables are CSV files in UTF-8, Parquet files, read from a file or a pipe, and the table "
        "`runs` of a SQLite file. Save the table in one of these forms, or correct the path. A table "
        "of runs that a later lawdsl has written is not read in part; collect it again.",
        ("N,D,L\n1e8,2e9,\0\n", "# lawdsl runs, schema 2: 10 evaluations of 2 runs\n" + GOOD),
        GOOD,
    ),
    "D0150": Message(
        "a table that is too large to be read",
        "A table may have 20,000,000 cells in 10,000 columns, 256 MiB as a file and 256 MiB of text, "
        "a row of a CSV file and a cell of a database 1 MiB (less where a database has more than 64 "
        "columns), and reading a database may take 30 s: "
        "so a file of a few bytes that stands for billions of cells does no harm. Keep the columns "
        "and rows that the law needs, and leave the others out.",
    ),
    "D0151": Message(
        "values whose shapes do not match",
        "`fit(N=7e9, D=[1e11, 1e12])` broadcasts its values as NumPy does: scalars, and arrays whose "
        "shapes agree. A variable with subscripts takes a mapping of labels, or an array whose last "
        "axis has one entry a label.",
    ),
    "D0102": Message(
        "a table that is not a table",
        "Every row has a cell for every column, and cells are separated by commas. Other readers "
        "fill a short row or guess a separator; here nothing is guessed. Correct the row that is "
        "named. A number with commas in it is one cell only in quotes, and no number then.",
        (
            table_with("1e8,2e11"),
            table_with("1e8,2e11,2.7770,1"),
            table_with("100,000,000,2e11,2.7770"),
            table_with('1e8,"2e11,2.7770'),
            GOOD.replace(",", ";"),
            GOOD.replace(",", "\t"),
        ),
        GOOD,
    ),
    "D0103": Message(
        "a table without rows",
        "There is nothing to fit: the file is empty, or no row meets the conditions of --where, "
        "or --drop-bad has left every row out.",
        ("", "# only a comment\n", HEAD),
        GOOD,
    ),
    "D0104": Message(
        "a column that is not there",
        "Each variable of the law, and its output, is read from the column of the same name. "
        "Where a column is called otherwise, bind it: `lawdsl fit LAW runs.csv L=loss`. A formula of "
        'columns may stand there, `"N=10^log10_N"`, and a unit in brackets, `"D=tokens_B [Gtoken]"`.',
        (GOOD.replace("N,D,L", "N,D,loss"), GOOD.replace("N,D,L", "n,D,L")),
        GOOD,
    ),
    "D0105": Message(
        "column names that do not name columns",
        "The first line that is not a comment names the columns, and no two columns share a name. Name "
        "them; a line that begins with # is a comment, not a header.",
        (GOOD.replace("N,D,L", "N,D,D"), ROWS, "# N,D,L\n" + ROWS),
        GOOD,
    ),
    "D0106": Message(
        "a cell that is not a number",
        "A column that the law uses holds plain numbers: 1000000, 2.5, 1e9. Separators, units and "
        "words are not read. The unit of a column goes into its header, as `D [Gtoken]`; rows "
        "without a value are left out, and counted, with --drop-bad. Text in a data frame is no "
        "number even where it looks like one.",
        (
            table_with("1e8,2e11,oops"),
            table_with("1e8,200B,2.7770"),
            table_with('"100,000,000",2e11,2.7770'),
            table_with("1_000,2e11,2.7770"),
            table_with("1e8,2e11,n/a"),
            table_with("1e8,2e11,"),
        ),
        GOOD,
    ),
    "D0107": Message(
        "a number that is not finite",
        "nan, inf and numbers beyond 1.8e308 are not measurements. Correct the cell, or leave such "
        "rows out, and have them counted, with --drop-bad. A run that diverged is not a run of "
        "this law.",
        (table_with("1e8,2e11,nan"), table_with("1e8,2e11,-inf"), table_with("1e8,1e400,2.7770")),
        GOOD,
    ),
    "D0108": Message(
        "a value outside the domain of its variable",
        "The law declares where its variables may lie, and claims nothing elsewhere. Correct the "
        "cell, choose rows with --where, or change the setting that the domain is made of: "
        "`--set D_min=0.05`.",
        (table_with("1e8,0,2.7770"), table_with("1e8,-2e11,2.7770"), table_with("-0,2e11,2.7770")),
        GOOD,
    ),
    "D0109": Message(
        "a measured value without a logarithm",
        "The objective compares logarithms, which only numbers above 0 have. Correct the cell, or "
        "compare the values themselves: `--objective squared`.",
        (table_with("1e8,2e11,-2.7770"), table_with("1e8,2e11,0")),
        GOOD,
    ),
    "D0110": Message(
        "fewer rows than parameters",
        "So few measurements leave infinitely many laws that meet all of them exactly. Measure "
        "more, or fit a law with fewer parameters.",
        (table_of("1e8"),),
        GOOD,
    ),
    "D0111": Message(
        "an output that never changes",
        "Every row has the same measured value, from which no law can be learned. It is most "
        "often the wrong column; bind another.",
        (HEAD + "".join(row.rsplit(",", 1)[0] + ",2.5\n" for row in ROWS.splitlines()),),
        GOOD,
    ),
    "D0112": Message(
        "a unit that does not fit",
        "A unit in a header, as `N [Mparam]`, is converted to the unit of the law's variable. It "
        "must be one that lawdsl knows, and measure the same thing: tokens are not parameters.",
        (
            GOOD.replace("N,D,L", "N [parrot],D,L"),
            GOOD.replace("N,D,L", "N [Mtoken],D,L"),
            GOOD.replace("N,D,L", "N,D,L [nat/]"),
        ),
        GOOD.replace("N,D,L", "N [param],D [token],L [nat/token]"),
    ),
    "D0113": Message(
        "two scales in one column",
        "The values lie in two clouds with a wide gap between them, as they do when part of a "
        "column counts tokens and part counts billions of them. Give all rows one unit.",
        (GOOD.replace("2e11", "200"),),
        GOOD,
    ),
    "D0114": Message(
        "rows that repeat other rows",
        "Rows are exact copies in all that the law sees, more of them than measurements with so few "
        "digits would agree in by chance. Each pulls the fit as a measurement of its own would, which a "
        "copy is not; where a quarter of the rows are copies, intervals count them once. Keep one of "
        "each.",
        (GOOD + ROWS, GOOD + 3 * "1e9,2e9,2.9942\n"),
        GOOD,
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
    "D0120": Message(
        "labels that do not fit each other",
        "All columns over one set have the same labels, those of its parameters: a pattern such as "
        "r=r_* names a column for each, and a column of labels says one of them in every row. The "
        "message says which label is missing, is of no set, or where a cell is empty. Correct the "
        "table, or choose rows with --where.",
    ),
    "D0121": Message(
        "shares that are none",
        "The shares of a simplex are not below 0 and sum to 1 in every row, up to rounding in the "
        "second digit. Either a column is bound that is not a share, or one is missing: bind them all, "
        "r=r_*. --drop-bad leaves such rows out.",
    ),
    "D0122": Message(
        "shares that are rounded",
        "They sum to 1 only to two or five digits, as printed ones do. The last of them is taken to "
        "be 1 minus the others, so the law is evaluated on the simplex. Give more digits where "
        "there are some.",
    ),
    "D0123": Message(
        "a column in another unit than the law",
        "The law gives its variable a unit, the header of the column gives none, and the numbers "
        "make no sense in the law's: there is no model of 50 parameters. Most often the column counts "
        "millions or billions. Write its unit into the header, `N [Mparam]`, or after the column where "
        'it is bound, `"N=size [Mparam]"`, and it is converted; the '
        "parameters of the fit and later predictions are then in the law's unit. A header "
        "that says the unit is believed. A column of logarithms is bound with a formula, "
        "`N=10^log10_N`.",
        (HEAD + ROWS.replace("1e8,", "100,").replace("1e9,", "1000,").replace("1e10,", "10000,"),),
        GOOD,
    ),
    "D0124": Message(
        "a measured value that the law cannot give",
        "The declared signs prove that the law is never below 0, and the value is, by more than "
        "noise: no other value is near 0, or it lies further below 0 than all others lie apart. A "
        "sign was lost or a cell mixed up. Correct it, or leave such rows out with --drop-bad.",
    ),
    "D0130": Message(
        "a row without a label",
        "What a law measures for each domain, or fits for each, is told by a column of labels, called "
        "as the index or as its set; `d=COLUMN` binds another. Fill the cell in, or leave such rows "
        "out with --drop-bad.",
    ),
    "D0131": Message(
        "two values where a label has one",
        "A column that is called as a measured variable gives its values in place of the runs, and "
        "each label has one: k1 of a domain is the same in all of its rows. Correct the cell, or "
        "remove the column, and the variable is measured as the law says.",
    ),
    "D0132": Message(
        "a reading that no run of a label has",
        "`measure k2[d] = L(step = 0) - L(step = 5000)` needs a run of each label that was evaluated "
        "at both places, or near on both sides of them; nothing is read beyond the end of a run. Go "
        "on with the run, keep the rows of step 0, or give the values in a column.",
    ),
    "D0133": Message(
        "labels measured at different points",
        "What a reading leaves open, such as the model's size and the share, changes the loss, so "
        "values of different labels can be compared at the same points only; those of a new label "
        "at the points at which the others were measured. Measure it there, or name a point that "
        "all labels have in the law: `L(step = 1000, N = 1.8, r = 1)`.",
    ),
    "D0134": Message(
        "a measured variable that is a mean over points",
        "The runs of each label differ in what a reading leaves open, and the mean is taken over "
        "the points that all labels have; others are left out. A label that comes later needs runs "
        "at all of them. Name one point in the law: `L(step = 1000, N = 1.8, r = 1)`.",
    ),
    "D0135": Message(
        "a reading between two evaluations",
        "A run that was not evaluated at the place of a reading is read on the line between its "
        "evaluations before and after it, where these are near: the distances to them, multiplied, "
        "are at most a sixteenth of the place squared. A loss that falls as a power of the steps is "
        "then missed by a few per cent of what it still falls. Evaluate at the place itself.",
    ),
    "D0136": Message(
        "a law that measures nothing",
        "`lawdsl measure` prints what a law says how to measure, in lines as "
        "`measure k1[d] = L(step = 1000)`. Choose a law that has some, such as dcpt.cross_k3.",
    ),
    "D0137": Message(
        "a domain of which nothing was measured",
        "A law that measures `k1[d]` from the first steps of a domain's runs predicts for domains that "
        "it was fitted on, and for others once their first runs are given: `lawdsl predict FITS.json "
        "POINTS.csv --runs RUNS.csv`.",
    ),
    "D0138": Message(
        "a table in which no column is known as the loss",
        "`lawdsl new my_law --from runs.csv` finds the loss by the name of its column: `loss`, `L`, "
        "`val_loss`, `perplexity` and the like. Name another column: `L=COLUMN`.",
    ),
    "D0139": Message(
        "a table with nothing that a loss could depend on",
        "A proposed law has a term for each column of sizes, tokens, compute, steps or shares with at "
        "least three different values. Add runs, or name the columns: `N=size`.",
    ),
    "D0140": Message(
        "a column whose unit is a guess",
        "Neither the header nor the name of the column says its unit, and the numbers are plausible "
        "in the one that is proposed. Write the unit into the header, `tokens [Gtoken]`, or correct "
        "the binding in the commands that are proposed.",
    ),
    "D0141": Message(
        "checkpoints on a falling learning rate",
        "While the learning rate falls, the loss at D tokens is higher than at the end of a run of D "
        "tokens, and it falls because of the rate, not only because of D; at a constant rate it is "
        "higher than after a decay. So a law of D takes rows of one kind: those at the ends of runs. "
        "The evidence is a column with the phase of the schedule, the learning rate or the name of the "
        "schedule, or the shape of the curves of runs (a column `run`). Choose the last row of each run, "
        "run a schedule for each D, or fit a law with the learning rate in it. Rows that are all at a "
        "constant rate can be compared with each other, and lie above those of runs that decay.",
        (
            "run,schedule,N,D,L\n"
            + "".join(f"{i // 3},cosine,{line}\n" for i, line in enumerate(ROWS.splitlines())),
        ),
        GOOD,
    ),
    "D0142": Message(
        "losses of different tokenizers in one fit",
        "A loss in nat/token depends on how much text a token is: with a larger vocabulary there are "
        "fewer tokens, each with a higher loss. Rows of different tokenizers or vocabularies differ by "
        "that, and a fit takes it for an effect of N or D. Fit each by itself, compare losses per byte, "
        "or take a law with the vocabulary as a variable, or an index set over the tokenizers. Vocabulary "
        "sizes within 2 % count as one that is padded.",
        (
            "tokenizer,N,D,L\n"
            + "".join(
                f"{'gpt2' if i < 3 else 'llama'},{line}\n"
                for i, line in enumerate(ROWS.splitlines())
            ),
        ),
        GOOD,
    ),
    "D0143": Message(
        "a turning point that depends on the learning rate",
        "When continual pre-training begins, the warm-up of the learning rate raises the general loss, and "
        "a decay lowers it. So the peak, and the critical ratio from it, are those of this warm-up and "
        "this schedule. The CMR laws were measured with a warm-up and a constant rate. Take turning points "
        "of runs with one schedule, and use them for such runs.",
    ),
    "D0144": Message(
        "repeated data under a law without repetition",
        "A token that is seen again is worth less than a new one. Where D is larger than the unique tokens "
        "(columns such as `epochs`, `U` or `unique_tokens`), a law of D alone takes the loss of repetition "
        "for one of D, and a fit on rows of one epoch says nothing of several. Up to about 4 epochs the "
        "difference is small (Muennighoff et al. 2023, arXiv:2305.16264). Fit rows of one epoch, or the "
        "law `repeated`, which has the unique tokens U.",
        (
            "epochs,N,D,L\n"
            + "".join(
                f"{1 if i % 3 < 2 else 20},{line}\n" for i, line in enumerate(ROWS.splitlines())
            ),
        ),
        GOOD,
    ),
    "D0145": Message(
        "rows of equal settings that another column tells apart",
        "Rows that are equal in all variables of the law of a step are repeated measurements to it, and what they "
        "differ by is noise. Here a column that the step does not use explains most of these differences, as the "
        "size of the model does where a table has curves of several sizes: the fit runs between them and describes "
        "none. Run the pipeline for each value of the column with `--by COLUMN`, or for the rows of one with "
        "`--where`. Columns of runs and of seeds are not meant.",
    ),
}
