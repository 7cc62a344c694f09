/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The TCP server, for the command and for whoever else wants one.  See tcp_serve.c.
 */
#ifndef RTGT_TCP_SERVE_H
#define RTGT_TCP_SERVE_H

#include <stdatomic.h>
#include <stdint.h>

#include <rtgt/log.h>

/**
 * struct tcp_server - a listener and the memory behind it
 * @fd: the listening socket
 * @mem: what clients write and read; all of them the same
 * @size: bytes of it
 * @connections: there are
 */
struct tcp_server {
	int fd;
	uint8_t *mem;
	uint64_t size;
	atomic_uint connections;
};

int tcp_server_open(struct tcp_server *s, const char *address, const char *service, uint64_t size,
		    struct rtgt_err *err);
int tcp_server_run(struct tcp_server *s, int stop, struct rtgt_err *err);
void tcp_server_close(struct tcp_server *s);

#endif /* RTGT_TCP_SERVE_H */
