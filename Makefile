# The two that matter: `make run` collects from this machine, `make test` tests all.
GO      ?= go
export CGO_ENABLED ?= 0
LDFLAGS := -s -w
# The library and the program are modules of one workspace, which go.work names. The tools for lint are built
# outside of it, since their requirements are nobody's else.
ALL     := ./... ./cmd/...
BIN     := $(CURDIR)/bin/tools
TOOL    := GOWORK=off $(GO) tool -modfile=$(CURDIR)/tools/go.mod
FUZZTIME ?= 30s
PREFIX  ?= /usr/local

# Modules of their own, which require what the program must not: other libraries to measure
# beside, those that the bridges speak with, and what makes and tests the page.
BRIDGES := mmv/bridge/otelmmv mmv/bridge/prommmv trace/bridge/oteltrace
NESTED  := cmd/bench/mmv cmd/bench/openmetrics $(BRIDGES) cmd/internal/web/build cmd/pcp2arrow cmd/pcp-gpu cmd/internal/prom/promtest cmd/internal/exchange/otlp/otlptest

# The modules of our own tools, which do not require the library.
TOOLS   := tools tools/kube

.PHONY: release release-verify release-check help run build test ci cover test-race test-long test-busy unit lint cross fuzz soak bench bench-compare qa metrics page oracle install uninstall clean

run: build          ## build, then collect from this machine until ctrl-C
	bin/pcp up $(ARGS)

build:              ## bin/pcp, static, and bin/links with a link for each classic name
	@echo "$(GO) build -o bin/pcp ./cmd/pcp"; GO='$(GO)' scripts/build -trimpath -ldflags '$(LDFLAGS)' -o bin/pcp ./cmd/pcp
	@rm -rf bin/links && bin/pcp links -t ../pcp bin/links

.PHONY: gpu
gpu:                ## bin/pcp-gpu, which reads NVIDIA's cards; make install installs it too if it is there
	GOWORK=off CGO_ENABLED=0 $(GO) -C cmd/pcp-gpu build -trimpath -ldflags '$(LDFLAGS)' -o $(CURDIR)/bin/pcp-gpu .

help:               ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

test: machine modules build unit test-race qa    ## unit tests, race detector, and PCP's own suite with our tools

# What the tests need on this machine, in turn, as package managers lock each other out.
.PHONY: machine
machine:
	scripts/oracle
	scripts/chromium
	scripts/containers
	scripts/chroot

# CI runs up to two failed tests of a group once more, and lists them. Meanwhile the machine is made ready: lint
# needs the processors, and that waits for servers.
ci: export AGAIN := -again=2
ci: modules         ## what CI runs: lint, cross, test, cover, release-check; with CI=true nothing may be left out
	$(MAKE) -j2 machine lint cross
	$(MAKE) test cover release-check

cover:              ## how much the tests cover of each tool, without the C implementation; 70 % at least
	$(GO) run ./scripts/toolcover $(AGAIN)

.PHONY: modules
modules:            ## fetch what building and testing needs, from servers that may be busy
	@scripts/retry $(GO) list -deps -test $(ALL) >/dev/null
	@for m in $(NESTED); do GOWORK=off scripts/retry $(GO) -C $$m list -deps -test ./... >/dev/null || exit; done
	@for m in $(TOOLS); do GOWORK=off scripts/retry $(GO) -C $$m list -deps -test ./... >/dev/null || exit; done

unit: lint-quick
	$(GO) run ./scripts/gotest $(AGAIN) -timeout=20m $(ALL)
	@$(GO) build -o $(BIN)/gotest ./scripts/gotest && for m in $(TOOLS); do (cd $$m && GOWORK=off $(BIN)/gotest $(AGAIN) -timeout=20m ./...) || exit; done
	@for m in $(NESTED); do GOWORK=off $(GO) -C $$m run github.com/go-pcp/pcp/scripts/gotest $(AGAIN) -timeout=20m ./... || exit; done

test-race:          ## the packages with goroutines, under the race detector
	@command -v "$$($(GO) env CC)" >/dev/null || { echo "SKIPPED: there is no C compiler, which the race detector needs"; test "$${CI:-false}" = false; exit; }; \
	CGO_ENABLED=1 $(GO) run ./scripts/gotest $(AGAIN) -race -timeout=20m . ./wire ./pmns ./mmv/... ./pmda/... ./pmapi ./pmcd/... ./internal/agent/... ./archive/replay ./cmd/internal/pmlogger/... ./openmetrics ./trace ./internal/timecontrol ./cmd/internal/discover \
		./cmd/internal/pmproxy ./cmd/internal/pmproxy/logger ./cmd/internal/pmproxy/search ./cmd/internal/pmproxy/seriesapi ./cmd/internal/pmproxy/webapi ./cmd/internal/pmie/alert ./cmd/internal/screen/top ./cmd/internal/serve/up ./cmd/internal/serve/proxy ./cmd/internal/record/logpush \
		./cmd/internal/web ./cmd/internal/agentlink ./internal/daemonlog ./cmd/internal/daemon/hangup ./cmd/internal/daemon/service && \
	for m in $(BRIDGES); do GOWORK=off CGO_ENABLED=1 $(GO) -C $$m run github.com/go-pcp/pcp/scripts/gotest $(AGAIN) -race ./... || exit; done && \
	CGO_ENABLED=1 $(GO) run ./scripts/gotest $(AGAIN) -race -timeout=20m -run '^Test(XZLazy|XZRandom|Growing|Extended|Reduce)' ./archive ./cmd/internal/archives/logsummary ./cmd/internal/archives/logreduce

.PHONY: lint-quick
lint-quick:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed: $$out"; exit 1; }
	$(GO) vet $(ALL)

