# Fairlead's tasks: `make` lists them. What they install and make stays in this folder, where git ignores it.

# Bun compiles and tests Fairlead: one on the PATH that is new enough, else one of our own from npm, in .tools/.
BUN_VERSION := $(shell sed -n 's/.*"bun-types": "\([0-9.]*\)".*/\1/p' package.json)
PATH_BUN := $(shell version=$$(bun --version 2>/dev/null) && \
  [ "$$(printf '%s\n' "$$version" $(BUN_VERSION) | sort -V | head -n 1)" = $(BUN_VERSION) ] && command -v bun)
BUN := $(or $(PATH_BUN),.tools/node_modules/.bin/bun)

# What is built is of one moment, that of the commit: also as the time that no right clock is behind.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

# The tests compile with these as well. The binary has its bytecode in it, which is the same for all targets, and loads what a
# command needs (--splitting): it starts in half of the time. It would otherwise run code from the folder that it is started in,
# and have the path of this folder in it, for which better-sqlite3 has no use there.
COMPILE := build --compile --bytecode --format=esm --splitting --no-compile-autoload-dotenv --no-compile-autoload-bunfig --define __dirname=undefined
BUILT_AT := --define FAIRLEAD_BUILT_AT=$(or $(SOURCE_DATE_EPOCH),0)
SOURCES := $(shell find src) config.example.yaml $(wildcard docs/reference/config/*.md) package.json bun.lock tsconfig.json Makefile

# Deno runs the same sources and the same tests: one on the PATH of the same generation, else one of our own from npm.
DENO_VERSION := 2.9.6
PATH_DENO := $(shell version=$$(deno --version 2>/dev/null | sed -n '1s/^deno \([0-9.]*\).*/\1/p') && \
  [ -n "$$version" ] && [ "$$(printf '%s\n' "$$version" $(DENO_VERSION) | sort -V | head -n 1)" = $(DENO_VERSION) ] && command -v deno)
DENO := $(or $(PATH_DENO),.tools/deno/node_modules/.bin/deno)

# The tests of the client library that Node runs.
CLIENT_TESTS := $(filter-out %/flow.test.ts,$(wildcard test/client/*.test.ts test/client/segment/*.test.ts))
NODE_TESTS := $(CLIENT_TESTS:test/client/%.ts=dist/test/node/%.js)

# What `make test` runs on Deno as well: what meets the runtime directly, and the whole daemon once through. `make test-long`
# runs all of the tests on Deno.
DENO_TESTS := test/client test/http test/ingest test/runtime test/store \
  $(addprefix test/flow/,acceptance.test.ts delivery.test.ts health.test.ts reload.test.ts restart.test.ts signing.test.ts) \
  test/simulate/simulate.test.ts
DENO_TEST := $(DENO) test -A --parallel --no-check --quiet

# The whole daemon on PostgreSQL, in this process: some of its tests in `make test`, all in `make test-long`. Left out are old files
# (upgrade), and a machine's clock that is wrong, where times continue from the server's (machine-clock). Tests about a file skip there.
ON_POSTGRES := FAIRLEAD_TEST_ENGINE=postgres $(BUN) test --no-orphans --timeout 120000
POSTGRES_FLOWS := $(addprefix ./test/flow/,restart.test.ts replay.test.ts)
ONLY_SQLITE_FLOWS := $(addprefix test/flow/,machine-clock.test.ts upgrade.test.ts)
ALL_POSTGRES_FLOWS := $(addprefix ./,$(filter-out $(ONLY_SQLITE_FLOWS) test/flow/shared.test.ts,$(wildcard test/flow/*.test.ts)))

LONG_TESTS := ./test/long/soak.long.ts $(addprefix ./,$(filter-out %/soak.long.ts,$(wildcard test/long/*.long.ts)))

# What is shipped is compiled by exactly the Bun that goes into it.
SHIPPING_BUN := $(if $(filter $(BUN_VERSION),$(shell bun --version 2>/dev/null)),bun,.tools/node_modules/.bin/bun)
SHIP := COMPILE="$(COMPILE) $(BUILT_AT)" SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(SHIPPING_BUN)

INSTALLED := node_modules/.installed
OWN_BUN := .tools/bun-$(BUN_VERSION)
OWN_DENO := .tools/deno/installed-$(DENO_VERSION)

.DEFAULT_GOAL := help
.PHONY: help install build dist deb client run demo test test-long fuzz simulate bench example reference format clean
.DELETE_ON_ERROR:

help: ## list these tasks
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1:\2/p' Makefile | while IFS=: read -r name does; do \
	  printf '  make %-9s %s\n' "$$name" "$$does"; done

install: $(INSTALLED) ## install what bun.lock names, and Bun itself if there is none

build: dist/fairlead ## compile the single binary, dist/fairlead

dist: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## make the tarballs of a release for all targets (TARGETS=linux-arm64 for one)
	$(SHIP) packaging/dist.ts dist $(TARGETS)

deb: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## make the Debian packages (ARCHITECTURES=amd64 for one)
	$(SHIP) packaging/deb.ts dist $(ARCHITECTURES)

rpm: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## make the RPM packages (ARCHITECTURES=x86_64 for one)
	$(SHIP) packaging/rpm.ts dist $(ARCHITECTURES)

image: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## make the container images, OCI archives (ARCHITECTURES=amd64 for one)
	$(SHIP) packaging/image.ts dist $(ARCHITECTURES)

client: install ## write the client library as a package of its own, dist/client
	$(BUN) test/client/pack.ts dist/client

run: build ## start Fairlead and a receiver, send six calls, and stay until Ctrl-C
	@$(BUN) --no-orphans test/demo/demo.ts --stay

demo: build ## the same in a folder of its own: check the six webhooks, and end
	@$(BUN) --no-orphans test/demo/demo.ts

test: build $(if $(PATH_DENO),,$(OWN_DENO)) ## check format, lint and types, and run the tests, in about five minutes on two cores
	$(BUN) x --bun --no-install biome ci $(if $(MAKE_TERMOUT),,--colors=off) .
	$(BUN) x --bun --no-install tsc --noEmit
	$(BUN) x --bun --no-install tsc --noEmit -p src/dashboard
	@# Four at a time also on two cores: the tests of the binary mostly wait.
	$(BUN) test --no-orphans --parallel=4 --timeout 120000
	$(ON_POSTGRES) --parallel=2 $(POSTGRES_FLOWS)
	@# The client library is for Node as well, which knows no TypeScript. The daemon is not, so its flows are left out.
	$(BUN) build $(CLIENT_TESTS) \
	  --target node --packages external --root test/client --outdir dist/test/node >/dev/null
	node --import ./test/client/node20.mjs --test --test-reporter=dot $(NODE_TESTS)
	$(DENO_TEST) $(DENO_TESTS)
	$(DENO) test -A --no-check --quiet test/deno/serve.smoke.ts

test-long: build $(if $(PATH_DENO),,$(OWN_DENO)) ## run what takes longer or needs more: all tests on Deno, faults of disk, network and clock, kills, power cuts, a soak, systemd, packages and proxies (as root), other machines, pages in a real Chromium
	@# Their names are not those of tests, so that `bun test` and `deno test` pass without a browser, and without root.
	@# Two at a time, the longest one first: the soak mostly waits.
	$(BUN) test --no-orphans --parallel=2 --timeout 120000 $(LONG_TESTS)
	$(BUN) test --no-orphans ./test/browser/*.browser.ts
	$(ON_POSTGRES) --parallel=2 $(ALL_POSTGRES_FLOWS)
	$(DENO_TEST) --ignore=test/binary,test/bench test

simulate: install ## run the daemon in a false world, by chance from a seed (SEED=1 STEPS=100000 SHARED=1, or TRACE=file)
	@SEED=$(SEED) STEPS=$(STEPS) SHARED=$(SHARED) TRACE=$(TRACE) $(BUN) test/simulate/simulate.ts

fuzz: install ## try odd inputs for long, print what fails and where to keep it (TARGET=csv SECONDS=600 SEED=7)
	@FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_SEED=$(or $(SEED),$$(date +%s)) $(BUN) test ./test/fuzz$(if $(TARGET),/$(TARGET).test.ts)

bench: build ## measure Fairlead against a bare server (BENCH=drain for one row, PEERS=1 beside Go with SQLite, and BullMQ)
	@$(BUN) bench/bench.ts $(BENCH) $(if $(PEERS),--peers)

example: install ## write config.example.yaml from the schema of the config
	@mkdir -p dist
	@# Not in place: a schema that fails must not leave an empty file.
	$(BUN) packaging/config-example.ts > dist/config.example.yaml
	@mv dist/config.example.yaml config.example.yaml

reference: install ## write the generated pages of docs/reference from the code
	$(BUN) packaging/reference/write.ts

format: install ## put all files into the form that `make test` asks for
	$(BUN) x --bun --no-install biome check --write .

clean: ## remove all that these tasks have made
	rm -rf dist .run .tools node_modules

# The dashboard, in the form in which the daemon loads it.
dist/dashboard.js: $(shell find src/dashboard src/wire) src/model/rules.ts packaging/page.ts package.json bun.lock | $(INSTALLED)
	$(BUN) packaging/page.ts $@

dist/fairlead: $(SOURCES) dist/dashboard.js | $(INSTALLED)
	@mkdir -p dist
	@# Not in place: the old one may be running.
	$(BUN) $(COMPILE) $(BUILT_AT) --outfile dist/fairlead.new src/main.ts
	@mv dist/fairlead.new $@

$(INSTALLED): package.json bun.lock $(if $(PATH_BUN),,$(OWN_BUN))
	$(BUN) install --frozen-lockfile
	@touch $@

# npm may be set not to run install scripts; Bun's is then run here.
$(OWN_BUN):
	@command -v npm >/dev/null || { echo "Fairlead needs Bun $(BUN_VERSION) or later, or npm to install it with." >&2; exit 1; }
	npm install --prefix .tools --no-save --no-audit --no-fund --loglevel=error bun@$(BUN_VERSION)
	@.tools/node_modules/.bin/bun --version >/dev/null 2>&1 || node .tools/node_modules/bun/install.js
	@.tools/node_modules/.bin/bun --version >/dev/null || { echo "npm has installed a Bun that does not run; put one on the PATH." >&2; exit 1; }
	@touch $@

$(OWN_DENO):
	@command -v npm >/dev/null || { echo "The tests need Deno $(DENO_VERSION) or later, or npm to install it with." >&2; exit 1; }
	npm install --prefix .tools/deno --no-save --no-audit --no-fund --loglevel=error deno@$(DENO_VERSION)
	@$(DENO) --version >/dev/null 2>&1 || node .tools/deno/node_modules/deno/install.cjs
	@$(DENO) --version >/dev/null || { echo "npm has installed a Deno that does not run; put one on the PATH." >&2; exit 1; }
	@touch $@
