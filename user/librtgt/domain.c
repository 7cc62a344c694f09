// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The public library: domains and buffers.
 *
 * A domain is a device and a protection domain.  Its identifier of rdma_cm has no connection: it
 * is there to find the device on the way to a host, and holds it open.  librdmacm opens a device
 * once in a process, so that all connections on the way to it can use the protection domain.
 *
 * Connections and buffers count as users of their domain, operations as users of their buffer:
 * what is used cannot be destroyed, and says so.  The counts are atomic, since different threads
 * may use different connections of a domain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "public.h"

#define TIMEOUT_MS	10000

/* One WR cannot have more, and no ibv_reg_mr() of a driver here takes as much */
#define BUFFER_MAX	(1ull << 40)

static const char *or_null(const char *text, char **copy)
{
	*copy = text ? strdup(text) : NULL;
	return *copy;
}

/**
 * rtgt_tail_is_clear() - does a structure of a later version ask for nothing unknown?
 * @structure: the caller's
 * @size: bytes that the caller says it has
 * @known: bytes that this version knows
 *
 * Return: true if all bytes behind those are 0.
 */
bool rtgt_tail_is_clear(const void *structure, uint32_t size, size_t known)
{
	const uint8_t *byte = structure;

	for (size_t i = known; i < size; i++)
		if (byte[i])
			return false;
	return true;
}

/**
 * rtgt_where_make() - check parameters, and copy the part that says where to connect to
 * @where: filled; rtgt_where_free() is to be called also where this fails
 * @params: the caller's
 * @err: says what is wrong
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int rtgt_where_make(struct rtgt_where *where, const struct rtgt_params *params,
		    struct rtgt_err *err)
{
	memset(where, 0, sizeof(*where));
	if (!params || params->size < offsetof(struct rtgt_params, cancel_fd) + sizeof(int))
		return rtgt_fail(err, EINVAL, "params.size is not sizeof(struct rtgt_params)");
	if (!rtgt_tail_is_clear(params, params->size, sizeof(*params)))
		return rtgt_fail(err, E2BIG, "params: this version knows %zu bytes, and more is set",
				 sizeof(*params));
	if (!params->host || !params->host[0])
		return rtgt_fail(err, EINVAL, "params.host is missing");
	if (params->flags & ~RTGT_PARAM_BUSY_POLL)
		return rtgt_fail(err, EINVAL, "params.flags 0x%x: this version knows 0x%x",
				 params->flags, RTGT_PARAM_BUSY_POLL);
	if (params->timeout_ms < 0)
		return rtgt_fail(err, EINVAL, "params.timeout_ms is %d: at least 1, or 0 for %d",
				 params->timeout_ms, TIMEOUT_MS);
	if (params->depth > RTGT_DEPTH_MAX)
		return rtgt_fail(err, EINVAL, "params.depth is %u: at most %u", params->depth,
				 RTGT_DEPTH_MAX);
	if (params->payload > RTGT_PAYLOAD_MAX)
		return rtgt_fail(err, EINVAL, "params.payload is %u: at most %u", params->payload,
				 RTGT_PAYLOAD_MAX);
	where->cm = (struct rtgt_cm_param) {
		.host = or_null(params->host, &where->host),
		.service = or_null(params->port ? params->port : "7471", &where->port),
		.source = or_null(params->source, &where->source),
		.timeout_ms = params->timeout_ms ? params->timeout_ms : TIMEOUT_MS,
		.cancel_fd = params->cancel_fd > 0 ? params->cancel_fd : 0,
	};
	if (!where->host || !where->port || (params->source && !where->source))
		return rtgt_fail(err, ENOMEM, "no memory for the names of hosts");
	return 0;
}

/**
 * rtgt_where_free() - release the copies
 * @where: made, also where that failed
 */
void rtgt_where_free(struct rtgt_where *where)
{
	free(where->host);
	free(where->port);
	free(where->source);
	memset(where, 0, sizeof(*where));
}

static int make_domain(struct rtgt_domain *d, const struct rtgt_params *params,
		       struct rtgt_err *err)
{
	int ret = rtgt_where_make(&d->where, params, err);

