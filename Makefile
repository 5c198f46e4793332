# Each target sets up what it needs. PYTHON and VENV may be given: make test PYTHON=python3.12
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

BENCHMARKS = import_time small_sets plcl_vs_floor methods_at_scale plcl_vs_literal

.PHONY: help demo test lint bench clean

help:
	@echo "make demo    learn from ambiguous labels on embedded data: all methods compared, report written"
	@echo "make test    run all tests"
	@echo "make lint    check style and formatting"
	@echo "make bench   measure speed as ratios, one JSON line each (half an hour)"
	@echo "make clean   remove what the others made"

# One environment serves all targets; it is renewed when the dependencies change.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ambilearn needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $(READY)

demo: $(READY)
	$(BIN)/python examples/demo.py
	@echo && echo "All seven methods on iris, wine and digits:"
	$(BIN)/ambilearn reproduce demo --quick --store out/demo.sqlite
	$(BIN)/ambilearn tables demo --quick --store out/demo.sqlite --output out/tables
	$(BIN)/ambilearn report demo --quick --store out/demo.sqlite --output out/report.html
	@echo "Open the last file in a browser for the report."

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(READY)
	@for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

clean:
	rm -rf $(VENV) out .pytest_cache .ruff_cache .hypothesis
