# make demo: from nothing to a proved hypothesis. make test: everything that proves the product. Both install what they need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q install
PYTEST_FLAGS ?= -n 2 --dist loadgroup

.PHONY: demo test lint lock bench clean services readme

demo: $(VENV)/.base
	$(BIN)/receipts demo

test: $(VENV)/.test services lint
	$(BIN)/python -m pytest $(PYTEST_FLAGS) --cov --cov-report=term:skip-covered --cov-fail-under=90

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml

# The real services that tests talk to; without root or apt-get the tests that need them say so and are skipped.
services: $(VENV)/.test
	@sh tests/install_services.sh
	@$(BIN)/python -m tests.elasticsearch.node

bench: $(VENV)/.test
	$(BIN)/python -m tests.benchmarks

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Receipts needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install your system's python3-venv package"; exit 2; }

$(VENV)/.base: $(VENV)/bin/python requirements/base.txt requirements/build.txt pyproject.toml
	$(PIP) --require-hashes -r requirements/base.txt -r requirements/build.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: $(VENV)/.base requirements/test.txt
	$(PIP) --require-hashes -r requirements/test.txt
	@touch $@

# Needs uv on the path; the files hold hashes and no registry's address.
LOCK := uv pip compile -q --generate-hashes --python-version 3.11 --no-emit-index-url --no-annotate --custom-compile-command "make lock"
lock:
	$(LOCK) pyproject.toml -o requirements/base.txt
	$(LOCK) pyproject.toml --extra vectors -o requirements/vectors.txt
	$(LOCK) pyproject.toml --extra llm -o requirements/llm.txt
	$(LOCK) pyproject.toml --extra elasticsearch -o requirements/elasticsearch.txt
	$(LOCK) pyproject.toml --extra vectors --extra llm --extra elasticsearch --extra test -o requirements/test.txt
	$(LOCK) requirements/build.in -o requirements/build.txt

# The settings table of the README, from the schema.
readme: $(VENV)/.test
	$(BIN)/python -m tests.readme

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .coverage*
