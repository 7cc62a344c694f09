/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is behind the handles of rtgt/rtgt.h.  See domain.c, conn.c and work.c.
 */
#ifndef RTGT_PUBLIC_H
#define RTGT_PUBLIC_H

#include "internal.h"

/**
 * struct rtgt_where - parameters of a connection whose strings are our own
 * @cm: points to the strings
 * @host: copy, or NULL
 * @port: copy, or NULL
 * @source: copy, or NULL
 */
struct rtgt_where {
	struct rtgt_cm_param cm;
	char *host, *port, *source;
};

/**
 * struct rtgt_domain - a device and a protection domain
 * @where: the host on the way to which the device is
 * @cm: resolved, never connected
 * @pd: of all connections and buffers
 * @users: connections and buffers; atomic
 */
struct rtgt_domain {
	struct rtgt_where where;
	struct rtgt_cm cm;
	struct ibv_pd *pd;
	unsigned int users;
};

/**
 * struct rtgt_buffer - registered memory
 * @domain: where it is registered
 * @mr: @mr.base is NULL if the memory is the caller's
 * @flags: RTGT_BUFFER_*
 * @users: operations; atomic
 */
struct rtgt_buffer {
	struct rtgt_domain *domain;
	struct rtgt_mr mr;
	uint32_t flags;
	unsigned int users;
};

/**
 * struct rtgt_conn - a connection
 * @domain: of its buffers
 * @where: parameters
 * @client: the connection itself
 * @epoll: of the completion channel, of the connection's events and of @client.timer; -1 until
 *	   somebody wants it
 */
struct rtgt_conn {
	struct rtgt_domain *domain;
	struct rtgt_where where;
	struct rtgt_client client;
	int epoll;
};

bool rtgt_tail_is_clear(const void *structure, uint32_t size, size_t known);
int rtgt_where_make(struct rtgt_where *where, const struct rtgt_params *params,
		    struct rtgt_err *err);
void rtgt_where_free(struct rtgt_where *where);

#endif /* RTGT_PUBLIC_H */
