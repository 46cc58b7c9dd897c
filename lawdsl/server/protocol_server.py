"""The server object of pygls; texts are synchronised here, not by pygls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from lawdsl import __version__
from lawdsl.server.commands import COMMANDS
from lawdsl.server.features import FEATURES
from lawdsl.server.messages import Protocol
from lawdsl.server.open_documents import path_of
from lawdsl.server.session import Session

log = logging.getLogger(__name__)
WATCHED = "**/*.law"


class Server(LanguageServer):
    """The server; errors of requests are answers, and go to the log instead of a window."""

    protocol: Protocol

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error."""
        log.error("%s", error)


class Editor:
    """What a session sends to the editor."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.refreshes = False
        self.refresh = 0  # the number of the last request for hints
        self.closed = False  # nothing is sent after the end, when the worker's last answers arrive

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        """Show the messages about a document instead of those before."""
        if not self.closed:
            self.server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, diagnostics, version)
            )

    def refresh_hints(self) -> None:
        """Ask the editor to request hints again, if it understands that."""
        if self.refreshes and not self.closed:
            protocol = self.server.protocol
            protocol.forget_request(f"hints-{self.refresh}")  # some editors never answer
            self.refresh += 1
            method = types.WORKSPACE_INLAY_HINT_REFRESH
            protocol.send_request(method, None, msg_id=f"hints-{self.refresh}")

    def warn(self, message: str) -> None:
        """Show a warning that concerns an answer, not a document."""
        if not self.closed:
            kind = types.MessageType.Warning
            self.server.window_show_message(types.ShowMessageParams(kind, message))


def make_server(on_begin: Callable[[int | None], None]) -> tuple[Server, Session]:
    """A server for one connection.

    Args:
        on_begin: called with the number of the editor's process, if it says so.

    Returns:
        The server, and its state.
    """
    server = Server(
        "lawdsl", __version__, types.TextDocumentSyncKind.Incremental, protocol_cls=Protocol
    )
    editor = Editor(server)
    session = Session(editor)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        _begin(session, editor, params)
        session.documents.encoding = str(
            getattr(server.workspace.position_encoding, "value", server.workspace.position_encoding)
        )
        on_begin(params.process_id)

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        session.warm_up()
        _watch_files(server)

    @server.feature(types.SHUTDOWN)
    def shutdown(*_: object) -> None:
        editor.closed = True
        session.end()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        session.opened(document.uri, document.version, document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        session.changed(document.uri, document.version, list(params.content_changes))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.closed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            session.file_changed(change.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        _use_folder(session, [folder.uri for folder in server.workspace.folders.values()])

    for feature in FEATURES:
        server.feature(feature.method, feature.options)(partial(feature.answer, session))
    for name, command in COMMANDS.items():
        server.command(name)(command(session))
    return server, session


def _begin(session: Session, editor: Editor, params: types.InitializeParams) -> None:
    """Take over what the editor can do, and its folder."""
    folders = [folder.uri for folder in params.workspace_folders or ()]
    root = params.root_uri or (from_fs_path(params.root_path) if params.root_path else None)
    _use_folder(session, [*folders, *([root] if root else [])])
    workspace = params.capabilities.workspace
    if workspace is not None and workspace.inlay_hint is not None:
        editor.refreshes = session.refreshes_hints = bool(workspace.inlay_hint.refresh_support)
    if workspace is not None and workspace.workspace_edit is not None:
        session.versioned_edits = bool(workspace.workspace_edit.document_changes)
    texts = params.capabilities.text_document
    if texts is not None and texts.hover is not None:
        session.markdown = types.MarkupKind.Markdown in (texts.hover.content_format or ())
    item = texts.completion.completion_item if texts is not None and texts.completion else None
    session.snippets = bool(item.snippet_support) if item is not None else False


def _use_folder(session: Session, uris: Iterable[str]) -> None:
    """Search in the first of some folders that exists; without one, in that of before."""
    paths = [path for path in map(path_of, uris) if path is not None]
    folder = next((path for path in paths if path.is_dir()), None)
    if folder is not None:
        session.documents.folder = folder


def _watch_files(server: Server) -> None:
    """Ask the editor to say when files of laws change on disk, if it can."""
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is None or not watching.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(WATCHED)])
    registration = types.Registration(
        "lawdsl-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
    )
    server.client_register_capability(types.RegistrationParams([registration]))
