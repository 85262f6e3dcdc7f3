# SPDX-License-Identifier: GPL-2.0
#
# Makefile - build, try and test rvfat. What the kernel's build system reads is
# in Kbuild; this file is for people. 'make help' lists what it can do.
#
# With KDIR=<kernel build tree> it does nothing but run that tree's kbuild.
# Without, it works with Debian's stock kernel in a cache that it fills itself.

SHELL := /bin/bash
.DEFAULT_GOAL := modules
.SUFFIXES:

VM  := tools/testing/vm
JOBS ?= $(shell nproc)

PHONY := modules modules_install clean help rust-analyzer

ifneq ($(KDIR),)
#
# Plain kbuild
#
KARGS := -C $(KDIR) M=$(CURDIR) $(if $(MO),MO=$(MO))

PHONY += check-kdir
check-kdir:
	@test -e '$(KDIR)/Makefile' || { \
		echo "rvfat: error: no kernel build tree in KDIR=$(KDIR): install the kernel's headers, or leave out KDIR to use Debian's stock kernel" >&2; exit 1; }
	@grep -qs '^CONFIG_RUST=y' '$(KDIR)/.config' '$(KDIR)/include/config/auto.conf' || { \
		echo "rvfat: error: the kernel of KDIR=$(KDIR) has no Rust support: it needs CONFIG_RUST=y and the rest of .config.fragment" >&2; exit 1; }
	@test -e '$(KDIR)/rust/libkernel.rmeta' || { \
		echo "rvfat: error: KDIR=$(KDIR) lacks the kernel's Rust metadata (rust/libkernel.rmeta): distributions' headers leave it out. Use a tree in which 'make modules_prepare' was run, or leave out KDIR" >&2; exit 1; }

modules: check-kdir
	+$(MAKE) $(KARGS) modules

modules_install rust-analyzer: check-kdir
	+$(MAKE) $(KARGS) $@

clean:
	+$(MAKE) $(KARGS) $@

else
#
# With the cache
#
# The recipes' first process is killed if make is.
RUN := setpriv --pdeathsig KILL

PHONY += cache
cache:
	@$(RUN) $(VM)/bootstrap

# All of kbuild's variables work: V=1, CLIPPY=1, W=1, ...
KVARS := $(foreach v,V W C CLIPPY KRUSTFLAGS KCFLAGS,$(if $($(v)),$(v)='$($(v))'))

modules: cache
	@$(RUN) $(VM)/build $@ -j$(JOBS) $(KVARS)

modules_install rust-analyzer:
	@echo "rvfat: error: $@ is for a kernel of your own: give KDIR=/lib/modules/\$$(uname -r)/build" >&2; exit 1

clean:
	@rm -rf build

#
# Guest
#
# A command in a guest with rvfat loaded and a FAT32 disk mounted at /mnt.
DISK ?= 4G
VMFLAGS ?=
GUEST = $(VM)/run --scratch $(DISK),fat=32,cache=directsync --mount $(VMFLAGS)

PHONY += vm shell demo check check-crash check-debug check-faults check-mutations bench unit fuzz
ifneq ($(filter vm,$(MAKECMDGOALS)),)
ifeq ($(value CMD),)
$(error make vm needs CMD='command')
endif
endif
# A variable given on the command line is exported expanded, so $RVFAT_DEV in it
# would be gone; one of another name keeps it.
vm: export RVFAT_CMD := $(value CMD)
vm: modules
	@$(RUN) $(GUEST) -- "$$RVFAT_CMD"

shell: modules
	@$(RUN) $(GUEST) --shell

demo: modules
	@$(RUN) tools/testing/bench/demo.sh

bench: modules
	@$(RUN) tools/testing/bench/bench.sh $(BENCHFLAGS)

check: modules
	@$(RUN) tools/testing/check.sh $(CHECKFLAGS)

# Hostile input: so long on the host, then so many volumes in guests.
MINUTES ?= 30
VOLUMES ?= 5000
fuzz: modules
	@$(RUN) tools/testing/fuzz/fuzz.sh --minutes $(MINUTES) --volumes $(VOLUMES) $(FUZZFLAGS)

# Power cuts.
check-crash: modules
	@$(RUN) tools/testing/crash/crash.sh $(if $(POINTS),--points $(POINTS)) $(CRASHFLAGS)