	if (!ret)
		ret = rtgt_cm_resolve(&d->cm, &d->where.cm, err);
	if (ret)
		return ret;
	d->pd = ibv_alloc_pd(d->cm.id->verbs);
	if (!d->pd)
		return rtgt_fail(err, errno, "no protection domain: %s", strerror(errno));
	return 0;
}

static void free_domain(struct rtgt_domain *d)
{
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	rtgt_cm_close(&d->cm);
	rtgt_where_free(&d->where);
	free(d);
}

/**
 * rtgt_domain_open() - make a protection domain on the device that is on the way to a host
 * @domain: set, NULL when this fails; rtgt_domain_close() releases it
 * @params: where to; only host, port, source, timeout_ms and cancel_fd are used
 * @err: says what is wrong
 *
 * Context: waits, at most timeout_ms for each of two steps; to look up a name may take longer.
 * Return: 0 or a negative errno: -EINVAL for a wrong value or name, -ENODEV without an RDMA device,
 * -EACCES without permission for it, -EADDRNOTAVAIL for a source that is not this machine's,
 * -EHOSTUNREACH when nobody answers for the address, -ECANCELED, -EINTR, -ENOMEM.
 */
int rtgt_domain_open(struct rtgt_domain **domain, const struct rtgt_params *params,
		     struct rtgt_err *err)
{
	struct rtgt_domain *d = calloc(1, sizeof(*d));
	int ret;

	*domain = NULL;
	if (!d)
		return rtgt_fail(err, ENOMEM, "no memory for a domain");
	ret = make_domain(d, params, err);
	if (ret)
		free_domain(d);
	else
		*domain = d;
	return ret;
}

/**
 * rtgt_domain_close() - release a domain
 * @domain: open, or NULL
 * @err: says what is wrong
 *
 * Return: 0, or -EBUSY while it has buffers or connections.
 */
int rtgt_domain_close(struct rtgt_domain *domain, struct rtgt_err *err)
{
	unsigned int users;

	if (!domain)
		return 0;
	users = __atomic_load_n(&domain->users, __ATOMIC_ACQUIRE);
	if (users)
		return rtgt_fail(err, EBUSY, "the domain has %u buffers and connections: release them first",
				 users);
	free_domain(domain);
	return 0;
}

/**
 * rtgt_domain_device() - what the kernel calls the device
 * @domain: open
 *
 * Return: a string that lives as long as the domain.
 */
const char *rtgt_domain_device(const struct rtgt_domain *domain)
{
	return ibv_get_device_name(domain->pd->context->device);
}

static int check_buffer(uint64_t len, uint32_t flags, struct rtgt_err *err)
{
	if (!len || len > BUFFER_MAX)
		return rtgt_fail(err, EINVAL, "a buffer of %llu bytes: 1 to %llu",
				 (unsigned long long)len, (unsigned long long)BUFFER_MAX);
	if (flags & ~(RTGT_BUFFER_PULL | RTGT_BUFFER_PUSH))
		return rtgt_fail(err, EINVAL, "flags 0x%x of a buffer: this version knows 0x%x",
				 flags, RTGT_BUFFER_PULL | RTGT_BUFFER_PUSH);
	return 0;
}

static int access_of(uint32_t flags)
{
	return IBV_ACCESS_LOCAL_WRITE |
	       (flags & RTGT_BUFFER_PULL ? IBV_ACCESS_REMOTE_READ : 0) |
	       (flags & RTGT_BUFFER_PUSH ? IBV_ACCESS_REMOTE_WRITE : 0);
}

static const char locked[] = ": be root, or raise the locked-memory limit (ulimit -l)";

static int register_bytes(struct rtgt_mr *m, struct ibv_pd *pd, void *bytes, uint64_t len,
			  int access, struct rtgt_err *err)
{
	m->buf = bytes;
	m->len = len;
	m->mr = ibv_reg_mr(pd, bytes, len, access);
	if (!m->mr)
		return rtgt_fail(err, errno, "registering %llu bytes failed: %s%s",
				 (unsigned long long)len, strerror(errno),
				 errno == ENOMEM || errno == EPERM ? locked : "");
	return 0;
}

