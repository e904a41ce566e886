# The targets: demo shows the program, test is the whole gate, bench measures the cost of measuring, checks shows each
# check fire, faults prints what becomes of the worst days; oracles installs what we are held against, charts fetches what pictures are drawn with,
# gallery draws the pictures of the documents; fuzz gives the readers what nobody thought of.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
DEMO_OUTPUT ?= target/demo

.PHONY: help demo test test-r bench bench-short checks faults soak load deny sanitize miri oracles charts gallery fuzz clean

help:
	@echo 'make demo     build plumb and survey the disk under this directory (about a minute of measuring)'
	@echo 'make test     format, lints, tests and docs: the whole gate'
	@echo 'make test-r   Debian'\''s R reads surveys of a disk and of a loop device (installs r-base-core)'
	@echo 'make bench    CPU time per I/O: plumb, fio and the bare loop'
	@echo 'make checks   make each check fire, and twenty clean runs; print the table of both'
	@echo 'make bench-short  less of it, and a failure where plumb became dearer than it may be'
	@echo 'make faults   inject every fault we know, and print what became of it; as root'
	@echo 'make soak     random job files over all options for SOAK_MINUTES (30); as root'
	@echo 'make load     4,096 jobs, 100,000 files, a day simulated, 10^8 rows of a log: time and memory'
	@echo 'make deny     known weaknesses, licences and sources of the dependencies (builds cargo-deny once)'
	@echo 'make sanitize tests of unsafe code under AddressSanitizer and ThreadSanitizer (nightly); as root'
	@echo 'make miri     unsafe code that needs no kernel, under Miri (nightly)'
	@echo 'make fuzz     FUZZ_SECONDS (600) of processor time per reader of foreign bytes, or READERS="fio-text iolog" alone'
	@echo 'make oracles  install fio, sysstat and iozone3 from Debian, readers of their output from PyPI'
	@echo 'make charts   fetch ECharts and the typeface of the pictures anew'
	@echo 'make gallery  draw docs/gallery anew (needs pngquant)'

demo:
	$(CARGO) build --release --locked --bin plumb
	@mkdir -p $(DEMO_OUTPUT)
	target/release/plumb survey --quick --output $(DEMO_OUTPUT)/survey.json . | tee $(DEMO_OUTPUT)/survey.txt
	@echo 'The report has pictures, checks and all numbers: open it in a browser. The table is in $(DEMO_OUTPUT)/survey.txt.'

test: oracles
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked
	$(CARGO) test --workspace --locked
	@echo 'test: format, lints, docs and tests passed'

# Not in the gate: R and what it needs take 200 MB and minutes to install.
test-r:
	@tools/oracles r-base-core
	$(CARGO) test --locked -p plumb-cli --test r

bench: oracles
	$(CARGO) bench --locked -p plumb-cli --bench cost
	$(CARGO) bench --locked -p plumb-cli --bench parse
	$(CARGO) bench --locked -p plumb-cli --bench iozone

checks:
	PLUMB_CHECKS=full $(CARGO) test --locked -p plumb-cli --test checks -- --nocapture --test-threads=1

faults: oracles
	$(CARGO) test --locked -p plumb-cli --test faults -- --nocapture

SOAK_MINUTES ?= 30
soak: oracles
	PLUMB_SOAK_SECONDS=$$(($(SOAK_MINUTES) * 60)) $(CARGO) test --locked -p plumb-cli --test soak -- --nocapture

load:
	$(CARGO) build --release --locked --bin plumb
	PLUMB_LOAD=full PLUMB_LOAD_PROGRAM=$(CURDIR)/target/release/plumb $(CARGO) test --locked -p plumb-cli --test load -- --nocapture

# Kept beside the build: it takes minutes to compile, once. Advisories come from github.com.
DENY := target/tools/bin/cargo-deny
$(DENY):
	$(CARGO) install cargo-deny --locked --root target/tools --target-dir target/tools/build
	rm -rf target/tools/build

deny: $(DENY)
	$(DENY) --all-features check licenses bans sources
	$(DENY) --all-features check advisories

# Unsafe code under the tools that watch it; what they cannot carry: tools/unsanitized.txt.
sanitize:
	tools/sanitize address thread

miri:
	tools/sanitize miri

bench-short: oracles
	$(CARGO) bench --locked -p plumb-cli --bench cost -- --short
	$(CARGO) bench --locked -p plumb-cli --bench parse -- --short
	$(CARGO) bench --locked -p plumb-cli --bench iozone -- --short

oracles:
	@tools/oracles

# Not in the gate: it takes as long as it is given. What it kept is (fuzz/corpus, read by a test).
fuzz:
	@tools/fuzz $(READERS)

charts:
	@tools/charts

# Sixty-four colours are enough for flat pictures, and a third of the bytes.
gallery:
	@command -v pngquant > /dev/null || { echo 'make gallery: pngquant is missing; apt-get install pngquant' >&2; exit 1; }
	@mkdir -p docs/gallery
	PLUMB_GALLERY=$(CURDIR)/docs/gallery $(CARGO) test --locked -p plumb-report --test old_data
	PLUMB_GALLERY=$(CURDIR)/docs/gallery $(CARGO) test --locked -p plumb-report --test kinds
	pngquant --force --ext .png --speed 1 --nofs 64 docs/gallery/*.png

clean:
	$(CARGO) clean
