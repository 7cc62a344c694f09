// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The public library: operations.  Here all arguments are checked; what is done is in submit.c and
 * complete.c.
 */
#include <errno.h>
#include <string.h>

#include "public.h"

#define LEN_MAX		2147483648u

#define FLAGS	(RTGT_WORK_F_UNCHECKED | RTGT_WORK_F_FENCE | RTGT_WORK_F_UNSIGNALED)

static int check_range(const struct rtgt_conn *c, const struct rtgt_work *w,
		       const struct rtgt_kind *k, struct rtgt_err *err)
{
	const uint64_t size = c->client.layout[w->region].size;

	if (w->flags & RTGT_WORK_F_UNCHECKED || w->type == RTGT_WORK_ECHO || !size ||
	    rtgt_range_ok(w->remote, w->len, size))
		return 0;
	return rtgt_fail(err, ERANGE, "%s of %llu bytes at %llu: the region has %llu", k->name,
			 (unsigned long long)w->len, (unsigned long long)w->remote,
			 (unsigned long long)size);
}

static int check_local(const struct rtgt_conn *c, const struct rtgt_work *w,
		       const struct rtgt_kind *k, struct rtgt_err *err)
{
	const struct rtgt_buffer *b = w->buffer;

	if (!k->bytes)
		return 0;
	if (!b)
		return rtgt_fail(err, EINVAL, "a %s without a buffer", k->name);
	if (b->domain != c->domain)
		return rtgt_fail(err, EXDEV, "the buffer belongs to another domain");
	if (k->access & ~b->flags)
		return rtgt_fail(err, EACCES, "%s: the buffer was not made with RTGT_BUFFER_%s",
				 k->name, k->name);
	if (!rtgt_range_ok(w->local, w->len, b->mr.len) ||
	    (w->type == RTGT_WORK_ECHO && !rtgt_range_ok(w->back, w->len, b->mr.len)))
		return rtgt_fail(err, ERANGE, "%s of %llu bytes at %llu of a buffer of %zu",
				 k->name, (unsigned long long)w->len, (unsigned long long)w->local,
				 b->mr.len);
	return 0;
}

static int check_work(const struct rtgt_conn *c, const struct rtgt_work *w, struct rtgt_err *err)
{
	const uint64_t max = w->type == RTGT_WORK_ECHO ? c->client.payload : LEN_MAX;
	const struct rtgt_kind *k;
	int ret;

	if (w->size < offsetof(struct rtgt_work, swap) + sizeof(w->swap))
		return rtgt_fail(err, EINVAL, "work.size is not sizeof(struct rtgt_work)");
	if (!rtgt_tail_is_clear(w, w->size, sizeof(*w)))
		return rtgt_fail(err, E2BIG, "work: this version knows %zu bytes, and more is set",
				 sizeof(*w));
	if (!w->type || w->type > RTGT_WORK_PUSH)
		return rtgt_fail(err, EINVAL, "work.type is %u: this version knows 1 to %u",
				 w->type, RTGT_WORK_PUSH);
	k = &rtgt_kinds[w->type];
	if (w->flags & ~FLAGS)
		return rtgt_fail(err, EINVAL, "work.flags 0x%x: this version knows 0x%x",
				 w->flags, FLAGS);
	if (w->region >= c->client.peer.nr)
		return rtgt_fail(err, EINVAL, "region %u: the target has %u", w->region,
				 c->client.peer.nr);
	if (k->atomic && w->len != 8)
		return rtgt_fail(err, EINVAL, "%s of %llu bytes: it has 8", k->name,
				 (unsigned long long)w->len);
	if (k->needs & ~c->client.qp.can)
		return rtgt_fail(err, EOPNOTSUPP, "the device has no %s", k->name);
	if (k->answered && !c->client.peer.rtgt)
		return rtgt_fail(err, EOPNOTSUPP,
				 "the server gave a plain capability: it does not answer a %s",
				 k->name);
	if (w->len > max)
		return rtgt_fail(err, ERANGE, "%s of %llu bytes: at most %llu", k->name,
				 (unsigned long long)w->len, (unsigned long long)max);
	ret = check_range(c, w, k, err);
	return ret ? ret : check_local(c, w, k, err);
}

