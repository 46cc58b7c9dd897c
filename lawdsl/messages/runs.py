"""Messages about runs, sweeps, and the tables made of them."""

from __future__ import annotations

from lawdsl.messages.message import Message

RUNS: dict[str, Message] = {
    "R0101": Message(
        "packages that the runner needs are missing",
        "Training needs torch, transformers, tokenizers, safetensors and pydantic, which laws and "
        "fits do not. `pip install 'lawdsl[runner]'` brings them, 'lawdsl[ray]' Ray besides, and "
        "'lawdsl[wandb]' the client of Weights & Biases.",
    ),
    "R0102": Message(
        "a description of a run or a sweep that is wrong",
        "The field that is named is missing, unknown or has a value it cannot have. Correct it; "
        "nothing was started.",
    ),
}

SWEEPS: dict[str, Message] = {
    "R0103": Message(
        "a sweep that cannot be read",
        "The file of a sweep is TOML in UTF-8: KEY = VALUE, [table], and [[table]] for one of "
        "several. Correct the line that is named, or the path.",
    ),
    "R0104": Message(
        "a name that stands for nothing",
        "Mixtures are made of the corpora of [corpora], and runs of the models of [[models]], by "
        "the names that stand there. Correct the name, or add what it stands for.",
    ),
    "R0105": Message(
        "corpora and models that do not match",
        "The models must know all tokens of the corpora and bear rows as long as they are asked to. "
        "Make the corpora with the model's own tokenizer, or shorten the rows.",
    ),
    "R0106": Message(
        "a corpus that is too small",
        "A run would go through it more often than is allowed, by default once: text that is seen "
        "again is worth less, and a law of the tokens does not know that. Train for fewer steps, "
        "bring more text, or allow more passes with max_epochs.",
    ),
    "R0107": Message(
        "a folder that cannot be used",
        "A run's folder, or the one that its model is put in, cannot be written or holds something "
        "that was not made by this sweep and is not written over. Move it away, or name another.",
    ),
    "R0108": Message(
        "a run that failed",
        "Its process died, and died again when it was taken up from its last checkpoint, or said "
        "what is wrong; the end of its log is shown. Other runs go on. The next `lawdsl run` tries "
        "it again from where it was.",
    ),
    "R0109": Message(
        "a run that diverged",
        "Its loss became infinite or no number. The rows until then are kept, and `lawdsl collect` "
        "says that it diverged. It would do so again: lower its learning rate, which makes it "
        "another run, or leave it out of the grid.",
    ),
    "R0110": Message(
        "a run that ran out of memory",
        "The model, its gradients and the activations of a micro-batch do not fit. A smaller "
        "micro_batch in [run] gives the same losses but for rounding; `lawdsl run` then goes on from "
        "the last checkpoint. With --halve it tries half of it by itself, until it fits; so does a run "
        "on a GPU whose micro_batch was not given.",
    ),
    "R0111": Message(
        "a run that another process holds",
        "Another sweep does it at this moment, or something on another host has taken it and not let "
        "go. It is left to that process; run the sweep again to see to what is left. Whether a host "
        "that is gone still runs something nobody can tell from here: where you know that it does "
        "not, --steal takes the run. A run that a process of this host holds is never taken.",
    ),
    "R0112": Message(
        "more GPUs than there are",
        "A run of [run] processes takes as many GPUs. Ask for fewer, or run the sweep elsewhere.",
    ),
    "R0113": Message(
        "a Ray cluster that cannot be joined",
        "Nobody answers at the address, or what answers has another version of Ray or of Python. "
        "`ray start --head` starts a cluster, and says its address; `--ray local` starts one for "
        "the sweep alone, on this machine.",
    ),
    "R0114": Message(
        "a cluster without a node for a run",
        "A run is done on one node, and takes as many CPUs of it as it has threads in all its "
        "processes, and on GPUs one for each process. Ray would wait for ever for such a node.",
    ),
    "R0115": Message(
        "a node that cannot do runs",
        "Each node goes on with what another has begun: all see the folders of runs, corpora and "
        "models under the same names, may write to the runs', and have the same lawdsl. Mount the "
        "folders there, install what is missing, or take the node out of the cluster.",
    ),
    "R0116": Message(
        "runs that were not begun",
        "The last node that they fit on was lost, and none came in its place for a while; or they "
        "are branches of a stable run that failed or that another process holds. The folders say "
        "how far they are: the next `lawdsl run` goes on from there.",
    ),
    "R0117": Message(
        "a model that is trained without its dropout",
        "Its configuration asks for dropout, by itself or by a default of transformers. It is set to 0, "
        "which the fingerprint of the model says. dropout = true in [training] trains with it; what a "
        "configuration in the sweep itself names is kept too. Validation losses are always without.",
    ),
    "R0118": Message(
        "a mixture of experts",
        "Only some experts work on a token. N counts the parameters of all, N_active in the table "
        "those that work, as does the FLOP; a law of N fitted to dense models holds for neither. The "
        "loss that transformers computes for its router is added in training, with the coefficient "
        "of the configuration or router_loss of [training]; validation losses exclude it.",
    ),
    "R0119": Message(
        "too little room on the disk",
        "Checkpoints and trained models of the runs may not fit where their folder is, and a run "
        "that cannot save ends there. It is an error where even the least that they write does not "
        "fit. Make room, name another folder, or keep fewer models.",
    ),
    "R0125": Message(
        "too little memory",
        "The step of a run is estimated from the tensors that the model's own operations create: "
        "weights, gradients, optimizer, activations and logits. It is an error where even 95 % of "
        "that does not fit; for a compiled model, which stores less, where it would not fit with "
        "checkpointed activations. A smaller micro_batch or checkpoint_activations = true in [run] "
        "gives the same losses but for rounding.",
    ),
    "R0141": Message(
        "a run over several nodes, and the number of this one is not set",
        "`nodes` in [run] shares a run between machines. The same command is started on each, with "
        "MASTER_ADDR and MASTER_PORT, at which node 0 listens, and with NODE_RANK, 0 for the first. "
        "--slurm sets them by itself; on a Ray cluster a run is done on one node.",
    ),
    "R0142": Message(
        "nodes that cannot do a run together",
        "Node 0 waits ten minutes for all to join, and each other node as long for node 0. All see "
        "the folders at the same path and have the same lawdsl, and may connect to each other at any "
        "port. Where one is lost, the run ends on the others too: start the command on all of them "
        "again, and it goes on from its last checkpoint.",
    ),
    "R0143": Message(
        "a job array that Slurm refuses",
        "`sbatch` says why: a partition, an account or a time limit that this cluster wants, or more "
        "than it has. Give its options with --sbatch, one each time: --sbatch=--partition=gpu.",
    ),
    "R0144": Message(
        "a precision that was chosen without the GPU",
        'precision = "auto" is bfloat16 where all GPUs have it, and is decided by the machine on which '
        "`lawdsl run --slurm` writes the runs. That one has no GPU, so the runs are in float32. Set "
        "the precision in [training]; runs that have begun keep theirs.",
    ),
    "R0145": Message(
        "a setting that has no effect",
        "Sharding needs several processes, a micro-batch has at most the rows of a process, and a "
        "log is written once. The runs are made as if the setting were left out.",
    ),
    "R0146": Message(
        "models that take too long to inspect",
        "Before a sweep starts, a process loads torch and counts what the models allocate: seconds "
        "for a small model, half a minute for one of 4 billion parameters. It is stopped after ten "
        "minutes a model. Counts are cached, so a second try goes on from there.",
    ),
}

