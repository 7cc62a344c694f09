/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Registered memory with a guard on either side, and windows into it.  See mr.c.
 */
#ifndef RTGT_MR_H
#define RTGT_MR_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include <rtgt/log.h>
#include <rtgt/pattern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes before and behind the buffer that nothing may touch */
#define RTGT_GUARD	64

/**
 * struct rtgt_mr - a buffer and its registration
 * @mr: covers the guards too, so that the device could write them if it erred
 * @buf: the buffer, at a page boundary
 * @len: bytes of @buf
 * @base: what was mapped
 * @mapped: bytes of @base
 */
struct rtgt_mr {
	struct ibv_mr *mr;
	uint8_t *buf;
	size_t len;
	void *base;
	size_t mapped;
};

/**
 * struct rtgt_window - a memory window of type 2
 * @mw: the window; a work request binds it to a part of a registration, see
 *	struct rtgt_wr
 *
 * Whoever has @mw->rkey reaches what it is bound to, through the queue pair it was
 * bound on only.  The key is dead until the first bind, and after an invalidation.
 */
struct rtgt_window {
	struct ibv_mw *mw;
};

int rtgt_mr_create(struct rtgt_mr *m, struct ibv_pd *pd, const char *name, size_t len, int access,
		   const struct rtgt_log *log, struct rtgt_err *err);
void rtgt_mr_destroy(struct rtgt_mr *m);
int rtgt_mr_check(const struct rtgt_mr *m, size_t used, struct rtgt_diff *diff);
void rtgt_mr_arm(struct rtgt_mr *m, size_t used);
int rtgt_window_create(struct rtgt_window *w, struct ibv_pd *pd, struct rtgt_err *err);
void rtgt_window_destroy(struct rtgt_window *w);

#ifdef __cplusplus
}
#endif

#endif /* RTGT_MR_H */
