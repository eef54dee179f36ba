# make setup   system packages, .venv and .venv/bin/asphalt
# make demo    transforms and runs the kernels, prints the table, draws the curve (about ten minutes)
# make test    lint and the quick suite; which checks and tests failed is printed last
# make lint    ruff, import-linter and mypy
# make suite   the quick suite, or a part of it (TESTS=tests/config)
# make coverage  the lines and branches of asphalt that no test runs (TESTS=..., as make suite)
# make fuzz    N random programs (N=1000, SEED=1): what fails is kept in build/fuzz
# make fuzz-teeth  switches the legality conditions off, one by one, those of transfers too: each must be found
# make fuzz-transfers  N random procedures with transfers between two ranks, as make fuzz
# make bench   all measurements, into bench/results (an hour on two cores)
# make bench-quick  a part of them, into build/bench (about two minutes)
# make corpus  scans the sources of real programs
# make docs    writes the pages that are made from the code, and the output that pages show
# make site    builds the site of docs/ into build/site
# make notebooks  opens the notebooks
# make dist    the source distribution and the wheel, into build/dist
# make clean   removes what was built, not .venv

# The first of these that is Python 3.11 or later makes .venv; `make PYTHON=...` names another one.
PYTHONS = python3.13 python3.12 python3.11 python3
NEW_ENOUGH = import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in $(PYTHONS); do \
  $$python -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && echo $$python && break; done)
BIN = .venv/bin
# What bench/packages.sh looks for by name may stand in the administrator's directories.
export PATH := $(PATH):/usr/sbin:/sbin
# Tests start asphalt many times, and its modules need to be compiled only once.
unexport PYTHONDONTWRITEBYTECODE

N ?= 1000
SEED ?= 1

.PHONY: setup demo test lint lint-rules lint-format lint-layers lint-types suite coverage fuzz \
  fuzz-teeth fuzz-transfers bench bench-quick corpus docs site notebooks dist clean distclean
.DELETE_ON_ERROR:

setup: .venv/.installed

.venv/.packages: bench/packages.sh
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' 2>/dev/null || { echo "asphalt needs Python 3.11 or" \
	  "later; tried: $(or $(PYTHON),$(PYTHONS)); install one, or name one: make PYTHON=FILE" >&2; exit 1; }
	@sh bench/packages.sh $(PYTHON)
	@mkdir -p .venv && touch $@

.venv/.requirements: requirements.lock .venv/.packages
	@echo "setup: Python packages into .venv (about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements.lock
	@touch $@

.venv/.installed: pyproject.toml .venv/.requirements
	@echo "setup: asphalt itself, .venv/bin/asphalt"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation -e .
	@touch $@

demo: setup
	$(BIN)/python -m bench.demo

lint: lint-rules lint-format lint-layers lint-types

lint-rules: setup
	$(BIN)/ruff check asphalt bench tests

lint-format: setup
	$(BIN)/ruff format --check --quiet asphalt bench tests

lint-layers: setup
	$(BIN)/lint-imports --no-cache

lint-types: setup
	$(BIN)/mypy --strict asphalt bench/lab

# Tests run make, too, which must not take this one for its parent.
ALONE = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

suite: setup
	$(ALONE) $(BIN)/python -m pytest -n 3 --durations=25 $(TESTS)

test: setup
	@MAKE='$(MAKE)' bash .ci/checks lint suite

coverage: setup
	rm -f build/coverage/data*
	-$(ALONE) $(BIN)/coverage run -m pytest -n 2 $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz.run --count $(N) --seed $(SEED)

fuzz-teeth: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz.teeth --count $(N) --seed $(SEED)

fuzz-transfers: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz.transfers --count $(N) --seed $(SEED)

bench: setup
	$(BIN)/python -m bench.full
	$(BIN)/python -m bench.speed

bench-quick: setup
	$(BIN)/python -m bench.full --quick

corpus: setup
	$(BIN)/python -m bench.corpus

docs: setup
	$(BIN)/python -m bench.verdicts
	$(BIN)/python -m bench.passes
	$(BIN)/python -m bench.emitted
	PYTHONPATH=tests $(BIN)/python -m support.safety_page
	$(BIN)/python -m bench.reference
	$(BIN)/python -m bench.outputs

site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the site is in build/site: open build/site/index.html"

notebooks: setup
	@$(BIN)/python -c 'import jupyterlab' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check jupyterlab
	$(BIN)/jupyter lab notebooks

dist: setup
	rm -rf build/dist
	$(BIN)/python -m hatchling build -d build/dist

clean:
	rm -rf build .asphalt-cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

distclean: clean
	rm -rf .venv
