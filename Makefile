# Everything a developer runs. Each target sets up what it needs in .venv, nothing else on the
# machine is touched. Variables: PYTHON (the interpreter to use), PYTEST_ARGS (e.g. "-k format -x"),
# BENCH_ARGS (e.g. "--edges 5M --repeat 9"), TEST_PROCESSES, FUZZ_SECONDS, SOAK_S, MUTANTS (words of names).

PYTHON ?= python3
PYTEST_ARGS ?=
BENCH_ARGS ?=
FUZZ_SECONDS ?= 600
MUTANTS ?=
SOAK_S ?= 600
# Many tests wait for a daemon, so one more than there are processors.
TEST_PROCESSES ?= $(shell expr $$(nproc) + 1)

VENV := .venv
PEERS := .venv-peers
RAY := .venv-ray
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
INSTALLED := $(VENV)/.installed-requirements
PACKAGE := $(VENV)/.installed-package
STUB := native/graphzero/_engine.pyi

# Folders are among the sources because their time stamps change when a file is added or removed.
PACKAGE_SOURCES := CMakeLists.txt pyproject.toml README.md LICENSE \
  $(shell find native server client proto -name __pycache__ -prune -o -print 2>/dev/null)
CPP_SOURCES := $(shell find native tests/fuzz tests/portability -name third_party -prune -o \( -name '*.h' -o -name '*.cpp' \) -print)

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
crash: $(PACKAGE) ## kill conversions, trainers and daemons, at random moments and at each fail point, attack a daemon, and let everything run out; an hour
	@GRAPHZERO_KILLS=500 GRAPHZERO_CLIENT_KILLS=1000 GRAPHZERO_DAEMON_KILLS=200 GRAPHZERO_PEER_KILLS=200 GRAPHZERO_HOSTILE_S=10 \
	  GRAPHZERO_CHANGED_ROUNDS=20 GRAPHZERO_CUTS=200 GRAPHZERO_PAUSE_S=100 GRAPHZERO_EXITS=20 GRAPHZERO_LEFT_EPOCHS=150 \
	  GRAPHZERO_FORKS=200 $(PYTEST) -s --timeout 7200 tests/crash tests/sample/test_changing_files.py tests/client/test_exit.py \
	  tests/client/test_fork.py tests/base/test_fork.py tests/base/test_thread_limit.py tests/compile/test_convert_cli.py \
	  tests/compile/test_features_publish.py $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: $(PACKAGE) ## fuzz readers, parsers, descriptions and the wire for FUZZ_SECONDS and 100,000 messages; installs clang where it may
	@$(BIN)/python -m pip install -qq --requirement tests/fuzz/requirements.txt
	@$(BIN)/python tests/fuzz/campaign.py --seconds $(FUZZ_SECONDS)
	@GRAPHZERO_WIRE_MESSAGES=100000 $(PYTEST) -s --timeout 7200 tests/fuzz/test_wire.py $(PYTEST_ARGS)

.PHONY: mutants
mutants: $(PACKAGE) ## break the engine on purpose, one way at a time, and see whether the tests notice
	@$(BIN)/python tests/mutation/run_mutants.py $(MUTANTS)

