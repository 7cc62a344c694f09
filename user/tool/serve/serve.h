/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of rtgt serve share: the target in user space.
 *
 *	serve_out.c	counters, the state directory, what is printed
 *	serve_state.c	the states of a connection, what the loop waits for
 *	serve_pool.c	receive contexts
 *	serve_mem.c	regions: memory, registrations, keys
 *	serve_device.c	devices, and their events
 *	serve_send.c	what a queue pair is given: receives, replies, transfers
 *	serve_way.c	datagrams: address handles, by which they are answered
 *	serve_fault.c	faults that are committed on demand
 *	serve_ops.c	what a request does
 *	serve_io.c	a connection's queue pair and its completions
 *	serve_conn.c	connections: from the REQ to the release
 *	serve_ud.c	datagrams: endpoints
 *	serve_args.c	the command line
 *	serve.c		life of the server, its one loop
 *
 * None of them calls one that stands below it here (scripts/circles).
 *
 * All of it is one thread.  Nothing waits but the loop, and nothing is freed while a
 * completion is being worked on: a connection that ends is marked (serve_close()) and
 * released when the loop comes round.
 */
#ifndef RTGT_SERVE_H
#define RTGT_SERVE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <rtgt/log.h>
#include <rtgt/counters.h>
#include <rtgt/faults.h>
#include <rtgt/proto.h>
#include <rtgt/qp.h>
#include "tool/cli/cli.h"

#define SERVE_NAME	32
#define SERVE_PATH	4096
#define SERVE_PEER	64
#define SERVE_FILL_COUNTER	256

struct server;
struct serve_conn;

/* A region as the command line describes it; @fill is a byte, or SERVE_FILL_COUNTER */
struct serve_spec {
	char name[SERVE_NAME];
	uint64_t size;
	uint32_t access;
	uint16_t fill;
};

/*
 * A fault that is committed on demand, unless @rule.every is 0: at how many opportunities, and how
 * often it was due
 */
struct serve_fault {
	struct rtgt_fault_rule rule;
	uint32_t seen, done;
};

enum serve_transport {
	SERVE_RC,
	SERVE_UC,
	SERVE_UD,
};

struct serve_cfg {
	struct sockaddr_storage addr;
	enum serve_transport transport;
	bool private, srq;
	uint32_t max_conns, recv_size, recv_depth, withhold_max, idle_ms;
	uint64_t mr_max;
	unsigned int nr_regions;
	struct serve_spec region[RTGT_MAX_REGIONS];
	const char *state;
	uint64_t count;
	bool poll, verbose, stats, windows, faulty, list;
	struct serve_fault fault[RTGT_NR_FAULTS];
};

/* Something the loop waits for */
struct serve_source {
	void (*run)(struct server *s, void *arg);
	void *arg;
};

/* Memory of a region; @dir is its directory below the state directory, or empty */
struct serve_mem {
	uint8_t *base;
	uint64_t size;
	char dir[SERVE_PATH];
};

/*
 * A region in a domain.  @own is the target's own registration, which no peer has a key of;
 * @mr are the peers', one for each extent, NULL when it could not be made anew.  @mw, if
 * it is @windowed, is a window onto @mr[0] and has the peer's key, which the peer can kill:
 * @dead.
 */
struct serve_map {
	struct serve_mem *mem;
	uint32_t access;
	uint64_t extent_size;
	struct ibv_mr *own;
	unsigned int nr;
	struct ibv_mr **mr;
	uint64_t *iova;
	struct ibv_mw *mw;
	bool windowed, dead;
};

/*
 * A protection domain with all regions: of a device, or of a private connection.  With srq
 * it has the @pool of its connections.
 */
struct serve_domain {
	struct serve_device *dev;
	struct ibv_pd *pd;
	struct serve_pool *pool;
	unsigned int nr;
	struct serve_map map[RTGT_MAX_REGIONS];
};

