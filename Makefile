# Targets by how long they take and what they need: demo shows the program; check, test and test-full are the three
# tiers of the gate; the others run one part of it, or measure.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
DEMO_OUTPUT ?= target/demo
SOAK_MINUTES ?= 30
# Where nothing is compiled yet, notes for the next compilation cost more than they save, and lines in backtraces are a
# sixth of the time to compile; a failing test names its line without them.
ifeq ($(wildcard target/debug/incremental),)
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := false
endif

.PHONY: help demo release install dist packages packages-again check lint docs test test-full fresh test-r programs predictions mpi cluster metrics checks guest guests durable truths watched faults seeds soak load store features sanitize miri deny fuzz bench bench-short \
	oracles charts gallery clean

help:
	@echo 'Look'
	@echo '  make demo         build plumb and survey the disk under this directory (about 40 s of measuring)'
	@echo '  make release      plumb and plumb-mpi without symbols in target/dist, debug information of plumb in a file next to it'
	@echo '  make install      that program with man pages, completions and documents to PREFIX (/usr/local), under DESTDIR'
	@echo '  make dist         .deb, .rpm, tar.gz, static program, image, wheel, SBOM into target/packages (installs what it needs; as root)'
	@echo 'The gate, in tiers'
	@echo '  make check        no root, no other tools: format, lints, unit tests, simulation, golden files, house rules'
	@echo '  make test         all that README claims, held against fio, iostat and iozone; CI runs this; as root'
	@echo '  make test-full    make test, then the long ones: seeds, load, store, soak, sanitize; as root'
	@echo '  make fresh        make demo and make test on a clone in a root of debootstrap, without any cache: before a release, and'
	@echo '                    when a tool, package or crate was added; 25 min; as root'
	@echo 'One part of it'
	@echo '  make checks       the checks as a detector: what is caught, what is accused wrongly, and 400 reports of fio; 25 min on a'
	@echo '                    quiet machine; as root'
	@echo '  make guest        devices that this machine does not have, in a guest: NVMe, SCSI, SATA, USB and faults; the same jobs to fio;'
	@echo '                    about an hour; as root'
	@echo '  make guests       three machines with their own kernels and clocks in guests on one network: plumb cluster, fio --client,'
	@echo '                    iozone -+m; one stopped, killed, cut off; as root'
	@echo '  make durable      plumb durable in a guest whose power is cut 7 times, with honest and lying disks; 10 min; as root'
	@echo '  make truths       plumb why where it is known why the slow I/Os are slow: each set-up 20 times, and a matrix of parts; 8 min on'
	@echo '                    a quiet machine; as root'
	@echo '  make faults       inject every known fault and print how plumb handled it; as root'
	@echo '  make seeds        the seven seed runs at 256 MiB and 5 s'
	@echo '  make soak         random job files over all options for SOAK_MINUTES (30); as root'
	@echo '  make load         4,096 jobs, 100,000 files, a day simulated, 10^8 rows of a log: time and memory'
	@echo '  make store        the store (killed, full disks, 10,000 surveys), 40 decisions of plumb gate and a capacity on loop devices; as root'
	@echo '  make features     check that plumb compiles without its cargo features, and with each alone'
	@echo '  make sanitize     unsafe code under AddressSanitizer and ThreadSanitizer (nightly); as root'
	@echo '  make miri         unsafe code that needs no kernel, under Miri (nightly)'
	@echo '  make test-r       Debian'\''s R reads surveys of a disk and of a loop device (installs r-base-core); as root'
	@echo '  make programs     etcd, PostgreSQL, SQLite and RocksDB under strace against plumb ask and plumb why (installs them); as root'
	@echo '  make predictions  the gains that plumb why predicts against measured ones (5 min; wants a quiet machine); as root'
	@echo '  make mpi          plumb cluster --mpi under Open MPI and MPICH of Debian and PyPI and under Slurm, what is killed and stopped;'
	@echo '                    installs them; 4 min; as root'
	@echo '  make cluster      plumb cluster by ssh and MPI in network namespaces, and 256 simulated members; 4 min; as root'
	@echo '  make metrics      promtool, Prometheus, node_exporter and a receiver of OTLP read plumb'\''s metrics'
	@echo '  make packages     lintian, rpmlint, fresh roots, aarch64 in a guest and more against what make dist left; as root'
	@echo '  make packages-again   the same commit compiled in another directory: the same bytes?'
	@echo '  make deny         known weaknesses, licences and sources of the dependencies (builds cargo-deny once)'
	@echo '  make fuzz         FUZZ_SECONDS (600) of processor time per reader of foreign bytes, or READERS="iolog" alone'
	@echo 'Measure; wants a quiet machine'
	@echo '  make bench        CPU time per I/O: plumb, fio and the bare loop; many jobs and files; iozone; readers and reports'
	@echo '  make watched      what plumb why costs the program that it watches, by plumb versus; 6 min; as root'
	@echo '  make bench-short  less of it; fails where plumb costs more than its budget'
	@echo 'Fetch and draw'
	@echo '  make oracles      install fio, sysstat and iozone3 from Debian, readers of their output from PyPI'
	@echo '  make charts       fetch ECharts and the typeface of the pictures again'
	@echo '  make gallery      draw docs/gallery again (needs pngquant)'

