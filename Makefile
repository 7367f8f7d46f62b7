# Targets of Redpoll for people; `make` alone lists them. Each target installs the tools
# that it needs, through scripts/setup.sh.

SHELL := /bin/sh
CARGO := . scripts/env.sh && cargo
SCENARIO ?= scenarios/office.toml
# Seconds for which each target is fuzzed; TCP is fuzzed ten times as long.
FUZZ_SECONDS ?= 60
# Number of steps for which the radios are fuzzed.
FUZZ_STEPS ?= 50000000
# Number of connections of `make soak` with the Linux kernel; its test in virtual time has ten times
# this number.
SOAK_CYCLES ?= 100000
# Seconds for which `make fairness` lets two flows share a queue.
FAIRNESS_SECONDS ?= 600
# Tests for which the user lacks permissions on this machine add a line to this file.
SKIPPED := $(CURDIR)/target/skipped
export REDPOLL_SKIPPED := $(SKIPPED)

.DEFAULT_GOAL := help
.PHONY: help setup build install-c c-libs demo see test interop soak fairness taim fuzz dissect-check radiofuzz chaos chaos-mutants proofs proofs-mutants mutants coverage drill drill-test drill-grid why-test heal many firmware-test rcp-test thread thread-test size boards hosts purity figures nrf52840 validate scale bench package publish-check release release-publish dist dist-test vm-test wheel-test taim-memory web webtest picture wasm wasm-test pythontest book clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s  %s\n", $$1, $$2}'

setup: ## Install the tools for building, the demo and the tests
	@scripts/setup.sh build && scripts/setup.sh demo && scripts/setup.sh test

build: ## Build the program: target/release/redpoll
	@scripts/setup.sh build
	@$(CARGO) build --release --package redpoll

# Folder into which `make install-c` installs. For a package, DESTDIR is the folder that becomes the root.
PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= lib

install-c: ## Install Redpoll for C: headers, libraries, packages of pkg-config and CMake (PREFIX, DESTDIR, LIBDIR)
	@scripts/setup.sh build
	@$(CARGO) xtask c-install --prefix "$(PREFIX)" --destdir "$(DESTDIR)" --libdir "$(LIBDIR)"

c-libs: ## Build Redpoll for C for microcontrollers into target/c, and measure flash and memory on emulators
	@scripts/setup.sh c-libs
	@$(CARGO) xtask c-libs target/c && . scripts/env.sh && cargo xtask c-libs --size --check

demo: ## Let curl fetch a file from a node four radio hops away (takes two minutes after the build)
	@scripts/setup.sh demo
	@$(CARGO) build --release --package redpoll
	@. scripts/env.sh && exec cargo run --release --quiet --package redpoll -- up $(SCENARIO) --set routing=rpl --demo

see: ## Show the demo on a map in your browser, until Ctrl-C
	@scripts/setup.sh demo
	@$(CARGO) build --release --package redpoll
	@. scripts/env.sh && exec cargo run --release --quiet --package redpoll -- up $(SCENARIO) --set routing=rpl --demo --web

# Each crate is built once, so incremental builds save no time. A panic prints its line without
# debug information.
test: export CARGO_INCREMENTAL ?= 0
test: export CARGO_PROFILE_DEV_DEBUG ?= 0
test: ## Run all checks of the continuous integration (at most 25 minutes)
	@scripts/setup.sh test
	@mkdir -p target && rm -f $(SKIPPED)
	@$(CARGO) xtask ci; code=$$?; \
	if [ -s $(SKIPPED) ]; then echo "Skipped on this machine:"; sort -u $(SKIPPED); fi; exit $$code

interop: ## Test Redpoll's TCP against Linux's over a bad link, 20 seeds
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_INTEROP_SEEDS=20 cargo test --release --package redpoll-linux --test interop

