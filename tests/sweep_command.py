"""The command line with a fake worker and models that are only described: for tests.

python tests/sweep_command.py run sweep.toml
"""

from __future__ import annotations

import sys

import sweeps

from lawdsl.cli import main
from lawdsl.runners.sweeps import inputs, workers

inputs.describe = sweeps.inspect
workers.WORKER = sweeps.WORKER

if __name__ == "__main__":
    main(sys.argv[1:])