lint: lint-quick    ## gofumpt and staticcheck too
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofumpt-ed: $$out"; exit 1; }
	$(TOOL) staticcheck ./...
	GOWORK=off $(GO) -C cmd tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...
	@for m in $(TOOLS); do GOWORK=off $(GO) -C $$m vet ./... || exit; done
	GOWORK=off $(GO) -C tools tool staticcheck ./...
	@for m in $(NESTED); do GOWORK=off $(GO) -C $$m vet ./... || exit; done
	@for m in $(BRIDGES); do GOWORK=off $(GO) -C $$m tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./... || exit; done

cross: cross-darwin cross-windows    ## go vet for macOS, and of the libraries for Windows

.PHONY: cross-darwin cross-windows
cross-darwin:
	GOOS=darwin $(GO) vet $(ALL)
	@for m in $(BRIDGES); do GOWORK=off GOOS=darwin $(GO) -C $$m vet ./... || exit; done

cross-windows:
	GOOS=windows $(GO) vet . ./config ./wire ./pmns/... ./archive/... ./mmv ./pmapi ./options ./getopt ./pmda/...

# KEY is an OpenSSH key of ssh-keygen -t ed25519 that signs the sums, PGPKEY an OpenPGP key that signs deb and rpm.
# DIRTY=1 takes files that are not committed too, to try packages. ARCH=amd64 and FORMATS=deb make only these.
OUT      ?= dist
REVISION ?= 1
release:            ## VERSION=X.Y.Z [KEY=FILE]: archives, packages and images for amd64 and arm64 in OUT=dist; docs/releasing.md
	@GOWORK=off $(GO) -C tools build -o $(BIN)/release ./release
	@GO='$(GO)' $(BIN)/release -version '$(VERSION)' -revision '$(REVISION)' -out '$(OUT)' $(if $(KEY),-key '$(KEY)') $(if $(PGPKEY),-pgp-key '$(PGPKEY)') $(if $(DIRTY),-dirty) $(if $(VERIFY),-verify) $(if $(ARCH),-arch '$(ARCH)') $(if $(FORMATS),-formats '$(FORMATS)')

release-verify:     ## make release for VERSION=X.Y.Z twice, in two directories, and compare the bytes of all files
	@$(MAKE) --no-print-directory release VERIFY=1

release-check:      ## build the program against the library as a module with a version, as its users will
	$(GO) run ./scripts/releasecheck

fuzz:               ## every fuzz target for FUZZTIME each
	scripts/fuzz $(FUZZTIME)

# The full forms of all tests, which take hours. What ran, for how long and what came of it goes
# into docs/test-long.md.
FUZZTOTAL ?= 1h
SOAK      ?= 10m
ATTACK    ?= 5m
test-long: export PCP_TEST_LONG = 1 # scripts/oracle installs a compiler too
test-long: oracle chroot-all modules build    ## the full forms: all damages, SOAK=10m, ATTACK=5m, FUZZTOTAL=1h over all targets; docs/test-long.md
	FUZZTOTAL=$(FUZZTOTAL) SOAK=$(SOAK) ATTACK=$(ATTACK) scripts/test-long

test-busy:          ## the unit tests, 20 times and 5 with the race detector, beside LOAD=16 busy programs; hours
	scripts/test-busy

bench: build bench-compare    ## side by side with the C tools where they are installed
	cmd/bench/run

bench-compare: build    ## [BASE=commit]: C, that commit, this one and the floor in turn; ARGS='-only ^trip -pin 0 -out FILE'
	cmd/bench/run compare $(if $(BASE),-base '$(BASE)') $(ARGS)

soak:               ## 500 clients for ten minutes while agents hang, crash and babble
	PCP_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout=60m ./cmd/internal/interop/soak

qa: build           ## the upstream QA suite's tests with our tools in place of theirs
	cmd/conformance/run

metrics:            ## docs/metrics, the pages about all metrics, of the tables of the agents
	$(GO) run ./cmd/scripts/metrics

.PHONY: kubernetes
kubernetes:         ## packaging/kubernetes, plain manifests, of the Helm chart
	GOWORK=off $(GO) -C tools/kube run . -root $(CURDIR)

.PHONY: man3
man3:               ## bin/man3, manual pages of the library, of its documentation
	@rm -rf bin/man3 && $(GO) run ./scripts/man3 bin/man3

page:               ## cmd/internal/web/dist, the bundle of the page, of its sources
	GOWORK=off $(GO) -C cmd/internal/web/build run .

.PHONY: containers
containers:         ## crun, rpm and zstd, to test releases with, from the system's packages, where apt and root allow
	scripts/containers

.PHONY: pictures
pictures: build     ## docs/pictures, the pictures of README and docs/page.md, of a real run; as root, with Chromium
	GOWORK=off $(GO) -C cmd/internal/web/build build -o $(BIN)/shots ./shots
	$(GO) build -o $(BIN)/pictures ./scripts/pictures && $(BIN)/pictures

.PHONY: chromium
chromium:           ## a browser to test the page with, from the system's packages, where apt and root allow
	scripts/chromium

.PHONY: chroot chroot-all
chroot:             ## root directories in which packages are tested, where apt and root allow
	scripts/chroot

chroot-all:         ## also one with dnf and pacman, for test-long
	scripts/chroot all

oracle:             ## the real PCP, from the system's packages, where apt and root allow
	scripts/oracle

install: build man3 ## program, links, manual pages, completion, units and samples below $(DESTDIR)$(PREFIX)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' GPU=bin/pcp-gpu scripts/install install

uninstall: build man3 ## remove what make install installed
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install uninstall

clean:
	rm -rf bin