soak: ## Open 100,000 connections to the Linux kernel, and a million between two nodes in virtual time
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_SOAK_CYCLES=$(SOAK_CYCLES) cargo test --release --package redpoll-linux --test soak
	@. scripts/env.sh && REDPOLL_SOAK_CYCLES=$(SOAK_CYCLES)0 cargo test --release --package redpoll-stack --test soak -- --nocapture

fairness: ## Measure how Redpoll and Linux's Reno share a short queue (takes ten minutes)
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_FAIRNESS_SECONDS=$(FAIRNESS_SECONDS) cargo test --release --package redpoll-linux --test fairness -- --nocapture

taim: ## Measure processor time, delay and memory of redpoll taim, for its engine alone and for the whole program, and check their bounds (takes ten minutes)
	@scripts/setup.sh build
	@mkdir -p target && rm -f $(SKIPPED)
	@$(CARGO) run --release --quiet --package redpoll -- bench taim
	@. scripts/env.sh && export TAIM_FORGED=1000000 && cargo test --release --package redpoll --test taim; code=$$?; \
	if [ -s $(SKIPPED) ]; then echo "Skipped on this machine:"; sort -u $(SKIPPED); fi; exit $$code

fuzz: ## Fuzz every parser and state machine by libFuzzer for one minute each, and TCP for ten minutes (needs rustup)
	@scripts/setup.sh fuzz
	@$(CARGO) xtask fuzz --seconds $(FUZZ_SECONDS)

dissect-check: ## Compare Redpoll's decoder with tshark's, field by field, over more than 50,000 frames
	@scripts/setup.sh build
	@mkdir -p target && rm -f $(SKIPPED)
	@$(CARGO) xtask dissect-check; code=$$?; \
	if [ -s $(SKIPPED) ]; then echo "Skipped on this machine:"; sort -u $(SKIPPED); fi; exit $$code

radiofuzz: ## Fuzz five nodes with arbitrary events of their radios for 50 million steps, half of the steps with RPL
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_FUZZ_STEPS=$(FUZZ_STEPS) cargo test --package redpoll-stack --features rpl-root,rpl-storing,rpl-hosts,security --test radio_fuzz -- --nocapture

chaos: ## Run random scenarios with random faults, with overflow checks (CHAOS="--minutes 60" sets its options)
	@scripts/setup.sh build
	@mkdir -p target/chaos
	@. scripts/env.sh && exec cargo run --profile chaos --quiet --package redpoll -- chaos --out target/chaos $(CHAOS)

chaos-mutants: ## Plant defects in a copy of the repository, and check that random scenarios find each defect (takes an hour)
	@scripts/setup.sh build
	@. scripts/env.sh && exec scripts/chaos-mutants.sh

proofs: ## Explore the small models of Redpoll's mechanisms (crates/proofs) exhaustively with large bounds, with overflow checks (takes half an hour)
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_PROOFS=deep cargo test --profile chaos --package redpoll-proofs -- --nocapture

proofs-mutants: ## Plant defects in a copy of the repository, and check that a small model finds each defect (takes minutes)
	@scripts/setup.sh build
	@. scripts/env.sh && exec scripts/proofs-mutants.sh

mutants: ## Plant defects in a crate, one at a time, and measure the share that the crate's tests find (MUTANTS="lowpan 0/20": a twentieth of them)
	@scripts/setup.sh mutants
	@. scripts/env.sh && exec scripts/mutants.sh $(MUTANTS)

coverage: ## Measure the share of lines of each device crate that its own tests run (COVERAGE="base wire" selects crates; needs rustup)
	@scripts/setup.sh coverage
	@. scripts/env.sh && exec scripts/coverage.sh $(COVERAGE)

drill: ## Run every known attack on small meshes next to an honest flow (DRILL="--json -" prints the rows as JSON)
	@scripts/setup.sh build
	@. scripts/env.sh && exec cargo run --release --quiet --package redpoll -- drill $(DRILL)

drill-test: ## Test with every attack and 3 to 6 seeds that honest flows continue, and that the tables of all nodes are the same afterwards as without the attack
	@scripts/setup.sh build
	@. scripts/env.sh && export REDPOLL_DRILL_LONG=1 && cargo test --package redpoll-sim --test all -- --nocapture drill::

