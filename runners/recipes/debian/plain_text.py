"""HTML, info and perl's pod -> plain text, well enough to learn English from.

Layout is dropped, words are kept; paragraphs are parted by a blank line.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

# ---- HTML ----


class _Html(HTMLParser):
    blocks = {"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol", "dl", "dt", "dd",
              "pre", "table", "tr", "blockquote", "section", "hr"}  # fmt: skip
    silent = {"script", "style", "head", "nav", "svg", "footer", "header"}
    spaces = re.compile(r"\s+")

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.deaf = 0
        self.verbatim = 0

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.deaf += tag in self.silent
        self.verbatim += tag == "pre"
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        self.deaf -= tag in self.silent and self.deaf > 0
        self.verbatim -= tag == "pre" and self.verbatim > 0
        self._part(tag)

    def _part(self, tag: str) -> None:
        if tag in self.blocks:
            self.said.append("\n\n")
        elif tag in ("br",):
            self.said.append("\n")
        elif tag in ("td", "th"):
            self.said.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.deaf:
            self.said.append(data if self.verbatim else self.spaces.sub(" ", data))


def from_html(text: str) -> str:
    """What a page says, without its markup, scripts and navigation."""
    reader = _Html()
    reader.feed(text)
    reader.close()
    joined = re.sub(r"[ \t]+\n", "\n", "".join(reader.said))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\n ", "\n", joined))


# ---- info, pod ----


def from_info(text: str) -> str:
    """An info file without the lines that lead from node to node."""
    nodes = text.split("\x1f")
    lines = []
    for node in nodes:
        head, _, body = node.lstrip("\n").partition("\n")
        if head.startswith("File: ") and "Node: " in head and "Index" not in head:
            lines.append(re.sub(r"^\* .*::.*$|^\* Menu:$", "", body, flags=re.MULTILINE))
    return "\n".join(lines)


_POD_CODE = re.compile(r"[A-Z](?:<<+\s+(.*?)\s+>>+|<([^<>]*)>)", re.DOTALL)
_POD_ENTITIES = {"lt": "<", "gt": ">", "verbar": "|", "sol": "/"}


def from_pod(text: str) -> str:
    """The documentation in a perl module, without its program and its formatting codes."""
    lines: list[str] = []
    inside = skipping = False
    for paragraph in re.split(r"\n[ \t]*\n", text):
        paragraph = paragraph.strip("\n")
        command = re.match(r"=(\w+)\s*(.*)", paragraph, re.DOTALL)
        if command:
            name, rest = command[1], command[2]
            inside = name != "cut"
            skipping = name == "begin" or (skipping and name != "end")
            if name in ("for", "encoding", "pod", "cut", "over", "back", "begin", "end"):
                continue
            paragraph = "" if rest.strip() == "*" else rest
        if inside and not skipping and paragraph.strip():
            lines.append(paragraph if paragraph[0] in " \t" else _without_codes(paragraph))
    return "\n\n".join(lines) + "\n"


def without_pod(text: str) -> str:
    """The program in a perl module, without its documentation and what follows its end."""
    program, _, _ = re.sub(r"^=[a-zA-Z].*?(^=cut\b.*?$|\Z)", "", text, flags=re.M | re.S).partition(
        "\n__END__"
    )
    return re.sub(r"\n{3,}", "\n\n", program).strip("\n") + "\n"


def _without_codes(text: str) -> str:
    text = re.sub(r"E<(\w+)>", lambda m: _POD_ENTITIES.get(m[1], ""), text)
    for _ in range(4):  # they nest
        shorter = _POD_CODE.sub(lambda m: (m[1] or m[2] or "").split("|")[0], text)
        if shorter == text:
            break
        text = shorter
    return text
