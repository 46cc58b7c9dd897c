"""Screenshots of the extension in a real editor, for people to look at.

    python tests/vscode_screenshots.py --code-server FOLDER --node NODE --output FOLDER [--theme THEME] [STEP ...]

`editors/vscode/README.md` says how to install what it needs. It opens code-server, which is VS
Code in a browser, types and clicks as a person would, and writes a PNG after each step.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from browser import Browser, browser

ROOT = Path(__file__).resolve().parent.parent
PORT = 8947
THEMES = {
    "light": "Default Light Modern",
    "dark": "Default Dark Modern",
    "contrast": "Default High Contrast",
    "contrast-light": "Default High Contrast Light",
}
SHARE = """\
law share "Loss of code against the share of code"

# A law to try the editor with.
variable  N > 0  unit param  "model size"
variable  D > 0  unit token  "training tokens"

parameter E > 0         "entropy of the text"
parameter A, alpha > 0  "the price of a finite model"
parameter B, beta > 0   "the price of finite data"

L = E + A/N^alpha + B/D^beta  unit nat/token  "loss"

require   ∂L/∂N < 0
require   L convex in D
require   L -> E as N -> oo, D -> oo
require   ∂L/∂D > 0
"""
BUILT = """\
law built "Loss with a learning rate"
extends   share

variable  eta > 0  "learning rate"

parameter c > 0  "its weight"

L = share + c*log(eta)^2  unit nat/token  "loss"

require   L >= share
require   ∂L/∂N >= -alpha*A/N^(alpha + 1)
"""
MISTAKES = """\
law mistakes "Lines to correct"

variable N > 0 unit param "model size"
parameter E > 0
parameter A, alpha > 0

