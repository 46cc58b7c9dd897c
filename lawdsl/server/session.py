"""One connection of an editor: documents are read after each edit, then their claims are decided."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from lsprotocol import types

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import real_path
from lawdsl.editing.document import Document
from lawdsl.editing.positions import Positions
from lawdsl.language.sections import without_unused
from lawdsl.proof.check_cache import diagnostic_of, plain_verdict, verdict_of
from lawdsl.proof.verdict import Verdict
from lawdsl.server.conversions import diagnostic, verdict_diagnostics
from lawdsl.server.derivatives import Derivatives
from lawdsl.server.open_documents import OpenDocument, OpenDocuments
from lawdsl.server.progress import Progress
from lawdsl.server.verdict_memory import (
    ClaimStates,
    VerdictMemory,
    keys_of,
    updated,
)
from lawdsl.server.worker_process import WorkerLost, WorkerProcess

READ_DELAY = 0.005  # s after an edit, in which further edits arrive that are read together
LARGE = 30_000  # characters of a text that is read in a thread, after a longer delay
LARGE_DELAY = 0.3  # s
DEPENDENT_DELAY = 0.2  # s after an edit, until documents that depend on it are read
DECIDE_DELAY = 0.25  # s after an edit, until claims are decided
DERIVATIVE_DELAY = 0.3  # s after an edit, until derivatives are computed: claims come first
HINT_DELAY = 0.05  # s in which several verdicts are shown together
CLAIM_SECONDS = 1.0  # CPU time for one claim, as `lawdsl check` allows

log = logging.getLogger(__name__)


class Client(Protocol):
    """What is sent to the editor."""

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        """Show the messages about a document instead of those before."""

    def refresh_hints(self) -> None:
        """Ask the editor to request hints again."""

    def warn(self, message: str) -> None:
        """Show a warning that concerns an answer, not a document."""


@dataclass
class Session:
    """The state of one connection.

    Attributes:
        client: what is sent to the editor.
        documents: the documents that it has open.
        memory: verdicts of earlier versions.
        worker: the process that decides claims.
        to_decide: addresses of the documents whose claims are to be decided, the next one first.
        deciding: the address of the document whose next edit cancels the task of the worker.
        limits: CPU time (s) for one claim, and for all of a law.
        versioned_edits: whether the editor understands edits of a version of a document.
        markdown: whether it shows Markdown beside words.
        snippets: whether it fills in the places of snippets.
        refreshes_hints: whether it requests hints again when it is asked to.
        progress: wakes the requests that wait for a verdict.
        derivatives: of laws, for hovers.
        ended: whether the connection has ended.
    """

    client: Client
    documents: OpenDocuments = field(default_factory=OpenDocuments)
    memory: VerdictMemory = field(default_factory=VerdictMemory)
    worker: WorkerProcess = field(default_factory=WorkerProcess)
    to_decide: OrderedDict[str, None] = field(default_factory=OrderedDict)
    deciding: str | None = None
    limits: tuple[float, float | None] = (CLAIM_SECONDS, None)
    versioned_edits: bool = False
    markdown: bool = False
    snippets: bool = False
    refreshes_hints: bool = False
    progress: Progress = field(default_factory=Progress)
    derivatives: Derivatives = field(default_factory=Derivatives)
    ended: bool = False
    _timers: dict[tuple[str, str], asyncio.TimerHandle] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _decider: asyncio.Task[None] | None = None
    _thread_turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _worker_turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    # Documents

    def opened(self, uri: str, version: int, text: str) -> None:
        """The editor opened a document."""
        document = self.documents.open(uri, version, text)
        self._edited(document)

    def changed(
        self, uri: str, version: int, changes: list[types.TextDocumentContentChangeEvent]
    ) -> None:
        """The editor changed a document."""
        document = self.documents.change(uri, version, changes)
        if document is not None:
            self._edited(document)

    def closed(self, uri: str) -> None:
        """The editor closed a document; its messages are removed, and its file counts again."""
        document = self.documents.close(uri)
        self.to_decide.pop(uri, None)
        for kind in ("read", "claims", "decide", "derivatives"):
            self._stop(kind, uri)
        if self.deciding == uri:
            self.worker.cancel()
        if document is not None:
            self.client.publish(uri, None, [])
            self.progress.notify()
            self._later("dependents", uri, DEPENDENT_DELAY, self._read_dependents, document)

    def file_changed(self, uri: str) -> None:
        """A file changed on disk; documents that depend on it are read again."""
        known = self.documents.by_uri.get(uri)
        if known is None:
            other = OpenDocuments(self.documents.folder).open(uri, 0, "")
            self._later("dependents", uri, DEPENDENT_DELAY, self._read_dependents, other)

    def current(self, uri: str) -> Document | None:
        """What an open document declares as it is now; for a large one, as it was last read.

        Args:
            uri: its address.

        Returns:
            The document; None for one that is not open, or a large one that was never read.
        """
        document = self.documents.by_uri.get(uri)
        if document is None:
            return None
        if document.stale and len(document.text) <= LARGE:
            self._read(document)
        return document.document

    async def once_read(self, uri: str) -> Document | None:
        """What an open document declares as it is now; a large one is read in a thread before.

        Args:
            uri: its address.

        Returns:
            The document; None for one that is not open, or is edited or closed meanwhile.
        """
        document = self.documents.by_uri.get(uri)
        if document is None:
            return None
        if document.stale and len(document.text) > LARGE:
            revision = document.revision
            self._stop("read", uri)
            # diagnostics follow from this reading: it continues if the request is cancelled
            await asyncio.shield(self._spawn(self._read_in_thread(document)))
            if self.documents.by_uri.get(uri) is not document or document.revision != revision:
                return None
        return self.current(uri)

    def positions(self, document: Document) -> Positions:
        """The lines of a document, with columns as the editor counts them."""
        return document.positions(self.documents.encoding)

    def _edited(self, document: OpenDocument) -> None:
        for kind in ("decide", "derivatives"):
            self._stop(kind, document.uri)
        self.to_decide.pop(document.uri, None)
        if self.deciding == document.uri:
            self.worker.cancel()
        delay = LARGE_DELAY if len(document.text) > LARGE else READ_DELAY
        self._later("read", document.uri, delay, self._read_again, document)

    def _read_again(self, document: OpenDocument) -> None:
        """Read a document after an edit, if no request has done so."""
        if len(document.text) > LARGE:
            self._spawn(self._read_in_thread(document))
        elif document.stale:
            self._read(document)

    async def _read_in_thread(self, document: OpenDocument, dependent: bool = False) -> None:
        """Read a large document while requests are answered."""
        version, revision = document.version, document.revision
        async with self._thread_turn:
            if document.revision == revision and document.stale:
                reading = self.documents.reading(document)
                read = await asyncio.to_thread(reading)
                if document.revision == revision:  # else it is read again, perhaps by now
                    document.document = read
                    document.read_version, document.read_revision = version, revision
        if self._is_open(document) and document.revision == revision:
            self._was_read(document, dependent)

    def _read(self, document: OpenDocument) -> None:
        self._stop("read", document.uri)
        self.documents.read(document)
        self._was_read(document)

    def _was_read(self, document: OpenDocument, dependent: bool = False) -> None:
        """Show the messages about a version, and decide its claims when no edit follows.

        What depends on a dependent is not read again: it depends on the edited document, too.
        """
        self.publish(document)
        self._later("claims", document.uri, 0.0, self._update_claims, document)
        self._later("derivatives", document.uri, DERIVATIVE_DELAY, self._prepare_hovers, document)
        if not dependent:
            again = self._read_dependents
            self._later("dependents", document.uri, DEPENDENT_DELAY, again, document)

    def _update_claims(self, document: OpenDocument) -> None:
        """See which verdicts still hold, and have the others decided."""
        self._stop("claims", document.uri)
        read = document.document
        if read is None or document.claims_of is read:
            return
        opened = self.documents.opened()
        document.claims = updated(document.claims, read, self.memory, opened)
        document.claims_of = read
        self.progress.notify()
        if document.claims.to_show:
            self.publish(document)
        if document.claims.deciding:
            self._later("decide", document.uri, DECIDE_DELAY, self._decide_soon, document)

    def claims(self, uri: str) -> ClaimStates:
        """What is known of the claims of an open document that was read.

        Args:
            uri: its address.
        """
        document = self.documents.by_uri[uri]
        self._update_claims(document)
        return document.claims

    def _read_dependents(self, document: OpenDocument) -> None:
        """Read the documents again that name the law in a document, one after the other."""
        self._spawn(self._read_all(list(self.documents.naming(document.path, document.uri))))

    async def _read_all(self, documents: list[OpenDocument]) -> None:
        for document in documents:
            if not self._is_open(document):
                continue
            dependent = not document.stale  # else it is edited, too, and others depend on that
            document.revision += 1
            if len(document.text) > LARGE:
                await self._read_in_thread(document, dependent)
            else:
                self.documents.read(document)
                self._was_read(document, dependent)
            await asyncio.sleep(0)  # requests come first

    def publish(self, document: OpenDocument) -> None:
        """Show all that is known to be wrong with a version that was read, unless it is edited, closed or
        opened again since.
        """
        read = document.document
        if read is None or document.stale or not self._is_open(document):
            return
        positions = self.positions(read)
        diagnostics = [
            diagnostic(d, read, document.uri, positions) for d in self.messages(document)
        ]
        if document.claims_of is read:
            diagnostics += verdict_diagnostics(document.claims, read, positions)
        self.client.publish(document.uri, document.read_version, diagnostics)

    def _is_open(self, document: OpenDocument) -> bool:
        """Whether a document is neither closed nor opened again."""
        return self.documents.by_uri.get(document.uri) is document

    def messages(self, document: OpenDocument) -> list[Diagnostic]:
        """The messages about a version that was read, and the warnings that follow from its law."""
        assert document.document is not None
        known = document.claims_of is document.document
        warnings = document.claims.warnings if known else ()
        return list(without_unused(document.document.diagnostics, warnings))

    # Claims

    def _decide_soon(self, document: OpenDocument) -> None:
        """Put a document in front of those whose claims are to be decided."""
        self.to_decide[document.uri] = None
        self.to_decide.move_to_end(document.uri, last=False)
        if self._decider is None or self._decider.done():
            self._decider = self._spawn(self._decide_all())

    async def _decide_all(self) -> None:
        while self.to_decide:
            uri, _ = self.to_decide.popitem(last=False)
            document = self.documents.by_uri.get(uri)
            if document is not None and not document.stale and document.document is not None:
                if self.claims(uri).deciding:
                    await self._decide_now(document, document.document)

    def _prepare_hovers(self, document: OpenDocument) -> None:
        """Compute derivatives before a hover needs them, which then does not wait."""
        read = document.document
        if read is None or read.declarations is None:
            return

        def is_current() -> bool:
            opened = self.documents.by_uri.get(document.uri)
            same = opened is document and document.document is read and not document.stale
            return same and not self.ended

        self._spawn(self.derivatives.compute_all(self, read, document.uri, is_current))

    async def ask_worker(
        self, kind: str, arguments: dict[str, Any], until_edit_of: str | None = None
    ) -> dict[str, Any] | None:
        """The answer of the worker to a request; None if it has none.

        What is being decided at the moment comes first.

        Args:
            kind: a key of `lawdsl.server.tasks.TASKS`.
            arguments: plain data.
            until_edit_of: the address of a document; its next edit cancels the request.
        """
        async with self._worker_turn:
            self.deciding = until_edit_of
            try:
                answer = await self.worker.ask(kind, arguments, lambda part: None)
            except WorkerLost:
                return None
            finally:
                self.deciding = None
        if "fault" in answer:
            log.error("%s: %s", kind, answer["fault"])
        return None if "fault" in answer or "cancelled" in answer else answer

    @property
    def worker_is_busy(self) -> bool:
        """Whether the worker has a task, before which it takes no other."""
        return self._worker_turn.locked()

    def request_for(self, read: Document) -> dict[str, Any]:
        """What the tasks of the worker need of a document.

        Args:
            read: the document, a law without errors.
        """
        law = read.declarations
        assert law is not None
        # as they were read: what is open now may be edited, and verdicts are stored for these texts
        bases = [base.text for base in law.laws.values()]
        texts = {str(real_path(Path(base.name))): base.text for base in bases}
        name = read.source.name
        return {"text": read.text, "path": str(read.path), "name": name, "open": texts}

    async def _decide(self, document: OpenDocument, read: Document) -> None:
        """Decide the claims of a version, and show the verdicts as they are reached."""
        key, claims = keys_of(read)
        known = self.memory.of(key)
        plain = [plain_verdict(known.verdicts[c]) if c in known.verdicts else None for c in claims]
        law = read.declarations
        assert law is not None

        def show(part: dict[str, Any]) -> None:
            number = part["claim"]
            verdict = verdict_of(part["verdict"])
            known.verdicts[claims[number]] = verdict
            if document.claims_of is read:
                document.claims.verdicts[claims[number]] = verdict
                document.claims.current.add(claims[number])
                self.progress.notify()
                if ("hints", "") not in self._timers:  # others are shown together with this one
                    self._later("hints", "", HINT_DELAY, self._refresh)

        request = {**self.request_for(read), "limits": list(self.limits), "known": plain}
        try:
            answer = await self.worker.ask("check", request, show)
        except WorkerLost as error:
            if self.ended:
                return
            log.error("the claims of %s are not decided: %s", read.path, error)
            answer = {}
        if "fault" in answer:
            log.error("the claims of %s are not decided: %s", read.path, answer["fault"])
        if "cancelled" in answer or document.claims_of is not read:
            return
        texts = {part.text.name: part.text for part in (law, *law.laws.values())}
        parts = [*answer.get("warnings", ()), *answer.get("errors", ())]
        warnings = tuple(diagnostic_of(part, texts) for part in parts)
        if "warnings" in answer or "errors" in answer:
            known.warnings = read.text, warnings
        document.claims.warnings, document.claims.warned = warnings, read.text
        document.claims.deciding = False
        self.publish(document)
        self.progress.notify()
        self._refresh()

    async def verdicts(self, uri: str) -> list[Verdict]:
        """The verdicts on the claims of an open law, in their order, once all are decided.

        Those that the worker could not decide are missing.

        Args:
            uri: the address of the document, which has no errors.
        """
        document = self.documents.by_uri.get(uri)
        read = document.document if document is not None else None
        if document is None or read is None or read.declarations is None:
            return []
        key, claims = keys_of(read)
        if self.claims(uri).deciding:
            self._stop("decide", uri)
            self.to_decide.pop(uri, None)
            # a request that is cancelled leaves the work to the hints, and the worker its turn
            await asyncio.shield(self._spawn(self._decide_now(document, read)))
        known = self.memory.of(key).verdicts  # not those of a version that is edited meanwhile
        return [
            replace(known[c], place=(claim.text.name, claim.text.position(claim.span.start)[0]))
            for c, claim in zip(claims, read.declarations.claims, strict=True)
            if c in known
        ]

    async def _decide_now(self, document: OpenDocument, read: Document) -> None:
        async with self._worker_turn:
            if document.claims.deciding and document.claims_of is read:
                self.deciding = document.uri
                try:
                    await self._decide(document, read)
                finally:
                    self.deciding = None

    def _refresh(self) -> None:
        self.client.refresh_hints()

    # Timers and tasks

    def _later(self, kind: str, uri: str, delay: float, call: Any, *arguments: Any) -> None:
        """Call a function after a delay, unless the same is asked for again before."""
        self._stop(kind, uri)
        loop = asyncio.get_running_loop()

        def run() -> None:
            self._timers.pop((kind, uri), None)
            call(*arguments)

        self._timers[kind, uri] = loop.call_later(delay, run)

    def _stop(self, kind: str, uri: str) -> None:
        timer = self._timers.pop((kind, uri), None)
        if timer is not None:
            timer.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself keeps only weak references
        task.add_done_callback(self._tasks.discard)
        return task

    def warm_up(self) -> None:
        """Start the worker before the first claims are to be decided."""
        self._spawn(self._start_worker())

    async def _start_worker(self) -> None:
        async with self._worker_turn:
            try:
                await self.worker.start()
            except WorkerLost as error:
                if not self.ended:
                    log.error("claims are not decided: %s", error)

    def end(self) -> None:
        """End the worker, and decide nothing more."""
        self.ended = True
        self.to_decide.clear()
        self.worker.close()

    async def finished(self) -> None:
        """End the worker, and wait until it has ended."""
        self.end()
        tasks = [*self._tasks, *self.derivatives.computing.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.worker.finished()
