# One name per job; `make help` lists them.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON      ?= $(shell command -v python3.11 || command -v python3)
VENV        ?= .venv
PROFILE     ?= dev
BIN         := $(abspath $(VENV))/bin
# Tests start thousands of interpreters: where bytecode is forbidden, each compiles the package.
export PYTHONDONTWRITEBYTECODE :=
export VIRTUAL_ENV := $(abspath $(VENV))
# The extension is built by maturin, and has no tests on the Rust side: leaving
# it out lets the rest share one set of dependencies.
RUST_TESTED := --workspace --exclude antiphon-binding --features antiphon-systems/echo --locked
# The crates' tests of queues start a real NATS server.
export ANTIPHON_NATS_SERVER := $(BIN)/nats-server
# A command that follows this meets a real PostgreSQL server.
BESIDE_A_DATABASE = $(BIN)/python tests/support/postgres.py
CRATES      := $(shell find src -name '*.rs' -o -name Cargo.toml -o -name '*.py' -o -name '*.md' -path '*/prompts/*')

.PHONY: help setup build format lint lint-others test test-rust test-python test-quick test-local test-kills test-torture test-runs test-wasm test-versions stubs bench eval docs deny all clean
.DEFAULT_GOAL := help

help: ## List the jobs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

$(VENV)/.built-$(PROFILE): $(VENV)/.tools Cargo.toml Cargo.lock $(CRATES)
	$(BIN)/maturin develop --profile $(PROFILE) --extras local $(if $(filter dev,$(PROFILE)),--features echo)
	rm -f $(VENV)/.built-*
	touch $@

setup: $(VENV)/.built-$(PROFILE) ## Make .venv with the tools and an editable install (PROFILE=dev|release|dist)

# What is published is optimised for what it does in `pgo-command` (pyproject.toml), which
# doubles the time of the build: `MATURIN_PGO=0 make bench` for a first look.
build bench: export MATURIN_PGO ?= 1
build: $(VENV)/.tools $(VENV)/.profiling ## Build the wheel that is published, into dist/
	$(BIN)/maturin build --profile dist --out dist

$(VENV)/.profiling: $(VENV)/.tools
	if command -v rustup >/dev/null; then rustup component add llvm-tools; fi
	touch $@

format: $(VENV)/.tools ## Format Rust and Python
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

RUSTDOC := RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked

lint: setup ## Clippy, rustdoc, rustfmt, ruff and mypy, warnings being errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(RUSTDOC)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The sandbox is the crate that differs from machine to machine.
OTHERS := aarch64-unknown-linux-gnu x86_64-unknown-linux-musl
lint-others: ## Clippy over the sandbox as aarch64 and musl compile it (rustup fetches what it needs)
	rustup target add $(OTHERS)
	cargo clippy -p antiphon-sandbox --all-targets --locked $(addprefix --target ,$(OTHERS)) -- -D warnings

test: test-rust test-python ## Install what is missing and pass every test

# More workers than cores, since tests also wait for processes, timers and servers. Each of pytest's
# has its own PostgreSQL server, so there are at most eight.
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 3 ? 3 * n : 8)))

# The sandbox's tests load the extension module.
test-rust: setup ## The crates' own tests (nextest if it is installed) and their examples
	if command -v cargo-nextest >/dev/null; then \
		$(BESIDE_A_DATABASE) cargo nextest run --test-threads $(WORKERS) $(RUST_TESTED) && cargo test --doc $(RUST_TESTED); \
	else \
		$(BESIDE_A_DATABASE) cargo test $(RUST_TESTED); \
	fi

test-python: setup ## pytest: units, systems, house (WORKERS=N processes; ARGS are pytest's)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(ARGS)

test-quick: setup ## pytest without what takes many seconds or installs packages
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal \
		-m 'not (slow or network or bench or local_model)' $(ARGS)

test-local: setup ## Ask the local models: downloads 0.5 and 1.1 GB once
	$(BIN)/python -m pytest -m local_model tests/local tests/systems

# A test of these sizes may take longer than one of the suite.
LONG := -o faulthandler_timeout=7200
KILLS ?= 500
test-kills: setup ## Kill processes at random instants, KILLS times (500), and see that nothing is lost
	ANTIPHON_KILLS=$(KILLS) $(BIN)/python -m pytest $(LONG) tests/checkpoint/test_kill.py

# More than two hours in all; ARGS selects: `make test-torture ARGS='-k bit_flips'`.
TORTURED := tests/torture tests/sandbox/test_packages.py tests/sandbox/guest/test_sound.py \
	tests/checkpoint/test_robustness.py
test-torture: setup ## Run the long sizes of tests: faults, kills, lost power, forgeries, races, hostile replies
	ANTIPHON_TORTURE=1 $(BIN)/python -m pytest $(LONG) $(TORTURED) $(ARGS)

RUNS ?= 10000
test-runs: setup ## Run RUNS jobs (10,000) of all kinds in one sandbox, and see that nothing is left behind
	ANTIPHON_RUNS=$(RUNS) $(BIN)/python -m pytest $(LONG) tests/sandbox/leaks

# The extra is 98 MB, and its first use on a machine compiles for minutes.
test-wasm: setup ## Install the extra `wasm`, and run the sandbox's tests with it, all attempts included
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["wasm"])' \
		| xargs $(BIN)/python -m pip install --quiet
	$(BIN)/python -m pytest $(LONG) tests/sandbox -k wasm

test-versions: setup ## The tests with the oldest and the newest versions of packages and Python (ARGS='--quick oldest')
	$(BIN)/python -m tests.versions $(ARGS)

stubs: $(VENV)/.tools ## Write python/antiphon/_antiphon.pyi anew from the binding
	rm -rf target/stubs
	$(BIN)/maturin generate-stubs --features pyo3/experimental-inspect --profile dev --out target/stubs
	# The generator cannot say that a class takes type arguments, or is a base of its own, nor
	# that the module's initialiser adds no names.
	sed -e 's/^class Command:/class Command(Generic[_N]):/' -e 's/^class Saver:/@disjoint_base\n&/' \
		-e 's/^from typing import Any, Final, Never, final/from typing import Any, Final, Generic, Never, final\n\nfrom typing_extensions import TypeVar, disjoint_base\n\n_N = TypeVar("_N", default=Any)/' \
		-e '/^def __getattr__(name: str) -> Incomplete/d' \
		target/stubs/antiphon/_antiphon.pyi > python/antiphon/_antiphon.pyi

bench: $(VENV)/.profiling ## Measure the build that is published
	$(MAKE) setup PROFILE=dist
	$(BIN)/python -m tests.bench $(ARGS)

# A file per model in target/eval; a killed evaluation goes on when it is started again.
# ARGS='--set data-analyst --every 8' asks every eighth question about databases.
eval: setup ## Ask models questions with known answers (MODEL=name; default: local:0.5b, local:1.5b; ARGS)
	$(BIN)/python -m tests.eval $(if $(MODEL),--model '$(MODEL)') $(ARGS)

docs: setup ## Build the Rust API pages and run every example
	$(RUSTDOC)
	$(BIN)/python -m pytest tests/house/test_examples.py

deny: ## cargo-deny: advisories, licences, sources (optional: needs cargo-deny and the network)
	cargo deny check

all: format lint test docs ## Everything a change must pass

clean: ## Remove what the jobs above made
	rm -rf $(VENV) target dist .pytest_cache .mypy_cache .ruff_cache .hypothesis python/antiphon/_antiphon*.so
