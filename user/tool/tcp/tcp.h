/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The operations of RDMA done over TCP, to compare the two.  See tcp.c.
 */
#ifndef RTGT_TCP_H
#define RTGT_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtgt/log.h>

#define RTGT_TCP_PORT		7472
#define RTGT_TCP_MAGIC		0x52544350u	/* "RTCP" */
#define RTGT_TCP_VERSION	1
#define RTGT_TCP_ECHO_MAX	(16u << 20)

/**
 * enum rtgt_tcp_op - what a message asks for
 * @RTGT_TCP_HELLO: the first: answered with the size of the server's memory
 * @RTGT_TCP_WRITE: the bytes behind the head go to its offset; answered, when they
 *		    are there, if RTGT_TCP_ACK is set
 * @RTGT_TCP_READ: answered with as many bytes from there
 * @RTGT_TCP_ECHO: the bytes behind the head come back
 * @RTGT_TCP_CHECKSUM: answered with the CRC-32 of as many bytes from there
 */
enum rtgt_tcp_op {
	RTGT_TCP_HELLO		= 1,
	RTGT_TCP_WRITE		= 2,
	RTGT_TCP_READ		= 3,
	RTGT_TCP_ECHO		= 4,
	RTGT_TCP_CHECKSUM	= 5,
};

/* in rtgt_tcp_head.flags */
#define RTGT_TCP_ACK		0x1U	/* of a WRITE: tell me when the bytes are there */
#define RTGT_TCP_REPLY		0x2U	/* it is an answer */

/**
 * enum rtgt_tcp_status - how a request ended
 * @RTGT_TCP_OK: done
 * @RTGT_TCP_BAD: not a message of this version; the server hangs up
 * @RTGT_TCP_RANGE: not inside the server's memory; likewise
 */
enum rtgt_tcp_status {
	RTGT_TCP_OK	= 0,
	RTGT_TCP_BAD	= 1,
	RTGT_TCP_RANGE	= 2,
};

/**
 * struct rtgt_tcp_head - the head of every message, in network byte order
 * @magic: RTGT_TCP_MAGIC
 * @version: RTGT_TCP_VERSION
 * @op: enum rtgt_tcp_op, in an answer that of the request
 * @flags: RTGT_TCP_*
 * @status: enum rtgt_tcp_status; 0 in a request
 * @tag: the client's, returned as it came
 * @len: bytes that are written, read, sent back or summed up
 * @offset: of the first in the server's memory; in the answer to HELLO its size
 * @crc: in the answer to CHECKSUM, otherwise 0
 * @rsvd: 0
 */
struct rtgt_tcp_head {
	uint32_t magic;
	uint8_t version;
	uint8_t op;
	uint8_t flags;
	uint8_t status;
	uint32_t tag;
	uint32_t len;
	uint64_t offset;
	uint32_t crc;
	uint32_t rsvd;
} __attribute__((packed));

/**
 * struct rtgt_tcp_io - a message on its way
 * @head: its head
 * @body: the bytes behind it; the caller's
 * @len: bytes of @body
 * @at: bytes of head and body that have gone, or come
 * @busy: it is on its way
 */
struct rtgt_tcp_io {
	struct rtgt_tcp_head head;
	void *body;
	size_t len;
	size_t at;
	bool busy;
};

/**
 * struct rtgt_tcp_param - how to connect
 * @host: name or address
 * @service: port number, as text
 * @source: name or address to connect from; NULL leaves it to the routing table
 * @timeout_ms: bound of each step
 * @poll: spin rather than sleep until something comes
 * @cancel_fd: a wait ends with -ECANCELED while it is readable
 */
struct rtgt_tcp_param {
	const char *host;
	const char *service;
	const char *source;
	int timeout_ms;
	bool poll;
	int cancel_fd;
};

/**
 * struct rtgt_tcp - a connection to a server
 * @fd: the socket; -1 while there is none
 * @param: copied; its strings must outlive the connection
 * @size: bytes of the server's memory
 * @tx: the request that goes out
 * @rx: the answer that is waited for
 * @idle_ns: since when nothing has moved; 0 if something has
 * @spins: of a connection that polls, looks that were in vain
 */
struct rtgt_tcp {
	int fd;
	struct rtgt_tcp_param param;
	uint64_t size;
	struct rtgt_tcp_io tx;
	struct rtgt_tcp_io rx;
	uint64_t idle_ns;
	unsigned int spins;
};

int rtgt_tcp_open(struct rtgt_tcp *t, const struct rtgt_tcp_param *param, struct rtgt_err *err);
void rtgt_tcp_close(struct rtgt_tcp *t);
void rtgt_tcp_send(struct rtgt_tcp *t, enum rtgt_tcp_op op, unsigned int flags, uint32_t tag,
		   uint64_t offset, void *body, uint32_t len);
void rtgt_tcp_expect(struct rtgt_tcp *t, void *body, uint32_t len);
int rtgt_tcp_step(struct rtgt_tcp *t, struct rtgt_err *err);
int rtgt_tcp_answer(const struct rtgt_tcp *t, enum rtgt_tcp_op op, uint32_t tag,
		    struct rtgt_err *err);
int rtgt_tcp_checksum(struct rtgt_tcp *t, uint64_t offset, uint32_t len, uint32_t *crc,
		      struct rtgt_err *err);

int rtgt_tcp_setup(int fd, int timeout_ms);
void rtgt_tcp_head(struct rtgt_tcp_head *head, enum rtgt_tcp_op op, unsigned int flags);
bool rtgt_tcp_head_ok(const struct rtgt_tcp_head *head);

#endif /* RTGT_TCP_H */
