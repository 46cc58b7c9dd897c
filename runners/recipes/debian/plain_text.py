"""Manual pages (roff), HTML, info and perl's pod -> plain text, well enough to learn English from.

Layout is dropped, words are kept; paragraphs are parted by a blank line.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

# ---- roff: the macros of man and mdoc ----

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
            self.say(_inline(["No", *arguments], self))
        elif name in _WORDS:
            self.say(_inline([name, *arguments], self))
        elif name in _BLANK | _VERBATIM_ON | _VERBATIM_OFF:
            self.end()
        if name in _VERBATIM_ON:
            self.verbatim = name != "Bd" or "-literal" in rest or "-unfilled" in rest
        elif name in _VERBATIM_OFF:
            self.verbatim = False

    def text(self) -> str:
        self.end()
        return "\n\n".join(self.paragraphs) + "\n"


def _inline(words: list[str], page: _Page) -> str:
    """One line of mdoc: macros among their arguments."""
    said: list[str] = []
    closing: list[str] = []
    glue = False
    i = 0

    def add(text: str) -> None:
        nonlocal glue
        close = text in (".", ",", ";", ":", ")", "]", "?", "!")
        if said and (glue or close or said[-1] in ("(", "[")):
            said[-1] += text
        else:
            said.append(text)
        glue = False

    while i < len(words):
        word = words[i]
        i += 1
        following = words[i] if i < len(words) else ""
        if word in ("B", "I", "R", "SM", "UR", "MT", "URL") and i == 1:
            said += words[i:]
            break
        if word == "Nm":
            if following and following not in _WORDS and i == 1:
                page.name = page.name or following
            elif not following or following in _WORDS or len(following) == 1:
                add(page.name)
        elif word == "Fl":
            add("-")
            glue = bool(following) and following not in _WORDS
        elif word == "Xr":
            section = words[i + 1] if i + 1 < len(words) else ""
            add(f"{following}({section})" if section[:1].isdigit() else following)
            i += 2 if section[:1].isdigit() else 1
        elif word == "Fn" and following:
            add(f"{following}({', '.join(words[i + 1 :])})")
            break
        elif word in _AROUND:
            add(_AROUND[word][0])
            glue = True
            closing.append(_AROUND[word][1])
        elif word in _OPENS:
            add(_OPENS[word])
            glue = True
        elif word in _CLOSES:
            glue = True
            add(_CLOSES[word])
        elif word in ("Ns", "Ap", "Pf"):
            glue = True
        elif word == "Ar" and (not following or following in _WORDS):
            add("file ...")
        elif word not in _WORDS:
            add(word)
    for text in reversed(closing):
        glue = True
        add(text)
    return " ".join(said)


def _arguments(rest: str) -> list[str]:
    """The arguments of a macro: words, or what is in quotes, without escapes."""
    rest = re.sub(r'\\".*', "", rest).strip()
    found = re.findall(r'"((?:[^"]|"")*)"?|((?:\\ |[^\s"])(?:\\ |[^\s])*)', rest)
    plain = (_unescaped((quoted or bare).replace('""', '"')) for quoted, bare in found)
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


def _skip(lines: object, end: str) -> None:
    for line in lines:  # type: ignore[attr-defined]
        if line.strip() == end or line.startswith(end + " "):
            return


def _skip_block(line: str, lines: object) -> None:
    depth = line.count(r"\{") - line.count(r"\}")
    while depth > 0:
        line = next(lines, r"\}" * depth)  # type: ignore[call-overload]
        depth += line.count(r"\{") - line.count(r"\}")


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
    said = re.sub(r"[ \t]+\n", "\n", "".join(reader.said))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\n ", "\n", said))


# ---- info, pod ----


def from_info(text: str) -> str:
    """An info file without the lines that lead from node to node."""
    nodes = text.split("\x1f")
    kept = []
    for node in nodes:
        head, _, body = node.lstrip("\n").partition("\n")
        if head.startswith("File: ") and "Node: " in head and "Index" not in head:
            kept.append(re.sub(r"^\* .*::.*$|^\* Menu:$", "", body, flags=re.MULTILINE))
    return "\n".join(kept)


_POD_CODE = re.compile(r"[A-Z](?:<<+\s+(.*?)\s+>>+|<([^<>]*)>)", re.DOTALL)
_POD_ENTITIES = {"lt": "<", "gt": ">", "verbar": "|", "sol": "/"}


def from_pod(text: str) -> str:
    """The documentation in a perl module, without its program and its formatting codes."""
    kept: list[str] = []
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
            kept.append(paragraph if paragraph[0] in " \t" else _without_codes(paragraph))
    return "\n\n".join(kept) + "\n"


def _without_codes(text: str) -> str:
    text = re.sub(r"E<(\w+)>", lambda m: _POD_ENTITIES.get(m[1], ""), text)
    for _ in range(4):  # they nest
        shorter = _POD_CODE.sub(lambda m: (m[1] or m[2] or "").split("|")[0], text)
        if shorter == text:
            break
        text = shorter
    return text