drill-grid: ## Run the attacks on RPL in a grid of 1,000 nodes, 1 seed
	@scripts/setup.sh build
	@. scripts/env.sh && export REDPOLL_GRID=$${REDPOLL_GRID:-40x25} && cargo test --release --package redpoll-sim --lib -- --nocapture drill::grid

why-test: ## Test that the commands "redpoll why" and "redpoll dissect" use less than 48 MiB of memory for captures of 256 MiB
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_WHY_LONG=1 cargo test --package redpoll --test why -- --nocapture large::

heal: ## Measure how RPL repairs a mesh of 30 nodes after a router fails or its border router restarts, 20 seeds
	@scripts/setup.sh build
	@. scripts/env.sh && REDPOLL_SEEDS=20 cargo test --release --package redpoll-sim --test all -- --nocapture rpl::

# Nodes, simultaneous transfers, and bytes of a transfer.
MANY_NODES ?= 1000
MANY_TRANSFERS ?= 500
MANY_BYTES ?= 1024

many: ## Let curl fetch a file from each of 500 nodes at the same time, in a mesh of 1,000 nodes in real time
	@scripts/setup.sh demo
	@. scripts/env.sh && export MANY_NODES=$(MANY_NODES) MANY_TRANSFERS=$(MANY_TRANSFERS) MANY_BYTES=$(MANY_BYTES) && cargo test --release --package redpoll --test up_many -- --nocapture

firmware-test: ## Test the leaf on emulated microcontrollers in meshes: 10,000 requests in 24 simulated hours, with lost frames and frames of random bytes
	@scripts/setup.sh size
	@$(CARGO) xtask firmware --long

rcp-test: ## Test a border router with OpenThread's simulated radio co-processor, which the first run builds from its sources
	@scripts/setup.sh rcp
	@mkdir -p target && rm -f $(SKIPPED)
	@. scripts/env.sh && rcp=$(CURDIR)/target/peers/rcp/examples/apps/ncp/ot-rcp; [ ! -x $$rcp ] || export REDPOLL_RCP=$$rcp; \
	cargo test --package redpoll --test radio -- --nocapture co_processor; code=$$?; \
	if [ -s $(SKIPPED) ]; then echo "Skipped on this machine:"; sort -u $(SKIPPED); fi; exit $$code

thread: ## Build OpenThread from its sources as a module of the simulator
	@scripts/setup.sh thread

thread-test: thread ## Test nodes of OpenThread in simulated meshes
	@. scripts/env.sh && export REDPOLL_THREAD_LONG=1 && module=$(CURDIR)/target/thread/openthread.so; [ ! -f $$module ] || export REDPOLL_THREAD=$$module; \
	cargo test --package redpoll-modules --test thread -- --nocapture

size: ## Measure flash, memory and instructions of TCP on an emulated Cortex-M0
	@scripts/setup.sh size
	@$(CARGO) xtask size

boards: ## Compile the examples for all boards: nRF52840 with its own radio, nRF52840 over OpenThread, RP2040 (needs rustup)
	@scripts/setup.sh boards
	@$(CARGO) xtask boards

hosts: ## Check that redpoll and redpoll-taim compile for 32-bit and 64-bit ARM computers with Linux (needs rustup)
	@scripts/setup.sh hosts
	@mkdir -p target && rm -f $(SKIPPED)
	@$(CARGO) xtask hosts; code=$$?; \
	if [ -s $(SKIPPED) ]; then echo "Skipped on this machine:"; sort -u $(SKIPPED); fi; exit $$code

purity: ## Build the device crates for a Cortex-M0+ with rustup's and with Debian's compiler, and measure their sizes
	@scripts/setup.sh purity
	@$(CARGO) xtask purity --with rustup
	@$(CARGO) xtask purity --with build-std
	@$(CARGO) xtask size --check --with build-std

