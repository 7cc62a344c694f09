// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Why connecting failed, in words: what rdma_cm's statuses, rejects and events mean to a person,
 * and what there is to do.
 *
 * librdmacm and the kernel say little: one errno for several causes.  So some of these functions
 * look at the machine as well, at the files of its devices and its network namespace.  They set
 * @err and return its negative errno; the refusal of a target is kept in @cm.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* "Reject Reason" of the InfiniBand specification, 12.6.7.2: the ones met in practice */
enum {
	REJ_NO_RESOURCES	= 3,
	REJ_TIMEOUT		= 4,
	REJ_INVALID_SERVICE	= 8,
	REJ_STALE_CONN		= 10,
	REJ_CONSUMER		= 28,
};

/* Devices whose files are looked at */
#define DEVICES_MAX	64

/* "Status" of a SIDR REP, likewise 12.11.2 */
#define SIDR_UNSUPPORTED	1

/* One word for where we are going: HOST:PORT, an IPv6 address in brackets */
static const char *dest(const struct rtgt_cm *cm, char *buf, size_t size)
{
	bool v6 = strchr(cm->param.host, ':');

	snprintf(buf, size, v6 ? "[%s]:%s" : "%s:%s", cm->param.host, cm->param.service);
	return buf;
}

/* librdmacm opens the device with the address; which file it may not open it does not say */
static int fail_permission(const char *host, struct rtgt_err *err)
{
	char path[64];
	struct stat st;

	for (unsigned int i = 0; i < DEVICES_MAX; i++) {
		snprintf(path, sizeof(path), "/dev/infiniband/uverbs%u", i);
		if (stat(path, &st) || !access(path, R_OK | W_OK))
			continue;
		return rtgt_fail(err, EACCES,
				 "no permission for %s (group %u, mode %03o): be root, or let your group open it",
				 path, st.st_gid, st.st_mode & 0777);
	}
	return rtgt_fail(err, EPERM, "cannot resolve %s: %s", host, strerror(EPERM));
}

static int fail_resolve(struct rtgt_cm *cm, int status, struct rtgt_err *err)
{
	const char *host = cm->param.host;

	switch (status) {
	case EPERM:
	case EACCES:
		return fail_permission(host, err);
	case EINVAL:
		return rtgt_fail(err, EINVAL,
				 "cannot resolve %s: %s: is the MTU of the network device on the way large enough (RoCE needs 352)? see ip link",
				 host, strerror(EINVAL));
	case ENODEV:
	case ENOENT:
		return rtgt_fail(err, ENODEV,
				 "no RDMA device on the way to %s: see ip route get %s and rdma link; rdma link add rxe0 type rxe netdev NETDEV makes one",
				 host, host);
	case EADDRNOTAVAIL:
		return rtgt_fail(err, status,
				 "the source address %s is not this machine's: see ip addr",
				 cm->param.source ? cm->param.source : "(none)");
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return rtgt_fail(err, EHOSTUNREACH,
				 "%s cannot be reached (%s, %u attempts): is it up, and is there a route? see ip route get %s",
				 host, strerror(status), cm->attempts, host);
	case EINTR:
		return rtgt_fail(err, EINTR, "interrupted");
	case ECANCELED:
		return rtgt_fail(err, ECANCELED, "canceled");
	default:
		return rtgt_fail(err, status, "cannot resolve %s: %s", host, strerror(status));
	}
}

static int fail_nobody(const struct rtgt_cm *cm, const char *to, struct rtgt_err *err)
{
	return rtgt_fail(err, ECONNREFUSED,
			 "nothing listens on %s with transport %s: is the port right and enabled? (there: rtgt port show)",
			 to, rtgt_transport_str(cm->param.transport));
}

/* A datagram's SIDR request was answered, with a status instead of an address */
static int fail_sidr(struct rtgt_cm *cm, int status, struct rtgt_err *err)
{
	char to[128];

	cm->reject_status = status;
	dest(cm, to, sizeof(to));
	if (status == SIDR_UNSUPPORTED)
		return fail_nobody(cm, to, err);
	return rtgt_fail(err, ECONNREFUSED,
			 "%s refused the address request (SIDR status %d): see dmesg there",
			 to, status);
}

