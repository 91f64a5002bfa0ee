# make test is what CI runs (.ci/run). make unit is what one runs while writing.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# How long each fuzz target runs under make fuzz. It is no part of make test, which runs the seeds: what fuzzing tries is
# another thing each time, so it would judge a change by what that change did not touch.
FUZZTIME ?= 5s
# The race detector needs a C compiler. Without one the same tests run without it, and make test says so.
RACE := $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race)

# golangci-lint is pinned here and not by a tool line in go.mod: it would put some 200 modules there, and their versions
# over those that the binary is built of.
LINT_VERSION := v2.15.0
LINT := .cache/bin/golangci-lint-$(LINT_VERSION)

# Who reads deploy/ as its users do. They are pinned here for the same reason, and are built once, into .cache.
HELM := .cache/bin/helm-v4.3.1
KUSTOMIZE := .cache/bin/kustomize-v5.8.2
KUBECONFORM := .cache/bin/kubeconform-v0.8.0
COMPOSE := .cache/bin/compose-go-v2.16.2
CYCLONEDX := .cache/bin/cyclonedx-gomod-v1.10.0
CRANE := .cache/bin/crane-v0.22.1

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# With it a test that ranges over all backends may test nothing (e2e/README.md).
unexport E2E_FRAMEWORKS

.PHONY: help demo run-demo test tools modules unit race poison turned fips fuzz golden lint fmt cover image release deploy kube e2e chaos newest bench bench-quick ablation micro update browser

# A line "##@ heading" begins a group of the list, and "## text" behind a target puts it there.
help: ## this list
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## /{printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ To see it

demo: ## a pause and its answer in this terminal. It needs nothing but Go
	@echo "The first build takes some minutes."
	@$(GO) run ./cmd/holdpoint demo
	@if [ -t 0 ] && [ -t 1 ]; then $(GO) run ./cmd/holdpoint demo -desk; fi

run-demo: demo ## the same

##@ All tests, as CI runs them

# The servers that stores are tested with are installed by the first test that needs one (internal/test/servers). Elsewhere such
# a test is skipped where its server is missing; here it fails.
test: export TEST_SERVERS := required
test: export KUBE := warm
test: tools modules lint $(HELM) race poison turned deploy e2e bench-quick ## everything. It installs what it needs into ignored folders

tools: # says in one line what is missing on this machine
	@missing=(); \
	[[ "$$($(GO) env GOVERSION 2>/dev/null)" =~ ^go1\.(2[6-9]|[3-9][0-9]) ]] || missing+=("Go >= 1.26"); \
	python=; for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	  if [[ "$$($$p -c 'import sys, venv, ensurepip; print(sys.version_info >= (3, 11))' 2>/dev/null)" == True ]]; then python=$$p; break; fi; done; \
	[[ -n "$$python" ]] || missing+=("python3 >= 3.11 with venv"); \
	node=$$(node --version 2>/dev/null || true); node=$${node#v}; node=$${node%%.*}; \
	[[ "$${node:-0}" -ge 20 ]] || missing+=("node >= 20"); \
	command -v npm >/dev/null || missing+=("npm"); \
	command -v curl >/dev/null || missing+=("curl"); \
	command -v openssl >/dev/null || missing+=("openssl"); \
	java=$$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' || true); \
	[[ "$${java:-0}" -ge 17 ]] || missing+=("java >= 17"); \
	command -v mvn >/dev/null || missing+=("mvn (Maven)"); \
	[[ -n "$${E2E_CHROMIUM:-}" ]] || command -v chromium chromium-browser google-chrome-stable google-chrome >/dev/null || \
	  { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; } || missing+=("chromium"); \
	if ! { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; }; then \
	  command -v redis-server >/dev/null || missing+=("redis-server"); \
	  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null || missing+=("postgresql"); \
	  [[ -x /usr/sbin/pgbouncer ]] || command -v pgbouncer >/dev/null || missing+=("pgbouncer"); \
	  compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || missing+=("faketime"); \
	  command -v promtool >/dev/null || missing+=("prometheus"); \
	fi; \
	if (( $${#missing[@]} )); then printf -v list '%s, ' "$${missing[@]}"; echo "make test: missing on this machine: $${list%, }" >&2; exit 1; fi
ifeq ($(RACE),)
	@echo "make test: no C compiler on this machine, so the tests run without the race detector"
endif

# Registries fail now and then; a red run must not come from that.
retry = for try in 1 2 3; do if $(1); then break; elif (( try == 3 )); then exit 1; fi; sleep $$((5 * try)); done

modules: # what the rest is built of
	@$(call retry,$(GO) mod download)

##@ While you write

# Of the command line only: what the environment calls so is something else.
PKG := ./...
RUN :=

unit: ## Go only, the short form. PKG=./proxy: one package; RUN=TestGolden: tests of that name
	$(GO) vet $(PKG)
	$(GO) test -short -vet=off -ldflags=-w -p 4 -parallel 4 -timeout 10m $(if $(RUN),-run '$(value RUN)' )$(PKG)

golden: ## each scenario of testdata, in each of its nine deliveries
	$(GO) test -count=1 -run Golden ./proxy

update: ## writes anew what tests compare with. Look at the diff
	$(GO) test ./proxy -run 'TestGolden$$' -update
	$(GO) test ./cmd/holdpoint -run 'ConfigurationTable|RouteVariables' -update
	$(GO) test ./proxy/internal/tell ./internal/desk/api -run ErrorsTable -update
	$(GO) test ./internal/test/repo -run ShowsTheExample -update
	$(GO) test ./internal/inject -run TestSidecarIsThatOfTheManifest -update

lint: $(LINT) ## golangci-lint. .golangci.yml says what is excluded, and why
	$(LINT) run ./...
	for os in windows darwin; do GOOS=$$os $(GO) vet ./cmd/... ./internal/... ./proxy/... ./store/... ./translate/...; done

fmt: $(LINT) ## formats as lint wants it
	$(LINT) fmt

$(LINT):
	@mkdir -p $(@D)
	$(call retry,GOBIN=$(CURDIR)/.cache/lint $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION))
	@mv .cache/lint/golangci-lint $@

