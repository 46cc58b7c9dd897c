"""A small part of the campaigns of random inputs; `tests/fuzzing/campaign.py` runs large ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).resolve().parent / "fuzzing" / "campaign.py"
KINDS = ("texts", "check", "solve", "tables", "fits")


def campaign(out: Path, kind: str, count: int) -> str:
    """What a campaign prints last, when it has found nothing."""
    command = [sys.executable, str(CAMPAIGN), kind, "--count", str(count), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_random_texts_end_in_no_fault_and_take_little_time_and_memory(tmp_path: Path):
    printed = campaign(tmp_path, "texts", 100)

    assert "texts: 100 inputs" in printed
    assert "0 fault, 0 hang, 0 memory, 0 death" in printed


def test_random_laws_are_checked_and_most_reach_a_verdict(tmp_path: Path):
    count = 6
    printed = campaign(tmp_path, "check", count)

    assert "0 fault, 0 hang, 0 memory, 0 death" in printed
    verdicts = re.findall(r"check (?:proved|refuted|conditional|undecided) (\d+)", printed)
    assert sum(map(int, verdicts)) > count / 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_more_random_inputs_end_in_no_fault(kind: str, tmp_path: Path):
    count = 2000 if kind == "texts" else 60

    assert "0 fault, 0 hang, 0 memory, 0 death" in campaign(tmp_path, kind, count)
