# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What runs in guests, built inside the build root (vm/build enters it) with
# the products and their dependencies in one place.  Everything is in the
# payload in the end; a change of the build root builds all anew.

K := build/$(RTGT_KREL)
root := $(K)/root-of-build
release := build/release-of-build

# A file of the tree, but not what editors and in-place builds leave there
files = $(shell find $(1) -type f ! -name '.*' ! -name '*~' ! -name '*.o' ! -name '*.ko' \
	! -name '*.mod' ! -name '*.mod.c' ! -name Module.symvers ! -name modules.order)

$(K)/payload.erofs: $(K)/boot/initrd $(K)/kmod/rtgt.ko build/user/.built build/bin/.built build/selftests/.built \
		vm/payload vm/guest-setup
	vm/payload $(K)

$(K)/boot/initrd: vm/mkboot vm/guest-init $(wildcard vm/agent/*) $(root)
	vm/mkboot $(K)/boot

# Copied, so that the tree stays clean and each kernel has its own objects
$(K)/kmod/rtgt.ko: $(call files,kmod) $(root)
	mkdir -p $(@D)
	rsync -a --delete --exclude='*.o' --exclude='*.ko' --exclude='*.mod*' --exclude='.*' \
		--exclude=Module.symvers --exclude=modules.order kmod/ $(@D)/
	$(MAKE) -C $(RTGT_KDIR) M=$(CURDIR)/$(@D) modules
	touch $@

# Objects of one Debian release do not always link with the libraries of another
build/user/.built: $(call files,user) $(call files,kmod/include) $(call files,kmod/proto) \
		$(release)
	if [ $(release) -nt $@ ]; then rm -rf $(@D); fi
	$(MAKE) -C user O=$(CURDIR)/build/user all static
	touch $@

# The tools for this machine, whatever libraries it has
build/bin/.built: build/user/.built
	mkdir -p $(@D)
	for program in rtgt rtgt-wire; do \
		strip -o $(@D)/$$program.new build/user/static/$$program && \
		mv $(@D)/$$program.new $(@D)/$$program || exit; \
	done
	touch $@

build/selftests/.built: $(call files,selftests) $(call files,user/lib) $(call files,user/packet) \
		$(call files,user/schema) $(call files,kmod/include) \
		$(call files,kmod/proto) $(root)
	rm -rf $(@D)
	$(MAKE) -C selftests tree KSRC=$(RTGT_KSRC) KMOD=$(CURDIR)/kmod \
		OUTPUT=$(CURDIR)/build/selftests-obj DEST=$(CURDIR)/$(@D)
	touch $@

# Changes when the build root does
$(root): FORCE
	mkdir -p $(@D)
	echo $(RTGT_ROOT) | cmp -s - $@ || echo $(RTGT_ROOT) >$@

$(release): FORCE
	mkdir -p $(@D)
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | cmp -s - $@ || \
		sed -n 's/^VERSION_CODENAME=//p' /etc/os-release >$@

.PHONY: FORCE
.DELETE_ON_ERROR:
