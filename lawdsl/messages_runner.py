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

_SCHEDULES: dict[str, Message] = {
    "R0701": Message(
        "evaluations that do not fit into the run",
        "The losses are measured at intervals longer than the part of the run they are for, or "
        "after a step that the run does not reach. Step 0 and the last step are always measured: "
        "name the ones between, at shorter intervals or in a list.",
    ),
    "R0702": Message(
        "a learning rate that does not fit into the run",
        "Warm-up and decay together are longer than the run, or the schedule lacks a decay that it "
        "needs, or is given one that it does not have. Change `warmup`, `decay` or `schedule`; "
        "nothing was started.",
    ),
}

RUNNER_MESSAGES: dict[str, Message] = _RUNS | _STORE | _SCHEDULES
