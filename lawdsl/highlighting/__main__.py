"""`python -m lawdsl.highlighting` writes the files of `editors/` that are made from the language."""

from pathlib import Path

from lawdsl.highlighting.generated import write

write(Path(__file__).resolve().parents[2] / "editors")
