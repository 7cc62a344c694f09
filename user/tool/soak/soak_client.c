// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt soak: a connection, in a thread of its own.
 *
 * It keeps operations under way whose ranges do not overlap, so that after each it is known what
 * the memory holds, and compares everything that comes back.  What comes goes to bytes that differ
 * from it in every one, between guards.
 *
 * If the connection fails, and it may be made again, all that is under way is in doubt.  A packet
 * of the old connection may still be on its way, so nothing is done for SETTLE_MS; then the part is
 * read as a whole, and each byte must be one of the two that it can be.
 *
 * Over iWARP a WRITE completes when TCP has its bytes, which may never arrive if the connection
 * fails then.  So it is read back, and under way until it has come.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rtgt/client.h>
#include <rtgt/log.h>
#include <rtgt/pattern.h>
#include "tool/cli/interrupt.h"
#include "soak.h"

/* Around bytes that come, and how many of their first addresses are used in turn */
#define GUARD		64u
#define ALIGNS		64u
#define GUARD_BYTE	0x3c

/* Of a part, which is read as a whole when a connection has been made again */
#define PART		(1u << 20)

#define SETTLE_MS	1000
#define AGAIN_MS	100

/* What no other connection would mend: wrong bytes, a wrong reply, an operation that cannot be */
static bool is_wrong(int ret)
{
	return ret == -EILSEQ || ret == -EPROTO || ret == -EOPNOTSUPP || ret == -ERANGE ||
	       ret == -EXDEV || ret == -E2BIG || ret == -EREMOTEIO;
}

static bool is_final(const struct soak_client *c, int ret)
{
	return !c->s->reconnect || interrupted || atomic_load(&c->s->stop) || is_wrong(ret);
}

static uint64_t operations(const struct soak_client *c)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < SOAK_OPS; i++)
		n += c->counts.done[i];
	return n;
}

static uint8_t *bytes(const struct soak_client *c, uint64_t at)
{
	return (uint8_t *)rtgt_buffer_bytes(c->buffer) + at;
}

