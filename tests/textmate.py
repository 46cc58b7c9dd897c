"""A small interpreter of TextMate grammars: text -> the innermost scope of each character.

It knows what `law.tmLanguage.json` uses: match, begin and end, captures, patterns, includes. A slow
test compares it with the one of VS Code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

Rule = dict[str, Any]


_UNKNOWN: Any = object()


@cache
def compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


@dataclass(frozen=True)
class Grammar:
    """A grammar; its expressions are those of Python."""

    content: Rule

    @cached_property
    def _rules(self) -> dict[int, list[Rule]]:
        return {}

    def rules(self, patterns: list[Rule]) -> list[Rule]:
        """Patterns with the includes written out."""
        rules: list[Rule] = []
        for pattern in patterns:
            if "include" in pattern:
                target = self.content["repository"][pattern["include"].removeprefix("#")]
                own = "match" in target or "begin" in target
                rules += [target] if own else self.rules(target["patterns"])
            else:
                rules.append(pattern)
        return rules

    def scopes(self, text: str) -> list[str]:
        """The innermost scope of each character; `` where there is none."""
        scopes = [""] * len(text)
        stack: list[Rule] = []
        start = 0
        for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
            self._line(line, start, scopes, stack)
            start += len(line)
        return scopes

    def _line(self, line: str, start: int, scopes: list[str], stack: list[Rule]) -> None:
        position = 0
        steps = 0
        next_match: dict[str, re.Match[str] | None] = {}
        while position <= len(line):
            steps += 1
            assert steps < 10_000, "an endless loop"
            top = stack[-1] if stack else self.content
            candidates = [(top["end"], None)] if stack else []
            if id(top) not in self._rules:
                self._rules[id(top)] = self.rules(top.get("patterns", []))
            rules = self._rules[id(top)]
            candidates += [(rule.get("match") or rule["begin"], rule) for rule in rules]
            best: tuple[re.Match[str], Rule | None] | None = None
            for expression, rule in candidates:
                match = next_match.get(expression, _UNKNOWN)
                if match is _UNKNOWN or match is not None and match.start() < position:
                    match = compiled(expression).search(line, position)
                    next_match[expression] = match
                if match and (best is None or match.start() < best[0].start()):
                    best = match, rule
            if best is None:
                return
            match, chosen = best
            if chosen is None:
                stack.pop()
                self._captures(match, top.get("endCaptures", {}), start, scopes)
            elif "begin" in chosen:
                assert match.end() > match.start(), chosen["begin"]
                stack.append(chosen)
                self._captures(match, chosen.get("beginCaptures", {}), start, scopes)
            else:
                assert match.end() > match.start(), chosen["match"]
                if "name" in chosen:
                    span = slice(start + match.start(), start + match.end())
                    scopes[span] = [chosen["name"]] * (match.end() - match.start())
                self._captures(match, chosen.get("captures", {}), start, scopes)
            position = match.end()

    def _captures(
        self, match: re.Match[str], captures: Rule, start: int, scopes: list[str]
    ) -> None:
        for number, capture in captures.items():
            first, last = match.span(int(number))
            if first < 0:
                continue
            if "name" in capture:
                scopes[start + first : start + last] = [capture["name"]] * (last - first)
            for rule in self.rules(capture.get("patterns", [])):
                inner = compiled(rule["match"]).match(match.string, first)
                if inner:
                    scopes[start + first : start + last] = [rule["name"]] * (last - first)
                    break
