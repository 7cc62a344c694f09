# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# One-liners that call scripts; "make help" tells which.  All that is made is
# below build/ or in the cache (~/.cache/rtgt).  vm/build.mk knows what is built
# of what.

# What the scripts take from the environment is said in vm/lib.sh; nothing of make's own
export KERNEL CLIENT_KERNEL DEVICE MODULES SOURCE PATCH DEBUG MATRIX T V LOCAL WALL FULL FILES
unexport MAKEFLAGS MFLAGS MAKEFILES MAKELEVEL
.NOTPARALLEL:

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

#: make demo         a target and a client on a wire: WRITE, READ, immediate, SEND,
#:                   verified, counted, captured; needs nothing but packages
#: make check        run the test suite in guests, print KTAP, exit nonzero if a test fails
#: make check-more   the extended tests: the same in more configurations, or more often
#:   T=PATTERN       only these: program or program.case, globs allowed
#:   LOCAL=1         on this machine, no guests: fast tier, as root
#: make check-list   all tests, a line each
#: make check-kernels  on 6.1, 6.12, the newest and pairs of them: the module is loaded,
#:                   does every operation, is unloaded; and ops
#: make bench        latencies and bandwidth in virtual time, beside perftest's
#:   RUNS=3          number of boots
#:   T='lifecycle siw'  only these parts of selftests/bench.sh
#:   WALL=1          measures wall-clock time instead: RUNS runs in one boot
#: make bench-explain  processor time and memory of rtgt explain --check and of tshark, for
#:                   captures of PACKETS=200000 packets
#: make bench-compare  what became slower than selftests/bench-baseline
#: make bench-figures  draws what make bench found, for Documentation/performance.rst
#: make shell        the same two guests, for you
#: make faults       what each fault of the wire does to each operation, as a table
#:                   (Documentation/faults.rst); five minutes
#: make soak         random operations while devices, the module, packets and connections
#:                   go and come, against a model of the memory: MINUTES=1 (at most 60), SEED=n
#: make capture      what goes over the wire of a running lab, as pcapng on standard
#:                   output (make -s capture >FILE; LAB=demo where several run);
#:                   make wireshark: there, as it happens
#: make report-check the demo's report, used in a browser without a screen; the display
#:                   filters of Documentation/capture.rst
#: make report-picture  the README's picture of it
#: make features     the table of Documentation/features.rst, from runs on all kernels
#: make kernel-patch KERNEL=/path/to/linux
#:                   writes patches that add the module and the selftests to a kernel, and
#:                   checks them; OUT=build/kernel-patch
#: make coverage     the lines that the suite executes, as a page: build/coverage/index.html;
#:                   T=PATTERN: what these cases execute
#: make mutants      plants N=100 faults, one at a time, and reports which ones the suite
#:                   misses; SEED=1 selects them; LIST=planted takes those of
#:                   scripts/mutants-planted; FULL=0 skips the run of the whole suite;
#:                   FILES='kmod/*' takes faults in these files only
#: make lint         checks the source, except the files that it has found clean before;
#:                   silent when fine; ALL=1: checks all files
#: make docs         the documentation as HTML, with the manual pages: build/docs/html/
#: make library-check  programs in C, C++ and Python with librtgt as make install leaves it, in
#:                   two guests; what it exports, and its ABI
#: make messages     the messages that a user can meet, with the situation that causes each
#: make fuzz         FUZZ_RUNS=200000 inputs for the decoders of what peers send
#: make build        what the guests need, and build/bin/rtgt, the tool for this machine
#: make install      the tool and its manual pages, built here from the libraries of this
#:                   machine; PREFIX=/usr/local
#: make kernel-config  adds to the .config of KERNEL=/path what rtgt needs; DEBUG=1: also
#:                   sanitizers, lockdep and the like
#: make kernel       builds KERNEL=/path, with a compiler of the lab and ccache
#: make source       copies what MODULES= can build of KERNEL's source into SOURCE=/path
#: make matrix       core cases on 6.1, 6.12, newest, debug, the variants and mixed pairs:
#:                   one table; MATRIX="6.1 /path/to/linux": on these
#: make clean        removes build/
#: make distclean    removes the cache as well
#:   KERNEL=6.12     the guests' kernel: 6.1, 6.12; newest, the newest Debian has for its
#:                   stable release; debug, 6.12 with KASAN, lockdep, kmemleak, eight times
#:                   slower; kcsan, 6.12 with the concurrency sanitizer, four times slower;
#:                   coverage, 6.12 with gcov; the first run builds these three; swiotlb,
#:                   Debian's 6.12 with swiotlb=force; or a path: your own tree
#:                   (Documentation/your-kernel.rst)
#:   CLIENT_KERNEL=  another one for the client of two guests
#:   DEVICE=rxe      the guests' RDMA devices: rxe (RoCE), or siw (iWARP)
#:   MODULES=drivers/infiniband/sw/rxe  with these directories of its source built anew,
#:                   which is quick; SOURCE=/path takes them from there, PATCH=FILE patches
#:   V=1             shows the output of long steps
demo: build
	@vm/demo

check: $(if $(LOCAL),,build)
	@vm/check

check-list: build
	@vm/check --list

check-more: build
	@vm/check --more

check-kernels:
	@MATRIX="$${MATRIX:-6.1 6.12 newest newest+6.1 6.1+newest}" T="$${T:-tools.smoke ops}" vm/matrix

bench: build
	@vm/bench

bench-compare:
	@vm/bench compare

bench-explain: build
	@vm/root run scripts/bench-explain $(PACKETS)

bench-figures:
	@vm/bench figures

shell: build
	@vm/shell

capture:
	@vm/capture $(LAB)

wireshark:
	@vm/wireshark

report-check: build
	@vm/report-check

report-picture: build
	@vm/report-check picture

# A [long] case runs by its own name only
faults: build
	@T='wire_faults.* $(foreach op,write write-imm send read cas faa,wire_faults.$(op)-always) $(foreach over,rxe siw tcp,wire_faults.loss-$(over))' vm/check
	@cat build/check/wire-faults-table

soak: build
	@RTGT_MINUTES=$(or $(MINUTES),1) RTGT_SEED=$(SEED) T=soak.everything vm/check

coverage:
	@vm/coverage

mutants: build
	@scripts/mutants $(or $(LIST),$(or $(N),100) $(or $(SEED),1))

lint:
	@vm/root run scripts/lint $(if $(ALL),--all)

docs: build
	@vm/root run-in docs scripts/docs

library-check: build
	@scripts/library-test

messages:
	@scripts/messages

fuzz:
	@vm/root run-in fuzz scripts/fuzz

features:
	@scripts/features-table

kernel-patch:
	@scripts/kernel-patch "$(KERNEL)" $(if $(OUT),"$(OUT)")

build:
	@vm/build

install:
	@$(MAKE) --no-print-directory -C user install

kernel-config:
	@vm/kernel config

kernel:
	@vm/kernel build

source:
	@$(if $(SOURCE),mkdir -p "$(SOURCE)" &&) vm/kernel source

matrix:
	@vm/matrix

clean:
	rm -rf build

distclean: clean
	@vm/root forget

.PHONY: help messages demo check check-list check-more check-kernels bench bench-compare bench-explain bench-figures shell faults soak coverage mutants lint docs features \
	capture wireshark report-check report-picture library-check fuzz build kernel-config kernel kernel-patch source matrix install clean distclean
