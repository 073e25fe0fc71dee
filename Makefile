# The only door for people and CI. `make help` lists it.
SHELL := /bin/bash
GOLANGCI_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
BINS := bin/claude-hub bin/claude-hub-runner bin/claude-hub-guest bin/standin-anthropic bin/standin-github
APP := hub/web/dist/index.html
E2E ?= all
MICROVM ?= all
# What the front end is built from; the tests' own files are not part of it.
APP_FILES := $(shell find frontend -not -path '*/node_modules*' -not -path 'frontend/e2e/*' -type f 2>/dev/null)

.PHONY: help run demo authz test test-go test-web e2e bench microvm fuzz vulnerabilities lint fmt generate check clean build needs needs-test FORCE

help: ## list these targets
	@grep -hE '^[a-z0-9-]+:.*?## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1|/' | column -t -s '|'

run: needs build ## a Hub and a Runner on this machine; prints a sign-in link
	@build/run.sh

demo: needs build ## the same with a stand-in for Anthropic: no subscription needed
	@build/run.sh --demo

build: $(BINS) ## build the programs into bin/

needs:
	@build/needs.sh run

needs-test:
	@build/needs.sh test

frontend/node_modules/.package-lock.json: frontend/package-lock.json frontend/package.json
	cd frontend && npm ci --no-fund --no-audit --loglevel=error
	@touch $@

$(APP): frontend/node_modules/.package-lock.json $(APP_FILES)
	cd frontend && npm run build --silent

# Go's own cache decides what is compiled anew.
bin/claude-hub: $(APP) FORCE
	CGO_ENABLED=0 go build -trimpath -o $@ ./hub/cmd/claude-hub
bin/claude-hub-runner: FORCE
	CGO_ENABLED=0 go build -trimpath -o $@ ./desktop/cmd/claude-hub-runner
bin/claude-hub-guest: FORCE
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ ./desktop/cmd/claude-hub-guest
bin/standin-anthropic: FORCE
	CGO_ENABLED=0 go build -trimpath -o $@ ./internal/cmd/standin-anthropic
bin/standin-github: FORCE
	CGO_ENABLED=0 go build -trimpath -o $@ ./internal/cmd/standin-github
FORCE:

test: test-go test-web ## every test but the end-to-end stories

test-go: needs-test build
	build/with-postgres.sh go test -race -timeout 15m ./...

test-web: frontend/node_modules/.package-lock.json
	cd frontend && npm run check --silent && npm test --silent

e2e: needs-test build ## the end-to-end stories, or one: make e2e E2E=main-job
	cd frontend && node e2e/run.mjs $(E2E)

microvm: build ## the stories in real microVMs, in an emulated machine; or one: make microvm MICROVM=main-job
	@build/needs.sh microvm
	build/microvm/suite.sh $(MICROVM)

authz: ## who gets what answer on every route: the matrix, and its count
	go test ./hub/web -run TestAuthz -v

bench: needs-test build ## measure against the baselines; writes bench/results.json
	go run ./internal/cmd/bench

fuzz: needs-test $(APP) ## every fuzz target for a short time, or longer: make fuzz FUZZTIME=10m
	build/fuzz.sh

.tools/govulncheck-$(GOVULNCHECK_VERSION):
	GOBIN=$(CURDIR)/.tools go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	mv .tools/govulncheck $@

vulnerabilities: .tools/govulncheck-$(GOVULNCHECK_VERSION) frontend/node_modules/.package-lock.json $(APP) ## known faults of what the product is made of
	GOVULNCHECK=$(CURDIR)/.tools/govulncheck-$(GOVULNCHECK_VERSION) build/vulnerabilities.sh

.tools/golangci-lint-$(GOLANGCI_VERSION):
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/golangci-lint $@

lint: .tools/golangci-lint-$(GOLANGCI_VERSION) frontend/node_modules/.package-lock.json $(APP) ## every linter
	.tools/golangci-lint-$(GOLANGCI_VERSION) run ./...
	go mod tidy -diff
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet $$(go list ./... | grep -v /internal/cmd/bench) # with their tests; bench measures bubblewrap
	cd frontend && npm run lint --silent

fmt: .tools/golangci-lint-$(GOLANGCI_VERSION) frontend/node_modules/.package-lock.json ## format everything
	.tools/golangci-lint-$(GOLANGCI_VERSION) fmt ./...
	cd frontend && npm run fmt --silent

generate: frontend/node_modules/.package-lock.json ## the OpenAPI document and the types made from it
	go run ./hub/cmd/claude-hub openapi > frontend/openapi.json
	cd frontend && npm run generate --silent

check: generate ## all of CI on this machine
	@git diff --exit-code -- frontend/openapi.json frontend/src/api || { echo 'Generated files were not up to date: commit what make generate wrote.'; exit 1; }
	$(MAKE) lint
	$(MAKE) vulnerabilities
	$(MAKE) test
	$(MAKE) fuzz
	$(MAKE) e2e

clean: ## remove what was built here; the state in ~/.claude-hub stays
	rm -rf bin .tools bench/results.json frontend/node_modules frontend/e2e/out
	git clean -fdxq hub/web/dist