/* A device connections came through; librdmacm keeps it open */
struct serve_device {
	TAILQ_ENTRY(serve_device) entry;
	struct ibv_context *verbs;
	struct ibv_device_attr_ex attr;
	struct ibv_comp_channel *channel;
	struct serve_domain *shared;
	struct serve_source completions, asyncs;
	bool iwarp;
};

TAILQ_HEAD(serve_recvs, serve_recv);

/* How the datagrams of an address are answered, and how many receive contexts use it now */
struct serve_way {
	TAILQ_ENTRY(serve_way) entry;
	uint8_t addr[16];
	struct ibv_ah *ah;
	unsigned int users;
};

TAILQ_HEAD(serve_ways, serve_way);

/*
 * A receive context: a buffer with a receive, then its request, then the reply.  The device
 * has it, as a receive or with a transfer (@list is NULL), or it is in one list: free, sending (a
 * reply), deferred, or withheld until @due_ns.  @conn is the connection whose message it holds;
 * with an SRQ it is NULL while the context holds no message, or that of a connection that is
 * released.
 * @way and @src_qp belong to a datagram.  Of a fault: @twice, the reply is sent twice; @silent,
 * a transfer without a reply.
 */
struct serve_recv {
	TAILQ_ENTRY(serve_recv) entry;
	struct serve_recvs *list;
	struct serve_pool *pool;
	struct serve_conn *conn;
	unsigned int index;
	uint8_t *buf;
	uint32_t len, imm;
	struct serve_way *way;
	uint32_t src_qp;
	struct rtgt_request rq;
	void (*then)(struct serve_recv *recv);
	uint64_t done;
	uint32_t crc;
	uint32_t later_ms;
	uint64_t due_ns;
	bool twice, silent;
};

/* What a work request was posted for; its wr_id has this and the receive context's index */
enum { SERVE_WR_RECV, SERVE_WR_REPLY, SERVE_WR_XFER, SERVE_WR_BIND, SERVE_WR_DRAIN };
#define SERVE_WR_BITS	3
#define SERVE_WR_ID(index, what)	((uint64_t)(index) << SERVE_WR_BITS | (what))

/* In which a device sends a NAK and flushes receives after it reported an error */
#define SERVE_NAK_NS	UINT64_C(100000000)

/* With srq: requests that a peer may have outstanding, if recv_depth is not less */
#define SERVE_REQUESTS_SRQ	16

/* Work requests of a receive context, at most: two of a REVOKE; the first ones of all windows */
#define SERVE_RECV_WRS		2
#define SERVE_BINDS		(SERVE_RECV_WRS * RTGT_MAX_REGIONS)

/* Replies that ask for no completion, but the last of them */
#define SERVE_SIGNAL_EVERY	8

/*
 * The receive contexts of a connection or, with an @srq, of all connections of a domain; then a
 * connection has a pool of its own for its requests, whose contexts are never posted as receives.
 * The device has @posted receives; @withheld ones, at most @withhold_max, are posted later;
 * the two together are at most @depth.  A receive has @size bytes, of which the device fills
 * the first @head before the message.
 */
struct serve_pool {
	struct serve_recvs free;
	struct serve_recv *recvs;
	unsigned int nr, depth, posted, withheld, withhold_max;
	uint32_t size, head;
	void *bufs;
	size_t bufs_len;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
};

enum serve_state {
	SERVE_CONNECTING,
	SERVE_LIVE,
	SERVE_CLOSING,
};

/*
 * A connection.  Where idle_ms is set it is @timed, once established: in the server's list
 * by the time, @active_ns, when something was received from it.  @failing, the device reported
 * an error at @failing_ns and has not moved the queue pair to error yet, as far as is known: the
 * connection is in the server's list of these.  @draining, what its queue pair took of an SRQ is
 * still to come.  librtgt posts to @send, which is @qp, and takes from @to where a datagram goes.
 * Of a fault: @swapped, the reply that waits for the next one; @stale, the last
 * reply; @deaf, no receives are posted; @ignored, its RTU and its messages are.
 *
 * With datagrams, an endpoint: one for all clients of a device, without @cm_id and with
 * the @ways back to them.
 */