MODELS: dict[str, Message] = {
    "R0301": Message(
        "a folder that holds no model",
        "A model is a folder on this machine with a config.json, as transformers writes it, or a "
        "configuration of which the weights are drawn. Nothing is fetched from a hub.",
    ),
    "R0302": Message(
        "a model that transformers does not take",
        "Its configuration is damaged, or of a family that the installed transformers does not "
        "know as a causal language model, or names code of its own (auto_map): code from a "
        "model's folder is never run. The message says what transformers said.",
    ),
    "R0303": Message(
        "weights that cannot be used",
        "Weights are read from safetensors alone, and only from those in the model's folder, whose "
        "hash names the run. A pickle can run any program when it is read, so convert it where you "
        "trust it: load the model there and call save_pretrained. Weights that are damaged, missing or not those of the configuration are refused too: transformers "
        "would draw what is missing at random, and the run would begin with another model.",
    ),
    "R0304": Message(
        "a model that changes its logits",
        "The loss is computed from the last hidden states and the head, without ever holding all "
        "logits. A factor and a cap of the logits (Cohere, Granite, Gemma 2) are applied. A family "
        "that does something else to them would be trained on another loss than its own; the "
        "runner compares both before it begins, and refuses.",
    ),
    "R0305": Message(
        "a router loss that is not the model's own",
        "In a mixture of experts, a loss that balances the load of the experts is added in training. "
        "It is the one of Fedus et al. (2022), if transformers computes it for the family and gives "
        "an equal number. For other families, router_loss = 0 trains the model without it.",
    ),
    "R0411": Message(
        "a model that sees the tokens it is to predict",
        "Its configuration makes attention look at later tokens too, or it is an encoder. Each "
        "prediction would be copied from its answer, and the loss would fall to nothing and mean "
        "nothing. Use a decoder with causal attention.",
    ),
}

