"""The extension for VS Code: its manifest is true, it is packaged, and its panel is safe."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_highlighting import (
    FILES,
    TEXTMATE,
    assert_textmate,
    damaged_texts,
    parsed_tokens,
    text_of,
)
from textmate import Grammar

from lawdsl.editing.semantic_tokens import TYPES
from lawdsl.language.keywords import GREEK

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "editors/vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
NODE = shutil.which("node")


def test_the_manifest_names_files_that_exist() -> None:
    contributes = MANIFEST["contributes"]
    (language,) = contributes["languages"]
    named = [language["configuration"], *language["icon"].values()]
    named += [grammar["path"] for grammar in contributes["grammars"]]
    assert all((FOLDER / name).is_file() for name in named)
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    version = MANIFEST["version"]
    assert f"\n## {version}\n" in (FOLDER / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"lawdsl-{version}.vsix" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_command_of_the_manifest_is_registered() -> None:
    commands = {row["command"] for row in MANIFEST["contributes"]["commands"]}
    extension = (FOLDER / "src/extension.js").read_text(encoding="utf-8")
    table = (FOLDER / "src/commands.js").read_text(encoding="utf-8")
    (rows,) = re.findall(r"const COMMANDS = \{(.*?)\}", table)
    registered = {f"lawdsl.{name}" for name in re.findall(r"(\w+):", rows)}
    registered |= set(re.findall(r'registerCommand\("([\w.]+)"', extension))
    assert commands == registered
    menus = MANIFEST["contributes"]["menus"].values()
    assert {row["command"] for rows in menus for row in rows} <= commands


def test_a_folder_that_is_not_trusted_chooses_no_program() -> None:
    trust = MANIFEST["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    assert trust["restrictedConfigurations"] == ["lawdsl.command"]


def test_tokens_of_the_server_look_as_the_grammar_has_them() -> None:
    """A keyword has one colour, with and without the server; parameters differ from variables."""
    (row,) = MANIFEST["contributes"]["semanticTokenScopes"]
    assert row["language"] == MANIFEST["contributes"]["languages"][0]["id"]
    scopes = row["scopes"]
    assert set(scopes) <= set(TYPES)
    grammar = TEXTMATE.read_text(encoding="utf-8")
    assert all(f'"name": "{scope}"' in grammar for scope in scopes["keyword"])
    # themes of VS Code colour these two alike, unless the manifest names another scope
    assert "parameter" in scopes and "variable" not in scopes


def test_the_panel_says_what_the_exit_codes_mean() -> None:
    """Of all codes of the page that check, fit, solve and plot return."""
    page = (ROOT / "docs/json-and-files.md").read_text(encoding="utf-8")
    section = page.partition("## Exit codes")[2].partition("## ")[0]
    codes = {code for code in re.findall(r"^\| (\d+) \|", section, re.M)} - {"4", "75"}
    source = (FOLDER / "src/commands.js").read_text(encoding="utf-8")
    (table,) = re.findall(r"const EXIT_CODES = \{(.*?)\};", source, re.S)
    assert codes == set(re.findall(r"^ +(\d+): \"", table, re.M))


def test_words_in_the_editor_are_names_of_the_language() -> None:
    text = (FOLDER / "language-configuration.json").read_text(encoding="utf-8")
    word = re.compile(json.loads(text)["wordPattern"])
    for name in ("N", "r_d", "alpha1", "_x", *(letter for letter in GREEK if letter != "∞")):
        assert word.fullmatch(name)
    assert word.findall("∂L/∂N < 2e5") == ["L", "N", "e5"]


# ---- with Node


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension with its packages."""
    npm = shutil.which("npm")
    if NODE is None or npm is None:
        pytest.skip("needs Node and npm")
    copy = tmp_path_factory.mktemp("extension") / "vscode"
    ignored = shutil.ignore_patterns("node_modules", "dist", "*.vsix")
    shutil.copytree(FOLDER, copy, ignore=ignored)
    done = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund"], cwd=copy, capture_output=True, text=True
    )
    if done.returncode and re.search("ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED", done.stderr):
        pytest.skip("needs the npm registry")
    assert done.returncode == 0, done.stderr
    return copy