figures: ## Measure the goodput and speed that the project promises (takes a few minutes)
	@scripts/setup.sh build
	@$(CARGO) xtask figures

validate: ## Validate the simulator against other simulators and formulas (docs/validation.md)
	@scripts/setup.sh validate
	@mkdir -p target && rm -f $(SKIPPED)
	@. scripts/env.sh && export REDPOLL_VALIDATE=long && cargo test --release --package redpoll-sim --test validate -- --nocapture && cargo test --release --package redpoll-sim --test all -- --nocapture bound::; code=$$?; \
	if [ -s $(SKIPPED) ]; then echo "Skipped on this machine:"; sort -u $(SKIPPED); fi; exit $$code

scale: ## Measure the speed and the memory of the simulator from 10 to 10,000 nodes; results in target/scale (docs/scale.md)
	@scripts/setup.sh build
	@$(CARGO) build --release --package redpoll
	@mkdir -p target/scale
	@. scripts/env.sh && exec target/release/redpoll bench scale --json target/scale/scale.json --page target/scale/scale.html $(SCALE)

bench: ## Compare Redpoll with lwIP, smoltcp and TCPlp over a bad link (BENCH="--json -" prints the rows as JSON)
	@scripts/setup.sh bench
	@. scripts/env.sh; features=bench; \
	if (RUST_MINOR=91; rust_is_recent); then features=smoltcp; \
	cargo test --quiet --package redpoll-rivals --features smoltcp --test smol && \
	cargo test --quiet --package redpoll-sim --features smoltcp --test all rivals:: || exit 1; fi; \
	exec cargo run --release --quiet --package redpoll --features $$features -- bench $(BENCH)

# The published crates; each crate follows the crates that it needs.
PUBLISHED := base wire tcp mac lowpan stack assist border coap socket uart transceiver radiotest ota apps