static int fail_reject(struct rtgt_cm *cm, const struct rdma_cm_event *ev, struct rtgt_err *err)
{
	char to[128];

	cm->reject_status = ev->status;
	rtgt_wire_rej(&cm->refusal, ev->param.conn.private_data, ev->param.conn.private_data_len);
	dest(cm, to, sizeof(to));
	if (cm->refusal.typed) {
		char why[256];

		rtgt_refusal_str(&cm->refusal, why, sizeof(why));
		rtgt_fail(err, ECONNREFUSED, "%s refused the connection: %s", to, why);
		err->reject = cm->refusal.reason;
		return -ECONNREFUSED;
	}
	switch (ev->status) {
	case REJ_INVALID_SERVICE:
	case -ECONNREFUSED:
		return fail_nobody(cm, to, err);
	case REJ_STALE_CONN:
		return rtgt_fail(err, ECONNREFUSED,
				 "%s still holds an older connection of this queue pair number: try again",
				 to);
	case REJ_NO_RESOURCES:
		return rtgt_fail(err, ECONNREFUSED, "%s has no resources left: see its dmesg", to);
	case REJ_CONSUMER:
		return rtgt_fail(err, ECONNREFUSED,
				 "the server at %s refused the connection without a reason: does it listen on this port, and for this kind of address? (a port on :: takes IPv6 only)",
				 to);
	default:
		return rtgt_fail(err, ECONNREFUSED, "%s refused the connection (reason %d of the CM): see dmesg there",
				 to, ev->status);
	}
}

static const char elsewhere[] =
	" Here: this program is not in the first network namespace, and rxe of many kernels"
	" receives only there";

/* Not in the network namespace of the first process, which not everybody may look at */
static bool in_namespace(void)
{
	char mine[64] = "", first[64] = "";

	return readlink("/proc/self/ns/net", mine, sizeof(mine) - 1) > 0 &&
	       readlink("/proc/1/ns/net", first, sizeof(first) - 1) > 0 && strcmp(mine, first);
}

static int fail_connect(struct rtgt_cm *cm, int status, struct rtgt_err *err)
{
	char to[128];

	dest(cm, to, sizeof(to));
	switch (status) {
	case EINTR:
		return rtgt_fail(err, EINTR, "interrupted");
	case ECANCELED:
		return rtgt_fail(err, ECANCELED, "canceled");
	case ECONNREFUSED:
		/* iWARP: no listener for the TCP connection */
		cm->reject_status = -status;
		return fail_nobody(cm, to, err);
	case EADDRINUSE:
	case EADDRNOTAVAIL:
		/* iWARP: rdma_cm chose a port that TCP still uses, perhaps in TIME_WAIT */
		return rtgt_fail(err, EADDRINUSE,
				 "connecting to %s: local TCP port %u is in use: try again (ss -tan shows its owner)",
				 to, ntohs(rdma_get_src_port(cm->id)));
	case ETIMEDOUT:
		return rtgt_fail(err, ETIMEDOUT,
				 "connecting to %s timed out: no RDMA device there answered. There: rdma link (state ACTIVE?); RoCE: UDP port 4791 open?%s",
				 to, in_namespace() ? elsewhere : "");
	default:
		return rtgt_fail(err, status, "connecting to %s failed: %s", to, strerror(status));
	}
}

/*
 * A step failed that waits for @want: @status is the errno.  Up to the route the failure is one of
 * the way there, afterwards one of the target.
 */
int rtgt_cm_fail(struct rtgt_cm *cm, enum rdma_cm_event_type want, int status,
		 struct rtgt_err *err)
{
	return want == RDMA_CM_EVENT_ESTABLISHED ? fail_connect(cm, status, err) :
						   fail_resolve(cm, status, err);
}

/* Another event than @want came, or with an error.  It is still the caller's to acknowledge */
int rtgt_cm_fail_event(struct rtgt_cm *cm, const struct rdma_cm_event *ev,
		       enum rdma_cm_event_type want, struct rtgt_err *err)
{
	int status = ev->status < 0 ? -ev->status : EIO;

	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		return fail_reject(cm, ev, err);
	case RDMA_CM_EVENT_UNREACHABLE:
		return ev->status > 0 ? fail_sidr(cm, ev->status, err) :
					fail_connect(cm, ETIMEDOUT, err);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return fail_resolve(cm, status, err);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return rtgt_fail(err, ENODEV, "the RDMA device was removed");
	default:
		return rtgt_fail(err, status, "rdma_cm: %s while waiting for %s (%s)",
				 rdma_event_str(ev->event), rdma_event_str(want), strerror(status));
	}
}

/* There is no event channel.  librdmacm says ENODEV or ENOENT to all of it */
int rtgt_cm_fail_channel(int code, struct rtgt_err *err)
{
	int devices = 0;
	struct ibv_device **list = ibv_get_device_list(&devices);

	if (list)
		ibv_free_device_list(list);
	if (!devices)
		return rtgt_fail(err, ENODEV,
				 "no RDMA device: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev NETDEV");
	if (!access("/dev/infiniband/rdma_cm", R_OK | W_OK))
		return rtgt_fail(err, code, "cannot open /dev/infiniband/rdma_cm: %s",
				 strerror(code));
	if (errno == EACCES)
		return rtgt_fail(err, EACCES,
				 "no permission for /dev/infiniband/rdma_cm: be root, or let your group open it");
	return rtgt_fail(err, ENODEV, "/dev/infiniband/rdma_cm is missing: modprobe rdma_ucm");
}