def node(program: str, cwd: Path, text: str = "") -> Any:
    """What a program prints, as JSON."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", program], cwd=cwd, input=text, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_extension_is_packaged(extension: Path) -> None:
    done = subprocess.run(["npm", "run", "package"], cwd=extension, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = extension.glob("*.vsix")
    with zipfile.ZipFile(package) as archive:
        names = {name.removeprefix("extension/").lower() for name in archive.namelist()}
        notices = archive.read("extension/dist/NOTICES.txt").decode()
    expected = {"package.json", "readme.md", "changelog.md", "license.txt", "dist/extension.js"}
    expected |= {
        "syntaxes/law.tmlanguage.json",
        "icons/law-dark.svg",
        "language-configuration.json",
    }
    assert expected <= names
    assert not any("node_modules" in name or name.startswith("src/") for name in names)
    assert "vscode-languageclient 11" in notices and "Copyright" in notices
    assert package.stat().st_size < 500_000


@pytest.mark.slow
def test_the_tokenizer_of_vscode_agrees(extension: Path) -> None:
    """With the lexer in files that parse, with the small interpreter in all files and damaged texts."""
    assert NODE is not None
    texts = {str(path): text_of(path) for path in FILES}
    # offsets in Node count UTF-16
    texts |= {f"damaged {n}": text for n, text in enumerate(damaged_texts(500))}
    texts = {
        name: text for name, text in texts.items() if not re.search("[\U00010000-\U0010ffff]", text)
    }
    texts = {name: text for name, text in texts.items() if not re.search("[\ud800-\udfff]", text)}
    script = ROOT / "tests/textmate_of_vscode.js"
    done = subprocess.run(
        [NODE, str(script), str(extension / "node_modules"), str(TEXTMATE)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    interpreter = Grammar(json.loads(TEXTMATE.read_text(encoding="utf-8")))
    compared = 0
    for name, tokens in json.loads(done.stdout).items():
        text = texts[name]
        scopes = [""] * len(text)
        for start, end, scope in tokens:
            scopes[start:end] = [scope] * (end - start)
        for at, (theirs, ours) in enumerate(zip(scopes, interpreter.scopes(text), strict=True)):
            if ours and not text[at].isspace():
                assert theirs == ours, (name, at, text[at - 20 : at + 20])
        if Path(name) in FILES:
            compared += len(parsed_tokens(text))
            assert_textmate(scopes, parsed_tokens(text), name)
    assert compared > 25_000


HOSTILE = (
    "</pre><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; background: url(https://example.org)",
    "<style>body{display:none}</style>",
    "a\u202eb\x1b[31m",
)


class Tags(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_the_panel_escapes_all_texts() -> None:
    program = """
      const { page } = require("./src/page.js");
      const texts = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
      const pages = texts.map((text) =>
        page({ title: text, line: text, state: "ok", words: text, output: text, svg: text }));
      console.log(JSON.stringify(pages));
    """
    for text in node(program, FOLDER, json.dumps(HOSTILE)):
        parser = Tags()
        parser.feed(text)
        kinds = [tag for tag, _ in parser.tags]
        assert sorted(kinds) == sorted(
            [
                "html",
                "head",
                "meta",
                "meta",
                "title",
                "style",
                "body",
                "h1",
                "div",
                "p",
                "img",
                "pre",
            ]
        )
        attributes = {name for _, each in parser.tags for name in each}
        assert not any(name.startswith("on") for name in attributes)
        (source,) = [each["src"] for tag, each in parser.tags if tag == "img"]
        assert source is not None and source.startswith("data:image/svg+xml;base64,")
        (policy,) = [each["content"] for _, each in parser.tags if "http-equiv" in each]
        assert policy is not None
        assert re.fullmatch(
            r"default-src 'none'; img-src data:; style-src 'nonce-[\w+/=]{20,}'", policy
        )
        assert "\u202e" not in text and "\x1b" not in text


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_arguments_are_split_without_a_shell() -> None:
    program = """
      const { joinArguments, splitArguments } = require("./src/program.js");
      const lines = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
      console.log(JSON.stringify(lines.map((line) => {
        try {
          const words = splitArguments(line);
          return [words, splitArguments(joinArguments(words))];
        } catch (error) {
          return String(error.message);
        }
      })));
    """
    lines = {
        "": [],
        "  L=loss  N=n ": ["L=loss", "N=n"],
        '"D=tokens_B [Gtoken]" --where "size = 70M"': ["D=tokens_B [Gtoken]", "--where", "size = 70M"],
        "'it is' \"\"": ["it is", ""],
        "a\"b c\"d": ["ab cd"],
        """'say "x y"'""": ['say "x y"'],
        "$(rm) ; `x` && | > *": ["$(rm)", ";", "`x`", "&&", "|", ">", "*"],
    }  # fmt: skip
    results = node(program, FOLDER, json.dumps([*lines, '"open']))
    assert results[:-1] == [[words, words] for words in lines.values()]
    assert results[-1] == '" is never closed'


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_programs_are_run_and_missing_ones_are_noticed() -> None:
    program = """
      const { isMissing, run } = require("./src/program.js");
      async function main() {
        const done = await run([process.execPath, "-e"], ["console.log('a'); console.error('b'); process.exit(3)"], {});
        const missing = await run(["no-such-program"], [], {}).then(() => false, isMissing);
        const stop = new AbortController();
        setTimeout(() => stop.abort(), 300);
        const stopped = await run([process.execPath, "-e"], ["setInterval(() => 0, 1000)"], { signal: stop.signal });
        console.log(JSON.stringify([done.output.split("\\n").sort(), done.code, missing, stopped.code]));
      }
      main();
    """
    assert node(program, FOLDER) == [["", "a", "b"], 3, True, None]