cover: ## coverage of the unit tests: a total, and .cache/cover.html
	@mkdir -p .cache
	$(GO) test -coverpkg=./... -coverprofile=.cache/cover.out ./...
	$(GO) tool cover -html=.cache/cover.out -o .cache/cover.html
	$(GO) tool cover -func=.cache/cover.out | tail -1

##@ Longer tests of Go

# In make test (KUBE=warm) the scenes of make kube run beside it, because they mostly wait. Their output comes in one piece.
race: export HELM := $(CURDIR)/$(HELM)
race: ## the long form, under the race detector
	@mkdir -p .cache
	@beside=; if [[ "$${KUBE:-}" == warm ]]; then \
	  $(GO) test -tags kube -c -o .cache/kube.test ./deploy/kube; \
	  (cd deploy/kube; exec $(CURDIR)/.cache/kube.test -test.timeout 30m) > .cache/kube.log 2>&1 < /dev/null & beside=$$!; \
	  trap 'kill $$beside 2> /dev/null || true' EXIT; \
	fi; \
	echo "$(GO) test $(RACE) -count=1 -timeout 30m ./..."; \
	$(GO) test $(RACE) -count=1 -timeout 30m ./... 2>&1 | tee .cache/race.log || .ci/again .cache/race.log $(RACE) -count=1 -timeout 30m; \
	if [[ -n "$$beside" ]]; then wait $$beside || status=$$?; trap - EXIT; cat .cache/kube.log; \
	  if [[ -n "$${status:-}" ]]; then printf 'FAIL\tholdpoint/deploy/kube\n' >> .cache/kube.log; .ci/again .cache/kube.log -tags kube -count=1 -timeout 15m; fi; \
	fi
ifneq ($(RACE),)
	$(GO) test -p 1 -count=1 -run '^(TestScaling|TestPayloadsThatAreHardToJudge)$$' ./proxy ./internal/contract # one after the other: both measure
endif

poison: ## the tests of streams, with bytes overwritten as soon as they may not be read any more
	$(GO) vet -tags poison ./internal/... ./proxy/... ./translate/...
	$(GO) test -tags poison -count=1 ./internal/sse ./proxy/internal/... ./translate/requestapproval
	$(GO) test -tags poison -count=1 -run 'Golden|Stream|Resume|Pause|Foreign|Row|Claim|Exchange|ContractOf' ./proxy

FIPS := v1.0.0
fips: ## a build with Go's certified cryptographic module, and a pause and its answer by it
	GOFIPS140=$(FIPS) $(GO) test -count=1 -v -run '^TestFIPS$$' ./cmd/holdpoint

turned: ## claim before send, save before tell: turns each round, and sees tests fail
	$(GO) test -tags turned -count=1 -timeout 20m -run '^TestTurned$$' ./internal/test/repo

