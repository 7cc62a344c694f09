# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What this machine's libibverbs has, as a flag for those who compile qp.c or post.c;
# included by their Makefiles.

# ATOMIC_WRITE came with rdma-core 44, FLUSH with 45: both or none
has_flush := $(shell printf '\043include <infiniband/verbs.h>\nint x = IBV_WR_ATOMIC_WRITE + IBV_WR_FLUSH;\n' | \
	$(CC) $(PKG_CFLAGS) -fsyntax-only -xc - 2>/dev/null && echo -DRTGT_VERBS_FLUSH)
