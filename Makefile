# Everything a developer runs. Each target sets up what it needs in .venv, nothing else on the
# machine is touched. Variables: PYTHON (the interpreter to use), PYTEST_ARGS (e.g. "-k format -x"),
# BENCH_ARGS (e.g. "--edges 5M --repeat 9"), TEST_PROCESSES.

PYTHON ?= python3
PYTEST_ARGS ?=
BENCH_ARGS ?=
# Many tests wait for a daemon, so one more than there are processors.
TEST_PROCESSES ?= $(shell expr $$(nproc) + 1)

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
INSTALLED := $(VENV)/.installed-requirements
PACKAGE := $(VENV)/.installed-package
STUB := native/graphzero/_engine.pyi

# Folders are among the sources because their time stamps change when a file is added or removed.
PACKAGE_SOURCES := CMakeLists.txt pyproject.toml README.md LICENSE \
  $(shell find native server client proto -name __pycache__ -prune -o -print 2>/dev/null)
CPP_SOURCES := $(shell find native -name third_party -prune -o \( -name '*.h' -o -name '*.cpp' \) -print)

# The tools of .venv (cmake, ninja, graphzero) come first for everything that is run from here.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: lint ## lint, then build the wheel, install it into .venv and run the tests but for the slow ones
	@echo "==> Running the tests, $(TEST_PROCESSES) at a time (those that take long: make test-slow)"
	@$(PYTEST) -n $(TEST_PROCESSES) --dist loadfile -m "not slow" $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: $(PACKAGE) ## run the tests that take long: kills, attacks, damaged files, examples, wheels
	@echo "==> Running the slow tests"
	@$(PYTEST) -m slow $(PYTEST_ARGS)

.PHONY: demo
demo: $(PACKAGE) ## generate a dataset, serve it, train a GraphSAGE on it, count memory
	@$(BIN)/python tests/end_to_end/demo.py

.PHONY: build
build: $(PACKAGE) ## build the wheel and install it into .venv, if a source changed

.PHONY: dist
dist: $(INSTALLED) ## build the sdist and the manylinux wheels of the Pythons found here, and check each without a compiler
	@$(BIN)/python deploy/release/dist.py --out dist

.PHONY: dev
dev: $(INSTALLED) ## install into .venv so that edits of Python are seen at once (C++: run it again); then pytest as you like
	@rm -f $(PACKAGE)
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@echo "==> Installed from the source tree: $(PYTEST) tests/..."

.PHONY: lint
lint: lint-python lint-types lint-cpp lint-stub ## check format, style, types and the stub of the native module

.PHONY: lint-python
lint-python: $(INSTALLED)
	@echo "==> Checking Python"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check --diff .

# mypy reads the installed package, in which server/ and client/ lie below graphzero; what it says
# names the sources.
.PHONY: lint-types
lint-types: $(PACKAGE)
	@echo "==> Checking types"
	@$(BIN)/mypy --strict --no-error-summary --package graphzero > build/types.txt || { \
	  sed -E 's#^.*/site-packages/graphzero/(server|client|proto)/#\1/#; s#^.*/site-packages/#native/#' build/types.txt; exit 1; }

.PHONY: lint-cpp
lint-cpp: $(INSTALLED)
	@echo "==> Checking C++"
	@$(BIN)/clang-format --dry-run -Werror $(CPP_SOURCES)

.PHONY: lint-stub
lint-stub: $(PACKAGE)
	@echo "==> Checking $(STUB)"
	@$(call write_stub,build/_engine.pyi)
	@diff -u $(STUB) build/_engine.pyi || { echo "$(STUB) is out of date: run make stubs" >&2; exit 1; }

.PHONY: format
format: $(INSTALLED) ## rewrite Python and C++ sources in the project's format
	@$(BIN)/ruff check --quiet --fix --exit-zero .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $(CPP_SOURCES)