# golang/go#75804: up to Go 1.26 the end of the time can be reported as a failure. A real one names its input.
# Without the limit most of so short a run goes into making inputs smaller that only reach new code. A failing input is
# written down either way; to see it smaller, run its target by hand.
fuzz: ## each fuzz target for FUZZTIME (5s)
	@mkdir -p .cache; $(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/{target[++n]=$$1} /^ok/{for(i=1;i<=n;i++)print $$2, target[i]; n=0}' | \
	while read -r package target; do \
	  echo "$$target in $$package"; \
	  if ! $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$$package" 2>&1 | tee .cache/fuzz.log; then \
	    grep -q '^ *context deadline exceeded$$' .cache/fuzz.log && ! grep -q -e 'Failing input' -e '^panic' .cache/fuzz.log || exit 1; \
	    echo "  no input failed: golang/go#75804"; \
	  fi; \
	done

##@ With other people's programs

deploy: export HELM := $(CURDIR)/$(HELM)
deploy: export KUSTOMIZE := $(CURDIR)/$(KUSTOMIZE)
deploy: export KUBECONFORM := $(CURDIR)/$(KUBECONFORM)
deploy: export COMPOSE := $(CURDIR)/$(COMPOSE)
deploy: export CYCLONEDX := $(CURDIR)/$(CYCLONEDX)
deploy: export CRANE := $(CURDIR)/$(CRANE)
deploy: $(HELM) $(KUSTOMIZE) $(KUBECONFORM) $(COMPOSE) $(CYCLONEDX) $(CRANE) ## manifests, chart and compose files, read by the tools of who installs them
	$(GO) test -tags deploy -count=1 -timeout 20m ./deploy

kube: export HELM := $(CURDIR)/$(HELM)
kube: export TEST_SERVERS := required
kube: $(HELM) ## the same on a node of Kubernetes. Root on Linux only (deploy/README.md)
	$(GO) -C deploy/kube test -tags kube -count=1 -timeout 40m

$(HELM): package = helm.sh/helm/v4/cmd/helm
$(KUSTOMIZE): package = sigs.k8s.io/kustomize/kustomize/v5
$(KUBECONFORM): package = github.com/yannh/kubeconform/cmd/kubeconform
$(COMPOSE): package = github.com/compose-spec/compose-go/v2/cmd
$(CYCLONEDX): package = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
$(CRANE): package = github.com/google/go-containerregistry/cmd/crane
# The version is what stands in the file's name behind the last dash. A build without debug information takes less time.
$(HELM) $(KUSTOMIZE) $(KUBECONFORM) $(COMPOSE) $(CYCLONEDX) $(CRANE):
	@mkdir -p .cache/bin .cache/install/$(@F)
	$(call retry,GOBIN=$(CURDIR)/.cache/install/$(@F) $(GO) install -ldflags='-s -w' $(package)@$(lastword $(subst -, ,$@)))
	@mv .cache/install/$(@F)/* $@; rmdir .cache/install/$(@F)

# Dozens of servers and browsers wait for two cores here. So a few tests that fail are tried again, alone (.ci/again).
e2e: ## real backends (Python, Node, Java) and real clients, with the binary between them
	@rm -f e2e/.cache/newest.txt; mkdir -p .cache
	@$(GO) test -tags e2e -count=1 -timeout 50m ./e2e/... 2>&1 | tee .cache/e2e.log || status=$$?; \
	if [[ -n "$${status:-}" ]]; then .ci/again .cache/e2e.log -tags e2e -count=1 -timeout 25m && status=; fi; \
	cat e2e/.cache/newest.txt 2>/dev/null || true; exit $${status:-0}

DURATION ?= 10m
SEED ?= 0
chaos: export TEST_SERVERS := required
chaos: ## connections and servers break while people answer. DURATION (10m), SEED
	$(GO) test -tags e2e -count=1 -v -timeout 0 -run '^TestChaos$$' ./e2e/chaos -args -duration $(DURATION) -seed $(SEED)

newest: ## a pause, a yes and a no with the newest packages of the registries. It fails for none
	E2E_NEWEST=all $(GO) test -tags e2e -count=1 -v -timeout 60m -run '^TestNewest$$' ./e2e

browser: ## only what happens in a real browser, a part of e2e
	$(GO) test -tags e2e -count=1 -v -timeout 20m -run '^Test(Chats|APage|ComposeStacks|UseChat)' ./e2e

##@ How fast it is

# What the figures mean, and how to measure one thing only: bench/README.md.
bench: ## Holdpoint beside other proxies, every scenario. It takes minutes
	$(GO) run ./bench

bench-quick: ## fails if Holdpoint is slower than it may be beside httputil.ReverseProxy
	$(GO) run ./bench -check

ablation: ## what each mechanism brings that exists for speed only
	$(GO) run ./bench -ablation

micro: ## what a frame costs without the network
	$(GO) test -run '^$$' -bench . ./internal/... ./translate/dialects ./proxy

##@ What is shipped

image: ## a container image, holdpoint:<git describe>. It needs Docker
	docker build -t holdpoint:$(VERSION) --build-arg VERSION=$(VERSION) .

release: export CYCLONEDX := $(CURDIR)/$(CYCLONEDX)
release: export HELM := $(CURDIR)/$(HELM)
release: $(CYCLONEDX) $(HELM) ## RELEASE=v0.1.0 KEY=release.key: all that is published, in dist/
	KEY=$(KEY) deploy/release.sh $(RELEASE)