# Without the slow tests, which name their way to read or are about none.
.PHONY: test-paths
test-paths: $(PACKAGE) ## run the tests of sampler, client and server on every way to read files
	@for io in mapped:mapped cached:mapped direct:staged; do \
	  echo "==> Reading features $${io%:*}, graphs $${io#*:}"; \
	  GRAPHZERO_FEATURE_IO=$${io%:*} GRAPHZERO_TOPOLOGY_IO=$${io#*:} $(PYTEST) -q -n $(TEST_PROCESSES) --dist loadfile \
	    -m "not slow" tests/sample tests/client tests/server $(PYTEST_ARGS) || exit 1; \
	done

.PHONY: test-python
test-python: ## the same as make test on another Python, in an environment of its own: PYTHON=python3.13
	@$(MAKE) --no-print-directory test VENV=.venv-$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

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

.PHONY: test-ray
test-ray: $(PACKAGE) $(RAY)/.installed ## train with Ray on several nodes on this machine, of which some die; installs Ray (260 MB); nothing is skipped
	@echo "==> Training with Ray"
	@GRAPHZERO_NO_SKIPS=1 RAY_USAGE_STATS_ENABLED=0 PYTHONPATH=$(CURDIR)/$(RAY) \
	  $(PYTEST) tests/ray tests/examples/test_ray_examples.py $(PYTEST_ARGS)

.PHONY: test-deploy
test-deploy: $(PACKAGE) ## check deploy/ with all there is to check it: schemas, systemd, promtool, prometheus; nothing is skipped
	@$(BIN)/python -m pip install -qq --requirement tests/deploy/requirements.txt
	@GRAPHZERO_NO_SKIPS=1 $(PYTEST) tests/deploy $(PYTEST_ARGS)

.PHONY: test-pyg
test-pyg: $(PACKAGE) ## run PyG's own tests of its loaders over graphzero: PYG=CHECKOUT of the installed version
	@test -d "$(PYG)/test/loader" || { echo "PYG=$(PYG): expected a checkout of PyG's repository" >&2; exit 1; }
	@cd "$(PYG)" && PYTHONPATH="$(CURDIR)/tests/helpers:$(CURDIR)/tests/client:$$PYTHONPATH" $(CURDIR)/$(BIN)/python -P -m pytest \
	  -p pyg_own_tests -p no:cacheprovider -o addopts= --import-mode=importlib -q -ra test $(PYTEST_ARGS)

.PHONY: test-aarch64
test-aarch64: $(PACKAGE) ## compile the sampler for aarch64, run it by QEMU, and compare its bytes; installs both where it may (as root, by apt-get)
	@command -v aarch64-linux-gnu-g++ qemu-aarch64 > /dev/null || { echo "==> Installing g++-aarch64-linux-gnu and qemu-user" && \
	  apt-get install -qq -y --no-install-recommends g++-aarch64-linux-gnu qemu-user > /dev/null; }
	@GRAPHZERO_NO_SKIPS=1 $(PYTEST) tests/portability $(PYTEST_ARGS)

.PHONY: sanitize
sanitize: $(PACKAGE) ## run the engine under GCC's address, undefined-behaviour and thread sanitizers
	@$(BIN)/python tests/sanitizers/run.py

.PHONY: soak
soak: $(PACKAGE) ## let six trainers come and go for SOAK_S seconds and see whether the daemon grows; report in build/soak
	@GRAPHZERO_SOAK_S=$(SOAK_S) $(PYTEST) -s tests/crash/test_soak.py $(PYTEST_ARGS)

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

.PHONY: bench
bench: $(PACKAGE) ## measure everything beside DGL and PyG, which it installs; report in build/bench/report (33 minutes)
	@$(BIN)/python tests/benchmarks/run.py $(BENCH_ARGS)

.PHONY: bench-quick
bench-quick: $(PACKAGE) ## the same on small sizes, in a few minutes
	@$(BIN)/python tests/benchmarks/run.py --size quick $(BENCH_ARGS)

.PHONY: bench-readme
bench-readme: $(INSTALLED) ## store the report of make bench and write the README's figures from it
	@$(BIN)/python tests/benchmarks/report/readme.py build/bench/report/report.json

.PHONY: bench-compare
bench-compare: $(PACKAGE) ## show what changed in speed since another revision, built beside this one: BASE=REVISION
	@$(BIN)/python tests/benchmarks/compare.py $(or $(BASE),HEAD) $(BENCH_ARGS)

.PHONY: bench-observed
bench-observed: $(PACKAGE) ## measure what it costs the daemon to be counted, scraped and looked at (--browser: in Chromium here)
	@$(BIN)/python tests/benchmarks/loaders/observed.py $(BENCH_ARGS)

.PHONY: bench-out-of-core
bench-out-of-core: $(PACKAGE) ## compare rows, graphs and walks beyond memory with the disk and with mappings (as root, with fio)
	@mkdir -p build/bench/out_of_core
	@for run in rows:rows topology:topology walks:topology; do \
	  $(BIN)/python tests/benchmarks/out_of_core/$${run%:*}.py \
	    --directory build/bench/out_of_core/$${run#*:} $(BENCH_ARGS) || exit 1; \
	done

.PHONY: bench-scale
bench-scale: $(PACKAGE) ## compile a billion edges in 1 GB, serve 100 M nodes from 5.1 and 16 GB (as root, 70 GB of disk, 40 minutes)
	@$(BIN)/python tests/benchmarks/out_of_core/scale.py --directory build/bench/scale $(BENCH_ARGS)

.PHONY: stubs
stubs: $(PACKAGE) ## write the type stub of the native module anew
	@$(call write_stub,$(STUB))
	@echo "==> Wrote $(STUB)"

.PHONY: clean
clean: ## remove everything that make created
	@rm -rf $(VENV) .venv-3.* $(PEERS) $(RAY) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find native server tests -name __pycache__ -type d -exec rm -rf {} +

$(INSTALLED): tests/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "graphzero needs Python 3.10 or newer; set PYTHON=")'
	@echo "==> Creating $(VENV) (only once, takes minutes: it installs torch)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --requirement tests/requirements.txt
	@touch $@

# tests/benchmarks/common/peers.py says what is in them.
$(PEERS)/.installed: $(INSTALLED) tests/peers-pyg.txt tests/peers-dgl.txt
	@echo "==> Creating $(PEERS) (only once, takes minutes: it compiles torch-sparse and installs another torch)"
	@$(BIN)/python tests/benchmarks/common/peers.py --require
	@touch $@

# Found beside .venv, whose torch and pandas it uses.
$(RAY)/.installed: $(INSTALLED) tests/ray.txt
	@echo "==> Creating $(RAY) (only once)"
	@rm -rf $(RAY)
	@$(BIN)/python -m pip install -qq --no-deps --target $(RAY) --requirement tests/ray.txt
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