demo: release
	@mkdir -p $(DEMO_OUTPUT)
	target/release/plumb survey --quick --output $(DEMO_OUTPUT)/survey.json . | tee $(DEMO_OUTPUT)/survey.txt
	@echo 'The report has pictures, checks and all numbers: open it in a browser. The table is in $(DEMO_OUTPUT)/survey.txt.'
	@echo "The result is also in the store: $$(target/release/plumb store where | sed -n 1p)"
	@echo 'The program is target/release/plumb, with plumb-mpi next to it.'

# A debugger and a backtrace find plumb.debug by the link in plumb, where both are in one directory. What cargo leaves in
# target/release has 80 MB of debug information; it is replaced, not stripped in place: cargo keeps its own copy and would
# otherwise have to link again.
release:
	@echo "Compiling plumb and plumb-mpi: the first time about 5 minutes on 2 processors (this machine has $$(nproc)), later only what changed."
	$(CARGO) build --release --locked --bin plumb --bin plumb-mpi
	@mkdir -p target/dist
	objcopy --only-keep-debug target/release/plumb target/dist/plumb.debug
	objcopy --strip-all target/release/plumb target/dist/plumb
	cd target/dist && objcopy --add-gnu-debuglink=plumb.debug plumb
	objcopy --strip-all target/release/plumb-mpi target/dist/plumb-mpi
	@for program in plumb plumb-mpi; do install -m 755 target/dist/$$program target/release/$$program; done
	@ls -l target/dist

# PROGRAM is what is installed, with the plumb-mpi next to it. It builds nothing, so that it can run as root after `make release` as a user.
PROGRAM ?= target/dist/plumb
PREFIX ?= /usr/local
install:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' tools/install '$(PROGRAM)'

dist:
	tools/dist

packages:
	tools/packages

packages-again:
	tools/packages again

# Clippy and rustdoc share the metadata of the dependencies; the tests need them compiled. So there are two compilations.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# All of the workspace, so that nothing is compiled another time with other features. Test binaries that are not named
# here (engine's conformance, cli's commands and cases) need root or other tools, and so do the tests in that list.
NEEDS_MORE := $(shell sed -n 's/^\([^\# ]*\) .*/--skip \1/p' tools/needs-root-or-oracles.txt)
check: lint
	$(CARGO) test --workspace --locked --lib --bins --test tests --test run --test words --test merge --test rules -- --quiet $(NEEDS_MORE)
	@echo 'check: format, lints, unit tests, simulation, golden files and house rules passed'

docs:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked

# Nothing that is compiled needs the oracles: they are fetched meanwhile.
test:
	$(CARGO) fmt --all --check
	tools/oracles && tools/guest fetch & oracles=$$!; $(CARGO) test --workspace --locked --no-run; wait $$oracles
	tools/gate --lint --workspace --locked
	@echo 'test: format, lints, docs and tests passed'

test-full: test seeds load store soak sanitize
	PLUMB_GENERATED=10000 $(CARGO) test --locked -p formats --test tests -- generated::
	$(CASES) newest_fio:: -- --ignored
	PLUMB_GENERATED=2000 $(CASES) iostat::generated
	PLUMB_SEEDS=10000 $(CARGO) test --locked -p formats --test tests -- iostat_generated
	PLUMB_SEEDS=20000 $(CARGO) test --locked -p analysis --lib -- statistics::simulated statistics::proofs
	PLUMB_SEEDS=2000 $(CARGO) test --locked -p analysis --lib -- statistics::power
	PLUMB_SEEDS=200 $(CARGO) test --locked -p analysis --lib -- durability
	PLUMB_SEEDS=20 $(CARGO) test --locked -p cli --test commands versus::two_deviations

fresh:
	tools/fresh

CASES := $(CARGO) test --locked -p cli --test cases

checks: oracles
	$(CASES) checks::detector:: -- --ignored
	$(CASES) elsewhere::all_loads_in_all_forms_of_each_fio -- --ignored

# Not in the gate, but for its short rows (guest::): pairs of runs in a guest without KVM. GUEST_ROWS=sg,poll takes
# those with sg or poll in their name.
guest: oracles
	@tools/guest fetch
	@GUEST=newer tools/guest fetch
	@GUEST_LIMIT=5400 $(CASES) devices:: newer:: -- --ignored

# Not in the gate: a boot per cut, half a minute each. POWER_CUTS=8,4 cuts less often.
durable:
	@tools/oracles nbdkit nbdkit-plugin-python
	@tools/guest fetch
	$(CASES) power:: -- --ignored --nocapture

