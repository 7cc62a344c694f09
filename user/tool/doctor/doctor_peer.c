// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt doctor HOST: the way to another host, as far as a connection would go, and on from there:
 * name, route, RDMA device on the way, REQ, small and large messages.
 *
 * Only a target of ours answers the last two.  Then both ends are compared: what an echo brings
 * back, and the bytes of a region that a READ brings with the target's checksum of them.
 *
 * Anything that answers the REQ, if only with a REJ, shows that the way is free.  If nothing does,
 * a datagram to the port of RoCE and the neighbour's entry tell more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rtgt/client.h>
#include <rtgt/pattern.h>
#include "tool/out/facts.h"
#include "doctor.h"

#define ROCE_PORT	4791
#define BESIDE		60	/* bytes of a packet beside its payload: see why_msg.c */
#define IP_UDP		28	/* what ping adds */
#define WAIT_MS		300	/* for an answer of ICMP */
#define SMALL		16
#define LARGE		65536
#define TRIES		4

/**
 * struct way - what is known of the way
 * @peer: the address
 * @source: ours
 * @netdev: that has it
 * @roce: the device there sends UDP
 */
struct way {
	struct sockaddr_storage peer, source;
	socklen_t len;
	char to[INET6_ADDRSTRLEN], netdev[IF_NAMESIZE];
	bool roce;
};

static bool same(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (!a || a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       ((const struct sockaddr_in6 *)a)->sin6_scope_id ==
	       ((const struct sockaddr_in6 *)b)->sin6_scope_id &&
	       !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)b)->sin6_addr, 16);
}

static void find_netdev(struct way *w)
{
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *i = all; i && !w->netdev[0]; i = i->ifa_next)
		if (same(i->ifa_addr, &w->source))
			snprintf(w->netdev, sizeof(w->netdev), "%.*s",
				 (int)strcspn(i->ifa_name, ":"), i->ifa_name);
	freeifaddrs(all);
}

static bool check_name(struct doctor *d, struct way *w)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *ai;
	int ret = getaddrinfo(d->to.host, NULL, &hints, &ai);

	if (ret) {
		doctor_wrong(d, "name", "give an address, or see /etc/hosts and /etc/resolv.conf",
			     "%s: %s", d->to.host, gai_strerror(ret));
		return false;
	}
	memcpy(&w->peer, ai->ai_addr, ai->ai_addrlen);
	w->len = ai->ai_addrlen;
	freeaddrinfo(ai);
	getnameinfo((struct sockaddr *)&w->peer, w->len, w->to, sizeof(w->to), NULL, 0,
		    NI_NUMERICHOST);
	doctor_fine(d, "name", "%s is %s", d->to.host, w->to);
	return true;
}

