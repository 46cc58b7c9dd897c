from pathlib import Path
_root = Path(__file__).resolve().parent.parent
if (_root / "grammars" / "law.lark").is_file():
    __path__.append(str(_root))