# Not in the gate: three guests on two processors, and what is lost is waited for.
guests: oracles
	@tools/guest fetch
	$(CASES) machines:: -- --ignored

# Not in the gate: what else runs takes processors.
truths: oracles
	$(CASES) truths:: -- --ignored --nocapture

watched:
	$(CARGO) build --release --locked --bin plumb
	PLUMB_LOAD_PROGRAM=$(CURDIR)/target/release/plumb $(CASES) watched:: -- --ignored --nocapture

faults: oracles
	$(CASES) faults::

seeds: oracles
	$(CASES) seeds::full:: -- --ignored

soak: oracles
	SOAK_MINUTES=$(SOAK_MINUTES) $(CASES) soak::for_minutes -- --ignored

load:
	$(CARGO) build --release --locked --bin plumb
	PLUMB_LOAD_PROGRAM=$(CURDIR)/target/release/plumb $(CASES) load::full:: -- --ignored

store:
	$(CARGO) build --release --locked --bin plumb
	PLUMB_LOAD_PROGRAM=$(CURDIR)/target/release/plumb $(CASES) store::full:: -- --ignored
	PLUMB_LOAD_PROGRAM=$(CURDIR)/target/release/plumb $(CASES) gate::full:: -- --ignored
	PLUMB_LOAD_PROGRAM=$(CURDIR)/target/release/plumb $(CASES) capacity::full:: -- --ignored

# Not in the gate: four MPIs and Slurm take 100 MB and minutes to install, and what is stopped is waited for.
mpi:
	@tools/oracles mpich slurm-wlm slurm-wlm-basic-plugins libpmix-dev
	@tools/mpi
	$(CASES) mpi:: -- --ignored

cluster:
	@tools/oracles iproute2
	$(CASES) members:: -- --ignored

metrics:
	$(CARGO) build --release --locked --bin plumb --features cli/otlp
	tools/metrics

# The builds of docs/building.md; only compiled, so it is not in the gate.
FEATURES := report pdf parquet workbook live store otlp
features:
	$(CARGO) clippy --locked -p cli --no-default-features -- -D warnings
	for feature in $(FEATURES); do $(CARGO) clippy --locked -p cli --no-default-features --features $$feature -- -D warnings; done

# Unsafe code under the tools that watch it; what they cannot run: tools/unsanitized.txt.
sanitize:
	tools/sanitize address thread

miri:
	tools/sanitize miri

# Not in the gate: R and what it needs take 200 MB and minutes to install.
test-r:
	@tools/oracles r-base-core
	$(CASES) in_r:: -- --ignored

# Not in the gate: the two servers with what they need take 80 MB and minutes to install.
programs:
	@tools/oracles etcd-server etcd-client postgresql sqlite3 rocksdb-tools
	$(CASES) programs:: -- --ignored

# Not in the gate: five minutes, on a quiet machine.
predictions:
	$(CASES) predictions::full:: -- --ignored --nocapture

# Kept in the target directory: it takes minutes to compile, once. Advisories come from github.com.
DENY := target/tools/bin/cargo-deny
$(DENY):
	$(CARGO) install cargo-deny --locked --root target/tools --target-dir target/tools/build
	rm -rf target/tools/build

deny: $(DENY)
	$(DENY) --all-features check licenses bans sources
	$(DENY) --all-features check advisories

# Not in the gate: it takes as long as it is given. A test reads the inputs that it kept (fuzz/corpus).
fuzz:
	@tools/fuzz $(READERS)

bench: oracles
	$(CARGO) bench --locked -p cli --bench cost
	$(CARGO) bench --locked -p cli --bench parse
	$(CARGO) bench --locked -p cli --bench reports
	$(CARGO) bench --locked -p cli --bench iozone
	$(CARGO) bench --locked -p cli --bench jobs

bench-short: oracles
	$(CARGO) bench --locked -p cli --bench cost -- --short
	$(CARGO) bench --locked -p cli --bench parse -- --short
	$(CARGO) bench --locked -p cli --bench reports -- --short
	$(CARGO) bench --locked -p cli --bench iozone -- --short
	$(CARGO) bench --locked -p cli --bench jobs -- --short

oracles:
	@tools/oracles

charts:
	@tools/charts

# Sixty-four colours are enough for flat pictures, and a third of the bytes.
gallery:
	@command -v pngquant > /dev/null || { echo 'make gallery: pngquant is missing; apt-get install pngquant' >&2; exit 1; }
	@mkdir -p docs/gallery
	PLUMB_GALLERY=$(CURDIR)/docs/gallery $(CARGO) test --locked -p report --test tests old_data::
	PLUMB_GALLERY=$(CURDIR)/docs/gallery $(CARGO) test --locked -p report --test tests kinds::
	pngquant --force --ext .png --speed 1 --nofs 64 docs/gallery/*.png

clean:
	$(CARGO) clean