# On a kernel with KASAN, lockdep, kmemleak; SAN=kcsan: with KCSAN and UBSAN.
SAN ?= debug
check-debug: cache
	@$(RUN) $(VM)/build --kernel $(SAN) modules -j$(JOBS) $(KVARS)
	@$(RUN) tools/testing/check.sh --kernel $(SAN) $(CHECKFLAGS) $(PARTS)

check-faults: modules
	@$(RUN) tools/testing/faults.sh $(FAULTSFLAGS)

# Do the tests notice a broken driver?
check-mutations: modules
	@$(RUN) tools/testing/mutations.sh $(MUTATIONFLAGS)

#
# Style
#
PHONY += rustfmt rustfmtcheck clippy
RUSTSRC = find rust tools -name '*.rs' -not -path '*/build/*' -print0
RUSTFMT = xargs -0r rustfmt --edition 2021 --config skip_children=true

rustfmt: cache
	@$(VM)/enter bash -c "$(RUSTSRC) | $(RUSTFMT)"

rustfmtcheck: cache
	@$(VM)/enter bash -c "$(RUSTSRC) | $(RUSTFMT) --check"

clippy: cache
	@$(RUN) $(VM)/build clippy -j$(JOBS) $(KVARS)

#
# Cache
#
PHONY += cache-info cache-update clean-cache distclean
cache-info:
	@$(VM)/bootstrap --info

cache-update:
	@$(RUN) $(VM)/bootstrap --update

clean-cache:
	@$(VM)/bootstrap --clean

distclean: clean clean-cache
endif

help:
	@echo  'Build:'
	@echo  "* modules          - build the module; without KDIR for Debian's stock kernel, whose"
	@echo  '                     tool chain and source are put into a cache first (once, some minutes)'
	@echo  '  modules_install  - install the module (with KDIR)'
	@echo  '  clean            - remove what was built'
	@echo  '  rust-analyzer    - make rust-project.json (with KDIR)'
	@echo  '  rustfmt, rustfmtcheck, clippy - style'
	@echo  ''
	@echo  "Try, in a guest with Debian's stock kernel (without KDIR):"
	@echo  '  shell            - a prompt; rvfat is loaded, a FAT32 disk is mounted at /mnt'
	@echo  "  vm CMD='...'     - run a command there; the disk is \$$RVFAT_DEV"
	@echo  "  demo             - compare rvfat with the kernel's vfat on a few workloads"
	@echo  '  bench            - the whole comparison'
	@echo  '  check            - all tests'
	@echo  '  fuzz             - hostile input: MINUTES=30 for the format code on the host, then'
	@echo  '                     VOLUMES=5000 broken volumes in guests'
	@echo  '  check-crash      - what disks hold after power cuts; POINTS=N cuts, or the options of'
	@echo  '                     tools/testing/crash/crash.sh in CRASHFLAGS, such as --quick'
	@echo  '  check-debug      - the tests that need a guest on a kernel with KASAN, lockdep and'
	@echo  "                     kmemleak, built once; PARTS='ops races' for some of them,"
	@echo  '                     SAN=kcsan for a kernel with KCSAN and UBSAN'
	@echo  '  check-faults     - I/O errors, full volumes, devices that go away; a short run:'
	@echo  '                     make check-faults FAULTSFLAGS=--quick'
	@echo  '  check-mutations  - whether the tests notice when the driver is broken on purpose'
	@echo  ''
	@echo  'Cache (without KDIR):'
	@echo  '  cache            - fill it'
	@echo  '  cache-info       - say where it is and what it holds'
	@echo  '  cache-update     - look for a newer kernel of the series'
	@echo  '  clean-cache      - remove it; distclean: clean, too'
	@echo  ''
	@echo  'Variables:'
	@echo  '  KDIR=<tree>      - build for the kernel of this build tree, for the running one:'
	@echo  '                     make KDIR=/lib/modules/$$(uname -r)/build'
	@echo  '  V=1 W=1 CLIPPY=1 - as in the kernel'
	@echo  '  DISK=4G          - size of the disk of vm and shell'
	@echo  '  VMFLAGS=...      - more options of $(VM)/run (see its --help)'
	@echo  '  RVFAT_CACHE, RVFAT_SERIES, RVFAT_FLAVOUR, RVFAT_MIRROR (environment) -'
	@echo  '                     where the cache is, which kernel it has, and from where'

.PHONY: $(PHONY)
