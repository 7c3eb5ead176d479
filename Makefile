# make demo: what users need into .venv, and solve a first spec    make install: everything    make test: what CI runs
# make frameworks: torch, transformers and onnxruntime, for the tests of imports and runs
# make site: the documentation, in build/site
# make quick: after every change, some 90 s    make test-all: the long tests and many more random examples
# make test-newest: the quick tests with the newest version of every package, as pip gives it to users, in .newest
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := .ci/constraints.txt
BASE := $(VENV)/.base
STAMP := $(VENV)/.installed
FRAMEWORKS := $(VENV)/.frameworks
NODE := --no-save --no-audit --no-fund --ignore-scripts --loglevel=error @vscode/vsce@3.9.2 vscode-oniguruma@2.0.1 vscode-textmate@9.3.2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)

.PHONY: install frameworks demo site test quick test-all test-newest

install: $(STAMP)

# setuptools builds the editable install from the environment itself: nothing unpinned is downloaded
# (and warns of folders named like the package, which are the package)
$(BASE): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mtpp needs Python 3.11 or later: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip setuptools
	PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --editable .
	touch $@

$(STAMP): $(BASE)
	PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --group dev --editable '.[cluster,docs,gurobi,lsp,notebook,parquet,plots,scip]'
	$(PIP) --no-deps anrg-saga  # a second HEFT to compare with; its other dependencies want compilers
	touch $@

frameworks: $(FRAMEWORKS)

# torch is taken only from a CPU build that pip has at hand (an index would bring gigabytes of CUDA); without one its tests
# are skipped, and so are those of the packages that would bring it
$(FRAMEWORKS): $(STAMP)
	$(PIP) onnx onnxruntime
	$(PIP) filelock fsspec jinja2 networkx numpy setuptools sympy typing-extensions
	if $(PIP) --no-index --no-deps torch; then $(PIP) accelerate transformers && $(PIP) --no-deps megatron-core; \
	else echo "pip has no CPU build of torch at hand: the tests of torch are skipped"; fi
	if command -v npm >/dev/null; then npm install --prefix $(VENV)/node $(NODE); \
	else echo "there is no npm: the tests of highlighting and packaging by VS Code's own code are skipped"; fi
	touch $@

demo: $(BASE)
	$(BIN)/mtpp solve examples/quickstart.mtpp

# strictly: a warning is an error; without a network
site: install
	$(BIN)/python -m tests.tools.site

# a process a core; the tests of a file stay together, as they use the same compiled code; a few that failed are tried once
# more alone, as some have time limits that a busy machine does not keep
test quick test-all: frameworks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tests.tools.typecheck & types=$$!; \
	{ $(BIN)/pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder --amount=$(AMOUNT_$@) \
	  || $(BIN)/python -m tests.tools.again --amount=$(AMOUNT_$@); } && wait $$types

AMOUNT_test := usual
AMOUNT_quick := quick
AMOUNT_test-all := all

# from an empty environment, as an old one would keep its versions
test-newest:
	rm -rf .newest
	$(MAKE) VENV=.newest CONSTRAINTS=/dev/null quick
