/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's initiators.  See kernel.c.
 */
#ifndef RTGT_KERNEL_H
#define RTGT_KERNEL_H

#include <stdint.h>

#include <rtgt/log.h>
#include "tool/config/tree.h"

/* Initiators at a time */
#define KERNEL_MAX	32

/**
 * struct kernel_param - what all runs have in common
 * @name: of their directories begins with it
 * @host: where to
 * @service: the target's port, as text
 * @source: where from; NULL leaves it to the routing table
 * @completion: how they take completions
 * @count: operations timed
 * @warmup: operations before them
 * @region: which of the target's
 * @timeout: bound of each step, in seconds
 */
struct kernel_param {
	const char *name;
	const char *host;
	const char *service;
	const char *source;
	const char *completion;
	uint64_t count;
	uint64_t warmup;
	uint32_t region;
	unsigned int timeout;
};

/**
 * struct kernel - this machine's initiators in the kernel
 * @param: as it was given
 * @nr: how many there are
 * @dir: their directories in configfs
 */
struct kernel {
	struct kernel_param param;
	unsigned int nr;
	char dir[KERNEL_MAX][TREE_PATH];
};

/**
 * struct kernel_result - what one of them says about a run
 * @ops: operations timed
 * @begin_ns: when the time began, on the monotonic clock
 * @elapsed_ns: until the end of the last
 * @verified: bytes that were compared
 * @not_compared: bytes of its operations that were not
 * @why_not: the reason, a constant string; NULL if all were
 */
struct kernel_result {
	uint64_t ops;
	uint64_t begin_ns;
	uint64_t elapsed_ns;
	uint64_t verified;
	uint64_t not_compared;
	const char *why_not;
};

int kernel_open(struct kernel *k, const struct kernel_param *param, unsigned int nr,
		struct rtgt_err *err);
void kernel_close(struct kernel *k);
int kernel_set(const struct kernel *k, unsigned int i, const char *attr, const char *value,
	       struct rtgt_err *err);
int kernel_set_number(const struct kernel *k, unsigned int i, const char *attr, uint64_t value,
		      struct rtgt_err *err);
int kernel_run(const struct kernel *k, unsigned int nr, struct rtgt_err *err);
int kernel_result(const struct kernel *k, unsigned int i, struct kernel_result *result,
		  struct rtgt_err *err);
int kernel_samples(const struct kernel *k, unsigned int i, uint64_t *ns, uint64_t nr,
		   struct rtgt_err *err);

#endif /* RTGT_KERNEL_H */