L = E + A/N**alpa
require ∂L/∂N < 0
require L => E
"""
FILES = {"share.law": SHARE, "built.law": BUILT, "mistakes.law": MISTAKES}
KEYS = {"Enter": 13, "Escape": 27, "F1": 112, "F2": 113, "F12": 123, "End": 35, "Home": 36}


def listed(words: str) -> str:
    """The condition that the palette or a list of files offers these words."""
    text = "document.querySelector('.quick-input-list .monaco-list-row.focused')?.textContent"
    return f"{text}.replace(/\\u00a0/g, ' ').includes({words!r})"


@dataclass(frozen=True)
class Editor:
    """The editor in the browser, and the folder of the pictures.

    Attributes:
        page: the browser.
        output: the folder of the pictures.
        theme: a key of THEMES, in the names of the pictures.
        folder: the folder that is open in the editor.
    """

    page: Browser
    output: Path
    theme: str
    folder: Path

    def shot(self, name: str) -> None:
        """Write a picture."""
        data = self.page.call("Page.captureScreenshot")["data"]
        path = self.output / f"{name}-{self.theme}.png"
        path.write_bytes(base64.b64decode(data))
        print(path, flush=True)

    def key(self, name: str, control: bool = False) -> None:
        """Press a key: a name of KEYS or a character."""
        number = KEYS.get(name) or {".": 190, " ": 32}.get(name) or ord(name.upper())
        code = {".": "Period", " ": "Space"}.get(name) or (
            name if name in KEYS else f"Key{name.upper()}"
        )
        for kind in ("keyDown", "keyUp"):
            self.page.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=name,
                code=code,
                windowsVirtualKeyCode=number,
                modifiers=2 if control else 0,
            )

    def type(self, text: str) -> None:
        """Insert a text where the focus is."""
        self.page.call("Input.insertText", text=text)

    def submit(self, text: str | None = None, wait: float = 1.5) -> None:
        """Replace the proposal in a prompt of the editor by a text, if one is given, and press Enter."""
        if text is not None:
            self.key("a", control=True)
            self.type(text)
            time.sleep(0.8)
        self.key("Enter")
        time.sleep(wait)

    def open(self, name: str, wait: float = 3.0) -> None:
        """Open a file of the folder."""
        self.key("p", control=True)
        time.sleep(0.8)
        self.type(name)
        self.until(listed(name))
        self.key("Enter")
        self.until(f"document.querySelector('.tab.active')?.textContent.includes({name!r})")
        time.sleep(wait)

    def until(self, condition: str, seconds: float = 20.0) -> None:
        """Wait for a condition in JavaScript."""
        end = time.monotonic() + seconds
        while not self.page.value(f"!!({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.2)
        time.sleep(0.4)

    def command(self, title: str, wait: float = 2.0) -> None:
        """Run a command of the palette."""
        self.key("F1")
        time.sleep(0.7)
        self.type(title)
        self.until(listed(title))
        self.key("Enter")
        time.sleep(wait)

    def place(self, line: str, word: str) -> tuple[float, float]:
        """Where a word of a line is on the screen."""
        position = self.page.value(
            """((start, word) => {
              const line = [...document.querySelectorAll('.view-line')].find(
                (e) => e.textContent.replace(/\\u00a0/g, ' ').startsWith(start));
              if (!line) return null;
              const walker = document.createTreeWalker(line, 4);
              for (let n; (n = walker.nextNode());) {
                const at = n.textContent.indexOf(word);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(n, at);
                range.setEnd(n, at + 1);
                const box = range.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
              }
              return null;
            })"""
            f"({json.dumps(line)}, {json.dumps(word)})"
        )
        if position is None:
            raise LookupError(f"no {word!r} in a line that starts with {line!r}")
        return float(position[0]), float(position[1])

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """Send an event of the mouse."""
        self.page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, line: str, word: str) -> None:
        """Put the cursor on a word."""
        x, y = self.place(line, word)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        time.sleep(0.8)

    def hover(self, line: str, word: str) -> None:
        """Rest with the mouse on a word."""
        x, y = self.place(line, word)
        self.mouse("mouseMoved", x - 3, y)
        self.mouse("mouseMoved", x, y)
        time.sleep(2.5)

    def close_all(self) -> None:
        """Save all files and close them."""
        self.key("Escape")
        self.command("File: Save All", 1.0)
        self.command("View: Close All Editor Groups", 1.5)


def law(editor: Editor) -> None:
    """A law with its verdicts, hovers, the outline and a completion."""
    editor.open("share.law")
    verdicts = "[...document.querySelectorAll('.view-line')].some("
    editor.until(verdicts + "(e) => e.textContent.includes('refuted'))", 30.0)
    editor.shot("01-law")
    editor.hover("L =", "alpha")
    editor.shot("02-hover-name")
    editor.hover("require   ∂L/∂D", "require")
    editor.shot("03-hover-claim")
    editor.mouse("mouseMoved", 700, 650)
    editor.command("Focus on Outline View", 2.0)
    editor.shot("04-outline")
    editor.open("share.law", 1.0)
    editor.command("Fold All", 1.5)
    editor.shot("05-folded")
    editor.command("Unfold All", 1.0)
    editor.key("End", control=True)
    editor.type("require ")
    time.sleep(0.6)
    editor.key(" ", control=True)
    time.sleep(2.0)
    editor.shot("06-completion")
    editor.key("Escape")
    editor.command("File: Revert File", 1.5)


def definition(editor: Editor) -> None:
    """From a law to the law that it is built on."""
    editor.open("built.law", 5.0)
    editor.shot("10-built")
    editor.click("require   ∂L/∂N", "alpha")
    editor.command("Peek Definition", 2.5)
    editor.shot("11-peek-definition")
    editor.key("Escape")
    editor.click("L = share", "share")
    editor.key("F12")
    time.sleep(2.5)
    editor.shot("12-definition")


def corrections(editor: Editor) -> None:
    """The light bulb, a quick fix, all fixes, formatting."""
    editor.open("mistakes.law", 4.0)
    editor.click("L =", "alpa")
    time.sleep(1.0)
    editor.shot("20-light-bulb")
    editor.key(".", control=True)
    time.sleep(1.5)
    editor.shot("21-quick-fixes")
    editor.key("Escape")
    editor.command("Fix All", 3.0)
    editor.shot("22-all-fixed")
    editor.command("Format Document", 2.5)
    editor.shot("23-formatted")


def rename(editor: Editor) -> None:
    """A name of two files."""
    editor.open("built.law", 3.0)
    editor.open("share.law", 3.0)
    editor.click("L =", "alpha")
    editor.key("F2")
    time.sleep(1.5)
    editor.shot("30-rename-box")
    editor.submit("a", 3.0)
    editor.shot("31-renamed-here")
    editor.open("built.law", 2.0)
    editor.shot("32-renamed-there")
    editor.click("L =", "share")
    editor.key("F2")
    time.sleep(1.5)
    editor.shot("33-rename-refused")
    editor.key("Escape")


def fit(editor: Editor) -> None:
    """The commands: check, fit to a table with options, plot the fit."""
    editor.open("share.law", 4.0)
    editor.command("lawdsl: Check the Claims", 4.0)
    editor.shot("40-check")
    editor.command("lawdsl: Fit to", 2.0)
    editor.shot("41-fit-table")
    editor.submit(str(ROOT / "laws/data/code_and_english.csv"), 2.5)
    editor.shot("42-fit-options")
    editor.submit('L=L_code --where "phase = end" --where "r_code = 1"', 2.0)
    editor.shot("43-fit-output")
    editor.submit(None, 1.0)
    editor.shot("44-fit-running")
    editor.until("!document.querySelector('.statusbar').textContent.includes('Fit of')", 60.0)
    time.sleep(1.0)
    editor.shot("45-fit")
    editor.command("lawdsl: Plot the Law", 1.5)
    editor.shot("46-plot-what")
    editor.type("A fit")
    editor.submit(None, 1.5)
    editor.submit(str(editor.folder / "share.fit.json"), 1.5)
    editor.shot("47-plot-kind")
    editor.submit(None, 8.0)
    editor.shot("48-plot")


STEPS: dict[str, Callable[[Editor], None]] = {
    "law": law,
    "definition": definition,
    "corrections": corrections,
    "rename": rename,
    "fit": fit,
}


@contextmanager
def running_editor(
    code_server: Path, node: str, theme: str, output: Path, work: Path
) -> Iterator[Editor]:
    """Code-server with the packaged extension and the files to try, shown in Chromium.

    Args:
        code_server: the folder of its npm package.
        node: the program that runs it.
        theme: a key of THEMES.
        output: the folder of the pictures.
        work: an empty folder for files, profiles and settings.
    """
    folder = work / "laws"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = {
        "lawdsl.command": [sys.executable, "-m", "lawdsl"],
        "workbench.colorTheme": THEMES[theme],
        "workbench.startupEditor": "none",
        "workbench.secondarySideBar.defaultVisibility": "hidden",
        "security.workspace.trust.enabled": False,
        "files.simpleDialog.enable": True,
        "files.autoSave": "off",
        "telemetry.telemetryLevel": "off",
        "chat.disableAIFeatures": True,
        "editor.fontSize": 15,
        "editor.minimap.enabled": False,
    }
    for kind in ("User", "Machine"):
        (work / "data" / kind).mkdir(parents=True)
        (work / "data" / kind / "settings.json").write_text(json.dumps(settings))
    start = [node, str(code_server / "out/node/entry.js")]
    start += ["--user-data-dir", str(work / "data"), "--extensions-dir", str(work / "extensions")]
    environment = {
        **os.environ,
        "HOME": str(work),
        "PYTHONPATH": str(ROOT),
        # settings.json is not enough: code-server finds node by its name
        "PATH": f"{Path(node).resolve().parent}{os.pathsep}{os.environ['PATH']}",
    }
    (package,) = (ROOT / "editors/vscode").glob("*.vsix")
    install = [*start, "--install-extension", str(package)]
    subprocess.run(install, env=environment, check=True, stdout=subprocess.DEVNULL)
    serve = [*start, "--auth", "none", "--bind-addr", f"127.0.0.1:{PORT}"]
    serve += ["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    with (work / "log").open("w") as log:
        server = subprocess.Popen([*serve, str(folder)], env=environment, stdout=log, stderr=log)
        try:
            time.sleep(3.0)
            with browser(work / "profile") as page:
                page.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=1400,
                    height=760,
                    deviceScaleFactor=1,
                    mobile=False,
                )
                page.call("Page.navigate", url=f"http://127.0.0.1:{PORT}/?folder={folder}")
                editor = Editor(page, output, theme, folder)
                editor.until(
                    "document.querySelector('.explorer-folders-view .monaco-list-row')", 60.0
                )
                time.sleep(2.0)
                yield editor
        finally:
            server.terminate()
            server.wait(timeout=30)


def main() -> None:
    """Take the pictures of the steps that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code-server", type=Path, required=True)
    parser.add_argument("--node", default=shutil.which("node"))
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--theme", choices=list(THEMES), default="light")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        running_editor(
            arguments.code_server,
            arguments.node,
            arguments.theme,
            arguments.output.resolve(),
            Path(work),
        ) as editor,
    ):
        for name in arguments.steps or STEPS:
            try:
                STEPS[name](editor)
            except (LookupError, TimeoutError) as error:
                editor.shot(f"99-{name}-failed")
                print(f"{name}: {error}", file=sys.stderr)
            editor.close_all()


if __name__ == "__main__":
    main()
