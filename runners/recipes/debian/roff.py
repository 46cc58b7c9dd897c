"""Manual pages (roff, with the macros of man and mdoc) -> plain text.

Layout is dropped, words are kept; paragraphs are parted by a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CHARACTERS = {
    "aq": "'", "dq": '"', "lq": '"', "rq": '"', "oq": "'", "cq": "'", "em": " -- ", "en": "-",
    "bu": "*", "co": "(c)", "rg": "(R)", "tm": "(TM)", "hy": "-", "mi": "-", "pl": "+", "rs": "\\",
    "ti": "~", "ha": "^", "ga": "`", "la": "<", "ra": ">", "sl": "/", "ba": "|", "bv": "|",
    "->": "->", "<-": "<-", "<=": "<=", ">=": ">=", "!=": "!=", "==": "==", "mu": "x", "di": "/",
    "de": " degrees", "at": "@", "sh": "#", "Do": "$", "lB": "[", "rB": "]", "lC": "{", "rC": "}",
    "fm": "'", "Fo": '"', "Fc": '"', "ss": "ss", "if": "infinity", "..": "...",
}  # fmt: skip
_ESCAPE = re.compile(
    r"""\\(?:
    "(?P<comment>.*)
  | f(?:\[[^]]*\]|\(..|.)             # fonts
  | s(?:[-+]?\d{1,2}|\[[^]]*\]|'[^']*')  # sizes
  | [hvwlLoDbxXZRCN]'[^']*'           # motions, drawing
  | [mMFkgnV*](?:\[[^]]*\]|\(..|.)    # registers, strings, colours
  | \((?P<two>..) | \[(?P<long>[^]]*)\]
  | (?P<one>.)
    )""",
    re.VERBOSE,
)
_ONE = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`", ".": ".",
        "_": "_", "t": "\t", "E": "\\"}  # fmt: skip
_ALTERNATING = {a + b for a in "BIR" for b in "BIR" if a != b} | {"SB"}
_BLANK = {"PP", "P", "LP", "HP", "sp", "Pp", "RS", "RE", "El", "bp", "EE", "EX", "Ed", "Bd", "TP",
          "TQ", "Bl", "br", "IX0"}  # fmt: skip
_VERBATIM_ON, _VERBATIM_OFF = {"nf", "EX", "Bd", "Vb"}, {"fi", "EE", "Ed", "Ve"}
_WORDS = {"B", "I", "R", "SM", "Nm", "Ar", "Pa", "Ev", "Cm", "Li", "Em", "Sy", "Fa", "Ft", "Vt",
          "Va", "Dv", "Er", "Ic", "Tn", "Ux", "Bx", "Fx", "Nx", "Ox", "At", "Cd", "Ad", "An", "Ms",
          "Fd", "In", "St", "Lk", "Mt", "Nd", "It", "No", "Fl", "Op", "Xr", "Dq", "Sq", "Pq", "Qq",
          "Aq", "Bq", "Brq", "Ql", "Fn", "Ns", "UR", "MT", "URL", "Oo", "Oc", "Po", "Pc", "Do",
          "Dc", "Qo", "Qc", "So", "Sc", "Bo", "Bc", "Ao", "Ac", "Rv", "Ex", "Xo", "Xc", "Ta", "Ap",
          "Pf", "Rs", "Re", "%A", "%T", "%B", "%D", "%R", "%I"}  # fmt: skip
_FONTS = {"B", "I", "R", "SM", "UR", "MT", "URL"}
_AROUND = {"Op": "[]", "Dq": '""', "Qq": '""', "Sq": "''", "Ql": "''", "Pq": "()", "Aq": "<>",
           "Bq": "[]", "Brq": "{}"}  # fmt: skip
_OPENS = {"Oo": "[", "Po": "(", "Do": '"', "Qo": '"', "So": "'", "Bo": "[", "Ao": "<"}
_CLOSES = {"Oc": "]", "Pc": ")", "Dc": '"', "Qc": '"', "Sc": "'", "Bc": "]", "Ac": ">"}


def from_roff(text: str) -> str:
    """The words of a manual page; '' for one that only refers to another."""
    if re.match(r"\s*\.so ", text):
        return ""
    lines = iter(text.replace("\\\n", "").split("\n"))
    page = _Page()
    for line in lines:
        if line[:1] not in (".", "'"):
            page.say(_unescaped(line), blank=not line.strip())
            continue
        name, _, rest = line[1:].lstrip().partition(" ")
        if name in ("de", "am", "ig", "de1") or name.startswith("de "):
            end = "." + (rest.split()[1] if len(rest.split()) > 1 else ".")
            _skip(lines, end)
        elif name == "TS":
            _skip(lines, ".TE")
        elif name == "EQ":
            _skip(lines, ".EN")
        elif name in ("if", "ie", "el", "while"):
            _skip_block(line, lines)
        else:
            page.obey(name, rest)
    return page.text()


class _Page:
    """The paragraphs of a page so far."""

    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self.words: list[str] = []
        self.verbatim = False
        self.name = ""

    def say(self, text: str, blank: bool = False) -> None:
        if blank and not text:
            self.end()
        elif text.strip():
            self.words.append(text.rstrip() if self.verbatim else text.strip())

    def end(self) -> None:
        if self.words:
            self.paragraphs.append(("\n" if self.verbatim else " ").join(self.words))
        self.words = []

    def obey(self, name: str, rest: str) -> None:
        arguments = _arguments(rest)
        if name in ("SH", "SS", "Sh", "Ss"):
            self.end()
            self.say(" ".join(arguments))
            self.end()
        elif name in _ALTERNATING:
            self.say("".join(arguments))
        elif name == "IP":
            self.end()
            self.say(arguments[0] if arguments else "")
        elif name == "It":
            self.end()
            self.say(_Line(["No", *arguments], self).text())
        elif name in _WORDS:
            self.say(_Line([name, *arguments], self).text())
        elif name in _BLANK | _VERBATIM_ON | _VERBATIM_OFF:
            self.end()
        if name in _VERBATIM_ON:
            self.verbatim = name != "Bd" or "-literal" in rest or "-unfilled" in rest
        elif name in _VERBATIM_OFF:
            self.verbatim = False

    def text(self) -> str:
        self.end()
        return "\n\n".join(self.paragraphs) + "\n"


class _Line:
    """The words of a line of mdoc: macros among their arguments."""

    def __init__(self, words: list[str], page: _Page) -> None:
        self.left, self.page = words, page
        self.said: list[str] = []
        self.closing: list[str] = []
        self.glue = False

    def text(self) -> str:
        first = True
        while self.left:
            word = self.left.pop(0)
            if first and word in _FONTS:
                self.said += self.left
                break
            self.take(word, first)
            first = False
        for text in reversed(self.closing):
            self.glue = True
            self.add(text)
        return " ".join(self.said)

    def take(self, word: str, first: bool) -> None:
        if word == "Nm":
            self.take_name(first)
        elif word in _TAKES:
            _TAKES[word](self)
        elif word in _AROUND:
            self.add(_AROUND[word][0])
            self.glue = True
            self.closing.append(_AROUND[word][1])
        elif word in _OPENS:
            self.add(_OPENS[word])
            self.glue = True
        elif word in _CLOSES:
            self.glue = True
            self.add(_CLOSES[word])
        elif word in ("Ns", "Ap", "Pf"):
            self.glue = True
        elif word not in _WORDS:
            self.add(word)

    @property
    def following(self) -> str:
        return self.left[0] if self.left else ""

    def add(self, text: str) -> None:
        close = text in (".", ",", ";", ":", ")", "]", "?", "!")
        if self.said and (self.glue or close or self.said[-1] in ("(", "[")):
            self.said[-1] += text
        else:
            self.said.append(text)
        self.glue = False

    def take_name(self, first: bool) -> None:
        """What the page is about: it is named once, and then only by the macro."""
        if first and self.following and self.following not in _WORDS:
            self.page.name = self.page.name or self.following
        elif len(self.following) <= 1 or self.following in _WORDS:
            self.add(self.page.name)

    def take_flag(self) -> None:
        self.add("-")
        self.glue = bool(self.following) and self.following not in _WORDS

    def take_reference(self) -> None:
        page, section = self.following, "".join(self.left[1:2])
        numbered = section[:1].isdigit()
        self.add(f"{page}({section})" if numbered else page)
        del self.left[: 2 if numbered else 1]

    def take_function(self) -> None:
        if self.left:
            self.add(f"{self.left[0]}({', '.join(self.left[1:])})")
            self.left = []

    def take_argument(self) -> None:
        if not self.following or self.following in _WORDS:
            self.add("file ...")


_TAKES = {
    "Fl": _Line.take_flag,
    "Xr": _Line.take_reference,
    "Fn": _Line.take_function,
    "Ar": _Line.take_argument,
}


def _arguments(rest: str) -> list[str]:
    """Split the arguments of a macro, words or quoted texts, with escapes removed."""
    rest = re.sub(r'\\".*', "", rest).strip()
    matches = re.findall(r'"((?:[^"]|"")*)"?|((?:\\ |[^\s"])(?:\\ |[^\s])*)', rest)
    plain = (_unescaped((quoted or bare).replace('""', '"')) for quoted, bare in matches)
    return [text for text in plain if text]


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        named = match["two"] or match["long"]
        if named:
            if re.fullmatch(r"u[0-9A-F]{4,5}", named):
                return chr(int(named[1:], 16))
            return _CHARACTERS.get(named, "")
        return _ONE.get(match["one"] or "", "")

    return _ESCAPE.sub(plain, text) if "\\" in text else text


def _skip(lines: Iterator[str], end: str) -> None:
    for line in lines:
        if line.strip() == end or line.startswith(end + " "):
            return


def _skip_block(line: str, lines: Iterator[str]) -> None:
    depth = line.count(r"\{") - line.count(r"\}")
    while depth > 0:
        line = next(lines, r"\}" * depth)
        depth += line.count(r"\{") - line.count(r"\}")
