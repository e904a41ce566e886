# Seven targets: demo shows the program, test is the whole gate, test-r has R read surveys, bench measures the cost of
# measuring, oracles installs what we are held against, charts fetches what pictures are drawn with, clean removes what
# we built.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
DEMO_OUTPUT ?= target/demo

.PHONY: help demo test test-r bench oracles charts clean

help:
	@echo 'make demo     build plumb and survey the disk under this directory (about a minute of measuring)'
	@echo 'make test     format, lints, tests, docs and a short bench: the whole gate'
	@echo 'make test-r   Debian'\''s R reads surveys of a disk and of a loop device (installs r-base-core)'
	@echo 'make bench    CPU time per I/O: plumb, fio and the bare loop'
	@echo 'make oracles  install fio, sysstat and iozone3 from Debian, readers of their output from PyPI'
	@echo 'make charts   fetch ECharts and the typeface of the pictures anew'

demo:
	$(CARGO) build --release --locked --bin plumb
	@mkdir -p $(DEMO_OUTPUT)
	target/release/plumb survey --quick --output $(DEMO_OUTPUT)/survey.json . | tee $(DEMO_OUTPUT)/survey.txt
	@echo 'The table is in $(DEMO_OUTPUT)/survey.txt, all that was measured in $(DEMO_OUTPUT)/survey.json.'

test: oracles
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked
	$(CARGO) test --workspace --locked
	$(CARGO) bench --locked -p plumb-cli --bench cost -- --short
	$(CARGO) bench --locked -p plumb-cli --bench parse -- --short
	@echo 'test: format, lints, docs, tests and the short bench passed'

# Not in the gate: R and what it needs take 200 MB and minutes to install.
test-r:
	@tools/oracles r-base-core
	PLUMB_R=1 $(CARGO) test --locked -p plumb-cli --test r

bench: oracles
	$(CARGO) bench --locked -p plumb-cli --bench cost
	$(CARGO) bench --locked -p plumb-cli --bench parse

oracles:
	@tools/oracles

charts:
	@tools/charts

clean:
	$(CARGO) clean