/* A socket that is connected to the port of RoCE; nothing is sent yet.  A negative errno */
static int roce_socket(const struct doctor *d, struct way *w)
{
	struct addrinfo hints = { .ai_family = w->peer.ss_family, .ai_socktype = SOCK_DGRAM }, *ai;
	int fd = socket(w->peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	/* of both families the port is at the same place */
	((struct sockaddr_in *)&w->peer)->sin_port = htons(ROCE_PORT);
	if (d->to.source && !getaddrinfo(d->to.source, NULL, &hints, &ai)) {
		err = bind(fd, ai->ai_addr, ai->ai_addrlen) ? errno : 0;
		freeaddrinfo(ai);
		if (err)
			goto fail;
	}
	if (!connect(fd, (struct sockaddr *)&w->peer, w->len))
		return fd;
	err = errno;
fail:
	close(fd);
	return -err;
}

static bool check_route(struct doctor *d, struct way *w)
{
	socklen_t len = sizeof(w->source);
	int fd = roce_socket(d, w);
	char fix[128];

	if (fd == -EADDRNOTAVAIL && d->to.source) {
		doctor_wrong(d, "source", "ip addr", "%s is no address of this host", d->to.source);
		return false;
	}
	if (fd < 0) {
		snprintf(fix, sizeof(fix), "ip route get %s; ip route add ...", w->to);
		doctor_wrong(d, "route", fix, "no route to %s: %s", w->to, strerror(-fd));
		return false;
	}
	getsockname(fd, (struct sockaddr *)&w->source, &len);
	close(fd);
	find_netdev(w);
	doctor_fine(d, "route", "to %s through %s", w->to, w->netdev[0] ? w->netdev : "?");
	return true;
}

static bool has_netdev(const struct doctor_device *dev, const char *netdev)
{
	for (unsigned int i = 0; i < dev->netdevs; i++)
		if (!strcmp(dev->netdev[i], netdev))
			return true;
	return false;
}

/*
 * The address that packets leave from must be one of a device.  InfiniBand's, and iWARP's of older
 * kernels, do not say which netdev they have: then the connection shows it.
 */
static bool check_way(struct doctor *d, struct way *w)
{
	bool silent = false;
	char fix[128];

	for (unsigned int i = 0; i < d->devices; i++) {
		const struct doctor_device *dev = &d->device[i];

		silent |= !dev->netdevs;
		if (!w->netdev[0] || !has_netdev(dev, w->netdev))
			continue;
		doctor_fine(d, "way", "%s is on %s", dev->name, w->netdev);
		w->roce = dev->roce;
		return true;
	}
	if (silent)
		return true;
	snprintf(fix, sizeof(fix), "rdma link add rxe0 type rxe netdev %s; or -I ADDRESS of another",
		 w->netdev[0] ? w->netdev : "NETDEV");
	doctor_wrong(d, "way", fix, "the route to %s leaves through %s, which has no RDMA device",
		     w->to, w->netdev[0] ? w->netdev : "an unknown netdev");
	return false;
}

/* The neighbour's entry says whether its address was resolved (IPv4 only: /proc has no other) */
static bool is_no_neighbour(const struct way *w)
{
	char line[256], addr[64];
	unsigned int flags;
	bool none = false;
	FILE *f = fopen("/proc/net/arp", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %*s %x", addr, &flags) == 2 && !strcmp(addr, w->to))
			none = !(flags & 2);	/* ATF_COM */
	if (f)
		fclose(f);
	return none;
}

/* What a datagram to the port of RoCE meets: 0 or an errno; @here: it did not leave this host */
static int try_roce_port(const struct doctor *d, struct way *w, bool *here)
{
	struct pollfd pfd = { .events = POLLIN };
	int err = 0;
	char byte = 0;

	*here = false;
	pfd.fd = roce_socket(d, w);
	if (pfd.fd < 0)
		return -pfd.fd;
	for (unsigned int i = 0; i < 3 && !err; i++) {
		/* what ICMP said of the one before is an error of this send() */
		err = send(pfd.fd, &byte, 1, 0) < 0 ? errno : 0;
		*here = err && !i;
		if (!err && poll(&pfd, 1, WAIT_MS) > 0 && recv(pfd.fd, &byte, 1, 0) < 0)
			err = errno;
	}
	close(pfd.fd);
	return err;
}

/* Nothing answered the REQ.  Netfilter and a host's UDP do not show what an adapter does itself. */
static void no_answer(struct doctor *d, struct way *w, const struct rtgt_err *err)
{
	bool here = false;
	const int udp = w->roce ? try_roce_port(d, w, &here) : 0;
	char fix[160];

	if (is_no_neighbour(w)) {
		snprintf(fix, sizeof(fix), "ip neigh show %s; is the host up?", w->to);
		doctor_wrong(d, "neighbour", fix, "no neighbour has the address %s", w->to);
	} else if (udp == ECONNREFUSED) {
		doctor_wrong(d, "roce",
			     "there: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev NETDEV; nft list ruleset",
			     "nothing at %s takes UDP port %u: it has no RoCE device, or a firewall refuses",
			     w->to, ROCE_PORT);
	} else if (here && (udp == EPERM || udp == EACCES)) {
		doctor_wrong(d, "firewall", "nft list ruleset; iptables -L OUTPUT",
			     "this host does not let UDP to %s port %u out", w->to, ROCE_PORT);
	} else if (udp) {
		snprintf(fix, sizeof(fix),
			 "ip neigh show %s; a firewall on the way, or there: nft list ruleset",
			 w->to);
		doctor_wrong(d, "answer", fix, "UDP to %s port %u: %s", w->to, ROCE_PORT,
			     strerror(udp));
	} else {
		doctor_wrong(d, "answer",
			     "there: rdma link; nft list ruleset (UDP 4791); both: the same VLAN?",
			     "%s", err->text);
	}
}

static int echo(struct rtgt_client *c, uint32_t len, struct rtgt_err *err)
{
	const struct rtgt_echo op = { .opcode = IBV_WR_SEND, .len = len };
	struct rtgt_diff diff;
	struct rtgt_took took;
	int ret;

	rtgt_pattern_fill(rtgt_client_tx(c), len, len);
	ret = rtgt_client_echo(c, &op, &took, err);
	if (!ret && rtgt_pattern_verify(rtgt_client_rx(c), len, len, &diff))
		return rtgt_fail(err, EILSEQ, "byte %zu was sent as 0x%02x and came back as 0x%02x",
				 diff.offset, diff.expected, diff.got);
	return ret;
}

/* READ the beginning of a region: its CRC-32 here; and the CRC-32 that the target has of it */
static int both_sums(struct rtgt_client *c, uint32_t region, uint32_t len, uint32_t *here,
		     uint32_t *there, struct rtgt_err *err)
{
	struct rtgt_mr mr;
	struct rtgt_took took;
	struct rtgt_rdma op = {
		.opcode = IBV_WR_RDMA_READ, .region = region, .mr = &mr, .len = len,
	};
	int ret = rtgt_mr_create(&mr, c->qp.pd, "read", len, IBV_ACCESS_LOCAL_WRITE, NULL, err);

	if (ret)
		return ret;
	/* what did not arrive must not be right by chance */
	rtgt_pattern_fill(mr.buf, len, len);
	ret = rtgt_client_rdma(c, &op, &took, err);
	if (!ret) {
		*here = rtgt_crc32(0, mr.buf, len);
		ret = rtgt_client_checksum(c, region, 0, len, there, err);
	}
	rtgt_mr_destroy(&mr);
	return ret;
}

/*
 * Do both ends see the same bytes in a region?  Others may WRITE there between our READ and the
 * target's checksum: once more, then.  Nothing is changed.
 */
static void check_bytes(struct doctor *d, struct rtgt_client *c)
{
	uint32_t region = 0, len, here = 0, there = 0;
	struct rtgt_err err = {};

	while (region < c->peer.nr && !(c->peer.region[region].access & RTGT_ACCESS_READ))
		region++;
	if (region == c->peer.nr || !c->layout[region].size)
		return;
	len = c->layout[region].size < LARGE ? (uint32_t)c->layout[region].size : LARGE;
	for (unsigned int i = 0; i < TRIES && (!i || here != there); i++) {
		if (both_sums(c, region, len, &here, &there, &err)) {
			doctor_wrong(d, "bytes", "there: dmesg; rtgt show; rtgt timeline",
				     "a READ and a CHECKSUM of %u bytes: %s", len, err.text);
			return;
		}
	}
	if (here == there)
		doctor_fine(d, "bytes", "both ends have the CRC-32 0x%08x of %u bytes of region %u",
			    here, len, region);
	else
		doctor_wrong(d, "bytes", "does another client WRITE there (rtgt show)? else rtgt ping -v HOST",
			     "%u bytes of region %u: READ, they have the CRC-32 0x%08x, and the target says 0x%08x",
			     len, region, here, there);
}

/* Messages of one small packet, then of packets as large as the path MTU */
static bool check_messages(struct doctor *d, const struct way *w, struct rtgt_client *c)
{
	struct rtgt_err err = {};
	struct rtgt_facts f = {};
	char fix[192];
	unsigned int mtu;
	bool ended;

	rtgt_facts_qp(&f, &c->qp);
	mtu = (unsigned int)strtoul(f.path_mtu, NULL, 10);
	if (echo(c, SMALL, &err)) {
		doctor_wrong(d, "messages", "there: dmesg; rtgt show", "an echo of %u bytes: %s",
			     SMALL, err.text);
		return false;
	}
	if (c->payload + sizeof(struct rtgt_msg) < mtu || !mtu) {
		doctor_fine(d, "messages", "%u bytes come back; the target takes no full packet",
			    SMALL);
		return true;
	}
	if (!echo(c, c->payload, &err)) {
		doctor_fine(d, "path-mtu", "path MTU %u, messages of %u bytes come back", mtu,
			    c->payload);
		return true;
	}
	/* a target that cannot send its reply ends the connection */
	ended = err.wc_status == IBV_WC_WR_FLUSH_ERR;
	if (!ended && err.code != ETIMEDOUT && err.wc_status != IBV_WC_RETRY_EXC_ERR) {
		doctor_wrong(d, "messages", "there: dmesg; rtgt show", "an echo of %u bytes: %s",
			     c->payload, err.text);
		return false;
	}
	snprintf(fix, sizeof(fix), "ip link show at both ends and between them; ping -M do -s %u %s%s",
		 mtu + BESIDE - IP_UDP, w->to, ended ? "; there: dmesg" : "");
	doctor_wrong(d, "path-mtu", fix,
		     "%u bytes come back, %u do not: %s smaller than path MTU %u + %u",
		     SMALL, c->payload, ended ? "the connection ends, as with an MTU that is" :
		     "an MTU on the way is", mtu, BESIDE);
	return false;
}

static void check_target(struct doctor *d, struct way *w)
{
	struct rtgt_client c = {};
	struct rtgt_err err = {};
	const struct rtgt_client_param param = {
		.cm = { .host = w->to, .service = d->to.service, .source = d->to.source,
			.timeout_ms = (int)d->to.timeout * 1000 },
		.payload = LARGE,
	};
	int ret = rtgt_client_open(&c, &param, &err);

	if (!ret && !c.peer.rtgt) {
		doctor_fine(d, "target",
			    "%s port %s answers; it is not an rtgt target, so messages and bytes are not compared",
			    w->to, d->to.service);
	} else if (!ret) {
		doctor_fine(d, "target", "%s port %s answers", w->to, d->to.service);
		if (check_messages(d, w, &c))
			check_bytes(d, &c);
	} else if (c.cm.reject_status > 0 || c.cm.refusal.typed) {
		doctor_fine(d, "answer", "something at %s answers over RDMA", w->to);
		doctor_wrong(d, "target", "there: rtgt show", "%s", err.text);
	} else if (err.code == ETIMEDOUT || err.code == EHOSTUNREACH) {
		no_answer(d, w, &err);
	} else {
		doctor_wrong(d, "connect", "see the message", "%s", err.text);
	}
	rtgt_client_close(&c);
}

/**
 * doctor_peer() - examine the way to another host
 * @d: with @d->to.host; gets what is found
 */
void doctor_peer(struct doctor *d)
{
	struct way w = {};

	if (d->devices && check_name(d, &w) && check_route(d, &w) && check_way(d, &w))
		check_target(d, &w);
}
