"""Where a source file can be mutated, and what each mutation writes there.

A mutation replaces one expression or statement by another that a careless author might have written:
a comparison turned round, a constant one off, a branch never taken. Annotations, docstrings, texts
and decorators are left alone: no test of behaviour can notice them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
OPPOSITE_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutation:
    """One change of one file.

    `start` and `end` are byte offsets into the file; `block` is the line on which the innermost
    block of statements around the change begins, 0 at the level of the module or of a class.
    """

    file: str
    line: int
    start: int
    end: int
    after: str
    operator: str
    block: int

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]

    def is_valid(self, source: bytes) -> bool:
        """Whether the changed file is a program: parentheses are not allowed everywhere."""
        try:
            ast.parse(self.apply(source))
        except SyntaxError:
            return False
        return True

    def describe(self, source: bytes) -> str:
        return f"{self.file}:{self.line}  {self.change(source)}"

    def change(self, source: bytes) -> str:
        before = source[self.start : self.end].decode()
        return f"{self.operator}:  {_short(before)}  ->  {_short(self.after)}"

    def identity(self, source: bytes) -> tuple[str, str, str]:
        """The file, the text of the line and the change: the same wherever the line moves to."""
        line = source.splitlines()[self.line - 1].decode().strip()
        return self.file, line, self.change(source)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."


def blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Every list of statements that may run or not: bodies of functions, branches and loops."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list) and statements:
                yield statements


def sites(file: str, source: bytes) -> list[Mutation]:
    """All mutations of one file, in the order of the text."""
    tree = ast.parse(source)
    collector = _Collector(file, source)
    collector.visit_block(tree.body, 0)
    return collector.mutations


class _Collector:
    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.mutations: list[Mutation] = []
        self.offsets = [0]
        for line in source.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))

    def visit_block(self, statements: list[ast.stmt], block: int) -> None:
        for statement in statements:
            self.visit_statement(statement, block)

    def visit_statement(self, node: ast.stmt, block: int) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit_expression(default, block)
            self.visit_block(_without_docstring(node.body), node.body[0].lineno)
        elif isinstance(node, ast.ClassDef):
            self.visit_block(_without_docstring(node.body), 0 if block == 0 else block)
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
            return
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            return
        else:
            self.mutate_statement(node, block)
            for name, value in ast.iter_fields(node):
                if name == "annotation" or (isinstance(node, ast.Raise) and name == "exc"):
                    continue
                self.visit_field(value, block)

    def visit_field(self, value: object, block: int) -> None:
        if isinstance(value, ast.expr):
            self.visit_expression(value, block)
        elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            self.visit_block(value, block if block == 0 else value[0].lineno)
        elif isinstance(value, list):
            for item in value:
                self.visit_field(item, block)
        elif isinstance(value, ast.ExceptHandler | ast.match_case | ast.withitem):
            for _, part in ast.iter_fields(value):
                self.visit_field(part, block)

    def visit_expression(self, node: ast.expr, block: int) -> None:
        if isinstance(node, ast.JoinedStr):
            return  # positions inside f-strings are not reliable, and texts are not behaviour
        for operator, change in _CHANGES.get(type(node), ()):
            for changed in change(node):
                self.add(node, f"({ast.unparse(changed)})", operator, block)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.visit_expression(child, block)
            elif isinstance(child, ast.keyword | ast.comprehension):
                for part in ast.iter_child_nodes(child):
                    if isinstance(part, ast.expr):
                        self.visit_expression(part, block)

    def mutate_statement(self, node: ast.stmt, block: int) -> None:
        if isinstance(node, ast.If | ast.While):
            self.add(node.test, "(False)", "branch never taken", block)
            if isinstance(node, ast.If):
                self.add(node.test, "(True)", "branch always taken", block)
        elif isinstance(node, ast.Break):
            self.add(node, "continue", "break to continue", block)
        elif isinstance(node, ast.Continue):
            self.add(node, "break", "continue to break", block)
        elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            changed = copy.deepcopy(node)
            changed.op = ARITHMETIC[type(node.op)]()
            self.add(node, ast.unparse(changed), "arithmetic", block)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.add(node, "pass", "statement removed", block)
        elif (
            isinstance(node, ast.Return)
            and node.value is not None
            and not isinstance(node.value, ast.Constant)
            and block
        ):
            self.add(node, "return None", "returns None", block)

    def add(self, node: ast.expr | ast.stmt, after: str, operator: str, block: int) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.offsets[node.lineno - 1] + node.col_offset
        end = self.offsets[node.end_lineno - 1] + node.end_col_offset
        self.mutations.append(Mutation(self.file, node.lineno, start, end, after, operator, block))


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text else body


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _comparisons(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.Compare)
    for position, op in enumerate(node.ops):
        for other in COMPARISONS.get(type(op), ()):
            changed = copy.deepcopy(node)
            changed.ops[position] = other()
            yield changed


def _arithmetic(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.BinOp)
    if type(node.op) in ARITHMETIC and not _is_text(node.left) and not _is_text(node.right):
        changed = copy.deepcopy(node)
        changed.op = ARITHMETIC[type(node.op)]()
        yield changed


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _connectives(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.BoolOp)
    changed = copy.deepcopy(node)
    changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield changed
    for position in range(len(node.values)):
        rest = [value for other, value in enumerate(node.values) if other != position]
        yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]


def _constants(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.Constant)
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 2 if node.value else 1.0)


def _negations(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _calls(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Name) and node.func.id in OPPOSITE_NAMES:
        changed = copy.deepcopy(node)
        changed.func = ast.Name(OPPOSITE_NAMES[node.func.id], ast.Load())
        yield changed


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    assert isinstance(node, ast.IfExp)
    yield node.body
    yield node.orelse


_CHANGES: dict[type[ast.expr], tuple[tuple[str, Callable[[ast.expr], Iterator[ast.expr]]], ...]] = {
    ast.Compare: (("comparison", _comparisons),),
    ast.BinOp: (("arithmetic", _arithmetic),),
    ast.BoolOp: (("connective", _connectives),),
    ast.Constant: (("constant", _constants),),
    ast.UnaryOp: (("negation dropped", _negations),),
    ast.Call: (("opposite function", _calls),),
    ast.IfExp: (("choice", _choices),),
}


def all_sites(root: Path, folders: list[str]) -> list[Mutation]:
    """The mutations of every module below `folders`, paths relative to `root`."""
    return [
        mutation
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
        for mutation in sites(path.relative_to(root).as_posix(), path.read_bytes())
    ]