/* @bytes: the caller's, or NULL to allocate them */
static int make_buffer(struct rtgt_buffer **buffer, struct rtgt_domain *domain, void *bytes,
		       uint64_t len, uint32_t flags, struct rtgt_err *err)
{
	const int access = access_of(flags);
	int ret = check_buffer(len, flags, err);
	struct rtgt_buffer *b;

	*buffer = NULL;
	if (ret)
		return ret;
	b = calloc(1, sizeof(*b));
	if (!b)
		return rtgt_fail(err, ENOMEM, "no memory for a buffer");
	b->domain = domain;
	b->flags = flags;
	if (bytes)
		ret = register_bytes(&b->mr, domain->pd, bytes, len, access, err);
	else
		ret = rtgt_mr_create(&b->mr, domain->pd, "buffer", len, access, NULL, err);
	if (ret) {
		free(b);
		return ret;
	}
	__atomic_add_fetch(&domain->users, 1, __ATOMIC_RELAXED);
	*buffer = b;
	return 0;
}

/**
 * rtgt_buffer_register() - register memory of the caller's
 * @buffer: set, NULL when this fails; rtgt_buffer_destroy() releases it
 * @domain: open; must outlive the buffer
 * @bytes: the memory, which must outlive the buffer
 * @len: bytes, 1 to 2^40
 * @flags: RTGT_BUFFER_*
 * @err: says what is wrong
 *
 * Return: 0 or a negative errno: -EINVAL, -ENOMEM beyond the limit of locked memory.
 */
int rtgt_buffer_register(struct rtgt_buffer **buffer, struct rtgt_domain *domain, void *bytes,
			 uint64_t len, uint32_t flags, struct rtgt_err *err)
{
	*buffer = NULL;
	if (!bytes)
		return rtgt_fail(err, EINVAL, "a buffer at NULL: rtgt_buffer_create() allocates one");
	return make_buffer(buffer, domain, bytes, len, flags, err);
}

/**
 * rtgt_buffer_create() - allocate and register memory
 * @buffer: set, NULL when this fails; rtgt_buffer_destroy() releases it
 * @domain: open; must outlive the buffer
 * @len: bytes, 1 to 2^40; all are 0
 * @flags: RTGT_BUFFER_*
 * @err: says what is wrong
 *
 * Return: as rtgt_buffer_register().
 */
int rtgt_buffer_create(struct rtgt_buffer **buffer, struct rtgt_domain *domain, uint64_t len,
		       uint32_t flags, struct rtgt_err *err)
{
	return make_buffer(buffer, domain, NULL, len, flags, err);
}

/**
 * rtgt_buffer_destroy() - deregister a buffer, and free what the library allocated
 * @buffer: made, or NULL
 * @err: says what is wrong
 *
 * Return: 0, or -EBUSY while an operation uses it.
 */
int rtgt_buffer_destroy(struct rtgt_buffer *buffer, struct rtgt_err *err)
{
	unsigned int users;

	if (!buffer)
		return 0;
	users = __atomic_load_n(&buffer->users, __ATOMIC_ACQUIRE);
	if (users)
		return rtgt_fail(err, EBUSY, "%u operations use the buffer: take their completions, or close the connection",
				 users);
	rtgt_mr_destroy(&buffer->mr);
	__atomic_sub_fetch(&buffer->domain->users, 1, __ATOMIC_RELEASE);
	free(buffer);
	return 0;
}

/**
 * rtgt_buffer_bytes() - where it is
 * @buffer: made
 *
 * Return: its first byte.
 */
void *rtgt_buffer_bytes(const struct rtgt_buffer *buffer)
{
	return buffer->mr.buf;
}

/**
 * rtgt_buffer_len() - how long it is
 * @buffer: made
 *
 * Return: bytes.
 */
uint64_t rtgt_buffer_len(const struct rtgt_buffer *buffer)
{
	return buffer->mr.len;
}
