# Every target makes its own virtual environment: a fresh machine needs Python 3.11+ and a package registry.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-core lint format docs screenshots bench lava-small clean

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

demo: $(VENV)/.neural ## the whole loop on embedded worlds; ends with out/demo/report.html
	-$(BIN)/turnwise fetch -q minilm # without it the demo leaves out what needs it, and says so
	OMP_NUM_THREADS=1 $(BIN)/turnwise demo -o out/demo

test: $(VENV)/.weights
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup

test-core: $(VENV)/.core ## the tests that need no extra but `tables` and `pandas`
	$(PIP) -e '.[tables,pandas,test]'
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.core_tests

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.docs: $(VENV)/.core
	$(PIP) -e '.[docs]'
	touch $@

docs: $(VENV)/.docs ## the site in out/site; a broken link or anchor is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: $(VENV)/.dev ## docs/images, made anew with Chromium
	$(BIN)/python -m tools.screenshots

bench: $(VENV)/.weights
	$(BIN)/python -m benchmarks $(ONLY)

# papers/lava.md without a GPU: a small LAVA in a quarter of an hour. DATA: the folder of the corpora.
lava-small: $(VENV)/.neural
	$(BIN)/python papers/lava_corpus.py $(DATA)/multiwoz_delex.jsonl.gz $(DATA)/multiwoz_db out/lava-gpu
	OMP_NUM_THREADS=1 $(BIN)/python papers/lava.py joint --size small --data out/lava-gpu --tables $(DATA)/multiwoz_db \
	  --work out/lava-small/models --output out/lava-small

clean:
	rm -rf $(VENV) out