STORE: dict[str, Message] = {
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
        "are pickles, which can run any program when they are loaded, and are never read. Or one of "
        "several processes that share the run does not see what the first one has found there.",
    ),
    "R0405": Message(
        "rows of a run that are damaged or missing",
        "Rows are only appended, and what was cut off while it was written is left out. Here a "
        "line within the file is not JSON, or the file ends before the rows that the checkpoint "
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
    "R0412": Message(
        "a branch that cannot begin from its stable run",
        "The checkpoint at the branching point is missing or damaged, or the folder has another run "
        "than the one that was planned. The branch begins from an earlier checkpoint of it, or at "
        "step 0, and has the same losses and weights in the end: only the time is lost.",
    ),
}

TRAINING: dict[str, Message] = {
    "R0501": Message(
        "a device that is not there",
        "The run asks for a device that torch does not see, for an unknown kind of device, or for "
        'TF32, which CPUs lack. On the CPU all else runs too: device = "cpu".',
    ),
    "R0502": Message(
        "a number of processes that does not go",
        "A run is done by as many processes as it was ordered with, for only that number gives the "
        "same numbers bit for bit; the batch must be a multiple of it. `lawdsl run` starts them, or torchrun.",
    ),
    "R0503": Message(
        "a run whose model, data or checkpoint has changed",
        "A run is known by the hash of all that decides its losses. What lies in the folder that is "
        "named is not what the run was ordered with, so its rows would belong to no run: put back "
        "what was there, or order another run.",
    ),
    "R0504": Message(
        "rows that the model cannot take",
        "The corpus has tokens that the model does not know, or rows are longer than the model has "
        "positions. Make the corpus with the model's own tokenizer, or train on shorter sequences.",
    ),
    "R0505": Message(
        "a corpus that is too small for the run",
        "Text that is seen more often teaches less, and laws are about fresh text; so how often a "
        "corpus may be gone through is said beforehand, once by default. Train for fewer steps, "
        "bring more text, or allow a larger max_epochs.",
    ),
    "R0506": Message(
        "a corpus that is shorter than one row",
        "A row is a sequence of tokens and the one after them. The corpus or validation set that "
        "is named holds not even one.",
    ),
    "R0507": Message(
        "memory that did not suffice",
        "The run is recorded as out of memory and its checkpoints stay. With a smaller micro_batch "
        "it goes on from the last one; the batch, and so the losses but for rounding, are the same.",
    ),
    "R0508": Message(
        "an end of a run that cannot be written",
        "The disk or the quota is full, or the folder cannot be written. The rows are all there; "
        "make room, start the run again, and it goes on from its last checkpoint to the end.",
    ),
    "R0509": Message(
        "Weights & Biases without a key",
        "The run is to be logged there, and nobody is logged in on this machine. `wandb login` stores "
        "a key, WANDB_MODE=offline writes to the disk only. The rows of a run do not depend on it.",
    ),
}

SCHEDULES: dict[str, Message] = {
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

TABLES: dict[str, Message] = {
    "R0801": Message(
        "no runs to collect",
        "A table is made from folders of runs, which `lawdsl run` writes below the `folder` of a "
        "sweep, as soon as something was measured after step 0.",
    ),
    "R0802": Message(
        "runs that are not complete",
        "Runs that diverged, failed or are not finished are in the table with the rows that they "
        "have and their status, for to leave them out would make the rest look better than it is. "
        "A fit without them says so: --where 'status = done'.",
    ),
    "R0803": Message(
        "runs that do not belong into one table",
        "One name stands for different corpora, validation sets or models in them, so their losses "
        "cannot be compared. Collect each kind into a table of its own, or give things that differ "
        "different names.",
    ),
    "R0804": Message(
        "equal D that do not mean equal training",
        "While the learning rate falls, the loss is not the one that a shorter run would end with; "
        "and at a constant rate it is higher than at the end of a decay. A law of D takes rows of "
        "one kind: those at the ends of runs, `phase = end`, or those at a constant rate, `phase = "
        "stable`. The table [schedule] of a sweep has a decay for each D, at the cost of the longest "
        "run and the decays. A law that has the learning rate in it, as S1 and S2, can use all rows.",
    ),
    "R0805": Message(
        "a table that cannot be written",
        "The end of its name says its format; the message lists those that can be written. A table "
        "is written completely or not at all.",
    ),
    "R0806": Message(
        "a sampling of checkpoints that the evaluations do not allow",
        "`--sample` keeps the checkpoints of a method: dense (M1), sparse (M2), sectional (M3) or "
        "exponential (M4), with numbers after a colon, `sectional:every=160,then=320`. Intervals are in "
        "steps, at least as long as those at which a run was evaluated, and no longer than their part "
        "of the run. Without numbers they are multiples of the intervals that were measured.",
    ),
}

MACHINE: dict[str, Message] = {
    "R0901": Message(
        "a check of this machine that failed",
        "A figure is not as the check expects it, or its process crashed, was killed or was not "
        "finished in time. The report has the figures and the end of its output. Repeat it with "
        "nothing else running; if it fails again, report it with the report.",
    ),
}
