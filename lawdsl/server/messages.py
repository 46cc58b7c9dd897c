"""Messages of an editor: those that are malformed or out of turn are refused, the others passed on.

Every request has an answer under its number (JSON-RPC 2.0, section 5; Language Server Protocol
Specification 3.17, "Base Protocol" and "Lifecycle Messages"). Notifications have none: malformed ones
are logged and ignored.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from typing import Any

from cattrs import Converter, transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from lawdsl.server.connection import Waiting, request_id
from lawdsl.server.frames import Fault

log = logging.getLogger(__name__)
MAX_FORGOTTEN = 1000  # requests whose answers are ignored
MAX_REASONS = 3  # of one message, in the answer to it
Steps = Generator[Any, Any, None]


class Protocol(LanguageServerProtocol):
    """Passes the notifications about documents on, without a second copy of their texts.

    That of pygls ends lines at further characters, such as form feeds, which the protocol does not.
    """

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self._forgotten: deque[str] = deque(maxlen=MAX_FORGOTTEN)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Steps:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Steps:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Steps:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *_: object) -> Steps:
        """Cancel all other requests; that of pygls fails when one of them is a command."""
        yield self.fm.features[types.SHUTDOWN], (None,), None
        for number, future in list(self._request_futures.items()):
            if number != self.msg_id and not future.done():
                future.cancel()
        self._shutdown = True

    # Requests in progress; pygls would remember each notification, too, and requests without answer

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)

        def forget(_: object) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]

        if future is not None:
            future.add_done_callback(forget)

    def _send_handler_result(self, future: Future[Any], *, msg_id: str | int) -> None:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, JsonRpcException):  # an answer of ours; pygls would log where it arose
            self.refuse(msg_id, error)
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def _handle_cancel_notification(self, msg_id: str | int) -> None:
        if msg_id in self._request_futures:  # else it is answered: both messages crossed
            super()._handle_cancel_notification(msg_id)

    def forget_request(self, number: str) -> None:
        """Ignore the editor's answer to a request of the server.

        Args:
            number: the id of the request.
        """
        self._request_futures.pop(number, None)
        self._result_types.pop(number, None)
        self._forgotten.append(number)

    # Messages as plain data; pygls would take each object within a message for a message

    def receive(self, waiting: Waiting) -> None:
        """Handle what was read from the connection; nothing is raised for what is wrong with it.

        Args:
            waiting: a message, or why there is none.

        Raises:
            SystemExit: the editor wants the process to end.
        """
        part = waiting.part
        assert part is not None
        if isinstance(part, Fault):
            kind = JsonRpcParseError if part.in_body else JsonRpcInvalidRequest
            self.refuse(None, kind(part.reason))
        elif waiting.cancelled:
            number = part.value["id"]
            self.refuse(number, JsonRpcRequestCancelled(f"request {number!r} was cancelled"))
        else:
            try:
                self.handle_message(part.value)
            except Exception:  # one message must not end the server
                log.exception("a message was not handled")

    @property
    def is_shut_down(self) -> bool:
        """Whether the editor has asked for the end."""
        return self._shutdown

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Leave each object of a message as it is."""
        return data

    def handle_message(self, message: Any) -> None:
        """Pass a message on, or refuse it.

        Args:
            message: what was read as JSON.
        """
        if not isinstance(message, Mapping) or message.get("jsonrpc") != self.VERSION:
            self.refuse(None, JsonRpcInvalidRequest("a message must be a JSON-RPC 2.0 object"))
            return
        if "method" not in message:
            self._pass_on(message)  # the answer to a request of the server
            return
        number = message.get("id")
        is_request = "id" in message
        fault = self._fault(message)
        if fault is None:
            try:
                typed = self._typed(message)
            except Exception as error:  # whatever the types of the protocol find wrong
                reasons = _reasons(error)
                fault = JsonRpcInvalidParams(
                    f"the parameters of `{message['method']}` are invalid: {reasons}"
                )
            else:
                super().handle_message(typed)
                return
        if is_request:
            self.refuse(request_id(number), fault)
        else:
            log.error("ignored a notification: %s", fault)

    def _fault(self, message: Mapping[str, Any]) -> JsonRpcException | None:
        """Why a message cannot be accepted, whatever its parameters."""
        method = message["method"]
        if not isinstance(method, str) or ("id" in message and request_id(message["id"]) is None):
            return JsonRpcInvalidRequest(
                "the method must be a string, and the id a string or an integer"
            )
        if self._shutdown and method != types.EXIT:
            return JsonRpcInvalidRequest(f"`{method}` after `shutdown`")
        begins = method == types.INITIALIZE
        if self._workspace is None and not begins and method != types.EXIT:
            return JsonRpcServerNotInitialized(f"`{method}` before `initialize`")
        if self._workspace is not None and begins:
            return JsonRpcInvalidRequest("`initialize` was sent before")
        known = method in self.fm.builtin_features or method in self.fm.features
        if method != types.CANCEL_REQUEST and not known:
            return JsonRpcMethodNotFound.of(method)
        is_notification = not hasattr(self.get_message_type(method), "id")
        if ("id" in message) == is_notification:
            kind = "notification" if is_notification else "request"
            return JsonRpcInvalidRequest(f"`{method}` is a {kind}")
        return None

    def _typed(self, message: Mapping[str, Any]) -> Any:
        """A message as a record of the protocol.

        Raises:
            Exception: its parameters are not those of its method.
        """
        kind = self.get_message_type(message["method"])
        assert kind is not None  # since there is a handler
        return self._converter.structure(message, kind)

    def _pass_on(self, answer: Mapping[str, Any]) -> None:
        try:
            if answer["id"] in self._forgotten or self._shutdown:  # nobody needs it any more
                return
            if answer["id"] not in self._result_types:
                log.warning("an answer to no request of the server: %.60r", answer["id"])
                return
            super().handle_message(super().structure_message(dict(answer)))
        except Exception as error:
            log.error("malformed answer: %r", error)

    def refuse(self, number: str | int | None, fault: JsonRpcException) -> None:
        """Answer with an error.

        Args:
            number: of the request; None where there is none.
            fault: the error.
        """
        if not isinstance(fault, JsonRpcRequestCancelled):
            log.error("refused: %s", fault)
        error = {"code": fault.code, "message": fault.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": error})


def _reasons(error: Exception) -> str:
    """What is wrong with parameters, and where in them, as the protocol names their parts."""
    reasons = []
    for reason in transform_error(error)[:MAX_REASONS]:
        what, _, place = reason.partition(" @ $.")
        path = re.sub(r"_([a-z])", lambda match: match[1].upper(), place)
        reasons.append(f"{what} at `{path}`" if place else what)
    return "; ".join(reasons)
