"""False alarms of the checks of premises (D0141 to D0144) on clean tables: shipped, public, simulated.

python tests/benchmarks/premises.py [FOLDER OF PUBLIC TABLES]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from clean_tables import premise_codes, public_tables, shipped_tables, simulated_tables

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"


def main() -> int:
    """Print the tables with a finding, and the number of tables of each kind."""
    alarms = 0
    for kind, tables in (
        ("shipped", shipped_tables()),
        ("simulated", simulated_tables()),
        ("public", public_tables(SHARED)),
    ):
        count = 0
        for name, law, table in tables:
            count += 1
            found = premise_codes(law, table)
            if found:
                alarms += 1
                print(f"{kind} {name}: {', '.join(found)}")
        print(f"{count} {kind} tables")
    print(f"{alarms} false alarms")
    return int(alarms > 0)


if __name__ == "__main__":
    sys.exit(main())
