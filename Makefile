# SPDX-License-Identifier: GPL-2.0-only
# `make help` lists the targets.

KDIR ?= /lib/modules/$(shell uname -r)/build
include tools/python.mk
LAB := tools/tcon-lab
JOBS ?= $(shell nproc)
C_FILES = $(wildcard $(addsuffix /*.[ch],datapath datapath/* datapath/include/tcon \
	algorithms algorithms/example))
PYTHON_FILES := tools tests userspace/exporter userspace/monitor userspace/top

# The longest first: started late, one would run on alone.
CHECKS = check-flows check-debug check-vm check-lab check-fuzz check-netfilter check-unit check-goodput \
	check-proofs check-packetdrill-short check-packets style check-deb-build
# In real time, or seen to differ by microseconds where many machines share few cores.
ALONE = check-smp check-races-short check-repeat

.PHONY: all modules userspace deps lab-deps lab demo check check-fleet check-foreign check-watchers check-guests \
	check-demo check-documents check-matrix check-ovs-kernel check-packetdrill check-races check-races-debug check-tenants \
	check-thorough fuzz-today \
	replay $(CHECKS) $(ALONE) bench deb check-deb check-deb-host install uninstall clean help

all: modules				## build the kernel modules against KDIR

modules:
	@datapath/build --kdir $(KDIR)

userspace:				## build ovs-vswitchd with the tcon/ commands
	@userspace/build

deps:					## install what is missing, or say what to install
	@tools/install-deps

lab-deps:				# without what only tests need
	@tools/install-deps lab

lab: $(VENV)/.stamp			## prepare the lab's Python

$(VENV)/.stamp: | lab-deps		# its name tells what is in it
	@echo "preparing the lab's Python in $(VENV)"
	@mkdir -p $(CACHE)
	@flock $(CACHE)/venv.lock tools/make-venv $(VENV)

demo: lab				## a guest's CUBIC, native BBR and enforced BBR; then a campaign
	@$(LAB) run tools/scenarios/demo.toml --out build/demo --jobs $(JOBS)
	@$(LAB) campaign tools/campaigns/demo.toml --out build/demo/campaign --jobs $(JOBS)
	@$(LAB) report build/demo/campaign --out build/demo/campaign.html

# Always the same tests.  PARTS: where each part notes how it ended.
PARTS := $(CURDIR)/build/check
check: deps lab				## all tests
	@rm -rf $(PARTS)
	@echo "$(CHECKS), side by side; each shows its output when it ends:"
	@$(MAKE) -s -k -j$(JOBS) --output-sync=recurse $(CHECKS:%=part-%); status=$$?; \
		$(MAKE) -s -k -j1 $(ALONE:%=part-%) && [ $$status = 0 ]; status=$$?; \
		tests/part --table $(PARTS); exit $$status

part-%:
	@tests/part $(PARTS) $* $(MAKE) -s $*

check-unit: deps lab			## unit tests in user space, ASan and UBSan; the equations of CCs
	@$(MAKE) -s -C tests/unit run
	@$(PYTHON) -m pytest -q tests/unit

check-packets: deps lab			## packets in, packets out: all of tcon.ko in user space, ASan and UBSan
	@$(MAKE) -s -C tests/packet run

check-fuzz: deps			## fuzzers, each for a fixed number of inputs
	@$(MAKE) -s -C tests/fuzz run

check-proofs: deps lab			## proofs by CBMC: of functions, for all that they may be given
	@PYTHONPATH=tools $(PYTHON) tests/proofs/prove.py current
	@PYTHONPATH=tools $(PYTHON) tests/proofs/prove.py run

fuzz-today: deps			## each fuzzer for an hour, with a seed of the day
	@$(MAKE) -s -k -C tests/fuzz -j$(JOBS) today

check-goodput: deps			## each CC under TCon against itself as a guest's own, in user space
	@$(MAKE) -s -C tests/goodput run

check-lab: deps lab			## the lab's own tests
	@$(PYTHON) -m pytest -q tests/lab

check-documents: deps lab		## the pages on five published documents, against their numbers
	@$(PYTHON) -m pytest -q tests/documents

check-vm: deps lab			## packet and system tests on the real datapath, in the lab
	@$(MAKE) -s -C tests/vm virtual LAB=$(abspath $(LAB))

check-debug: deps lab			## what scripts send, with KASAN and lockdep; a report fails
	@$(MAKE) -s -C tests/vm debug LAB=$(abspath $(LAB))

check-thorough: deps lab		## check-vm's and check-debug's tests on both kernels; what fuzzers and proofs find
	@$(MAKE) -s -C tests/fuzz breaches
	@$(MAKE) -s -C tests/goodput breaches
	@PYTHONPATH=tools $(PYTHON) tests/proofs/prove.py run --thorough
	@PYTHONPATH=tools $(PYTHON) tests/proofs/prove.py mutants
	@$(MAKE) -s -C tests/vm thorough LAB=$(abspath $(LAB))

check-netfilter: deps lab		## a selection without the patched openvswitch.ko and ovs-vswitchd
	@$(MAKE) -s -C tests/vm netfilter LAB=$(abspath $(LAB))
	@$(MAKE) -s -C tests/vm switchd TESTS=test_switchd.py LAB=$(abspath $(LAB))

check-flows: deps lab			## many flows, and what they reach, in User-Mode Linux
	@$(MAKE) -s -C tests/vm flows LAB=$(abspath $(LAB))

check-smp: deps lab			## what two CPUs do to each other, in real time
	@$(MAKE) -s -C tests/vm smp LAB=$(abspath $(LAB))

check-races: deps lab			## data races between CPUs, by KCSAN on User-Mode Linux, as root
	@$(MAKE) -s -C tests/vm races LAB=$(abspath $(LAB))

check-races-short: deps lab		## a minute of check-races; skipped without root
	@if [ "$$(id -u)" -ne 0 ]; then echo "check-races-short: skipped: it needs root"; else \
		$(MAKE) -s -C tests/vm races LAB=$(abspath $(LAB)) RACES_SECONDS=30 \
			RACES_TESTS="-k everything test_races.py"; fi

check-races-debug: deps lab		## what check-races runs, with KASAN and lockdep on several CPUs, as root
	@$(MAKE) -s -C tests/vm races-debug LAB=$(abspath $(LAB))

check-guests: deps lab			## a guest with a kernel of its own, stopped and let go on
	@$(VENV)/bin/python -m pytest -q tests/guests

check-foreign: deps lab			## TCP stacks as guests, and applications in guests, that nobody here wrote
	@$(MAKE) -s -C tests/vm foreign LAB=$(abspath $(LAB))
	@$(MAKE) -s -C tests/vm programs LAB=$(abspath $(LAB))

check-watchers: deps lab		## perf and bpftrace by docs/tracing.md, and tcon-top, on live flows
	@$(MAKE) -s -C tests/vm watchers LAB=$(abspath $(LAB))

check-ovs-kernel: deps lab		## Open vSwitch's own kernel tests, without TCon, with it, with a rule for all
	@$(MAKE) -s -C tests/vm ovs-kernel LAB=$(abspath $(LAB))

check-packetdrill: deps lab		## the kernel's own packetdrill scripts, without TCon and under five rules
	@$(MAKE) -s -C tests/packetdrill run LAB=$(abspath $(LAB))
	@$(MAKE) -s -C tests/packetdrill run IP=6 LAB=$(abspath $(LAB))

check-packetdrill-short: deps lab	## of check-packetdrill the rules none and cubic
	@$(MAKE) -s -C tests/packetdrill run RULES="none cubic" LAB=$(abspath $(LAB))

replay: deps lab			## captures, and those in PCAPS, through a bridge on the debug kernel
	@$(MAKE) -s -C tests/vm replay LAB=$(abspath $(LAB)) PCAPS=$(if $(PCAPS),$(abspath $(PCAPS)))

check-tenants: deps lab			## guests that want more than their rule gives them, with KASAN
	@$(MAKE) -s -C tests/vm tenants LAB=$(abspath $(LAB))

check-matrix: deps lab			## as root: a selection, and the demo, on each suite's kernel and Open vSwitch
	@tests/check-matrix $(abspath $(LAB))

check-fleet: deps lab			## a cluster of databases and 100 hosts that follow it, in User-Mode Linux
	@$(MAKE) -s -C tests/vm fleet LAB=$(abspath $(LAB))

check-repeat: lab			## one scenario again on each engine: the numbers must be equal
	@tests/check-repeat $(LAB) build/repeat

check-demo: deps lab			## README's `make demo`, and what it leaves
	@$(PYTHON) -m pytest -q tests/demo

bench: lab				## what TCon costs, against the stock datapath
	@$(MAKE) -s -C tests/bench run LAB=$(abspath $(LAB))

style: deps lab				## ruff, layers, words, checkpatch and sparse
	@$(VENV)/bin/ruff check --quiet $(PYTHON_FILES)
	@$(VENV)/bin/ruff format --quiet --check $(PYTHON_FILES)
	@tests/check-layers
	@tests/check-words
	@tools/checkpatch $(C_FILES)
	@tools/sparse "$$($(LAB) kdir)"

deb:					## Debian packages of this tree in build/deb, seen by lintian
	@tools/make-deb build/deb

check-deb-build: deps lab		## README's `make deb`, and what the packages have
	@$(PYTHON) -m pytest -q tests/deb/test_build.py

check-deb: deps lab			## as root: the packages in fresh chroots of Debian 12 and 13
	@$(PYTHON) -m pytest -q -s tests/deb/test_chroot.py

check-deb-host: deps lab		## as root: README's steps on hosts that boot: an hour
	@$(PYTHON) -m pytest -q -s tests/deb/test_host.py

install:				## as root: modules, ovs-vswitchd and man pages on this host
	@tools/install-host install $(KDIR)

uninstall:				## as root: undo install
	@tools/install-host uninstall

clean:					## remove build/ (the cache in $(CACHE) stays)
	rm -rf build

help:					## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' Makefile | \
		sed 's|$$(CACHE)|$(CACHE)|' | expand -t 25
	@echo "Variables: KDIR, JOBS, TCON_CACHE, PCAPS, FUZZ_SECONDS, SEED"
