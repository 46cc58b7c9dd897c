"""Documents that are small on the disk and large when read, and tokenizers that fail on a text."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import runs
from tiny_models import byte_tokenizer

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.corpora import documents, tokenizer as tokenizing
from lawdsl.runners.corpora.documents import read_documents

LIMIT = 1000
MIB = 1 << 20


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_RECORD_BYTES", LIMIT)


def line(size: int) -> bytes:
    """A line of JSON of so many bytes, with the end of the line."""
    return b'{"text": "' + b"a" * (size - 13) + b'"}\n'


def refusal(*files: Path) -> str:
    with pytest.raises(LawdslError) as caught:
        list(read_documents(files))
    assert len(caught.value.diagnostics) == 1
    return str(caught.value)


def packed(path: Path, content: bytes) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    elif path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(content)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.ndjson.gz"])
def test_a_line_that_is_too_large_is_named_with_its_number(small: None, tmp_path: Path, name: str):
    fits = packed(tmp_path / name, line(30) + b"\n" + line(LIMIT) + line(40))
    assert [d.source for d in read_documents([fits])] == [f"{fits}:{n}" for n in (1, 3, 4)]
    large = packed(tmp_path / f"large-{name}", line(30) + b"\n" + line(LIMIT + 1) + line(40))
    said = refusal(large)
    assert said.startswith("error[R0215]: the line is larger than a document may be")
    assert f"{large}:3" in said


@pytest.mark.parametrize("letter", ["a", "é", "語"])
def test_a_text_in_parquet_that_is_too_large_is_named_with_its_row(
    small: None, tmp_path: Path, letter: str
):
    """The limit counts bytes, not characters."""
    path = tmp_path / "a.parquet"
    fits = letter * (LIMIT // len(letter.encode()))
    texts = ["b", fits, fits + letter, "d"]
    pq.write_table(pa.table({"text": texts[:2]}), path)
    assert len(list(read_documents([path]))) == 2
    pq.write_table(pa.table({"text": texts}), path)
    said = refusal(path)
    assert said.startswith("error[R0215]: the text is larger") and f"{path}:3" in said


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_in_parquet_are_the_same_in_any_encoding(
    tmp_path: Path, dictionary: bool, kind: pa.DataType
):
    texts = [f"text {i % 7} \u00e4" * (i % 5 + 1) for i in range(1000)]
    path = tmp_path / "a.parquet"
    table = pa.table({"n": range(1000), "text": pa.array(texts, kind)})
    pq.write_table(table, path, use_dictionary=dictionary, row_group_size=300)
    found = list(read_documents([path]))
    assert [d.text for d in found] == texts
    assert [d.source for d in found] == [f"{path}:{i + 1}" for i in range(1000)]


SCRIPT = """
import resource, sys
from pathlib import Path
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.corpora.documents import read_documents
import pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = 0
try:
    for document in read_documents([Path(sys.argv[1])]):
        count += 1