struct serve_conn {
	TAILQ_ENTRY(serve_conn) entry, ready_entry, dying_entry, timed_entry, failing_entry;
	struct server *s;
	enum serve_state state;
	bool ready, timed;
	uint64_t active_ns, failing_ns;
	const char *why, *failing;
	uint32_t id;
	char peer[SERVE_PEER];
	struct serve_device *dev;
	struct serve_domain *domain;
	struct rdma_cm_id *cm_id;
	struct rdma_conn_param param;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rtgt_qp send;
	struct rtgt_cm to;
	unsigned int events;
	struct serve_pool *pool, *own;
	unsigned int unsignaled;
	struct serve_recvs sending;
	struct serve_ways ways;
	unsigned int nr_ways;
	uint8_t port;
	uint32_t recv_size;
	struct serve_recv *swapped;
	struct rtgt_fault_stale stale;
	bool plain, can_read, accepted, draining, deaf, ignored;
	uint32_t refusal, refusal_arg;
	uint64_t recv_msgs, imms, replies;
};

TAILQ_HEAD(serve_conns, serve_conn);
TAILQ_HEAD(serve_devices, serve_device);

struct server {
	struct serve_cfg cfg;
	int epoll, signals;
	struct serve_source on_signal, on_cm;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct serve_devices devices;
	struct serve_mem *mem[RTGT_MAX_REGIONS];
	struct serve_conns conns, dying, ready, timed, failing;
	struct serve_recvs deferred, later, delayed;
	unsigned int nr_conns;
	/* those that came, and those of them that could not be accepted */
	uint32_t next_id, lost;
	bool stop;
	int failed;
	struct rtgt_err err;
	uint64_t counts[RTGT_NR_COUNTERS];
	bool dirty;
	uint64_t written_ns;
};

/* serve_args.c: an exit status, or OPTIONS_HELP */
int serve_args(struct serve_cfg *cfg, struct tool *tool, int argc, char **argv);

/* serve_state.c */
int serve_watch(struct server *s, int fd, struct serve_source *source);
void serve_unwatch(struct server *s, int fd);
void serve_fail(struct server *s, int code, const char *text);
void serve_established(struct serve_conn *c);
void serve_active(struct serve_conn *c);
void serve_close(struct serve_conn *c, const char *why);
void serve_qp_failed(struct serve_conn *c, const char *why);
void serve_qp_failing(struct serve_conn *c, const char *why);
void serve_drained(struct serve_conn *c);

/* serve_mem.c; 0 or a negative errno */
int serve_mem_create(struct serve_mem **mem, const struct serve_cfg *cfg, unsigned int region,
		     uint32_t conn);
void serve_mem_destroy(struct serve_mem *mem);
int serve_domain_create(struct serve_domain **dom, struct server *s, struct serve_device *dev,
			uint32_t conn);
void serve_domain_destroy(struct serve_domain *dom, bool private);
int serve_domain_rotate(struct serve_domain *dom, unsigned int region);
uint64_t serve_extent_len(const struct serve_map *map, unsigned int i);
uint32_t serve_map_access(const struct serve_map *map);
unsigned int serve_remote_access(const struct serve_map *map);
uint32_t serve_key(const struct serve_map *map, unsigned int extent);
int serve_windows_create(struct serve_domain *dom);
void serve_windows_destroy(struct serve_domain *dom);
bool serve_domain_invalidated(struct serve_domain *dom, uint32_t rkey);

/* serve_device.c */
enum ibv_qp_type serve_qp_type(const struct serve_cfg *cfg);
struct serve_device *serve_device_get(struct server *s, struct ibv_context *verbs, int *ret);
void serve_devices_close(struct server *s);

/* serve_conn.c */
struct serve_conn *serve_conn_create(struct server *s);
uint32_t serve_full(const struct server *s, uint32_t *arg);
uint32_t serve_reject_reason(int err, uint32_t *arg);
void serve_reject(struct server *s, struct rdma_cm_id *id, uint32_t reason, uint32_t arg);
void serve_admit(struct serve_conn *c);
int serve_build(struct serve_conn *c, const struct rdma_conn_param *req);
void serve_conn_request(struct server *s, struct rdma_cm_id *id,
			const struct rdma_conn_param *req);
