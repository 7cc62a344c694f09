// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports of the bridge: what a frame comes from and goes to.
 *
 *	listen:PATH	a unix socket that QEMU's -netdev stream connects to, and may connect
 *			to again: a frame has its length in front, in 32 bits, high byte first
 *	stream:PATH	the same, with QEMU as the server
 *	udp:L:R		QEMU's -netdev dgram, or socket,udp=: a frame is a datagram from the
 *			port R of this machine to the port L
 *	tap:NAME	a TAP device, which is made if there is none
 *	NETDEV, or if:NETDEV	an interface, which has to be up, and without addresses
 *
 * A frame for somebody who is not there, or who does not read, is lost and counted: the bridge
 * waits for nobody.  Of an interface the kernel may hand over what its device would still have
 * done: a checksum to fill in is filled in here, and what TCP's sender left to be cut stays as it
 * is between interfaces, and goes nowhere else (ethtool -K NETDEV tso off gso off gro off).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bridge.h"

#define IN_ROOM		(256 * 1024)
#define OUT_ROOM	(4 * 1024 * 1024)
#define VNET		sizeof(struct virtio_net_hdr)
#define SOCKET_BUFFER	(8 * 1024 * 1024)
#define TAG		4	/* of a VLAN */
#define FRAME_AT	64	/* behind struct virtio_net_hdr, with room for a tag */

static const char *const kinds[] = {
	[BRIDGE_LISTEN] = "listen:", [BRIDGE_STREAM] = "stream:", [BRIDGE_UDP] = "udp:",
	[BRIDGE_INTERFACE] = "if:", [BRIDGE_TAP] = "tap:",
};

/**
 * bridge_port_add() - a port of the command line
 * @b: bridge
 * @word: [NAME=]KIND:WHERE, or a network interface; it is cut, and stays in use
 *
 * Return: 0, or an exit status; the reason is printed.
 */
int bridge_port_add(struct bridge *b, char *word)
{
	struct bridge_port *p = &b->port[b->ports];
	char *equals = word + strcspn(word, ":/=");
	unsigned int kind;

	if (b->ports == BRIDGE_PORTS)
		return misused("%s: a bridge has at most %u ports", word, BRIDGE_PORTS);
	*p = (struct bridge_port){ .bridge = b, .index = b->ports, .kind = BRIDGE_INTERFACE,
				   .listener = -1, .fd = -1 };
	if (*equals == '=') {
		*equals = 0;
		if (!*word || strlen(word) >= sizeof(p->name))
			return misused("%s: the name of a port has 1 to %zu letters", word,
				       sizeof(p->name) - 1);
		strcpy(p->name, word);
		word = equals + 1;
	} else {
		snprintf(p->name, sizeof(p->name), "p%u", b->ports + 1);
	}
	for (unsigned int i = 0; i < b->ports; i++)
		if (!strcmp(b->port[i].name, p->name))
			return misused("two ports have the name %s", p->name);
	p->where = word;
	for (kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		if (strncmp(word, kinds[kind], strlen(kinds[kind])))
			continue;
		p->kind = kind;
		p->where = word + strlen(kinds[kind]);
	}
	if (p->kind == BRIDGE_INTERFACE && strchr(p->where, ':'))
		return misused("%s: no such kind of port: listen:PATH, stream:PATH, udp:LOCAL:REMOTE, tap:NAME or a network interface",
			       p->where);
	b->ports++;
	return 0;
}

static int wrong(const struct bridge_port *p, const char *what)
{
	return failed("%s: %s: %s", p->where, what, strerror(errno));
}

static int open_unix(struct bridge_port *p)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ret;

	if (fd < 0)
		return wrong(p, "socket");
	if (strlen(p->where) >= sizeof(at.sun_path))
		return failed("%s: the path of a socket has at most %zu bytes", p->where,
			      sizeof(at.sun_path) - 1);
	strcpy(at.sun_path, p->where);
	if (p->kind == BRIDGE_STREAM) {
		ret = connect(fd, (struct sockaddr *)&at, sizeof(at));
		p->fd = fd;
		return ret ? wrong(p, "connecting") : 0;
	}
	/* what an earlier bridge left: nobody listens there any more */
	ret = connect(fd, (struct sockaddr *)&at, sizeof(at));
	if (ret && errno == ECONNREFUSED && !lstat(p->where, &st) && S_ISSOCK(st.st_mode))
		unlink(p->where);
	/* a socket is connected once */
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at))) {
		ret = wrong(p, "listening");
		close(fd);
		return ret;
	}
	/* from here on it is ours, and is removed in the end */
	p->listener = fd;
	return listen(fd, 1) ? wrong(p, "listening") : 0;
}

