"""Messages about corpora and validation sets."""

from __future__ import annotations

from lawdsl.messages.message import Message

CORPORA: dict[str, Message] = {
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
        "It is not a tokenizer.json, cannot be read, or has no token that ends a document; documents "
        "would run into each other. --end-of-text names that token where it has an unusual name.",
    ),
    "R0207": Message(
        "a folder that is not a corpus",
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
    "R0215": Message(
        "a document that is too large",
        "A document is held in memory whole, so that one line of JSON or one text of a Parquet file "
        "may not be larger than 64 MiB when it is unpacked: a file of some MB can hold a line of "
        "many GB. Text files are cut. Cut the text into documents, or leave the file out.",
    ),
    "R0216": Message(
        "a tokenizer that fails on a text",
        "The library `tokenizers` gave up, mostly because a regular expression of tokenizer.json "
        "backtracks without end on a long run of letters. The patterns are shown: simplify them, or "
        "take another tokenizer.",
    ),
    "R0217": Message(
        "a Megatron data set that cannot be read",
        "Its tokens are in a .bin file and its documents in the .idx file beside it, in the format "
        "`mmap`, version 1, with integer tokens. One of the files is missing, torn, or belongs to "
        "another one. Bring both again, or make them again with Megatron's preprocessing.",
    ),
    "R0218": Message(
        "tokens that are not those of the tokenizer",
        "Tokens mean something only with the tokenizer that they were made with, so `lawdsl corpus` "
        "takes them with that tokenizer, whose vocabulary has every one of them. Name the right "
        "one with --tokenizer. Other commands need text.",
    ),
}

VALIDATION: dict[str, Message] = {
    "R0601": Message(
        "no sample for a validation set",
        "There is no document, or none of those that were drawn has the tokens that a sample must "
        "have: what is shorter says little about a model. Give more text, or allow shorter samples.",
    ),
    "R0602": Message(
        "a model without a tokenizer",
        "Each model reads a sample as its own tokens, by the tokenizer.json in its folder. Older "
        "forms such as vocab.json with merges.txt or a model of sentencepiece are not read; "
        "transformers turns them into a tokenizer.json when it saves a tokenizer.",
    ),
    "R0603": Message(
        "a tokenizer that is not the model's",
        "It gives tokens that the model has no embedding of. Put the tokenizer that the model was "
        "trained with in its folder.",
    ),
    "R0604": Message(
        "scores that do not fit",
        "Scores are kept as they come, so that a scoring can go on where it was interrupted. Those "
        "that are there are of other samples, for the text, the tokenizer, the seed, the length or "
        "the number of samples is another, or a line was damaged. Give what was given before, or "
        "remove the folder that is named to begin again.",
    ),
    "R0605": Message(
        "a model that cannot judge samples",
        "It has no weights, gives losses that are not numbers, or is the same as another one. "
        "Nothing could be learnt from its perplexities.",
    ),
    "R0606": Message(
        "samples that do not fit in memory",
        "Too many tokens went through a model at once. The scores so far are kept: the same command "
        "with a smaller --batch-tokens goes on.",
    ),
    "R0607": Message(
        "fewer samples than were asked for",
        "The text has fewer documents, or fewer are left when the short ones and those that all "
        "models find unlikely are gone. The set has what there is; a loss over few tokens is noisy.",
    ),
    "R0608": Message(
        "fewer than two models",
        "Samples are dropped that are among the worst under all models. Without models none is; "
        "with one model, all that this one model dislikes are, which may be good text of a kind "
        "that it has not seen.",
    ),
    "R0609": Message(
        "a model that does worse than guessing",
        "Its loss is higher than the logarithm of the number of its tokens. It is not trained, or "
        "the tokenizer in its folder is another model's; its ranks of the samples mean little.",
    ),
}