void serve_conn_event(struct serve_conn *c, enum rdma_cm_event_type event);
void serve_reap(struct server *s);
void serve_close_all(struct server *s);

/* serve_pool.c; 0 or a negative errno */
void serve_recv_move(struct serve_recv *recv, struct serve_recvs *list);
bool serve_own(const struct serve_cfg *cfg);
uint32_t serve_requests_max(const struct serve_cfg *cfg);
int serve_pool_create(struct serve_pool **pool, const struct serve_cfg *cfg, struct ibv_pd *pd);
int serve_pool_create_own(struct serve_pool **pool, const struct serve_cfg *cfg,
			  const struct serve_pool *shared);
void serve_pool_destroy(struct serve_pool *pool);
int serve_pool_refill(struct serve_pool *pool, struct ibv_qp *qp);
void serve_pool_leave(struct serve_pool *pool, const struct serve_conn *c,
		      const struct serve_recvs *later);

/* serve_ud.c */
void serve_ud_request(struct server *s, struct rdma_cm_id *id, const void *priv, size_t len);

/* serve_way.c */
void serve_way_expect(struct serve_conn *c, const struct sockaddr *peer);
bool serve_way_take(struct serve_recv *recv, struct ibv_wc *wc);
void serve_ways_destroy(struct serve_conn *c);

/* serve_io.c */
int serve_io_create(struct serve_conn *c);
bool serve_io_drain(struct serve_conn *c);
void serve_io_destroy(struct serve_conn *c);
bool serve_io_poll(struct serve_conn *c);

/* serve_send.c */
void serve_recv_refill(struct serve_conn *c);
void serve_recv_done(struct serve_recv *recv);
void serve_recv_later(struct serve_recv *recv);
struct serve_recv *serve_recv_keep(struct serve_recv *recv);
void serve_reply_send(struct serve_recv *recv, uint32_t len);
void serve_xfer(struct serve_recv *recv, struct rtgt_wr *wr,
		void (*then)(struct serve_recv *recv));
void serve_bind(struct serve_recv *recv, struct serve_map *map[], unsigned int nr,
		void (*then)(struct serve_recv *recv));

/* serve_ops.c */
void serve_message(struct serve_recv *recv);
void serve_imm(struct serve_recv *recv);

/* serve_fault.c */
void serve_fault_list(FILE *to);
void serve_fault_print(const struct server *s, FILE *to);
void serve_fault_run(struct server *s);
uint32_t serve_fault_reply(struct serve_recv *recv, uint32_t len);
void serve_fault_checksum(struct server *s, uint8_t *bytes, uint64_t len);
bool serve_fault_move(struct serve_recv *recv, uint64_t size,
		      void (*step)(struct serve_recv *recv));
uint32_t serve_fault_request(struct server *s, uint32_t *arg);
uint32_t serve_fault_rep(struct serve_conn *c, void *priv, uint32_t len);
bool serve_fault_accept(struct serve_conn *c, void (*then)(struct serve_recv *recv));
bool serve_fault_receives(struct serve_conn *c);
bool serve_fault_dreq(struct serve_conn *c);
bool serve_fault_message(struct serve_conn *c);

/* serve_out.c */
void serve_count(struct server *s, enum rtgt_counter counter, uint64_t n);
void serve_say(const struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int serve_state_open(const struct serve_cfg *cfg);
bool serve_state_due(struct server *s, uint64_t now);
void serve_state_write(struct server *s);
void serve_state_file(const struct server *s, const char *name,
		      void (*print)(const struct server *s, FILE *to));
void serve_print_stats(const struct server *s);

/* Why a library has made no object, if errno was 0 before: siw's may leave it so */
static inline int serve_no_object(void)
{
	return errno ? -errno : -ENOMEM;
}

#endif /* RTGT_SERVE_H */
