"""Words of files -> what each names: a declaration here, in a law that this one extends, or a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lawdsl.core.diagnostics import LawdslError, Span
from lawdsl.core.files import real_path
from lawdsl.core.recent import RecentTexts
from lawdsl.editing.words import Word, Words, header_of, words_of
from lawdsl.language.edited_tokens import MAX_CHARACTERS
from lawdsl.language.keywords import section_of_text
from lawdsl.language.library import OpenFiles, file_named, shipped_folder

MAX_EXTENDED = 20  # laws, each extending the next
GREEK = re.compile("[Α-ϵ]")  # letters that names spell out: alpha for α

Named = Mapping[str, Word]
_DECLARED: RecentTexts[Named] = RecentTexts(MAX_CHARACTERS)
_LABELS: RecentTexts[Named] = RecentTexts(MAX_CHARACTERS)


@dataclass(frozen=True)
class File:
    """A `.law` file as text, whatever state it is in.

    Attributes:
        path: its path.
        text: its text, without a byte order mark.
        folder: where the laws that it names are searched for first.
    """

    path: Path
    text: str
    folder: Path

    # The words of many files take much memory: `words_of` and the tables below cache only those of the
    # most recent texts.

    @property
    def words(self) -> Words:
        """Its words."""
        return words_of(self.text)

    @cached_property
    def section(self) -> str:
        """law, question or pipeline."""
        return section_of_text(self.text)

    def may_mention(self, name: str) -> bool:
        """Whether its text may mention a name; a quick test without the lexer, which may be wrongly True.

        Args:
            name: the name; its last part, of a dotted one.
        """
        part = name.rpartition(".")[2]  # there may be spaces around a dot
        return part in self.text or '"' in part or GREEK.search(self.text) is not None

    @property
    def declared(self) -> Named:
        """Name -> the word that declares it."""

        def read() -> Named:
            declaring: dict[str, Word] = {}
            for line in self.words.lines:
                for word in line.declaring:
                    declaring.setdefault(word.text, word)
            return declaring

        return _DECLARED.get(self.text, read)

    @property
    def labels(self) -> Named:
        """Label -> the first word that is this label."""

        def read() -> Named:
            labels: dict[str, Word] = {}
            for word in self.words:
                if word.role == "label":
                    labels.setdefault(word.name, word)
            return labels

        return _LABELS.get(self.text, read)

    @cached_property
    def extended(self) -> str:
        """The name of the law that it extends; empty for none."""
        if "extends" not in self.text:
            return ""
        for line in self.words.lines:
            if line.keyword == "extends":
                return next((w.text for w in line.words if w.role == "law"), "")
        return ""

    @cached_property
    def uses(self) -> Mapping[str, str]:
        """Name -> the law that it stands for a fit of, in a question."""
        laws: dict[str, str] = {}
        if "uses" not in self.text:
            return laws
        for line in self.words.lines:
            if line.keyword == "uses":
                law = next((w.text for w in line.words if w.role == "law"), "")
                laws |= {w.text: law for w in line.words if w.declares}
        return laws

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The laws and questions of the steps of a pipeline."""
        if "step" not in self.text:
            return ()
        lines = (line for line in self.words.lines if line.keyword == "step")
        return tuple(w.text for line in lines for w in line.words if w.role == "law")

    @property
    def ships(self) -> bool:
        """Whether it comes with the tool."""
        return real_path(self.path).is_relative_to(real_path(shipped_folder()))


@dataclass(frozen=True)
class Target:
    """What a word names.

    Attributes:
        file: the file that declares it.
        name: the name there.
        kind: as in `Symbol.kind`, or index, given, unknown, use, step, law, label, set.
        span: the place of the declaration.
    """

    file: File
    name: str
    kind: str
    span: Span

    @property
    def key(self) -> tuple[Path, str, bool]:
        """The same for all words that name it: a law and what it declares may share a name."""
        return self.file.path, self.name, self.kind == "law"


