# Every target makes its own virtual environment: a fresh machine needs Python 3.11+ and a package registry.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-slow test-installs lint format docs screenshots bench lava-small clean

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) -e '.[dev,neural]'
	touch $@

$(VENV)/.weights: $(VENV)/.dev
	$(BIN)/turnwise fetch -q minilm smollm2 word2vec wordllama
	touch $@

$(VENV)/.neural: $(VENV)/.core
	$(PIP) -e '.[neural]'
	touch $@

$(VENV)/.models: $(VENV)/.core
	$(PIP) -e '.[models]'
	touch $@

demo: $(VENV)/.models ## every question on data that people rated; ends with out/demo/report.html
	-$(BIN)/turnwise fetch -q minilm # without it the demo leaves out what needs it, and says so
	OMP_NUM_THREADS=1 $(BIN)/turnwise demo -o out/demo

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup

test: $(VENV)/.weights ## the tests of a change: 6 minutes on two cores
	$(PYTEST) -m 'not slow'

test-slow: $(VENV)/.weights ## the rest: trainings, published tables, whole pages of the docs, browsers, a cluster
	$(PYTEST) -m slow

test-installs: $(VENV)/.weights ## the wheel without extras and with each alone; the README after `make demo`
	$(BIN)/python -m tools.test_installs

lint: $(VENV)/.dev ## format, rules, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev ## the formatter, and what the rules can mend themselves
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.docs: $(VENV)/.core
	$(PIP) -e '.[docs]'
	touch $@

docs: $(VENV)/.docs ## the site in out/site; a broken link or anchor is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: $(VENV)/.dev ## docs/images, made anew with Chromium; DATA=FOLDER for that of recorded judges too
	$(BIN)/python -m tools.screenshots $(DATA)

bench: $(VENV)/.weights ## times and sizes; ONLY=NAME for one benchmark
	$(BIN)/python -m benchmarks $(ONLY)

# DATA: the folder of the corpora.
lava-small: $(VENV)/.neural ## papers/lava.md without a GPU: a small LAVA in a quarter of an hour
	$(BIN)/python papers/lava_corpus.py $(DATA)/multiwoz_delex.jsonl.gz $(DATA)/multiwoz_db out/lava-gpu
	OMP_NUM_THREADS=1 $(BIN)/python papers/lava.py joint --size small --data out/lava-gpu --tables $(DATA)/multiwoz_db \
	  --work out/lava-small/models --output out/lava-small

clean: ## remove all environments and outputs
	rm -rf $(VENV) .venv-installs out
