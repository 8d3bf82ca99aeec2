# make test     everything that must pass before a change goes in: ruff, mypy, the tests, the examples in docstrings
# make without-avx512 [TESTS=tests]   the tests with NumPy and OpenBLAS as they are on a processor without AVX-512
# make emulated [TESTS=...]   a few tests on 64-bit ARM, emulated by QEMU; only on Debian, where packages can be fetched
# make check    a part of it that takes less than a minute, for while you work
# make report   one model through both front ends on real data, bit for bit, and what its Jacobians cost: report/report.html
# make bench    all timings, beside TensorFlow, JAX and the other peers, and the report on them: report/bench.html
# make peers    the comparisons with real TensorFlow
# make docs     the site: build/site/index.html
# make migrations   docs/migrations/tape: what the programs beside it are converted to
# make fuzz N=1000 [SEED=0] [JOBS=2]   random programs, each in several ways that must agree; what fails is shrunk
# make fuzz-changes N=10000 [SEED=0]     one thing is changed between two calls: nothing kept may outlive it
# make fuzz-files N=10000 [SEED=0]       files of every format that is read, damaged: each must say so, soon, in small memory
# make sanitize [TESTS=tests]   the tests, and random programs, with extensions built to notice wrong addresses and undefined behavior
# make mutants [JOBS=2]   break the code in each known way, and see that the named tests notice
# make mutants-of-conversions N=1000 [SEED=0] [JOBS=2]   mistakes in converted programs: `compare` must notice each
#
# Nothing is needed beforehand but Python >= 3.11 and make: each target makes its own virtual environment.

# The first of these that runs and is recent enough; override with `make PYTHON=...`
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
VENV_PEERS ?= .venv-peers
VENV_ORACLES ?= .venv-oracles
VENV_DOCS ?= .venv-docs
VENV_SANITIZE ?= .venv-sanitize
# `make test LINT=` leaves the linters out
LINT ?= lint
# `make test PINS='numpy==2.2.*'` installs these instead of the newest
PINS ?=
# `make test SKIP='tests/bench tests/data'` leaves these tests out
SKIP ?=

# The shape of the house, both front ends, programs, Jacobians: a test or two of each thing
CHECK ?= tests/house/test_house.py tests/derivatives/test_core.py tests/optim/test_algorithms.py \
	tests/compiler/test_program.py tests/compiler/test_replay.py tests/graph_api/test_session.py \
	tests/graph_api/test_gradients.py tests/tape_api/test_gradient_tape.py tests/jacobian/test_plans.py tests/optim/test_minimize.py