@dataclass(frozen=True)
class Files:
    """How files find each other, for one request: each is read and each name is searched for once.

    Attributes:
        opened: the texts of files that are open, which count instead of those on disk.
        known: path and folder -> the file as it was read.
        paths: name and folder -> the file of that name.
        chains: file -> it and the laws that it extends.
        declarations: name and file -> what the name stands for there.
    """

    opened: OpenFiles = field(default_factory=OpenFiles)
    known: dict[tuple[Path, Path], File | None] = field(
        default_factory=dict, repr=False, compare=False
    )
    paths: dict[tuple[str, Path], Path | None] = field(
        default_factory=dict, repr=False, compare=False
    )
    chains: dict[File, tuple[File, ...]] = field(default_factory=dict, repr=False, compare=False)
    declarations: dict[tuple[str, File], Target | None] = field(
        default_factory=dict, repr=False, compare=False
    )

    def read(self, path: Path, folder: Path | None = None) -> File | None:
        """A file; None for one that cannot be read.

        Args:
            path: its path.
            folder: where the laws that it names are searched for; beside it by default.
        """
        beside = folder or path.parent
        if (path, beside) not in self.known:
            try:
                text = self.opened.read(path).text.removeprefix("\ufeff")
            except LawdslError:
                self.known[path, beside] = None
            else:
                self.known[path, beside] = File(path, text, beside)
        return self.known[path, beside]

    def named(self, name: str, by: File) -> File | None:
        """The file of a law, question or pipeline; None where there is none.

        Args:
            name: its dotted name.
            by: the file that names it.
        """
        if not name:
            return None
        key = name, by.folder
        if key not in self.paths:
            path = file_named(name, by.folder, self.opened)
            # resolved, so that a file has one path even if symbolic links lead to it
            self.paths[key] = None if path is None else real_path(path)
        path = self.paths[key]
        return None if path is None else self.read(path, by.folder)

    def chain(self, file: File) -> tuple[File, ...]:
        """The file, the law that it extends, the one that this extends, …"""
        if file not in self.chains:
            chain: dict[Path, File] = {}
            current: File | None = file
            while current is not None and current.path not in chain and len(chain) < MAX_EXTENDED:
                chain[current.path] = current
                current = self.named(current.extended, current)
            self.chains[file] = tuple(chain.values())
        return self.chains[file]

    def declaration(self, name: str, file: File) -> Target | None:
        """What a name stands for in a file; the output of a law that is extended is that of it.

        Args:
            name: the name.
            file: the file.
        """
        key = name, file
        if key not in self.declarations:
            self.declarations[key] = self._declaration(name, file)
        return self.declarations[key]

    def _declaration(self, name: str, file: File) -> Target | None:
        target = None
        for each in self.chain(file):
            word = each.declared.get(name) if each.may_mention(name) else None
            if word is None:
                continue
            if target is None or (target.kind == "output" and word.declares == "output"):
                target = Target(each, name, word.declares, word.span)
            if target.kind != "output":
                break
        return target

    def all_declared(self, file: File) -> dict[str, Target]:
        """Name -> what it stands for, for all names of a file and of the laws that it extends."""
        targets: dict[str, Target] = {}
        for each in self.chain(file):
            for name, word in each.declared.items():
                targets.setdefault(name, Target(each, name, word.declares, word.span))
        return targets

    def law(self, name: str, file: File) -> Target | None:
        """The law, question or pipeline of a name."""
        file_of_name = self.named(name, file)
        if file_of_name is None:
            return None
        header = header_of(file_of_name.words)
        return Target(file_of_name, name, "law", header.span if header else Span(0, 0))

    def called(self, name: str, file: File) -> File | None:
        """The file whose names the arguments of a call have: `r` of `general(N, r = 1)`.

        Args:
            name: what is called, or the law of a step.
            file: the file of the call.
        """
        if file.section == "law":
            return file
        return self.named(file.uses.get(name, name), file)

    def resolve(self, word: Word, file: File) -> Target | None:
        """What a word names; None for one that names nothing that is declared in a file.

        Args:
            word: a word of the file.
            file: the file.
        """
        match word.role:
            case "header":
                return Target(file, word.text, "law", word.span)
            case "law":
                return self.law(word.text, file)
            case "name":
                return self.declaration(word.text, file) or self._law_as_name(word, file)
            case "argument":
                called = self.called(word.of, file)
                return self.declaration(word.text, called) if called is not None else None
            case "column":
                return self._column(word, file)
            case "subscript" | "label":
                return self._label(word, file)
            case "set":
                return Target(file, word.text, "set", word.span)
        return None

    def variable_of_value(self, word: Word, file: File) -> Target | None:
        """The variable of a law for which a name alone stands: the N of `loss(N, D = 1)`; else None.

        Args:
            word: a word of the file.
            file: the file, a question.
        """
        if not word.alone or file.section != "question" or word.of not in file.uses:
            return None
        law = self.called(word.of, file)
        return self.declaration(word.text, law) if law is not None else None

    def _law_as_name(self, word: Word, file: File) -> Target | None:
        """The law that is extended, whose name stands for its right-hand side."""
        return self.law(word.text, file) if word.text == file.extended else None

    def _column(self, word: Word, file: File) -> Target | None:
        laws = (word.of, *file.steps) if word.of else file.steps
        for name in dict.fromkeys(laws):
            law = self.named(name, file)
            target = self.declaration(word.text, law) if law is not None else None
            if target is not None and target.kind in ("variable", "output", "unknown"):
                return target
        return None

    def _label(self, word: Word, file: File) -> Target | None:
        if word.role == "subscript":
            index = self.declaration(word.text, file)
            if index is not None and index.kind == "index":
                return index
        for each in self.chain(file):
            label = each.labels.get(word.name)
            if label is not None:
                return Target(each, word.name, "label", label.span)
        return None