static int open_udp(struct bridge_port *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned int local, remote;
	char more;

	if (sscanf(p->where, "%u:%u%c", &local, &remote, &more) != 2 || !local || local > 65535 ||
	    !remote || remote > 65535)
		return misused("udp:%s: two ports of this machine: udp:LOCAL:REMOTE", p->where);
	p->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at.sin_port = htons((uint16_t)local);
	if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&at, sizeof(at)))
		return wrong(p, "binding the local port");
	at.sin_port = htons((uint16_t)remote);
	return connect(p->fd, (struct sockaddr *)&at, sizeof(at)) ? wrong(p, "connecting") : 0;
}

static int open_interface(struct bridge_port *p)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	const int one = 1;

	at.sll_ifindex = (int)if_nametoindex(p->where);
	if (!at.sll_ifindex)
		return wrong(p, "no such interface");
	all.mr_ifindex = at.sll_ifindex;
	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		return wrong(p, errno == EPERM ? "a packet socket takes CAP_NET_RAW" : "socket");
	if (setsockopt(p->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    bind(p->fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		return wrong(p, "listening to all packets");
	return 0;
}

static int open_tap(struct bridge_port *p)
{
	struct ifreq tap = { .ifr_flags = IFF_TAP | IFF_NO_PI };

	if (strlen(p->where) >= sizeof(tap.ifr_name))
		return misused("tap:%s: the name of an interface has at most %zu letters",
			       p->where, sizeof(tap.ifr_name) - 1);
	strcpy(tap.ifr_name, p->where);
	p->fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (p->fd < 0 || ioctl(p->fd, TUNSETIFF, &tap))
		return wrong(p, "a TAP device");
	return 0;
}

/* More than net.core.rmem_max takes CAP_NET_ADMIN; with less, frames are lost earlier */
static void more_room(int fd)
{
	const int room = SOCKET_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

/**
 * bridge_port_open() - open it
 * @p: port
 *
 * Return: 0, or an exit status; the reason is printed.
 */
int bridge_port_open(struct bridge_port *p)
{
	int ret;

	p->in = malloc(IN_ROOM);
	p->out = malloc(OUT_ROOM);
	if (!p->in || !p->out)
		return failed("no memory");
	switch (p->kind) {
	case BRIDGE_LISTEN:
	case BRIDGE_STREAM:
		return open_unix(p);
	case BRIDGE_UDP:
		ret = open_udp(p);
		break;
	case BRIDGE_INTERFACE:
		ret = open_interface(p);
		break;
	default:
		return open_tap(p);
	}
	if (!ret)
		more_room(p->fd);
	return ret;
}

/**
 * bridge_port_accept() - somebody connects
 * @p: BRIDGE_LISTEN that nobody is at
 *
 * Return: 0, or an exit status; the reason is printed.
 */
int bridge_port_accept(struct bridge_port *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	/* whoever came may have gone already */
	if (fd < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? 0 :
		       wrong(p, "accepting");
	p->fd = fd;
	return 0;
}

/* Length of the next frame of what a stream has brought; SIZE_MAX: not all of it is there */
static size_t buffered(const struct bridge_port *p)
{
	const uint8_t *at = p->in + p->in_at;
	const size_t left = p->in_len - p->in_at;
	size_t len;

	if (left < 4)
		return SIZE_MAX;
	len = (size_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
	return len > BRIDGE_FRAME || left - 4 >= len ? len : SIZE_MAX;
}

/**
 * bridge_port_has() - has a frame come that poll() does not know of?
 * @p: port
 */
bool bridge_port_has(const struct bridge_port *p)
{
	return p->in_len && buffered(p) != SIZE_MAX;
}

static int next_of_stream(struct bridge_port *p, struct bridge_got *got)
{
	ssize_t n;
	size_t len;

	while ((len = buffered(p)) == SIZE_MAX) {
		p->in_len -= p->in_at;
		memmove(p->in, p->in + p->in_at, p->in_len);
		p->in_at = 0;
		n = read(p->fd, p->in + p->in_len, IN_ROOM - p->in_len);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (!n)
			return -EPIPE;
		p->in_len += (size_t)n;
	}
	if (len > BRIDGE_FRAME)
		return -EPROTO;
	*got = (struct bridge_got){ .data = p->in + p->in_at + 4, .len = (uint32_t)len };
	p->in_at += 4 + len;
	return 1;
}

/* The checksum that its sender left to the device: the sum over the rest is in its place already */
static void fill_in(uint8_t *vnet, uint8_t *data, uint32_t len)
{
	struct virtio_net_hdr h;
	uint32_t sum = 0, at, begin;

	memcpy(&h, vnet, sizeof(h));
	begin = h.csum_start;
	at = begin + h.csum_offset;
	/* a frame that is to be cut gets one for each part */
	if (!(h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || h.gso_type != VIRTIO_NET_HDR_GSO_NONE ||
	    at + 2 > len)
		return;
	for (uint32_t i = begin; i < len; i++)
		sum += (i - begin) % 2 ? data[i] : (uint32_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	/* UDP: 0 would say that there is none */
	sum = sum ? sum : 0xffff;
	data[at] = (uint8_t)(sum >> 8);
	data[at + 1] = (uint8_t)sum;
	memset(vnet, 0, VNET);
}

/*
 * The kernel has taken the outer tag of a VLAN out of the frame: put it back.  There is room for it
 * in front of the frame.
 */
static uint8_t *put_tag_back(struct msghdr *m, uint8_t *frame, uint32_t *len)
{
	struct tpacket_auxdata aux;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID) || *len < 12)
			continue;
		if (!(aux.tp_status & TP_STATUS_VLAN_TPID_VALID))
			aux.tp_vlan_tpid = ETHERTYPE_VLAN;
		memmove(frame - TAG, frame, 12);
		frame -= TAG;
		frame[12] = (uint8_t)(aux.tp_vlan_tpid >> 8);
		frame[13] = (uint8_t)aux.tp_vlan_tpid;
		frame[14] = (uint8_t)(aux.tp_vlan_tci >> 8);
		frame[15] = (uint8_t)aux.tp_vlan_tci;
		*len += TAG;
		break;
	}
	return frame;
}

/* The headers begin behind a tag that was put back */
static void move_vnet(uint8_t *vnet)
{
	struct virtio_net_hdr h;

	memcpy(&h, vnet, sizeof(h));
	if (h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		h.csum_start += TAG;
	if (h.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		h.hdr_len += TAG;
	memcpy(vnet, &h, sizeof(h));
}

static ssize_t next_of_interface(struct bridge_port *p, struct bridge_got *got)
{
	uint8_t control[CMSG_SPACE(sizeof(struct tpacket_auxdata))], *frame = p->in + FRAME_AT;
	struct iovec v[] = {
		{ .iov_base = p->in, .iov_len = VNET },
		{ .iov_base = frame, .iov_len = IN_ROOM - FRAME_AT },
	};
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(p->fd, &m, 0);

	/* a frame that its sender left to be cut in a way that the header has no word for */
	if (n < 0 && (errno == EINVAL || errno == ENOBUFS)) {
		p->lost++;
		errno = EAGAIN;
	}
	if (n <= (ssize_t)VNET)
		return n;
	got->vnet = p->in;
	got->len = (uint32_t)((size_t)n - VNET);
	frame = put_tag_back(&m, frame, &got->len);
	if (frame != p->in + FRAME_AT)
		move_vnet(p->in);
	fill_in(p->in, frame, got->len);
	got->data = frame;
	return n;
}

/**
 * bridge_port_next() - the next frame that has come
 * @p: port that somebody is at
 * @got: the frame, valid until the next call
 *
 * Return: 1, 0 if there is none now, or -errno: whoever was there is gone.
 */
int bridge_port_next(struct bridge_port *p, struct bridge_got *got)
{
	ssize_t n;

	if (p->kind == BRIDGE_LISTEN || p->kind == BRIDGE_STREAM)
		return next_of_stream(p, got);
	*got = (struct bridge_got){ .data = p->in };
	if (p->kind == BRIDGE_INTERFACE) {
		n = next_of_interface(p, got);
	} else {
		n = read(p->fd, p->in, IN_ROOM);
		got->len = n > 0 ? (uint32_t)n : 0;
	}
	/* the peer of a pair of UDP ports comes later; an interface may go down and up */
	if (n < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED ||
		       errno == ENETDOWN ? 0 : -errno;
	return got->len ? 1 : 0;
}

/**
 * bridge_port_flush() - write frames that have left by this port
 * @p: port; one that is no stream has none
 *
 * Return: 0, also if its reader does not take all, or -errno: it is gone.
 */
int bridge_port_flush(struct bridge_port *p)
{
	ssize_t n;

	if (p->out_at == p->out_len)
		return 0;
	n = send(p->fd, p->out + p->out_at, p->out_len - p->out_at, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	p->out_at += (size_t)n;
	if (p->out_at == p->out_len) {
		p->out_at = 0;
		p->out_len = 0;
	}
	return 0;
}

/* All that leave in one go are written together */
static bool send_stream(struct bridge_port *p, const struct bridge_frame *f)
{
	if (p->out_len + 4 + f->len > OUT_ROOM) {
		bridge_port_flush(p);
		p->out_len -= p->out_at;
		memmove(p->out, p->out + p->out_at, p->out_len);
		p->out_at = 0;
	}
	if (p->out_len + 4 + f->len > OUT_ROOM)
		return false;
	p->out[p->out_len] = 0;
	p->out[p->out_len + 1] = (uint8_t)(f->len >> 16);
	p->out[p->out_len + 2] = (uint8_t)(f->len >> 8);
	p->out[p->out_len + 3] = (uint8_t)f->len;
	memcpy(p->out + p->out_len + 4, f->data, f->len);
	p->out_len += 4 + f->len;
	return true;
}

static bool send_interface(struct bridge_port *p, const struct bridge_frame *f)
{
	const struct iovec v[] = {
		{ .iov_base = (void *)f->vnet, .iov_len = VNET },
		{ .iov_base = (void *)f->data, .iov_len = f->len },
	};
	const struct msghdr m = { .msg_iov = (struct iovec *)v, .msg_iovlen = 2 };

	return sendmsg(p->fd, &m, 0) >= 0;
}

/**
 * bridge_port_send() - a frame leaves
 * @p: port
 * @f: frame
 *
 * Return: true, or false: it is lost, and counted.
 */
bool bridge_port_send(struct bridge_port *p, const struct bridge_frame *f)
{
	bool sent = false;

	if (p->fd < 0) {
		sent = false;
	} else if (p->kind == BRIDGE_INTERFACE) {
		sent = send_interface(p, f);
	} else if (f->vnet[1] != VIRTIO_NET_HDR_GSO_NONE) {
		struct bridge_port *from = &p->bridge->port[f->from];

		if (!from->gso)
			fprintf(stderr, "rtgt: bridge: frames of %s are longer than its MTU and are lost: ethtool -K %s tso off gso off gro off, at both of its ends\n",
				from->where, from->where);
		from->gso = true;
	} else if (p->kind == BRIDGE_LISTEN || p->kind == BRIDGE_STREAM) {
		sent = send_stream(p, f);
	} else {
		sent = write(p->fd, f->data, f->len) == (ssize_t)f->len;
	}
	p->frames_out += sent;
	p->bytes_out += sent ? f->len : 0;
	p->lost += !sent;
	return sent;
}

/**
 * bridge_port_count_lost() - count the frames that the kernel had to drop before they were read
 * @p: port
 */
void bridge_port_count_lost(struct bridge_port *p)
{
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);

	if (p->kind == BRIDGE_INTERFACE && p->fd >= 0 &&
	    !getsockopt(p->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		p->lost += stats.tp_drops;
}

/**
 * bridge_port_close() - whoever is there is gone
 * @p: port; one that listens goes on listening
 */
void bridge_port_close(struct bridge_port *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->in_at = 0;
	p->in_len = 0;
	p->out_at = 0;
	p->out_len = 0;
}