/**
 * rtgt_submit() - begin an operation
 * @conn: open
 * @work: what; copied
 * @err: says what is wrong
 *
 * Operations of one connection begin in the order in which they are submitted, and may end in
 * another one.
 *
 * Context: does not wait, unless the send queue is full of work requests that asked for no
 * completion, and nothing is outstanding any more: then until one of them has completed.
 * Return: 0; -EAGAIN when the send queue is full, or as many operations are outstanding as the
 * connection allows, or as many messages as the target has receives, or while a range that crosses
 * from one extent into the next is not posted as a whole: take completions first; -EINVAL, -ERANGE,
 * -EXDEV, -EACCES or -E2BIG for a wrong value; -EOPNOTSUPP for what the device or the target
 * cannot; -ETIMEDOUT, -ECANCELED or -EINTR where it waits; or the error of the connection, which
 * has ended then.
 */
int rtgt_submit(struct rtgt_conn *conn, const struct rtgt_work *work, struct rtgt_err *err)
{
	struct rtgt_work copy;
	int ret;

	if (conn->client.broken)
		return rtgt_client_failed(&conn->client, err);
	ret = check_work(conn, work, err);
	if (ret)
		return ret;
	ret = rtgt_sent_room(&conn->client, err);
	if (ret)
		return ret;
	copy = *work;
	if (!rtgt_kinds[work->type].bytes)
		copy.buffer = NULL;
	return rtgt_client_submit(&conn->client, &copy, copy.buffer ? &copy.buffer->mr : NULL, NULL,
				  err);
}

/**
 * rtgt_complete() - take what is done
 * @conn: open
 * @done: filled
 * @max: how many fit there, at least 1
 * @err: says what is wrong
 *
 * With rtgt_fd(): call this until it returns 0, then wait until the descriptor is readable.  That
 * nothing is lost in between is this function's business.
 *
 * Context: does not wait.
 * Return: how many, 0 if nothing is done, or the negative errno of the connection, which has ended
 * then and has no operation left.
 */
int rtgt_complete(struct rtgt_conn *conn, struct rtgt_done *done, uint32_t max,
		  struct rtgt_err *err)
{
	/* who waits by itself knows that the descriptor is readable, and not why */
	conn->client.readable = true;
	return rtgt_client_complete(&conn->client, done, max, true, err);
}

/**
 * rtgt_wait() - take what is done, and wait until something is
 * @conn: open
 * @done: filled
 * @max: how many fit there, at least 1
 * @timeout_ms: how long to wait; 0 does not, a negative one waits as long as it takes
 * @err: says what is wrong
 *
 * After -ETIMEDOUT, -ECANCELED and -EINTR everything is as before: the operations are outstanding.
 * Also where nothing is, the completion queue is armed: who measures an operation may call this
 * before, and saves a system call within.
 *
 * Context: sleeps, or with RTGT_PARAM_BUSY_POLL spins.
 * Return: how many, at least 1, or a negative errno: -ENOENT when nothing is outstanding, -EDEADLK
 * when all that is was submitted with RTGT_WORK_F_UNSIGNALED and has no reply, -ETIMEDOUT,
 * -ECANCELED, -EINTR, or the error of the connection, which has ended then.
 */
int rtgt_wait(struct rtgt_conn *conn, struct rtgt_done *done, uint32_t max, int timeout_ms,
	      struct rtgt_err *err)
{
	/* who waits by itself as well need not see the descriptor readable for nothing */
	conn->client.readable |= conn->epoll >= 0;
	return rtgt_client_wait(&conn->client, done, max, timeout_ms, err);
}

/**
 * rtgt_done_error() - why an operation failed
 * @conn: its connection
 * @done: from rtgt_complete() or rtgt_wait()
 * @err: filled, if it did.  If it ended with its connection, this says why the connection ended
 *
 * Return: 0 if it did not, or a negative errno.
 */
int rtgt_done_error(const struct rtgt_conn *conn, const struct rtgt_done *done,
		    struct rtgt_err *err)
{
	return rtgt_client_why(&conn->client, done, err);
}

/**
 * rtgt_version() - which library this is
 *
 * Return: its version, as the module's and the tool's.
 */
const char *rtgt_version(void)
{
	return RTGT_TOOL_VERSION;
}
