# Everything runs in the virtual environment .venv, which is created on first use.
# Needed: Python 3.11 or newer (name it with PYTHON=python3.12) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests benchmarks examples docs
# Threads of several processes, or of a busy machine, would wait for one another with tiny matrices.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Tests start many processes: these load compiled modules, and idle workers take over tests.
TESTED := PYTHONDONTWRITEBYTECODE= $(ONE_THREAD)
SPREAD := -n 2 --dist worksteal
TORCH := torch==2.13.0
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest test-spark lint format pytest docs docs-table docs-output docs-images
.PHONY: bench clean distclean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort \
		| awk 'BEGIN {FS = ":.*## "} {printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.demo-stamp  ## Rodents on fenced plots, compared with the truth (report.html)
	$(ONE_THREAD) $(BIN)/headcount demo headcount-demo
	@cp headcount-demo/report.html report.html

test: lint pytest  ## All checks: style, types, layers, tests (warnings are errors)

lint: $(VENV)/.test-stamp  ## Style, types and the direction of imports
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs/*.md docs/results/*.md docs/_templates/results *.md examples benchmarks/*.py

format: $(VENV)/.test-stamp  ## Format the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

pytest: $(VENV)/.test-stamp  ## The tests alone
	$(TESTED) $(BIN)/python -m pytest $(SPREAD) $(ARGS)

# Parts that use other packages most; ARGS=tests runs all. Old versions of other packages may use
# what newer ones have deprecated.
test-lowest: ARGS := tests/cli/test_writing.py tests/cli/test_estimate.py tests/report tests/items \
	tests/scores tests/tables/test_readers.py tests/tables/test_writers.py \
	tests/tables/test_preparation.py tests/tables/test_numbers.py
test-lowest: .venv-lowest/.stamp  ## Tests with the lowest versions in pyproject.toml
	$(TESTED) NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/numba .venv-lowest/bin/python -m pytest \
		$(SPREAD) -p no:cacheprovider -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning \
		$(ARGS)

# Needs Java 17 or newer.
test-spark: .venv-spark/.stamp  ## Statistics of tables on Spark, in an environment of its own
	$(ONE_THREAD) .venv-spark/bin/python -m pytest -p no:cacheprovider tests/test_distributed.py \
		-k spark $(ARGS)

# Tests run the examples in the documents. docs-images makes the pictures.
docs: $(VENV)/.docs-stamp  ## The documentation as a site (docs/_site/index.html)
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -d docs/_build docs docs/_site
	@echo "The site: $(CURDIR)/docs/_site/index.html"

docs-table: $(VENV)/.test-stamp  ## Renew the tables of methods and the results pages of studies
	$(BIN)/python docs/make_methods.py
	$(BIN)/python docs/make_results.py

docs-output: $(VENV)/.test-stamp  ## Renew what code in the documents prints
	$(BIN)/python docs/make_output.py $(ARGS)

docs-images: $(VENV)/.demo-stamp  ## Renew the pictures in docs/images
	$(BIN)/headcount demo headcount-demo
	cp headcount-demo/*.png docs/images
	$(BIN)/python docs/make_gallery.py
	$(BIN)/python docs/make_shift.py

bench:  ## Speed and error compared with other libraries (about an hour; makes .venv-bench)
	$(PYTHON) benchmarks/versus_peers.py $(ARGS)

# A stamp records an installation. A newer pyproject.toml renews it.
$(VENV)/.test-stamp: pyproject.toml | $(BIN)/python
	@echo "Installing headcount and what its checks need into $(VENV) ..."
	@$(PIP) --editable '.[test]'
	@$(PIP) $(TORCH) || echo "PyTorch cannot be installed: tests of networks are skipped." >&2
	@touch $@

.venv-lowest/.stamp: pyproject.toml
	@echo "Installing headcount with the lowest versions of what it needs into .venv-lowest ..."
	@$(PYTHON) -m venv --clear .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python \
		--resolution lowest-direct --editable '.[test]'
	@touch $@

.venv-spark/.stamp: pyproject.toml
	@echo "Installing headcount and Spark into .venv-spark ..."
	@$(PYTHON) -m venv --clear .venv-spark
	@.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test,spark]'
	@touch $@

$(VENV)/.demo-stamp: pyproject.toml | $(BIN)/python
	@echo "Installing headcount and what the demo needs into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.docs-stamp: pyproject.toml | $(BIN)/python
	@echo "Installing headcount and what its documentation needs into $(VENV) ..."
	@$(PIP) --editable '.[docs]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "headcount needs Python 3.11 or newer, and '$(PYTHON)' is older or not there:" \
			"name another one, for instance 'make PYTHON=python3.12 $(MAKECMDGOALS)'." >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Also removes compiled kernels: numba does not detect changes in kernels that another
# module calls.
clean:  ## Remove caches, compiled kernels and the files of the demo
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf headcount-demo report.html docs/_site docs/_build docs/api/generated docs/examples
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## Remove the virtual environments as well
	rm -rf $(VENV) .venv-bench .venv-lowest .venv-spark