BIN := $(VENV)/bin
PEERS_BIN := $(VENV_PEERS)/bin
ORACLES_BIN := $(VENV_ORACLES)/bin
DOCS_BIN := $(VENV_DOCS)/bin
SANITIZE_BIN := $(CURDIR)/$(VENV_SANITIZE)/bin
# What the native executor is built from
NATIVE := setup.py $(wildcard engine/core/*.[ch] engine/runtime/*.[ch] engine/runtime/elementary/*.[cp]* engine/ops/*.[ch] engine/executor/*.[ch])

# Python compiles a module when it is first imported: most of what is installed never is. Each environment takes the extensions
# in C that another one compiled (build/extensions, see setup.py).
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
COMPILING = $(if $(wildcard build/extensions/*),,, and compiling extensions in C: 25 s of processor time, once for all environments)
SAY = @echo 'Installing$(strip $(COMPILING)) ($@)'

export TF_CPP_MIN_LOG_LEVEL ?= 3
# some convolutions of TensorFlow have no other gradient on processors without AVX-512
export TF_ENABLE_ONEDNN_OPTS ?= 1

.PHONY: test check lint format unit without-avx512 emulated report bench peers docs fuzz fuzz-files fuzz-changes sanitize mutants \
	mutants-of-conversions migrations clean

test: $(LINT) unit

lint: $(VENV)/.for-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint
	$(BIN)/python -m pytest -q -x $(CHECK)

format: $(VENV)/.for-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: $(VENV)/.for-test
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(addprefix --ignore=,$(SKIP))

TESTS ?= tests

without-avx512: $(VENV)/.for-test
	$(BIN)/python -m tests.machines avx2 -q -n auto --dist worksteal $(TESTS)

emulated:
	PYTHON='$(PYTHON)' tests/emulated.sh $(if $(filter-out tests,$(TESTS)),-q $(TESTS))

N ?= 1000
SEED ?= 0
JOBS ?= 2

fuzz: $(VENV)/.for-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --n $(N) --seed $(SEED) --jobs $(JOBS)

fuzz-changes: $(VENV)/.for-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.changes --n $(N) --seed $(SEED)

fuzz-files: $(VENV)/.for-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.files --n $(N) --seed $(SEED)

# extensions that were built like this cannot be loaded into a usual Python: they are built in a copy of the sources
SANITIZED := build/sanitized
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g

sanitize: $(SANITIZE_BIN)/python
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C $(SANITIZED)
	CFLAGS='$(SANITIZERS)' LDFLAGS='$(SANITIZERS)' $(SANITIZE_BIN)/python $(PIP) -e '$(SANITIZED)[test]'
	cd $(SANITIZED) && export DUALGRAD_NATIVE=require OPENBLAS_NUM_THREADS=1 PYTHONMALLOC=malloc \
		LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0:log_path=$(CURDIR)/$(SANITIZED)/met \
		UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/$(SANITIZED)/met && \
		$(SANITIZE_BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m 'not peer' $(TESTS) \
			--deselect tests/migrate/test_watch.py::test_a_program_is_watched && \
		$(SANITIZE_BIN)/python -m tests.fuzz --n $(N) --seed $(SEED) --jobs $(JOBS) || { cat met.*; exit 1; }

mutants: $(VENV)/.for-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants --jobs $(JOBS)

mutants-of-conversions: $(VENV)/.for-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants.conversions --n $(N) --seed $(SEED) --jobs $(JOBS)

migrations: $(VENV)/.for-test
	$(BIN)/python -m tests.migrations

report: $(VENV)/.for-report
	$(BIN)/python -m bench report

bench: $(VENV_PEERS)/.for-peers
	$(PEERS_BIN)/python -m bench run --full --json report/bench.json
	$(PEERS_BIN)/python -m bench report report/bench.json

peers: $(VENV_ORACLES)/.for-oracles
	$(ORACLES_BIN)/python -m pytest -q -n auto --dist worksteal -m peer tests

# in a copy: pages are made from the code, and put beside the others
docs: $(VENV_DOCS)/.for-docs
	rm -rf build/site-source
	mkdir -p build
	cp -r docs build/site-source
	$(DOCS_BIN)/python -m sphinx -q -W --keep-going -j $(JOBS) -c docs build/site-source build/site
	@echo 'The site: build/site/index.html'

$(VENV)/.for-test: pyproject.toml $(NATIVE) | $(BIN)/python
	$(SAY)
	$(BIN)/python $(PIP) -e '.[test,lint,report]' $(PINS)
	touch $@

$(VENV)/.for-report: pyproject.toml $(NATIVE) | $(BIN)/python
	$(SAY)
	$(BIN)/python $(PIP) -e '.[report]'
	touch $@

$(VENV_PEERS)/.for-peers: pyproject.toml $(NATIVE) | $(PEERS_BIN)/python
	$(SAY)
	$(PEERS_BIN)/python $(PIP) -e '.[test,report,peers]'
	touch $@

$(VENV_ORACLES)/.for-oracles: pyproject.toml $(NATIVE) | $(ORACLES_BIN)/python
	$(SAY)
	$(ORACLES_BIN)/python $(PIP) -e '.[test,report,oracles]'
	touch $@

$(VENV_DOCS)/.for-docs: pyproject.toml $(NATIVE) | $(DOCS_BIN)/python
	$(SAY)
	$(DOCS_BIN)/python $(PIP) -e '.[docs]'
	touch $@

$(BIN)/python $(PEERS_BIN)/python $(ORACLES_BIN)/python $(DOCS_BIN)/python $(SANITIZE_BIN)/python:
	@test -n '$(PYTHON)' || { echo 'No Python >= 3.11 found; say where it is: make PYTHON=/path/to/python3' >&2; exit 1; }
	@echo 'Making the environment $(@:/bin/python=)'
	$(PYTHON) -m venv $(@:/bin/python=) || { rm -rf $(@:/bin/python=); exit 1; }

clean:
	rm -rf .venv* report .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
