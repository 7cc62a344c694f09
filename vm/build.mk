# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What runs in guests, built inside build roots (vm/build enters them) with the products and
# their dependencies in one place.  Everything is in the payload in the end.
#
#   programs   the tools, the tests and the agent, by the default kernel's root, whatever
#              kernel they will run on
#   guest      the kernel's part, in the root of the kernel: rtgt.ko, what a guest boots
#              from, and the payload.  Changes of the root build that anew

# What another checkout has compiled already, or this one before "make clean"; vm/kernel-make has it, too
export CCACHE_DIR := /ccache
export CCACHE_MAXSIZE := 4G
export CCACHE_DEPEND := 1
compiler := CC="ccache gcc"

K := build/$(RTGT_KNAME)
root := $(K)/root-of-build
# With RTGT_COVERAGE (vm/coverage) all counts what it executes.  The kselftest harness ends a
# test with _exit(), which would leave no counts
gcov := --coverage -fprofile-update=atomic
programs-root := build/root-of-programs

# A file of the tree, but not what editors and in-place builds leave there
files = $(shell find $(1) -type f ! -name '.*' ! -name '*~' ! -name '*.o' ! -name '*.ko' \
	! -name '*.mod' ! -name '*.mod.c' ! -name Module.symvers ! -name modules.order)

# Writes what a command prints to a file, if it is not there already
changed = mkdir -p $(@D); $(1) >$@.new || exit; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

guest: $(K)/payload.erofs $(K)/boot/kernel $(K)/boot/modules.erofs

agent-tests := $(addprefix build/,channel_test agent_run_test agent_serve_test)
programs: build/agent $(agent-tests) build/user/.built build/bin/.built build/selftests/.built

$(K)/payload.erofs: $(K)/kmod/rtgt.ko build/agent build/user/.built build/selftests/.built vm/payload vm/guest-setup
	vm/payload $(K)

$(K)/boot/kernel: vm/mkboot $(RTGT_KIMAGE) $(root)
	mkdir -p $(@D)
	vm/mkboot $(RTGT_KIMAGE) $@

$(K)/boot/modules.erofs: $(K)/modules.list vm/mkmodules vm/guest-init
	mkdir -p $(@D)
	vm/mkmodules make $(@D)

# A tree's modules, and those that were built by themselves, change when their makers like
$(K)/modules.list: FORCE $(root) $(if $(RTGT_KTREE),$(K)/tree/.made) $(if $(MODULES),$(K)/edit/list) $(K)/siw/list
	$(if $(MODULES),,rm -f $(K)/edit/list)
	@$(call changed,vm/mkmodules list $(K)/boot)

$(K)/tree/.made: FORCE
	@mkdir -p $(K)
	@vm/kernel-make links $(RTGT_KTREE) $(K)/tree

$(K)/edit/list: FORCE
	+@vm/rebuild $(K)/edit

# Debian builds no siw: it is made of the source of the very kernel.  A kernel that has one
# keeps it, and so does one whose source is not of the same release (a tree).
$(K)/siw/list: $(root) vm/rebuild vm/build.mk
	@mkdir -p $(@D)
	@if [ "$(RTGT_KTREE)" ] || modprobe -d $(RTGT_KMODULES) -S $(RTGT_KREL) --show-depends siw >/dev/null 2>&1; then \
		: >$@; \
	else \
		MODULES=drivers/infiniband/sw/siw RTGT_DRIVERS=/usr/src/linux-drivers-$(RTGT_KREL) vm/rebuild $(@D); \
	fi

# Copied, so that the source stays clean and each kernel has its own objects.  What changed
# in a tree, or in headers of modules built by themselves, Kbuild knows better.
$(K)/kmod/rtgt.ko: $(call files,kmod) $(root) $(if $(RTGT_KTREE),FORCE)
	@mkdir -p $(@D)
	@rsync -a --delete --exclude='*.o' --exclude='*.gcno' --exclude='*.ko' --exclude='*.mod*' --exclude='.*' \
		--exclude=Module.symvers --exclude=modules.order kmod/ $(@D)/
	@$(MAKE) --no-print-directory -C $(RTGT_KDIR) M=$(CURDIR)/$(@D) $(compiler) $(if $(RTGT_COVERAGE),GCOV_PROFILE=y) modules
	@$(if $(RTGT_KTREE),:,touch $@)

# The kernel's root, with the directories of the tree or variant
$(root): FORCE
	@$(call changed,echo $(RTGT_ROOT) $(RTGT_KDIR))

# In the root of another kernel they are what they are
ifneq ($(filter programs,$(MAKECMDGOALS)),)

build/agent: $(wildcard vm/agent/*.[ch]) $(programs-root)
	gcc -O2 -Wall -Wextra -static -o $@.new vm/agent/*.c
	mv $@.new $@

# Beside the agent, which two of them start.  What is wrong with its own bytes fails a test, too.
$(agent-tests): build/%: vm/agent/test/%.c vm/agent/test/peer.h vm/agent/channel.c vm/agent/agent.h build/agent $(programs-root)
	gcc -std=gnu11 -O1 -g -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter -Wno-clobbered \
		-fsanitize=address,undefined -fno-sanitize-recover=all -static-libasan -static-libubsan \
		-I$(RTGT_KSRC)/tools/testing/selftests -o $@.new $(filter %.c,$^)
	mv $@.new $@

build/user/.built: $(call files,user) $(call files,kmod/include) $(call files,kmod/proto) $(programs-root)
	$(MAKE) -C user O=$(CURDIR)/build/user $(compiler) $(if $(RTGT_COVERAGE),CFLAGS="-Og -g $(gcov)") all static
	touch $@

# The tools for this machine, whatever libraries it has
build/bin/.built: build/user/.built
	mkdir -p $(@D)
	for program in rtgt rtgt-wire; do \
		strip -o $(@D)/$$program.new build/user/static/$$program && \
		mv $(@D)/$$program.new $(@D)/$$program || exit; \
	done
	touch $@

build/selftests/.built: $(call files,selftests) $(call files,user/librtgt) $(call files,user/libwire) \
		$(call files,user/tool/timeline) user/tool/cli/cli.h user/tool/config/tracefs.h $(call files,kmod/include) $(call files,kmod/proto) \
		$(programs-root)
	if [ $(programs-root) -nt $@ ]; then rm -rf build/selftests-obj; fi
	rm -rf $(@D)
	$(if $(RTGT_COVERAGE),CFLAGS="$(gcov) -D_exit=exit") $(MAKE) -C selftests tree $(compiler) KSRC=$(RTGT_KSRC) KMOD=$(CURDIR)/kmod \
		OUTPUT=$(CURDIR)/build/selftests-obj DEST=$(CURDIR)/$(@D)
	touch $@

$(programs-root): FORCE
	@$(call changed,echo $(RTGT_ROOT))

endif

.PHONY: FORCE guest programs
.DELETE_ON_ERROR:
