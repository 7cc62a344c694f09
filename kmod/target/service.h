/* SPDX-License-Identifier: GPL-2.0 */
/* The service of a port: the protocol it serves, and the transports for it. */
#ifndef _RTGT_SERVICE_H
#define _RTGT_SERVICE_H

#include <linux/list.h>
#include <linux/types.h>

struct module;
struct rtgt_conn;
struct rtgt_recv_ctx;

/* Transport of the QPs of a port */
enum rtgt_transport {
	RTGT_RC,	/* reliable connected */
	RTGT_UC,	/* unreliable connected */
	RTGT_UD,	/* unreliable datagram: one QP for all clients of a device */
};

/*
 * A protocol that a port serves.  A function that gets @recv owns it until it calls one of
 * rtgt_recv_release(), rtgt_reply(), rtgt_send() and rtgt_recv_defer(); work() may also call
 * rtgt_rw_post().
 */
struct rtgt_service {
	const char *name;	/* value of the attribute "service" */
	struct module *owner;	/* another module, which a port with the service keeps; or NULL */
	struct list_head entry;	/* rtgt_service_register() uses it */
	u32 transports;		/* bits of enum rtgt_transport: those that it supports */
	u32 conn_bytes;		/* bytes that setup() allocates */
	u32 rws;		/* rw contexts of a connection, 0 if it transfers nothing */
	bool needs_region;	/* a port without a region cannot be enabled */
	bool shared;		/* a port with "scope private" cannot be enabled */
	bool rep_only;	/* only the REP has capabilities: with regions, iWARP cannot be served */
	/*
	 * Validate the private data of a REQ and set the flags of @conn; returns 0, or an
	 * rtgt_rej_reason with @arg set.  CM handler
	 */
	int (*request)(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
	/* write at most @size bytes of the REP's private data; returns their number.  May sleep */
	size_t (*reply)(const struct rtgt_conn *conn, void *priv, size_t size);
	/*
	 * Allocate and free rtgt_conn.service_priv; both may be NULL.  The QP and its contexts
	 * exist at setup().  At teardown() the QP is destroyed, the device still exists; it is also
	 * called if setup() failed or did not run.  May sleep
	 */
	int (*setup)(struct rtgt_conn *conn);
	void (*teardown)(struct rtgt_conn *conn);
	/* a SEND arrived.  Completion context, or process context on a UD port */
	void (*message)(struct rtgt_recv_ctx *recv);
	/* an immediate arrived.  Completion context */
	void (*imm)(struct rtgt_recv_ctx *recv);
	/* continue a request that was deferred; NULL if none is.  Process context */
	void (*work)(struct rtgt_recv_ctx *recv);
	/* the transfer of a request has completed; NULL without @rws.  Completion context */
	void (*moved)(struct rtgt_recv_ctx *recv);
	/*
	 * Of a service whose clients speak as those of the service rtgt: a client tells, with an
	 * immediate that requests a reply or with an ECHO, that it has written what it had to.
	 * Ends in rtgt_service_answer() or rtgt_recv_park(), and is called again after
	 * rtgt_conn_resume().  NULL: the reply is sent at once.  Process context, one request of a
	 * peer at a time
	 */
	void (*announced)(struct rtgt_recv_ctx *recv);
};

/*
 * For services of other modules.  A service that has announced() and no message() gets the
 * functions of the service rtgt for all that it does not have.
 */
int rtgt_service_register(struct rtgt_service *service);
void rtgt_service_unregister(struct rtgt_service *service);
struct rtgt_conn *rtgt_service_conn(const struct rtgt_recv_ctx *recv);
void **rtgt_service_priv(struct rtgt_conn *conn);
const void *rtgt_service_port(const struct rtgt_conn *conn);
u32 rtgt_service_conn_id(const struct rtgt_conn *conn);
void *rtgt_service_memory(struct rtgt_conn *conn, unsigned int region, u64 offset, u64 len,
			  u64 *here);
void rtgt_service_sync(struct rtgt_conn *conn, unsigned int region, u64 offset, u64 len,
		       bool for_cpu);
void rtgt_service_answer(struct rtgt_recv_ctx *recv, u32 status);
void rtgt_recv_park(struct rtgt_recv_ctx *recv);
bool rtgt_recv_parked(const struct rtgt_recv_ctx *recv);
void rtgt_conn_resume(struct rtgt_conn *conn);

/* services.c: the table, and what several services use */
int rtgt_service_accept_any(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
size_t rtgt_service_capability(const struct rtgt_conn *conn, void *priv, size_t size);
size_t rtgt_service_endpoint(const struct rtgt_conn *conn, void *priv, size_t size);
int rtgt_service_set(const struct rtgt_service **at, const char *name);
ssize_t rtgt_service_show(const struct rtgt_service *const *at, char *page);
void rtgt_service_put(const struct rtgt_service *service);
ssize_t rtgt_services_show(char *page, ssize_t len);
bool rtgt_service_speaks_rtgt(const struct rtgt_service *service);

/* service_NAME.c */
extern const struct rtgt_service rtgt_service_rping;
extern const struct rtgt_service rtgt_service_rping_inv;
extern const struct rtgt_service rtgt_service_rtgt;
extern const struct rtgt_service rtgt_service_sink;

#endif /* _RTGT_SERVICE_H */
