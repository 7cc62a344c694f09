/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * librtgt: connect to a target of rtgt and do operations to its regions.
 *
 *	rtgt_domain_open()	the device on the way to a host, and a protection domain
 *	rtgt_buffer_create()	memory that is registered there
 *	rtgt_connect()		a connection; several may use one domain
 *	rtgt_submit()		begin an operation
 *	rtgt_complete()		take what is done, without waiting
 *	rtgt_wait()		take what is done, and wait for it
 *	rtgt_fd()		for poll(), select() and epoll: readable when something may be done;
 *				call rtgt_complete() until it returns 0 before waiting again
 *
 * This header is all that is public, and librtgt.so.1 exports what stands in it; rtgt/uapi.h has
 * the protocol, with the names of the target's statuses.  A structure that begins with "size" may
 * grow at its end: set it to sizeof, and clear what you do not use.  What an older library does not
 * know and is not 0 it refuses with -E2BIG.
 *
 * A function that can fail returns a negative errno and leaves a sentence in the caller's struct
 * rtgt_err.  No function prints anything.  A connection is used by one thread at a time; different
 * connections of one domain may be used by different threads.
 */
#ifndef RTGT_RTGT_H
#define RTGT_RTGT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTGT_API_VERSION	1

struct rtgt_domain;
struct rtgt_buffer;
struct rtgt_conn;

/**
 * struct rtgt_err - why something failed
 * @code: errno value; 0 while nothing failed
 * @wc_status: enum ibv_wc_status of the completion that failed; 0 when none did
 * @vendor_err: the device's own code of that completion
 * @target_status: enum rtgt_status (rtgt/uapi.h) of the reply that refused; 0 when none did
 * @reject: enum rtgt_rej_reason (rtgt/uapi.h) when the target refused the connection; 0 when it
 *	    did not, or gave no reason of its own
 * @reserved: 0
 * @text: one sentence: what is wrong and what to do; no newline
 */
struct rtgt_err {
	int code;
	int wc_status;
	uint32_t vendor_err;
	int target_status;
	uint32_t reject;
	uint32_t reserved[3];
	char text[512];
};

/* struct rtgt_params.flags */
#define RTGT_PARAM_BUSY_POLL	0x1u	/* no completion events: rtgt_wait() spins, no rtgt_fd() */

#define RTGT_DEPTH_MAX		1024
#define RTGT_PAYLOAD_MAX	2097136

/**
 * struct rtgt_params - where to connect to, and how
 * @size: sizeof(struct rtgt_params)
 * @flags: RTGT_PARAM_*
 * @host: name or address
 * @port: number, as text; NULL is "7471"
 * @source: name or address to connect from; NULL leaves it to the routing table
 * @timeout_ms: bound of each step of connecting, at least 1; 0 is 10000
 * @depth: operations that may be outstanding, at most RTGT_DEPTH_MAX; 0 is 16
 * @payload: bytes of the largest SEND, at most RTGT_PAYLOAD_MAX; 0 is 4096.  The target's port may
 *	     allow less: rtgt_conn_payload()
 * @cancel_fd: ends any wait of the library with -ECANCELED while it is readable, or its other end
 *	       is closed: an eventfd(2) or a pipe of the caller's, which stays open as long as
 *	       the domain or the connection; 0 or below for none.  To look up a name may take longer
 *
 * The strings are copied.
 */
struct rtgt_params {
	uint32_t size;
	uint32_t flags;
	const char *host;
	const char *port;
	const char *source;
	int timeout_ms;
	uint32_t depth;
	uint32_t payload;
	int cancel_fd;
};

/**
 * enum rtgt_work_type - an operation
 * @RTGT_WORK_WRITE: bytes of the buffer into the region
 * @RTGT_WORK_READ: bytes of the region into the buffer
 * @RTGT_WORK_WRITE_IMM: WRITE with an immediate, of which the target tells how many bytes came
 * @RTGT_WORK_ECHO: SEND bytes; the target returns them, and they are stored at @back
 * @RTGT_WORK_CAS: COMPARE_AND_SWAP of 8 bytes; what was there before comes into the buffer
 * @RTGT_WORK_FAA: FETCH_AND_ADD of 8 bytes, likewise
 * @RTGT_WORK_ATOMIC_WRITE: 8 bytes of the buffer, all of them at once
 * @RTGT_WORK_FLUSH: what was written to this range before is in the target's memory then
 * @RTGT_WORK_CHECKSUM: the target computes the CRC-32 of the range (the one of zlib)
 * @RTGT_WORK_PULL: the target READs the buffer into its region
 * @RTGT_WORK_PUSH: the target WRITEs its region into the buffer
 */
enum rtgt_work_type {
	RTGT_WORK_WRITE		= 1,
	RTGT_WORK_READ		= 2,
	RTGT_WORK_WRITE_IMM	= 3,
	RTGT_WORK_ECHO		= 4,
	RTGT_WORK_CAS		= 5,
	RTGT_WORK_FAA		= 6,
	RTGT_WORK_ATOMIC_WRITE	= 7,
	RTGT_WORK_FLUSH		= 8,
	RTGT_WORK_CHECKSUM	= 9,
	RTGT_WORK_PULL		= 10,
	RTGT_WORK_PUSH		= 11,
};

/* struct rtgt_work.flags */
#define RTGT_WORK_F_UNCHECKED	0x1u	/* a range outside the region: let the target refuse it */
#define RTGT_WORK_F_FENCE	0x2u	/* begins when the READs and atomics before it are done */
/*
 * No completion of its own: it is done when its reply has come, or if it has none, when an
 * operation behind it is done that was submitted without this.  That costs less.  Until then the
 * device may hold its buffer, which cannot be destroyed
 */