.PHONY: crash
crash: $(PACKAGE) ## kill conversions, trainers and daemons at random moments, and attack a daemon, for a quarter of an hour
	@GRAPHZERO_KILLS=500 GRAPHZERO_CLIENT_KILLS=1000 GRAPHZERO_DAEMON_KILLS=100 GRAPHZERO_HOSTILE_S=10 \
	  GRAPHZERO_CHANGED_ROUNDS=20 GRAPHZERO_CUTS=200 GRAPHZERO_PAUSE_S=100 GRAPHZERO_EXITS=20 GRAPHZERO_LEFT_EPOCHS=150 \
	  GRAPHZERO_FORKS=200 $(PYTEST) -s --timeout 3600 tests/crash tests/sample/test_changing_files.py tests/client/test_exit.py \
	  tests/client/test_fork.py tests/base/test_fork.py $(PYTEST_ARGS)

# Without the slow tests, which name their way to read or are about none.
.PHONY: test-paths
test-paths: $(PACKAGE) ## run the tests of sampler, client and server on every way to read files
	@for io in mapped:mapped cached:mapped direct:staged; do \
	  echo "==> Reading features $${io%:*}, graphs $${io#*:}"; \
	  GRAPHZERO_FEATURE_IO=$${io%:*} GRAPHZERO_TOPOLOGY_IO=$${io#*:} $(PYTEST) -q -n $(TEST_PROCESSES) --dist loadfile \
	    -m "not slow" tests/sample tests/client tests/server $(PYTEST_ARGS) || exit 1; \
	done

.PHONY: test-page
test-page: $(PACKAGE) ## look at the page of --http in Chromium, which it installs where it may (as root, by apt-get)
	@command -v chromium > /dev/null || { echo "==> Installing chromium" && apt-get install -qq -y chromium > /dev/null; }
	@$(BIN)/python -m pip install --quiet --requirement tests/page.txt
	@GRAPHZERO_NO_SKIPS=1 $(PYTEST) tests/page $(PYTEST_ARGS)

.PHONY: test-peers
test-peers: $(PACKAGE) $(PEERS)/.installed ## compare with PyG's own loaders and DGL, which it installs (4 GB); nothing is skipped
	@echo "==> Comparing with PyG and DGL"
	@GRAPHZERO_NO_SKIPS=1 GRAPHZERO_DGL_PYTHON=$(CURDIR)/$(PEERS)/dgl/bin/python PYTHONPATH=$(CURDIR)/$(PEERS)/pyg \
	  $(PYTEST) tests/client/test_pyg_peer.py tests/client/test_pyg_typed_peer.py tests/client/test_pyg_sampler.py tests/client/test_layers.py tests/client/test_typed_dgl.py \
	  tests/inputs/test_objects.py $(PYTEST_ARGS)

.PHONY: test-deploy
test-deploy: $(PACKAGE) ## check deploy/ with all there is to check it: schemas, systemd, promtool, prometheus; nothing is skipped
	@$(BIN)/python -m pip install -qq --requirement tests/deploy/requirements.txt
	@GRAPHZERO_NO_SKIPS=1 $(PYTEST) tests/deploy $(PYTEST_ARGS)

.PHONY: test-pyg
test-pyg: $(PACKAGE) ## run PyG's own tests of its loaders over graphzero: PYG=CHECKOUT of the installed version
	@test -d "$(PYG)/test/loader" || { echo "PYG=$(PYG): expected a checkout of PyG's repository" >&2; exit 1; }
	@cd "$(PYG)" && PYTHONPATH="$(CURDIR)/tests/helpers:$(CURDIR)/tests/client:$$PYTHONPATH" $(CURDIR)/$(BIN)/python -P -m pytest \
	  -p pyg_own_tests -p no:cacheprovider -o addopts= --import-mode=importlib -q -ra test $(PYTEST_ARGS)

.PHONY: sanitize
sanitize: $(PACKAGE) ## run the engine under GCC's address, undefined-behaviour and thread sanitizers
	@$(BIN)/python tests/sanitizers/run.py

.PHONY: soak
soak: $(PACKAGE) ## let eight trainers run for a minute and see whether the daemon grows
	@GRAPHZERO_SOAK_S=60 $(PYTEST) -s tests/crash/test_soak.py $(PYTEST_ARGS)

.PHONY: bench-convert
bench-convert: $(PACKAGE) ## compare convert with GraphZero 0.2.0 and pandas + scipy
	@$(BIN)/python tests/benchmarks/convert_edges.py --cache build/bench $(BENCH_ARGS)

.PHONY: bench-parquet
bench-parquet: $(PACKAGE) ## compare convert with reading all of a Parquet file and building from arrays
	@mkdir -p build/bench
	@$(BIN)/python tests/benchmarks/convert_parquet.py --temp build/bench $(BENCH_ARGS)

.PHONY: bench-adapters
bench-adapters: $(PACKAGE) ## compare the PyG and torch adapters with client.loader
	@$(BIN)/python tests/benchmarks/adapters.py $(BENCH_ARGS)

.PHONY: bench-serving
bench-serving: $(PACKAGE) ## compare serving with the engine alone and, given BENCH_ARGS, with peers
	@$(BIN)/python tests/benchmarks/serving/run.py $(BENCH_ARGS)

.PHONY: bench-observed
bench-observed: $(PACKAGE) ## measure what it costs the daemon to be counted, scraped and looked at (--browser: in Chromium here)
	@$(BIN)/python tests/benchmarks/serving/observed.py $(BENCH_ARGS)

.PHONY: bench-out-of-core
bench-out-of-core: $(PACKAGE) ## compare reading beyond memory with the disk and with mappings (as root, with fio)
	@mkdir -p build/bench/out_of_core
	@for run in rows:rows topology:topology walks:topology end_to_end:end_to_end; do \
	  $(BIN)/python tests/benchmarks/out_of_core/$${run%:*}.py \
	    --directory build/bench/out_of_core/$${run#*:} $(BENCH_ARGS) || exit 1; \
	done

.PHONY: stubs
stubs: $(PACKAGE) ## write the type stub of the native module anew
	@$(call write_stub,$(STUB))
	@echo "==> Wrote $(STUB)"

.PHONY: clean
clean: ## remove everything that make created
	@rm -rf $(VENV) $(PEERS) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find native server tests -name __pycache__ -type d -exec rm -rf {} +

$(INSTALLED): tests/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "graphzero needs Python 3.10 or newer; set PYTHON=")'
	@echo "==> Creating $(VENV) (only once, takes minutes: it installs torch)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --requirement tests/requirements.txt
	@touch $@

# torch-sparse is built against the torch of .venv, and found beside it. DGL has another torch.
$(PEERS)/.installed: $(INSTALLED) tests/peers-pyg.txt tests/peers-dgl.txt
	@echo "==> Creating $(PEERS) (only once, takes minutes: it compiles torch-sparse and installs another torch)"
	@rm -rf $(PEERS)
	@$(BIN)/python -m pip install -qq --no-build-isolation --no-deps --target $(PEERS)/pyg --requirement tests/peers-pyg.txt
	@$(PYTHON) -m venv $(PEERS)/dgl
	@$(PEERS)/dgl/bin/python -m pip install -qq --requirement tests/peers-dgl.txt
	@touch $@

# A wheel and not an editable install: tests see what users get. build/ keeps the objects, so only
# what changed is compiled again.
$(PACKAGE): $(INSTALLED) $(PACKAGE_SOURCES)
	@echo "==> Building graphzero-server (compiles C++)"
	@rm -rf build/wheel
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel \
	  --config-settings=cmake.define.GRAPHZERO_WERROR=ON .
	@$(BIN)/python -m pip install --quiet --no-deps --force-reinstall build/wheel/*.whl
	@touch $@

define write_stub
	$(BIN)/python -m nanobind.stubgen --quiet --module graphzero._engine --output-file $(1)
endef