static uint64_t number(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static bool is_atomic(const struct soak_cell *cell)
{
	return cell->op->type == RTGT_WORK_CAS || cell->op->type == RTGT_WORK_FAA;
}

/* What an operation that changes the region makes of its range */
static const uint8_t *result(const struct soak_client *c, const struct soak_cell *cell)
{
	return is_atomic(cell) ? (const uint8_t *)&cell->value : bytes(c, cell->tx);
}

/* Where the guards around what comes back begin, and how many bytes there are with them */
static uint64_t half(const struct soak_client *c, const struct soak_cell *cell)
{
	return (uint64_t)(cell - c->cell) * c->stride + c->stride / 2;
}

/* What comes back goes between guards, to bytes that all differ from those expected */
static void poison(struct soak_client *c, struct soak_cell *cell, const uint8_t *expected)
{
	memset(bytes(c, half(c, cell)), GUARD_BYTE, c->stride / 2);
	for (uint64_t i = 0; i < cell->len; i++)
		bytes(c, cell->rx)[i] = (uint8_t)~expected[i];
}

static int check_guards(const struct soak_client *c, const struct soak_cell *cell,
			struct rtgt_err *err)
{
	const uint64_t begin = half(c, cell), end = begin + c->stride / 2;
	const uint64_t behind = cell->rx + cell->len;
	struct rtgt_diff diff;

	if (rtgt_bytes_verify(bytes(c, begin), cell->rx - begin, GUARD_BYTE, &diff))
		return rtgt_fail(err, EILSEQ, "a byte %llu in front of the buffer has changed",
				 (unsigned long long)(cell->rx - begin - diff.offset));
	if (rtgt_bytes_verify(bytes(c, behind), end - behind, GUARD_BYTE, &diff))
		return rtgt_fail(err, EILSEQ, "byte %zu behind the buffer has changed",
				 diff.offset);
	return 0;
}

static int check_echo(struct soak_client *c, const struct soak_cell *cell, struct rtgt_err *err)
{
	const uint8_t *sent = bytes(c, cell->tx), *back = bytes(c, cell->rx);

	for (uint64_t i = 0; i < cell->len; i++)
		if (back[i] != sent[i])
			return rtgt_fail(err, EILSEQ, "byte %llu came back as 0x%02x instead of 0x%02x",
					 (unsigned long long)i, back[i], sent[i]);
	c->counts.verified += cell->len;
	return 0;
}

static int check_crc(struct soak_client *c, const struct soak_cell *cell, uint32_t crc,
		     struct rtgt_err *err)
{
	const uint8_t *now = c->model.now + cell->at;
	const uint32_t want = rtgt_crc32(0, now, cell->len);

	if (crc != want)
		return rtgt_fail(err, EILSEQ, "the target's checksum is %08x instead of %08x", crc,
				 want);
	return soak_model_compare(&c->model, cell->at, now, cell->len, &c->counts, err);
}

static int check_old(struct soak_client *c, const struct soak_cell *cell, struct rtgt_err *err)
{
	const uint64_t old = number(bytes(c, cell->rx));

	if (old != cell->want)
		return rtgt_fail(err, EILSEQ, "it was 0x%016llx before instead of 0x%016llx",
				 (unsigned long long)old, (unsigned long long)cell->want);
	return soak_model_compare(&c->model, cell->at, bytes(c, cell->rx), cell->len, &c->counts,
				  err);
}

static int check_done(struct soak_client *c, const struct soak_cell *cell,
		      const struct rtgt_done *done, struct rtgt_err *err)
{
	int ret = 0;

	switch (cell->back ? RTGT_WORK_READ : cell->op->type) {
	case RTGT_WORK_READ:
	case RTGT_WORK_PUSH:
		ret = soak_model_compare(&c->model, cell->at, bytes(c, cell->rx), cell->len,
					 &c->counts, err);
		break;
	case RTGT_WORK_ECHO:
		ret = check_echo(c, cell, err);
		break;
	case RTGT_WORK_CHECKSUM:
		return check_crc(c, cell, done->crc, err);
	case RTGT_WORK_CAS:
	case RTGT_WORK_FAA:
		ret = check_old(c, cell, err);
		break;
	default:
		return 0;
	}
	return ret ? ret : check_guards(c, cell, err);
}

/* An operation has succeeded, if its bytes are right */
static int finish(struct soak_client *c, struct soak_cell *cell, const struct rtgt_done *done)
{
	struct rtgt_err why = { };
	int ret;

	if (c->iwarp && cell->op->type == RTGT_WORK_WRITE && !cell->back) {
		cell->written = true;
		return 0;
	}
	if (cell->back)
		soak_model_set(&c->model, cell->at, result(c, cell), cell->len, cell->number,
			       &c->counts);
	ret = check_done(c, cell, done, &why);
	if (ret)
		return rtgt_fail(&c->err, -ret,
				 "connection %u, operation %u, %s of %llu bytes at region offset %llu: %s",
				 c->index, cell->number, cell->op->name,
				 (unsigned long long)cell->len,
				 (unsigned long long)(c->at + cell->at), why.text);
	if (cell->op->writes && !cell->back)
		soak_model_set(&c->model, cell->at, result(c, cell), cell->len, cell->number,
			       &c->counts);
	c->counts.done[cell->op - soak_ops]++;
	cell->busy = false;
	progress_count(&c->s->progress, 1);
	return 0;
}

/* Wait until at least one operation is done; rtgt_done.id is the index of its cell */
static int take(struct soak_client *c, struct rtgt_done *done)
{
	int n;

	do {
		n = rtgt_wait(c->conn, done, SOAK_DEPTH, (int)c->s->to.timeout * 1000, &c->err);
	} while (n == -EINTR && !interrupted);
	return n;
}

/* Begin to read back what was written, as far as there is room */
static int read_back(struct soak_client *c)
{
	for (unsigned int i = 0; i < c->s->depth; i++) {
		struct soak_cell *cell = &c->cell[i];
		const struct rtgt_work work = {
			.size = sizeof(work), .type = RTGT_WORK_READ, .id = i,
			.region = c->s->region, .remote = c->at + cell->at, .len = cell->len,
			.buffer = c->buffer, .local = cell->rx,
		};
		int ret;

		if (!cell->busy || !cell->written || cell->back)
			continue;
		poison(c, cell, bytes(c, cell->tx));
		ret = rtgt_submit(c->conn, &work, &c->err);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		cell->back = true;
	}
	return 0;
}

static int take_some(struct soak_client *c)
{
	struct rtgt_done done[SOAK_DEPTH];
	int ret = read_back(c), n;

	if (ret)
		return ret;
	n = take(c, done);
	/* what has succeeded is looked at, whatever else has failed */
	for (int i = 0; i < n && !ret; i++)
		if (!done[i].error)
			ret = finish(c, &c->cell[done[i].id], &done[i]);
	for (int i = 0; i < n && !ret; i++)
		if (done[i].error)
			ret = rtgt_done_error(c->conn, &done[i], &c->err);
	return n < 0 ? n : ret;
}

/* One operation, while nothing is under way, that no model follows */
static int do_one(struct soak_client *c, uint32_t type, uint64_t at, uint64_t len, uint64_t local)
{
	const struct rtgt_work work = {
		.size = sizeof(work), .type = type, .region = c->s->region, .remote = c->at + at,
		.len = len, .buffer = c->buffer, .local = local,
	};
	struct rtgt_done done;
	int ret = rtgt_submit(c->conn, &work, &c->err);

	if (!ret)
		ret = take(c, &done);
	return ret < 0 ? ret : rtgt_done_error(c->conn, &done, &c->err);
}

/* Nothing is under way: is the part as it must be?  On a new connection (@anew) it may be new */
static int read_part(struct soak_client *c, bool anew)
{
	uint8_t *all = malloc(c->model.len), *data = bytes(c, 0);
	struct rtgt_err why = { };
	int ret = all ? 0 : rtgt_fail(&c->err, ENOMEM, "no memory");

	for (uint64_t at = 0, len; at < c->model.len && !ret; at += len) {
		len = c->model.len - at < c->s->size ? c->model.len - at : c->s->size;
		for (uint64_t i = 0; i < len; i++)
			data[i] = (uint8_t)~c->model.now[at + i];
		ret = do_one(c, RTGT_WORK_READ, at, len, 0);
		if (!ret)
			memcpy(all + at, data, len);
	}
	if (!ret && anew && c->s->renews && soak_model_renewed(&c->model, all)) {
		c->counts.renewed++;
		c->counts.unread += soak_model_fresh(&c->model);
	} else if (!ret) {
		ret = soak_model_compare(&c->model, 0, all, c->model.len, &c->counts, &why);
		if (ret)
			rtgt_fail(&c->err, -ret,
				  "connection %u, all of its part, from region offset %llu: %s",
				  c->index, (unsigned long long)c->at, why.text);
	}
	if (!ret)
		soak_model_learn(&c->model, 0, all, c->model.len);
	free(all);
	return ret;
}

/* The first connection: write the part, or learn what is there if that is not granted */
static int fill_part(struct soak_client *c, bool write)
{
	uint8_t *data = bytes(c, 0);
	int ret = 0;

	for (uint64_t at = 0, len; at < c->model.len && !ret; at += len) {
		len = c->model.len - at < c->s->size ? c->model.len - at : c->s->size;
		if (write)
			rtgt_pattern_fill(data, len, soak_random(c));
		ret = do_one(c, write ? RTGT_WORK_WRITE : RTGT_WORK_READ, at, len, 0);
		if (!ret)
			soak_model_learn(&c->model, at, data, len);
	}
	return ret ? ret : read_part(c, false);
}

/* Does the range of an operation that changes it meet one that is under way? */
static bool meets(const struct soak_client *c, const struct soak_cell *next)
{
	for (unsigned int i = 0; i < c->s->depth; i++) {
		const struct soak_cell *cell = &c->cell[i];

		if (cell->busy && (cell->op->writes || next->op->writes) &&
		    cell->at < next->at + next->len && next->at < cell->at + cell->len)
			return true;
	}
	return false;
}

static struct soak_cell *room(struct soak_client *c, const struct soak_cell *next)
{
	if (!meets(c, next))
		for (unsigned int i = 0; i < c->s->depth; i++)
			if (!c->cell[i].busy)
				return &c->cell[i];
	return NULL;
}

/* The data of an operation, and its request */
static void prepare(struct soak_client *c, struct soak_cell *cell, struct rtgt_work *work)
{
	const uint8_t *now = c->model.now + cell->at;

	cell->tx = (uint64_t)(cell - c->cell) * c->stride + soak_random(c) % ALIGNS;
	cell->rx = half(c, cell) + GUARD + soak_random(c) % ALIGNS;
	*work = (struct rtgt_work) {
		.size = sizeof(*work), .type = cell->op->type, .id = (uint64_t)(cell - c->cell),
		.region = c->s->region, .remote = c->at + cell->at, .len = cell->len,
		.buffer = c->buffer, .local = cell->tx, .back = cell->rx,
	};
	rtgt_pattern_fill(bytes(c, cell->tx), cell->len, soak_random(c));
	poison(c, cell, cell->op->type == RTGT_WORK_ECHO ? bytes(c, cell->tx) : now);
	if (cell->op->type == RTGT_WORK_READ || cell->op->type == RTGT_WORK_PUSH ||
	    is_atomic(cell))
		work->local = cell->rx;
	if (!is_atomic(cell))
		return;
	cell->want = number(now);
	if (cell->op->type == RTGT_WORK_FAA) {
		work->compare_add = soak_random(c);
		cell->value = cell->want + work->compare_add;
		return;
	}
	/* one in four compares with another value, and must change nothing */
	work->compare_add = soak_random(c) % 4 ? cell->want : ~cell->want;
	work->swap = soak_random(c);
	cell->value = work->compare_add == cell->want ? work->swap : cell->want;
}

/* The next operation */
static int begin(struct soak_client *c)
{
	struct soak_cell next = { .busy = true, .number = ++c->number }, *cell;
	const unsigned int bit = 1u << (soak_draw(c, &next) - soak_ops);
	struct rtgt_work work;
	int ret = 0;

	for (cell = room(c, &next); !cell && !ret; cell = room(c, &next))
		ret = take_some(c);
	if (ret)
		return ret;
	*cell = next;
	prepare(c, cell, &work);
	for (ret = rtgt_submit(c->conn, &work, &c->err); ret == -EAGAIN && !(ret = take_some(c));)
		ret = rtgt_submit(c->conn, &work, &c->err);
	/* of one that failed otherwise a part may have been posted: it stays under way */
	if (ret != -EOPNOTSUPP)
		return ret;
	cell->busy = false;
	/* what nobody requested may be impossible */
	if (c->s->asked & bit || !(c->ops & ~bit))
		return ret;
	c->ops &= ~bit;
	c->number--;
	return 0;
}

static bool is_enough(const struct soak_client *c)
{
	return c->s->count ? c->number >= c->s->count : rtgt_now_ns() >= c->s->end_ns;
}

static bool is_busy(const struct soak_client *c)
{
	for (unsigned int i = 0; i < c->s->depth; i++)
		if (c->cell[i].busy)
			return true;
	return false;
}

/* Operations until it is enough, and what they have left */
static int operate(struct soak_client *c)
{
	int ret = 0;

	while (!ret && !is_enough(c))
		ret = interrupted || atomic_load(&c->s->stop) ? -ECANCELED : begin(c);
	while (!ret && is_busy(c))
		ret = take_some(c);
	return ret ? ret : read_part(c, false);
}

static int choose(struct soak_client *c, const struct rtgt_region_facts *region)
{
	const struct soak *s = c->s;

	c->ops = 0;
	for (unsigned int i = 0; i < SOAK_OPS; i++) {
		const struct soak_op *op = &soak_ops[i];
		const bool granted = (region->access & op->access) == op->access;

		if (s->asked >> i & 1 && !granted)
			return rtgt_fail(&c->err, EACCES,
					 "region %u does not allow %s (there: rtgt region set PORT/NAME access)",
					 s->region, op->name);
		if (granted && (s->asked ? s->asked >> i & 1 : !op->extra))
			c->ops |= 1u << i;
	}
	if (!(region->access & RTGT_REGION_READ))
		return rtgt_fail(&c->err, EACCES,
				 "region %u does not allow READ, and nothing could be compared (there: rtgt region set PORT/NAME access)",
				 s->region);
	return 0;
}

/* The connection's part of the region */
static int take_part(struct soak_client *c)
{
	struct rtgt_region_facts region;
	int ret = rtgt_conn_region(c->conn, c->s->region, &region, &c->err);
	uint64_t part;

	if (ret)
		return ret;
	part = region.len / c->s->conns & ~63ull;
	if (part > PART)
		part = PART;
	if (part < 64)
		return rtgt_fail(&c->err, ERANGE,
				 "region %u has %llu bytes: 64 for each connection are needed",
				 c->s->region, (unsigned long long)region.len);
	ret = choose(c, &region);
	if (ret)
		return ret;
	if (c->model.len) {
		if (part != c->model.len)
			return rtgt_fail(&c->err, ERANGE, "region %u has another size now",
					 c->s->region);
		return read_part(c, true);
	}
	ret = soak_model_create(&c->model, part);
	c->at = c->index * part;
	if (!ret)
		ret = fill_part(c, region.access & RTGT_REGION_WRITE);
	else
		rtgt_fail(&c->err, -ret, "no memory");
	if (ret) {
		soak_model_destroy(&c->model);
		memset(&c->model, 0, sizeof(c->model));
	}
	return ret;
}

static int connect_once(struct soak_client *c)
{
	const struct soak *s = c->s;
	const struct rtgt_params params = {
		.size = sizeof(params), .host = s->to.host, .port = s->to.service,
		.source = s->to.source, .timeout_ms = (int)s->to.timeout * 1000,
		.depth = s->depth, .payload = (uint32_t)s->size, .cancel_fd = s->cancel,
	};
	int ret = rtgt_domain_open(&c->domain, &params, &c->err);

	/* half of a cell for the bytes to send, half for those that come back, with guards */
	c->stride = 2 * ((s->size + 2 * GUARD + ALIGNS + 63) & ~63ull);
	if (!ret)
		ret = rtgt_buffer_create(&c->buffer, c->domain, c->stride * s->depth,
					 RTGT_BUFFER_PULL | RTGT_BUFFER_PUSH, &c->err);
	if (!ret)
		ret = rtgt_connect(&c->conn, c->domain, &params, &c->err);
	if (ret)
		return ret;
	c->counts.connected++;
	c->payload = rtgt_conn_payload(c->conn);
	c->iwarp = rtgt_conn_client(c->conn)->qp.qp->context->device->transport_type ==
		   IBV_TRANSPORT_IWARP;
	return take_part(c);
}

/* What was under way may have been done, or not */
static void drop(struct soak_client *c)
{
	struct rtgt_err err;

	for (unsigned int i = 0; i < c->s->depth; i++) {
		struct soak_cell *cell = &c->cell[i];

		if (cell->busy && cell->op->writes)
			soak_model_doubt(&c->model, cell->at, result(c, cell), cell->len);
		cell->busy = false;
	}
	if (c->conn)
		rtgt_close(c->conn);
	if (c->buffer && rtgt_buffer_destroy(c->buffer, &err))
		soak_failed(c->s, err.text);
	if (c->domain && rtgt_domain_close(c->domain, &err))
		soak_failed(c->s, err.text);
	c->conn = NULL;
	c->buffer = NULL;
	c->domain = NULL;
}

static void nap(const struct soak_client *c, int ms)
{
	struct pollfd fd = { .fd = c->s->cancel, .events = POLLIN };

	poll(&fd, 1, ms);
}

/* The thread; its result is in c->ret and c->err */
void *soak_client_run(void *arg)
{
	struct soak_client *c = arg;
	uint64_t since = 0, done = 0;
	bool connected;

	for (;;) {
		c->ret = connect_once(c);
		if (!c->ret)
			c->ret = operate(c);
		if (!c->ret || is_final(c, c->ret))
			break;
		soak_failed(c->s, c->err.text);
		/* how long has no operation succeeded? */
		if (!since || done != operations(c)) {
			since = rtgt_now_ns();
			done = operations(c);
		}
		if (rtgt_now_ns() - since > c->s->reconnect * 1000000000ull)
			break;
		connected = c->conn;
		drop(c);
		nap(c, connected ? SETTLE_MS : AGAIN_MS);
	}
	/* what fails as it is interrupted fails for that, unless it is wrong */
	if (c->ret && interrupted && !is_wrong(c->ret))
		c->ret = -ECANCELED;
	if (c->ret && c->ret != -ECANCELED && !atomic_exchange(&c->s->stop, true))
		c->s->failed = c;
	drop(c);
	c->counts.unread += soak_model_fresh(&c->model);
	soak_model_destroy(&c->model);
	return NULL;
}