#define RTGT_WORK_F_UNSIGNALED	0x4u

/**
 * struct rtgt_work - an operation to submit
 * @size: sizeof(struct rtgt_work)
 * @type: enum rtgt_work_type
 * @id: the caller's; comes back in struct rtgt_done
 * @flags: RTGT_WORK_F_*
 * @region: which of the target's, counted from 0
 * @remote: first byte, counted from the region's beginning
 * @len: bytes, at most 2147483648, of an echo rtgt_conn_payload(); 8 of an atomic
 * @buffer: of the connection's domain.  It stays until the operation is done
 * @local: first byte of it
 * @back: of an echo: the first byte of the buffer where it is stored
 * @compare_add: what to compare with, or to add
 * @swap: what to store if it is equal
 */
struct rtgt_work {
	uint32_t size;
	uint32_t type;
	uint64_t id;
	uint32_t flags;
	uint32_t region;
	uint64_t remote;
	uint64_t len;
	struct rtgt_buffer *buffer;
	uint64_t local;
	uint64_t back;
	uint64_t compare_add;
	uint64_t swap;
};

/**
 * struct rtgt_done - an operation that is done, or failed
 * @id: the caller's
 * @type: enum rtgt_work_type
 * @error: 0 or a negative errno: -EIO for a completion that failed, -EREMOTEIO for a refusal of
 *	   the target, -EPROTO for a reply that is not to the request, -ECONNRESET and others when
 *	   the connection has ended before.  rtgt_done_error() says why
 * @wc_status: as in struct rtgt_err
 * @vendor_err: likewise
 * @target_status: likewise
 * @crc: of a checksum
 * @len: bytes that were moved, or that the checksum covers
 * @completion_ns: from the post until its own completion, or that of a later one which tells of
 *		   it; 0 if it had none when the reply came
 * @reply_ns: from the post until the target's reply; 0 for operations that have none
 * @reserved: 0
 */
struct rtgt_done {
	uint64_t id;
	uint32_t type;
	int32_t error;
	int32_t wc_status;
	uint32_t vendor_err;
	int32_t target_status;
	uint32_t crc;
	uint64_t len;
	uint64_t completion_ns;
	uint64_t reply_ns;
	uint64_t reserved[2];
};

/* struct rtgt_region_facts.access */
#define RTGT_REGION_READ	0x1u
#define RTGT_REGION_WRITE	0x2u
#define RTGT_REGION_ATOMIC	0x4u
#define RTGT_REGION_FLUSH	0x8u

/**
 * struct rtgt_region_facts - a region of the target
 * @len: bytes; 0 if the target does not tell
 * @access: RTGT_REGION_*
 * @rkey: of its first byte
 * @reserved: 0
 */
struct rtgt_region_facts {
	uint64_t len;
	uint32_t access;
	uint32_t rkey;
	uint64_t reserved[2];
};

/* rtgt_buffer_create(), rtgt_buffer_register(): what the target may do to it */
#define RTGT_BUFFER_PULL	0x1u	/* READ it */
#define RTGT_BUFFER_PUSH	0x2u	/* WRITE it */

int rtgt_domain_open(struct rtgt_domain **domain, const struct rtgt_params *params,
		     struct rtgt_err *err);
int rtgt_domain_close(struct rtgt_domain *domain, struct rtgt_err *err);
const char *rtgt_domain_device(const struct rtgt_domain *domain);

int rtgt_buffer_create(struct rtgt_buffer **buffer, struct rtgt_domain *domain, uint64_t len,
		       uint32_t flags, struct rtgt_err *err);
int rtgt_buffer_register(struct rtgt_buffer **buffer, struct rtgt_domain *domain, void *bytes,
			 uint64_t len, uint32_t flags, struct rtgt_err *err);
int rtgt_buffer_destroy(struct rtgt_buffer *buffer, struct rtgt_err *err);
void *rtgt_buffer_bytes(const struct rtgt_buffer *buffer);
uint64_t rtgt_buffer_len(const struct rtgt_buffer *buffer);

int rtgt_connect(struct rtgt_conn **conn, struct rtgt_domain *domain,
		 const struct rtgt_params *params, struct rtgt_err *err);
void rtgt_close(struct rtgt_conn *conn);
uint32_t rtgt_conn_number(const struct rtgt_conn *conn);
uint32_t rtgt_conn_payload(const struct rtgt_conn *conn);
uint32_t rtgt_conn_regions(const struct rtgt_conn *conn);
int rtgt_conn_region(const struct rtgt_conn *conn, uint32_t region,
		     struct rtgt_region_facts *facts, struct rtgt_err *err);

int rtgt_submit(struct rtgt_conn *conn, const struct rtgt_work *work, struct rtgt_err *err);
int rtgt_complete(struct rtgt_conn *conn, struct rtgt_done *done, uint32_t max,
		  struct rtgt_err *err);
int rtgt_wait(struct rtgt_conn *conn, struct rtgt_done *done, uint32_t max, int timeout_ms,
	      struct rtgt_err *err);
uint32_t rtgt_outstanding(const struct rtgt_conn *conn);
int rtgt_fd(const struct rtgt_conn *conn);

int rtgt_done_error(const struct rtgt_conn *conn, const struct rtgt_done *done,
		    struct rtgt_err *err);
int rtgt_done_text(const struct rtgt_done *done, char *text, size_t size);
uint32_t rtgt_crc32(uint32_t crc, const void *bytes, size_t len);
const char *rtgt_version(void);

#ifdef __cplusplus
}
#endif

#endif /* RTGT_RTGT_H */
