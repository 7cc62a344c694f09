// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registered memory with a guard on either side.
 *
 *	        buf             buf + used        buf + len
 *	| guard | what is used  | guard bytes too | guard |
 *
 * The buffer begins a page; the guard before it ends the page before.
 *
 * rtgt_mr_arm() writes the guards around the bytes about to be used and
 * rtgt_mr_check() tells whether they are as they were.
 *
 * A registration on demand (IBV_ACCESS_ON_DEMAND) pins nothing: the device looks a
 * page up when it needs it.  So that this is what happens, the pages are replaced
 * once the registration is made; a device that held on to them would never be seen
 * to read or write ours.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rtgt/mr.h>

#define GUARD_BYTE	0x6b

static void *map_pages(void *at, size_t len)
{
	return mmap(at, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

/**
 * rtgt_mr_create() - allocate and register a buffer
 * @m: filled; zero when this fails
 * @pd: protection domain
 * @name: for the log
 * @len: bytes, may be 0
 * @access: IBV_ACCESS_*
 * @log: for facts
 * @err: says what is wrong
 *
 * The buffer is zero.
 *
 * Return: 0, or a negative errno.
 */
int rtgt_mr_create(struct rtgt_mr *m, struct ibv_pd *pd, const char *name, size_t len, int access,
		   const struct rtgt_log *log, struct rtgt_err *err)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int code;

	memset(m, 0, sizeof(*m));
	m->len = len;
	m->mapped = page + len + RTGT_GUARD;
	m->base = map_pages(NULL, m->mapped);
	if (m->base == MAP_FAILED) {
		memset(m, 0, sizeof(*m));
		return rtgt_fail(err, errno, "no memory for a buffer of %zu bytes", len);
	}
	m->buf = (uint8_t *)m->base + page;
	m->mr = ibv_reg_mr(pd, m->buf - RTGT_GUARD, len + 2 * RTGT_GUARD, access);
	if (!m->mr) {
		code = errno;
		rtgt_mr_destroy(m);
		/* EPERM: the limit is 0 */
		if (code == ENOMEM || code == EPERM)
			return rtgt_fail(err, code,
					 "no memory to register %zu bytes: be root, or raise the locked-memory limit (ulimit -l)",
					 len);
		return rtgt_fail(err, code, "registering %zu bytes failed: %s", len,
				 strerror(code));
	}
	if (access & IBV_ACCESS_ON_DEMAND && map_pages(m->base, m->mapped) == MAP_FAILED) {
		code = errno;
		rtgt_mr_destroy(m);
		return rtgt_fail(err, code, "no memory for %zu other bytes", len);
	}
	rtgt_log(log, "mr", "%s: addr %p len %zu lkey 0x%x rkey 0x%x%s", name, (void *)m->buf, len,
		 m->mr->lkey, m->mr->rkey, access & IBV_ACCESS_ON_DEMAND ? " on demand" : "");
	return 0;
}

/**
 * rtgt_mr_destroy() - deregister and free
 * @m: created, or zero
 */
void rtgt_mr_destroy(struct rtgt_mr *m)
{
	if (m->mr)
		ibv_dereg_mr(m->mr);
	if (m->base)
		munmap(m->base, m->mapped);
	memset(m, 0, sizeof(*m));
}

/* The guard behind the bytes in use: at most RTGT_GUARD of them, also inside the buffer */
static uint8_t *behind(const struct rtgt_mr *m, size_t used)
{
	return m->buf + (used < m->len ? used : m->len);
}

/**
 * rtgt_mr_arm() - write the guards
 * @m: the buffer
 * @used: bytes of it, from its beginning, that may change
 */
void rtgt_mr_arm(struct rtgt_mr *m, size_t used)
{
	memset(m->buf - RTGT_GUARD, GUARD_BYTE, RTGT_GUARD);
	memset(behind(m, used), GUARD_BYTE, RTGT_GUARD);
}

/**
 * rtgt_mr_check() - look at the guards
 * @m: the buffer
 * @used: as given to rtgt_mr_arm()
 * @diff: filled when a guard changed; its offset counts from the guard's first byte
 *
 * Return: 0 when untouched, -1 when the guard before changed, 1 the one behind.
 */
int rtgt_mr_check(const struct rtgt_mr *m, size_t used, struct rtgt_diff *diff)
{
	if (rtgt_bytes_verify(m->buf - RTGT_GUARD, RTGT_GUARD, GUARD_BYTE, diff))
		return -1;
	return rtgt_bytes_verify(behind(m, used), RTGT_GUARD, GUARD_BYTE, diff) ? 1 : 0;
}

/**
 * rtgt_window_create() - make a window, bound to nothing
 * @w: filled; zero when this fails
 * @pd: protection domain
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int rtgt_window_create(struct rtgt_window *w, struct ibv_pd *pd, struct rtgt_err *err)
{
	w->mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	if (!w->mw)
		return rtgt_fail(err, errno, "no memory window: %s", strerror(errno));
	return 0;
}

/**
 * rtgt_window_destroy() - release a window
 * @w: created, or zero; before the registration it is bound to
 */
void rtgt_window_destroy(struct rtgt_window *w)
{
	if (w->mw)
		ibv_dealloc_mw(w->mw);
	w->mw = NULL;
}
