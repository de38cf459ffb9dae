# Fairlead's tasks: `make` lists them. They install and write inside this folder only, and git ignores what they make.

# Bun compiles and tests Fairlead. A Bun on the PATH is used if it is new enough; otherwise npm installs one in .tools/.
BUN_VERSION := $(shell sed -n 's/.*"bun-types": "\([0-9.]*\)".*/\1/p' package.json)
PATH_BUN := $(shell version=$$(bun --version 2>/dev/null) && \
  [ "$$(printf '%s\n' "$$version" $(BUN_VERSION) | sort -V | head -n 1)" = $(BUN_VERSION) ] && command -v bun)
BUN := $(or $(PATH_BUN),.tools/node_modules/.bin/bun)

# The time of the commit. Builds use it in place of the current time, so the same commit gives the same bytes. The daemon
# takes it as the earliest time that a correct clock can show.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

# The flags of every binary; the tests that compile use them as well.
# --bytecode, --splitting   halve the time of a start: nothing is parsed, and a command loads only the modules that it needs.
# --no-compile-autoload-*   keep the binary from running code in the folder where it is started.
# --define __dirname        keeps the path of this folder out of the binary; better-sqlite3 names it and does not need it.
COMPILE := build --compile --bytecode --format=esm --splitting --no-compile-autoload-dotenv --no-compile-autoload-bunfig --define __dirname=undefined
BUILT_AT := --define FAIRLEAD_BUILT_AT=$(or $(SOURCE_DATE_EPOCH),0)
SOURCES := $(shell find src) config.example.yaml $(wildcard docs/reference/config/*.md) package.json bun.lock tsconfig.json Makefile

# Deno runs the same sources and tests. A Deno on the PATH is used if it is new enough; otherwise npm installs one in .tools/.
DENO_VERSION := 2.9.6
PATH_DENO := $(shell version=$$(deno --version 2>/dev/null | sed -n '1s/^deno \([0-9.]*\).*/\1/p') && \
  [ -n "$$version" ] && [ "$$(printf '%s\n' "$$version" $(DENO_VERSION) | sort -V | head -n 1)" = $(DENO_VERSION) ] && command -v deno)
DENO := $(or $(PATH_DENO),.tools/deno/node_modules/.bin/deno)

# Node runs these tests of the client library.
CLIENT_TESTS := $(filter-out %/flow.test.ts,$(wildcard test/client/*.test.ts test/client/segment/*.test.ts))
NODE_TESTS := $(CLIENT_TESTS:test/client/%.ts=dist/test/node/%.js)

# `make test` runs these on Deno as well: the tests that depend on the runtime, and the main flows of the whole daemon.
# `make test-long` runs all tests on Deno.
DENO_TESTS := test/client test/http test/ingest test/runtime $(wildcard test/store/*.test.ts) test/store/sqlite \
  $(addprefix test/flow/,acceptance.test.ts delivery.test.ts health.test.ts reload.test.ts restart.test.ts signing.test.ts) \
  test/simulate/simulate.test.ts
DENO_TEST := $(DENO) test -A --parallel --no-check --quiet

# The flows of the whole daemon on PostgreSQL (PGlite, in the process of the test): some in `make test`, all in `make test-long`.
# Two need an outbox file: `upgrade` opens old ones, and `machine-clock` continues from the times in one.
ON_POSTGRES := FAIRLEAD_TEST_ENGINE=postgres $(BUN) test --no-orphans --timeout 120000
POSTGRES_FLOWS := $(addprefix ./test/flow/,restart.test.ts replay.test.ts)
ONLY_SQLITE_FLOWS := $(addprefix test/flow/,machine-clock.test.ts upgrade.test.ts)
ALL_POSTGRES_FLOWS := $(addprefix ./,$(filter-out $(ONLY_SQLITE_FLOWS) test/flow/shared.test.ts,$(wildcard test/flow/*.test.ts)))

# install.sh again: by now .ci/run has installed the shells that it is tried in.
LONG_TESTS := ./test/long/soak.long.ts $(addprefix ./,$(filter-out %/soak.long.ts,$(wildcard test/long/*.long.ts))) ./test/packaging/install.test.ts

# Releases are compiled by exactly the Bun that package.json names.
SHIPPING_BUN := $(if $(filter $(BUN_VERSION),$(shell bun --version 2>/dev/null)),bun,.tools/node_modules/.bin/bun)
SHIP := COMPILE="$(COMPILE) $(BUILT_AT)" SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(SHIPPING_BUN)

RELEASE := dist/release
MINISIGN_PUBLIC := packaging/minisign.pub
IMAGE := ghcr.io/fairlead/fairlead
IMAGES := amd64 arm64

INSTALLED := node_modules/.installed
# What builds the site has packages of its own, which nothing else installs.
SITE := packaging/site
OWN_BUN := .tools/bun-$(BUN_VERSION)
OWN_DENO := .tools/deno/installed-$(DENO_VERSION)

.DEFAULT_GOAL := help
.PHONY: help install build dist deb rpm image sbom release sign verify-release publish-github publish-npm publish-image client run demo test prose test-long fuzz simulate bench example reference docs format clean
.DELETE_ON_ERROR:

help: ## daily work: list these tasks
	@# Grouped by the words before the colon, each group where it appears first.
	@awk '/^[a-z-]+:.* ## [a-z ]+: / { name = $$1; sub(/:.*/, "", name); sub(/.* ## /, ""); \
	    group = $$0; sub(/: .*/, "", group); sub(/^[^:]*: /, ""); \
	    if (!(group in tasks)) order[++groups] = group; \
	    tasks[group] = tasks[group] sprintf("  make %-14s  %s\n", name, $$0) } \
	  END { for (i = 1; i <= groups; i++) printf "%s%s:\n%s", (i > 1 ? "\n" : ""), order[i], tasks[order[i]] }' Makefile

install: $(INSTALLED) ## daily work: install the packages of bun.lock, and Bun if it is missing

build: dist/fairlead ## daily work: compile the binary, dist/fairlead

dist: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## releases: make the tarballs for all targets (TARGETS=linux-arm64 for one)
	$(SHIP) packaging/dist.ts dist $(TARGETS)

deb: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## releases: make the Debian packages (ARCHITECTURES=amd64 for one)
	$(SHIP) packaging/deb.ts dist $(ARCHITECTURES)

rpm: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## releases: make the RPM packages (ARCHITECTURES=x86_64 for one)
	$(SHIP) packaging/rpm.ts dist $(ARCHITECTURES)

image: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## releases: make the container images, OCI archives (ARCHITECTURES=amd64 for one)
	$(SHIP) packaging/image.ts dist $(ARCHITECTURES)

sbom: install ## releases: list what is in the binaries, as CycloneDX has it
	$(SHIP) packaging/sbom.ts dist

release: install dist/dashboard.js $(if $(filter bun,$(SHIPPING_BUN)),,$(OWN_BUN)) ## releases: make all files of a release, in dist/release (VERSION=0.2.0)
	$(SHIP) packaging/release.ts $(RELEASE) "$(VERSION)" $(TARGETS)

sign: ## releases: sign the sums of a release (MINISIGN_KEY=file)
	minisign -S -s "$(MINISIGN_KEY)" -t "fairlead $(VERSION)" -m $(RELEASE)/SHA256SUMS
	minisign -V -q -p $(MINISIGN_PUBLIC) -m $(RELEASE)/SHA256SUMS

verify-release:
	cd $(RELEASE) && sha256sum --check --quiet SHA256SUMS && minisign -V -q -p $(abspath $(MINISIGN_PUBLIC)) -m SHA256SUMS

publish-github: verify-release ## releases: publish a signed release on GitHub, with gh (VERSION=0.2.0)
	gh release create "v$(VERSION)" --verify-tag --title "Fairlead $(VERSION)" --notes-file $(RELEASE)-notes.md $(RELEASE)/*

publish-npm: verify-release ## releases: publish the client library of a release, with npm (VERSION=0.2.0)
	npm publish $(RELEASE)/fairlead-$(VERSION).tgz --access public

publish-image: verify-release ## releases: publish the container images, with skopeo and docker (VERSION=0.2.0)
	for machine in $(IMAGES); do \
	  skopeo copy oci-archive:$(RELEASE)/fairlead-$(VERSION)-image-$$machine.tar docker://$(IMAGE):$(VERSION)-$$machine || exit 1; done
	docker buildx imagetools create --tag $(IMAGE):$(VERSION) --tag $(IMAGE):latest $(IMAGES:%=$(IMAGE):$(VERSION)-%)

client: install ## releases: make the npm package of the client library, dist/client
	$(BUN) test/client/pack.ts dist/client

run: build ## daily work: start Fairlead and a receiver, send six calls, run until Ctrl-C
	@$(BUN) --no-orphans test/demo/demo.ts --stay

demo: build ## daily work: the same in a new folder, check the six webhooks and stop
	@$(BUN) --no-orphans test/demo/demo.ts

test: build $(if $(PATH_DENO),,$(OWN_DENO)) ## daily work: check format, types and prose, and run the tests (five minutes)
	$(BUN) x --bun --no-install biome ci $(if $(MAKE_TERMOUT),,--colors=off) .
	$(BUN) x --bun --no-install tsc --noEmit
	$(BUN) x --bun --no-install tsc --noEmit -p src/dashboard
	$(BUN) test/prose/lint.ts
	@# Four at a time also on two cores: the tests of the binary mostly wait.
	$(BUN) test --no-orphans --parallel=4 --timeout 120000
	$(ON_POSTGRES) --parallel=2 $(POSTGRES_FLOWS)
	@# The client library also runs on Node, which needs JavaScript. The daemon does not, so the flow tests are left out.
	$(BUN) build $(CLIENT_TESTS) \
	  --target node --packages external --root test/client --outdir dist/test/node >/dev/null
	node --import ./test/client/node20.mjs --test --test-reporter=dot $(NODE_TESTS)
	$(DENO_TEST) $(DENO_TESTS)
	$(DENO) test -A --no-check --quiet test/deno/serve.smoke.ts

prose: install ## daily work: read docs, comments and messages for plain English
	@$(BUN) test/prose/lint.ts

test-long: build $(if $(PATH_DENO),,$(OWN_DENO)) ## longer tests: faults, kills, power cuts, packages, browsers, Deno (needs root)
	@# `bun test` and `deno test` do not find these files by their names, so they pass without a browser and without root.
	@# Two at a time, the longest one first: the soak mostly waits.
	$(BUN) test --no-orphans --parallel=2 --timeout 120000 $(LONG_TESTS)
	$(BUN) test --no-orphans ./test/browser/*.browser.ts
	$(ON_POSTGRES) --parallel=2 $(ALL_POSTGRES_FLOWS)
	$(DENO_TEST) --ignore=test/binary,test/bench,test/packaging test

simulate: install ## longer tests: run the daemon in a simulated world (SEED=1 STEPS=9999, TRACE=file)
	@SEED=$(SEED) STEPS=$(STEPS) SHARED=$(SHARED) TRACE=$(TRACE) $(BUN) test/simulate/simulate.ts

fuzz: install ## longer tests: try random inputs and print what fails (TARGET=csv SECONDS=600)
	@FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_SEED=$(or $(SEED),$$(date +%s)) $(BUN) test ./test/fuzz$(if $(TARGET),/$(TARGET).test.ts)

bench: build ## longer tests: measure against a bare server (BENCH=drain for one row, PEERS=1)
	@$(BUN) bench/bench.ts $(BENCH) $(if $(PEERS),--peers)

example: install ## generated files: write config.example.yaml from the schema of the config
	@mkdir -p dist
	@# Written to dist first: a schema that fails must not leave an empty file.
	$(BUN) packaging/config-example.ts > dist/config.example.yaml
	@mv dist/config.example.yaml config.example.yaml

reference: install ## generated files: write the generated pages of docs/reference
	$(BUN) packaging/reference/write.ts

docs: install $(SITE)/node_modules/.installed ## generated files: build the site of the manual, dist/docs (BASE=/fairlead/)
	$(BUN) $(SITE)/gather.ts
	cd $(SITE) && BASE=$(BASE) $(abspath $(BUN)) x --bun --no-install vitepress build .
	@echo "To read it: python3 -m http.server --bind 127.0.0.1 --directory dist/docs 8000"

format: install ## daily work: format all files as `make test` expects
	$(BUN) x --bun --no-install biome check --write .

clean: ## daily work: remove everything that these tasks have made
	rm -rf dist .run .tools node_modules $(SITE)/node_modules $(SITE)/pages

# The dashboard, bundled into the module that the daemon loads.
dist/dashboard.js: $(shell find src/dashboard src/wire) src/model/rules.ts packaging/page.ts package.json bun.lock | $(INSTALLED)
	$(BUN) packaging/page.ts $@

dist/fairlead: $(SOURCES) dist/dashboard.js | $(INSTALLED)
	@mkdir -p dist
	@# Written beside the old binary and renamed: the old one may be running.
	$(BUN) $(COMPILE) $(BUILT_AT) --outfile dist/fairlead.new src/main.ts
	@mv dist/fairlead.new $@

$(INSTALLED): package.json bun.lock $(if $(PATH_BUN),,$(OWN_BUN))
	$(BUN) install --frozen-lockfile
	@touch $@

$(SITE)/node_modules/.installed: $(SITE)/package.json $(SITE)/bun.lock | $(INSTALLED)
	cd $(SITE) && $(abspath $(BUN)) install --frozen-lockfile
	@touch $@

# npm may be configured to skip install scripts. Bun's script is then run here.
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
