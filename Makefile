# Each target does its own set-up: on a fresh machine `make demo` and `make test` are all there is.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# Many containers set it; then each of the hundreds of processes of the tests compiles all it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test suite slow bench docs lint clean

demo: $(VENV)/.installed
	$(BIN)/lawdsl demo

test: $(VENV)/.tested
	$(MAKE) --jobs=2 lint suite

suite: $(VENV)/.tested
	$(BIN)/python -m pytest -n auto --dist worksteal

slow: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[slow]'
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.tested
	$(BIN)/python tests/benchmarks/bench_engine.py
	$(BIN)/python tests/benchmarks/bench_many_fits.py
	$(BIN)/python tests/benchmarks/optima.py
	$(BIN)/python tests/benchmarks/bench_proofs.py
	$(BIN)/python tests/benchmarks/bench_answers.py
	$(BIN)/python tests/benchmarks/bench_runner.py
	$(BIN)/python tests/benchmarks/bench_step_log.py
	$(BIN)/python tests/benchmarks/bench_figures.py
	-$(BIN)/python tests/benchmarks/startup.py
	$(BIN)/python tests/benchmarks/sizes.py
	$(BIN)/python tests/benchmarks/language_server.py
	$(BIN)/python tests/benchmarks/workspace_search.py
	$(BIN)/python tests/benchmarks/bench_mixing.py --hidden
	$(BIN)/python tests/benchmarks/bench_mixing.py

docs: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[docs]'
	$(BIN)/python docs/site/build.py build/docs

lint: $(VENV)/.tested
	$(BIN)/ruff check lawdsl runners tests docs
	$(BIN)/ruff format --check lawdsl runners tests docs
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lawdsl needs Python 3.11 or later; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# --no-compile: Python compiles what is imported, a tenth of what is installed.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable .
	touch $@

$(VENV)/.tested: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[test]'
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
