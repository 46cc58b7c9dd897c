"""Debian's Chromium without a window, driven through a pipe by its DevTools protocol."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
LOAD_SECONDS = 60.0


class Browser:
    """A page: commands, the value of JavaScript expressions, and the events so far."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = os.fdopen(to_browser, "wb", 0), os.fdopen(from_browser, "rb", 0)
        self._number, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its result; events before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = self._from.read(65536)
            assert read, "the browser has ended"
            self._rest += read
        one, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(one)
        return answer

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression, of a promise when it is there."""
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, path: Path) -> None:
        """Show a file and wait until its scripts have run."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + LOAD_SECONDS
        while self.value("document.readyState") != "complete":
            assert time.monotonic() < end, "the page does not end to load"

    def close(self) -> None:
        """Close the pipe, with which the browser ends."""
        self._to.close()
        self._from.close()

    def requests(self) -> list[str]:
        """The addresses that were requested; data within the page are none."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("data:")]

    def serious_findings(self, axe: str) -> list[Any]:
        """What axe-core finds that keeps people from reading the page: rule, impact, element.

        Args:
            axe: the script of axe-core.
        """
        self.value(f"{axe};0")
        found: list[Any] = self.value(
            "axe.run().then((r) => r.violations.map((v) => [v.id, v.impact, v.nodes[0].html]))"
        )
        return [each for each in found if each[1] in ("serious", "critical")]

    def complaints(self) -> list[Any]:
        """What was written to the console, thrown, or refused by the policy of the page."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event["params"] for event in self.events if event["method"] in kinds]


def axe_script(folder: Path) -> str:
    """The script of axe-core, from the npm registry.

    Args:
        folder: an empty one, for the package.
    """
    if shutil.which("npm") is None:
        pytest.skip("no npm, which brings axe-core: apt-get install npm")
    subprocess.run(["npm", "pack", "--silent", "axe-core@4"], cwd=folder, check=True, timeout=300)
    subprocess.run(["tar", "xzf", next(folder.glob("*.tgz")).name], cwd=folder, check=True)
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty page.

    Args:
        profile: a folder for its files.
    """
    command_read, command_write = os.pipe()
    event_read, event_write = os.pipe()
    # the browser reads commands from descriptor 3 and writes events to 4
    program = (
        f'exec 3<&{command_read} 4>&{event_write}; exec "$0" --headless --no-sandbox --disable-gpu '
        '--no-first-run --disable-background-networking --user-data-dir="$1" '
        "--remote-debugging-pipe"
    )
    process = subprocess.Popen(
        ["bash", "-c", program, CHROMIUM, str(profile)],
        pass_fds=(command_read, event_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(command_read)
    os.close(event_write)
    shown = Browser(command_write, event_read)
    try:
        yield shown
    finally:
        shown.close()
        process.terminate()
        process.wait(timeout=30)
