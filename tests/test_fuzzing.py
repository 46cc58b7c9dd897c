"""A small part of the campaigns of random inputs; `tests/fuzzing/campaign.py` runs large ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CAMPAIGN = Path(__file__).resolve().parent / "fuzzing" / "campaign.py"


def test_random_inputs_end_in_no_fault_and_take_little_time_and_memory(tmp_path: Path):
    command = [sys.executable, str(CAMPAIGN), "every", "--count", "60", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("0 fault, 0 hang, 0 memory, 0 death") == 5
