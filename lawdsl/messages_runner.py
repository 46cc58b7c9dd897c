"""What each message about corpora, runs and sweeps means."""

from __future__ import annotations

from lawdsl.messages import Message

_RUNS: dict[str, Message] = {
    "R0101": Message(
        "packages that the runner needs are missing",
        "Training needs torch, transformers, tokenizers, safetensors and pydantic, which laws and "
        "fits do not. `pip install 'lawdsl[runner]'` brings them.",
    ),
    "R0102": Message(
        "a description of a run or a sweep that is wrong",
        "The field that is named is missing, unknown or has a value it cannot have. Correct it; "
        "nothing was started.",
    ),
}

_CORPORA: dict[str, Message] = {
    "R0201": Message(
        "text that is not UTF-8",
        "Corpora are made of UTF-8 and nothing is guessed: bytes of another encoding would become "
        "tokens that mean nothing. Convert the file, `iconv -f latin1 -t utf8`, or leave it out. "
        "In a folder of many kinds of files --glob says which are text.",
    ),
    "R0202": Message(
        "a line or row without its text",
        "Every line of a .jsonl file is a JSON object, and it or the row of a Parquet file has the "
        "text in the field that --text-field names. The line or row that is named does not.",
    ),
    "R0203": Message(
        "a file that cannot be read",
        "It is not there, is none of the kind that its name says, is damaged, or may not be read. "
        "Nothing is left out in silence: mend it, or do not name it.",
    ),
    "R0204": Message(
        "a corpus that would be empty",
        "Of the text that was read nothing is left for it: it is blank, was in a part or corpus "
        "before, or fell to another part, which is decided by what a document says. Give more "
        "text, or a larger share.",
    ),
    "R0205": Message(
        "a folder or file that exists",
        "Runs may be using what is there, so it is replaced only with --force, and then only if "
        "it is what it would be replaced by: a corpus.",
    ),
    "R0206": Message(
        "a tokenizer that cannot be used",
        "It is no tokenizer.json, cannot be read, or has no token that ends a document; documents "
        "would run into each other. --end-of-text names that token where it has an unusual name.",
    ),
    "R0207": Message(
        "a folder that is no corpus",
        "A corpus is a folder with a corpus.json, which is written last: one that was interrupted "
        "has none. Name a folder that `lawdsl corpus` has made, or make it.",
    ),
    "R0208": Message(
        "a corpus that is not what was written",
        "A file is missing, has another length, or is not the one whose SHA-256 stands in "
        "corpus.json: it was changed, or cut off while it was copied. Losses on it could not be "
        "compared with those before. Copy it again, or make it again.",
    ),
    "R0209": Message(
        "a full disk",
        "The disk or the quota is full. What was written of the corpus has been removed, and "
        "nothing else was changed. Make room for as much as the note says, or write elsewhere.",
    ),
    "R0210": Message(
        "corpora of different tokenizers",
        "A number stands for another token in each, so no model can be trained on both, and "
        "losses per token cannot be compared. Make them all with one tokenizer.",
    ),
    "R0211": Message(
        "a place that cannot be written",
        "The file system is read-only or the permissions do not allow it, as the message says. "
        "Nothing was written; choose another place.",
    ),
    "R0212": Message(
        "a corpus that another process is making",
        "Two processes would write into one folder. Wait for the other one, or end it: what it "
        "leaves is removed by the next.",
    ),
    "R0213": Message(
        "a corpus in or over what it is made of",
        "Its files would be read as text the next time, or --force would remove the text. Write "
        "it to a folder of its own.",
    ),
    "R0214": Message(
        "a smaller vocabulary than was asked for",
        "The text that was learnt from has no more pairs that come twice. Give more text, or "
        "take the tokenizer as it is: nothing else is wrong with it.",
    ),
}

_STORE: dict[str, Message] = {
    "R0401": Message(
        "a damaged checkpoint",
        "A file of the checkpoint is missing or is not what was written, by the SHA-256 that was "
        "kept with it. The run goes on from the newest one that is whole: the steps since then are "
        "done again and give the same numbers. If it happens again, check the disk.",
    ),
    "R0402": Message(
        "checkpoints, and none of them whole",
        "The run was begun and cannot go on from where it was. It does not begin again by itself, "
        "for that may cost days: remove the folder of its checkpoints to begin at step 0.",
    ),
    "R0403": Message(
        "a checkpoint that cannot be written",
        "The disk or the quota is full, or the folder cannot be written. The checkpoints from "
        "before are as they were; make room, start the run again, and it goes on from the newest.",
    ),
    "R0404": Message(
        "a checkpoint that cannot be read",
        "The folder cannot be opened, or a file in it holds no safetensors. Checkpoints of torch "
        "are pickles, which can run any program when they are loaded, and are never read.",
    ),
    "R0405": Message(
        "rows of a run that are damaged or missing",
        "Rows are only appended, and what was cut off while it was written is left out. Here a "
        "line within the file is no JSON, or the file ends before the rows that the checkpoint "
        "counts: it was changed by something else. Bring it back from a copy, or remove the run's "
        "folder and run it again.",
    ),
    "R0406": Message(
        "rows of a run that cannot be read",
        "The file is there and cannot be opened. Look at its permissions and at the disk.",
    ),
    "R0407": Message(
        "rows of a run that cannot be written",
        "The disk or the quota is full, or the file cannot be written. The rows from before are "
        "as they were; make room, start the run again, and it goes on from its last checkpoint.",
    ),
    "R0408": Message(
        "a run that another process holds",
        "Two processes on one run would mix their rows. The one that is named still lives, or a "
        "process that it started does; its lock goes with it, however it ends.",
    ),
    "R0409": Message(
        "a run that another host held",
        "A process on another host took the run and has not let go of it: it runs, or died with "
        "no time to say so. Locks are not seen across all shared file systems, so this must be "
        "known by whoever starts the run: if nothing runs there any more, steal it.",
    ),
    "R0410": Message(
        "a run that cannot be locked",
        "The run's folder cannot be written or its file system has no locks. Runs are kept in a "
        "folder where a file can be locked, so that no two processes write to one.",
    ),
}

RUNNER_MESSAGES: dict[str, Message] = _RUNS | _CORPORA | _STORE
