# The two that matter: `make run` collects from this machine, `make test` tests all.
GO      ?= go
export CGO_ENABLED ?= 0
LDFLAGS := -s -w
TOOL    := $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 30s
PREFIX  ?= /usr/local

.PHONY: run build test test-race unit lint fuzz bench qa oracle install uninstall clean

run: build          ## build, then collect from this machine until ctrl-C
	bin/pcp up $(ARGS)

build:              ## bin/pcp, static, and bin/links with a link for each classic name
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/pcp ./cmd/pcp
	@rm -rf bin/links && bin/pcp links -t ../pcp bin/links

test: oracle modules build unit test-race qa    ## everything, as CI runs it

.PHONY: modules
modules:            ## fetch what building and testing needs, from servers that may be busy
	@scripts/retry $(GO) list -deps -test ./... >/dev/null

unit: lint-quick
	scripts/gotest -timeout=20m ./...

test-race:          ## the packages with goroutines, under the race detector
	@command -v "$$($(GO) env CC)" >/dev/null || { echo "SKIPPED: there is no C compiler, which the race detector needs"; exit 0; }; \
	CGO_ENABLED=1 scripts/gotest -race -timeout=20m . ./wire ./pmns ./mmv/... ./pmda/... ./pmapi ./pmcd ./agent/... ./archive/replay && \
	CGO_ENABLED=1 scripts/gotest -race -timeout=20m -run '^Test(XZLazy|XZRandom|Growing|Extended|Reduce)' ./archive ./tool/logsummary ./tool/logreduce

.PHONY: lint-quick
lint-quick:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed: $$out"; exit 1; }
	$(GO) vet ./...

lint: lint-quick    ## gofumpt and staticcheck too
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofumpt-ed: $$out"; exit 1; }
	$(TOOL) staticcheck ./...

fuzz:               ## every fuzz target for FUZZTIME each
	scripts/fuzz $(FUZZTIME)

bench: build        ## side by side with the C tools where they are installed
	bench/run

.PHONY: soak
SOAK ?= 10m
soak:               ## 500 clients for ten minutes while agents hang, crash and babble
	PCP_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=60m ./interop/soak

qa: build           ## the upstream QA suite's tests with our tools in place of theirs
	conformance/run

oracle:             ## the real PCP, from the system's packages, where apt and root allow
	scripts/oracle

install: build      ## program, links, manual pages, completion, units and samples below $(DESTDIR)$(PREFIX)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install install

uninstall: build    ## remove what make install installed
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install uninstall

clean:
	rm -rf bin