package: ## Package the device crates as for publication, and build the packages
	@scripts/setup.sh build
	@$(CARGO) package --allow-dirty $(PUBLISHED:%=--package redpoll-%)
	@ls target/package/*.crate

nrf52840: ## Build the images for an nRF52840: a leaf that uses the chip's radio directly, and TCP over OpenThread (the first time takes two minutes)
	@scripts/setup.sh nrf52840
	@. scripts/env.sh && cd examples/nrf52840 && cargo build --release --target thumbv7em-none-eabihf --bin leaf && cargo build --release --target thumbv7em-none-eabi --features thread --bin thread
	@ls -l examples/nrf52840/target/*/release/leaf examples/nrf52840/target/*/release/thread

dist: ## Build the files of a release in target/dist (DIST="--twice" to compare two builds)
	@scripts/setup.sh dist
	@$(CARGO) xtask dist $(DIST)

dist-test: ## Test the packages of make dist in Debian 11, 12 and 13 on three architectures (needs root)
	@scripts/setup.sh dist
	@$(CARGO) xtask dist-test $(DIST)

vm-test: ## Test the packages of make dist for amd64 under systemd, with nft, ip6tables and a reboot, in a virtual machine with Debian 12 (needs root)
	@scripts/setup.sh vm
	@$(CARGO) xtask vm-test

wheel-test: ## Build the Python wheel for this computer's architecture, install it in an empty virtual environment, and check the times of the installation and of a first run
	@scripts/setup.sh dist
	@$(CARGO) xtask dist --only python --arch "$$(uname -m)" && . scripts/env.sh && cargo xtask dist-test --wheel

taim-memory: ## Measure the memory of redpoll-taim for armv7 on an emulated board with Debian's kernel
	@scripts/setup.sh dist
	@$(CARGO) xtask dist --only programs --program redpoll-taim --arch armv7
	@scripts/armv7-memory.sh target/dist-stage/armv7-unknown-linux-gnueabihf/release/redpoll-taim

web: ## Build the live view's page from its sources in web/
	@scripts/setup.sh web
	@. scripts/env.sh && cd web && npm ci --no-fund --no-audit && npm run build

webtest: book ## Test the live view, the pages of results and the book in a browser, measure speed and latency, and write pictures to target/shots
	@scripts/setup.sh webtest
	@$(CARGO) build --release --package redpoll
	@. scripts/env.sh && cd web && npm ci --no-fund --no-audit && \
		node test/access.mjs ../target/release/redpoll --book ../target/book --shots ../target/shots && \
		node test/run.mjs ../target/release/redpoll --shots ../target/shots

picture: ## Make the pictures of README and docs/live.md
	@scripts/setup.sh webtest
	@$(CARGO) build --release --package redpoll
	@. scripts/env.sh && cd web && npm ci --no-fund --no-audit && node test/picture.mjs ../target/release/redpoll ../docs

wasm: ## Build the simulator for browsers: target/browser, a folder for any web server
	@scripts/setup.sh wasm
	@. scripts/env.sh && cd web && npm ci --no-fund --no-audit && npm run browser
	@$(CARGO) rustc --package redpoll-wasm --lib --crate-type cdylib --target wasm32-unknown-unknown --profile wasm
	@cp target/wasm32-unknown-unknown/wasm/redpoll_wasm.wasm target/browser/redpoll.wasm
	@ls -l target/browser

wasm-test: wasm ## Test the simulator in a browser: digests of all scenarios, speed, size, and that markup in names stays text
	@scripts/setup.sh webtest
	@$(CARGO) build --release --package redpoll
	@$(CARGO) run --release --quiet --package redpoll-wasm --example digests > target/digests
	@. scripts/env.sh && cd web && node test/browser.mjs ../target/browser --program ../target/release/redpoll --digests ../target/digests --shots ../target/shots

book: ## Build the documentation as a book, target/book/index.html (its pictures: cargo xtask book --pictures)
	@scripts/setup.sh book
	@$(CARGO) xtask book

pythontest: ## Test the Python package in a separate environment: tests, notebooks, and processor times (needs Python 3.11 or later)
	@scripts/setup.sh build
	@. scripts/env.sh && scripts/pythontest.sh target/python

# The version with which the crates must stay compatible: the last release, if there is one. Any commit
# may be set instead.
BASELINE ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

publish-check: package ## Check licences and sources of dependencies, compatibility with the version BASELINE, and the build with the oldest supported Rust (installs the tools)
	@scripts/setup.sh publish
	@$(CARGO) xtask deny
	@PATH="$(CURDIR)/target/tools/deny/bin:$$PATH"; if $(CARGO) deny fetch db; then cargo deny check advisories; else echo "left out: the check for advisories, because their database could not be downloaded"; fi
	@if [ -n "$(BASELINE)" ]; then scripts/setup.sh semver && PATH="$(CURDIR)/target/tools/bin:$$PATH" && $(CARGO) semver-checks check-release --baseline-rev $(BASELINE) $(PUBLISHED:%=--package redpoll-%); else echo "left out: cargo semver-checks, because there is no release yet (BASELINE=COMMIT compares the crates with a commit)"; fi
	@. scripts/env.sh && if rustup run $(MSRV) true 2>/dev/null; then rustup run $(MSRV) cargo check --target-dir target/msrv $(PUBLISHED:%=--package redpoll-%) --all-features --lib; else echo "left out: the build with Rust $(MSRV), which is not installed"; fi
	@$(CARGO) xtask features

release: ## Make the release VERSION=x.y.z: set the version, commit, tag (DRY_RUN=1: print what would change)
	@[ -n "$(VERSION)" ] || { echo "make release: name the version: make release VERSION=x.y.z" >&2; exit 2; }
	@$(CARGO) xtask release $(VERSION) $(if $(DRY_RUN),--dry-run)

release-publish: ## Publish the release of the tagged commit on GitHub, with its packages (the workflow "Release" does this)
	@$(CARGO) xtask release --publish

clean: ## Remove everything that was built
	@$(CARGO) clean