except LawdslError as error:
    print(error.diagnostics[0].code, count, end=" ")
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def memory(path: Path) -> tuple[list[str], int]:
    """What is said of a file by a process of its own, and the bytes that reading it takes."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env=runs.environment(),
    )
    *said, kilobytes = done.stdout.split()
    return said, 1024 * int(kilobytes)


def blocks(size: int) -> Iterator[bytes]:
    for _ in range(size // MIB):
        yield b"a" * MIB


def json_bomb(path: Path) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(line(30) + b'{"text": "')
        file.writelines(blocks(600 * MIB))
    return path


def zstd_bomb(path: Path) -> Path:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(line(30) + b'{"text": "')
        for block in blocks(600 * MIB):
            file.write(block)
    return path


def repeated_bomb(path: Path) -> Path:
    """One text of 32 MiB, and 2,000 times its number in the dictionary: 64 GB when written out."""
    array = pa.DictionaryArray.from_arrays(pa.array([0] * 2000), ["a" * (32 * MIB)])
    pq.write_table(pa.table({"text": array}), path, dictionary_pagesize_limit=64 * MIB)
    return path


@pytest.mark.parametrize("make", [json_bomb, zstd_bomb])
def test_a_bomb_is_refused_at_the_limit_and_takes_little_memory(tmp_path: Path, make):
    path = make(tmp_path / ("a.jsonl.gz" if make is json_bomb else "a.jsonl.zst"))
    assert path.stat().st_size < 5 * MIB
    said, taken = memory(path)
    assert said == ["R0215", "1", "1"]
    assert taken < 300 * MIB


@pytest.mark.slow
def test_a_text_that_comes_many_times_is_in_memory_once(tmp_path: Path):
    said, taken = memory(repeated_bomb(tmp_path / "a.parquet"))
    assert said == ["2000"]
    assert taken < 600 * MIB


def test_a_part_that_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path: Path, monkeypatch):
    path = tmp_path / "a.parquet"
    texts = ["b" * 10, *(f"{i:09}" + "a" * 100_000 for i in range(40))]
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", use_dictionary=False)
    assert len(list(read_documents([path]))) == 41
    monkeypatch.setattr(documents, "UNPACKED", MIB)
    said = refusal(path)
    assert said.startswith("error[R0215]: the text from here on takes 4,0") and f"{path}:1" in said


# --- tokenizers


PATTERN = "(a+)+$"


def failing(path: Path) -> Path:
    """A tokenizer whose pattern backtracks without end."""
    document = json.loads(byte_tokenizer().to_str())
    split = {
        "type": "Split",
        "pattern": {"Regex": PATTERN},
        "behavior": "Isolated",
        "invert": False,
    }
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split]}
    path.write_text(json.dumps(document))
    return path


LONG = "a" * 20_000 + " b"


def test_a_tokenizer_that_panics_is_named_with_its_pattern(tmp_path: Path, capfd):
    tokenizer = tokenizing.load_tokenizer(failing(tmp_path / "tokenizer.json"))
    for offsets in (True, False):
        with pytest.raises(LawdslError) as caught:
            list(tokenizing.encode_texts(tokenizer, ["short", LONG], offsets))
        (found,) = caught.value.diagnostics
        assert found.code == "R0216" and found.place == str(tmp_path / "tokenizer.json")
        assert "retry-limit" in found.message
        assert found.notes == (f"its pattern: {PATTERN}",)


def test_a_corpus_by_a_tokenizer_that_panics_is_not_made(tmp_path: Path):
    failing(tmp_path / "tokenizer.json")
    (tmp_path / "text.txt").write_text(LONG)
    done = subprocess.run(
        [sys.executable, "-m", "lawdsl", "corpus", "text.txt", "--tokenizer", "tokenizer.json"]
        + ["-o", "corpora"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=runs.environment(),
    )
    assert done.returncode == 3
    assert "error[R0216]: the tokenizer fails: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("corpora/*/corpus.json"))


def test_interrupts_are_no_failures_of_a_tokenizer():
    with pytest.raises(KeyboardInterrupt), tokenizing.library_errors(Path("tokenizer.json"), b"{}"):
        raise KeyboardInterrupt
    with pytest.raises(MemoryError), tokenizing.library_errors(Path("tokenizer.json"), b"{}"):
        raise MemoryError


def test_patterns_are_found_wherever_they_stand():
    document = {
        "normalizer": {"type": "Replace", "pattern": {"Regex": "x+"}, "content": ""},
        "pre_tokenizer": {
            "pretokenizers": [{"pattern": {"Regex": "y"}}, {"pattern": {"String": "z"}}]
        },
        "model": {"vocab": {"Regex": 1}},
    }
    assert set(tokenizing._patterns(json.dumps(document).encode())) == {"x+", "y"}
    assert tokenizing._patterns(b"[" * 100_000) == []


def test_patterns_are_read_from_the_file_after_a_failure_only(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    with tokenizing.library_errors(path):
        pass
    path.write_text(json.dumps({"pattern": {"Regex": "(a|b)*"}}))
    with pytest.raises(LawdslError) as caught, tokenizing.library_errors(path):
        raise RuntimeError("stack overflow")
    (found,) = caught.value.diagnostics

    assert found.code == "R0216" and found.notes == ("its pattern: (a|b)*",)
