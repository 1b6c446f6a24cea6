# Lakewarden. `make help` lists the targets.
#
# Everything a target needs beyond Go, a C compiler and Python it gets itself
# and keeps below bin/, which git ignores. A second call finds it there.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

BIN        := bin
EXTENSIONS := $(CURDIR)/$(BIN)/extensions
VENV       := $(CURDIR)/$(BIN)/venv
PACKAGES   ?= ./...
FUZZTIME   ?= 60s
# Which fuzz targets run: a pattern over lines "FOLDER TARGET".
FUZZ       ?= .*
BENCHMARK  ?= all
# Where the report of the suites goes, and the ways of reading; none means all.
REPORT ?= docs/reports/suites.md
RUNS   ?=
# How often the server is killed in a soak.
KILLS ?= 200
# Which part of the tests a run takes is decided by their packages, so that no test is
# left out by a name: see .ci/scripts/test.sh. WHOLE=-whole takes all cases of each.
TESTFLAGS ?=
WHOLE     ?=

# DuckDB's Go API hands out Arrow record batches under the first tag only. The second leaves the gRPC
# transports, which nothing uses, out of the client of Google Cloud Storage.
TAGS    := duckdb_arrow,disable_grpc_modules
GOBUILD := CGO_ENABLED=1 go build -tags $(TAGS) -buildvcs=false

export TAGS
# Tests and benchmarks look these up; a person can point them elsewhere.
export LAKEWARDEN_EXTENSION_DIR ?= $(EXTENSIONS)
export LAKEWARDEN_TEST_PYTHON   ?= $(VENV)/bin/python
export LAKEWARDEN_TEST_VERSITYGW ?= $(CURDIR)/$(BIN)/versitygw
export LAKEWARDEN_TEST_AZURITE ?= $(CURDIR)/$(BIN)/azurite/node_modules/azurite/dist/src/blob/main.js
export LAKEWARDEN_TEST_FAKE_GCS ?= $(CURDIR)/$(BIN)/fake-gcs-server

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/lakewarden
	$(GOBUILD) -ldflags "-X main.version=$(VERSION)" -o $(BIN)/lakewarden ./cmd/lakewarden

.PHONY: run
run: extensions ## Create the demo organisation (once) and serve it
	$(BIN)/lakewarden demo
	$(BIN)/lakewarden serve

.PHONY: extensions
extensions: build ## Get the DuckDB extensions into bin/extensions (tpch is for tests)
	@$(BIN)/lakewarden extensions install --extension-dir $(EXTENSIONS) delta httpfs tpch

.PHONY: test-deps
test-deps: extensions python-deps system-deps go-deps npm-deps ## Get what the tests need: Python oracles, PostgreSQL, servers of object stores, an identity provider, a browser

# The parts of test-deps, which `make -j` gets at once: most of them wait for the network. What
# compiles Go waits for the build, which fills Go's cache: programs that compile the same
# packages at once all do the work.
.PHONY: lint-deps python-deps system-deps go-deps npm-deps
lint-deps:
	@.ci/scripts/python.sh $(VENV) .ci/requirements/lint.txt
python-deps: lint-deps
	@.ci/scripts/python.sh $(VENV) .ci/requirements/test.txt
system-deps:
	@.ci/scripts/postgres.sh
	@.ci/scripts/browser.sh $(BIN)
go-deps: | build
	@.ci/scripts/goserver.sh $(BIN) versitygw github.com/versity/versitygw v1.8.0 cmd/versitygw
	@.ci/scripts/goserver.sh $(BIN) fake-gcs-server github.com/fsouza/fake-gcs-server v1.56.1
npm-deps:
	@.ci/scripts/npmserver.sh $(BIN) azurite engine/objstore/azuretest/testdata/azurite
	@.ci/scripts/npmserver.sh $(BIN) oidcprovider cmd/e2e/identity/testdata/oidcprovider

.PHONY: check
check: lint test-deps ## Run the linters, the rules of the structure and the unit tests
	@.ci/scripts/test.sh -unit ./...

.PHONY: test
test: test-deps ## Run the tests of PACKAGES, with the race detector unless DuckDB or SQLite is linked
	@.ci/scripts/test.sh $(WHOLE) $(PACKAGES) $(TESTFLAGS)

.PHONY: suites
suites: test-deps ## Run the suites of leaks and attacks in every way of reading; the report goes to docs
	@CI=true .ci/scripts/suites.sh $(REPORT) $(RUNS)

.PHONY: conformance
conformance: test-deps ## Read and write the tables of the corpus; the numbers go to docs/reports
	@CI=true LAKEWARDEN_TEST_CONFORMANCE_REPORT=$(CURDIR)/docs/reports \
		.ci/scripts/test.sh -whole ./cmd/interop -count 1 -run '^TestConformance'

.PHONY: interop
interop: test-deps ## Let Spark, delta-rs and DuckDB judge what we write (Java, Maven); the report goes to docs
	@.ci/scripts/interop.sh $(BIN) docs/reports/interop.md $(TESTFLAGS)

.PHONY: clients
clients: test-deps ## Let public OAuth and OpenID clients, and that of MCP, sign people in at the server (Node.js)
	@.ci/scripts/clients.sh $(BIN) $(TESTFLAGS)

.PHONY: soak
soak: test-deps ## Kill the server KILLS times (200) during writes, and race statements and writes with changes of rules, domains and credentials
	@CI=true LAKEWARDEN_TEST_KILLS=$(KILLS) LAKEWARDEN_TEST_ROTATIONS_REPORT=$(CURDIR)/docs/reports/rotations.md \
		.ci/scripts/test.sh -whole ./cmd/e2e/kill ./cmd/e2e/domain ./cmd/e2e/storage -count 1 -v \
		-run '^(TestRotationsFailNoRead|TestKillsOfTheServerLoseNothing|TestRulesChangeBetweenStatements|TestDeletionsOfValuesMeetWritesOnAnotherReplica|TestAReplacedSharedDomainWaitsForWrites)$$'

.PHONY: fuzz
fuzz: extensions ## Run every fuzz target for FUZZTIME each (60s)
	@.ci/scripts/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: fuzz-sql
fuzz-sql: extensions ## Compare generated statements with the engine without optimizers for FUZZTIME (60s)
	@CI=true LAKEWARDEN_TEST_FUZZ_SQL=$(FUZZTIME) .ci/scripts/test.sh -whole ./engine/sqlguard -count 1 -v \
		-run '^TestStatementsMeanWhatTheyMeanWithoutOptimizers$$'

.PHONY: lint
lint: lint-deps | build ## Check format, vet and style of Go and shell files
	@.ci/scripts/lint.sh

.PHONY: bench
bench: test-deps ## Measure against plain DuckDB, roapi, rclone and splink; the report goes to docs/reports/bench
	@.ci/scripts/python.sh $(VENV) .ci/requirements/bench.txt
	@.ci/scripts/rclone.sh $(BIN)
	@$(BIN)/lakewarden extensions install --extension-dir $(EXTENSIONS) tpcds
	$(GOBUILD) -o $(BIN)/bench ./cmd/bench
	$(BIN)/bench run --workload $(BENCHMARK) --report docs/reports/bench

.PHONY: docker
docker: ## Build the container image lakewarden:VERSION
	docker build --build-arg VERSION=$(VERSION) -t lakewarden:$(VERSION) .

.PHONY: clean
clean: ## Remove bin/ (programs, extensions, test set-up, benchmark data)
	rm -rf $(BIN)
