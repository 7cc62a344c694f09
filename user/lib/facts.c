// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Facts of the host, the device and the path, from the system itself.  What
 * cannot be learnt stays empty; nothing here fails.
 */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "facts.h"

static void read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");

	buf[0] = '\0';
	if (!f)
		return;
	if (fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}

/* The interface a port's first GID belongs to */
static void get_netdev(struct rtgt_facts *f, unsigned int port)
{
	char path[256], mtu[16];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/0",
		 f->device, port);
	read_line(path, f->netdev, sizeof(f->netdev));
	if (!f->netdev[0])
		return;
	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", f->netdev);
	read_line(path, mtu, sizeof(mtu));
	f->netdev_mtu = (unsigned int)strtoul(mtu, NULL, 10);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return !memcmp(&((const struct sockaddr_in *)a)->sin_addr,
			       &((const struct sockaddr_in *)b)->sin_addr, sizeof(struct in_addr));
	if (a->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return false;
}

static bool is_ours(const struct sockaddr *addr)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next)
		found = i->ifa_addr && same_address(i->ifa_addr, addr);
	freeifaddrs(all);
	return found;
}

static void print_address(const struct sockaddr *addr, char *buf, size_t size)
{
	socklen_t len = addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						      sizeof(struct sockaddr_in);

	if (getnameinfo(addr, len, buf, (socklen_t)size, NULL, 0, NI_NUMERICHOST))
		buf[0] = '\0';
}

static const char *port_mtu(struct rdma_cm_id *id)
{
	struct ibv_port_attr port;

	return ibv_query_port(id->verbs, id->port_num, &port) ? "none" :
								rtgt_mtu_str(port.active_mtu);
}

static void get_transport(struct rtgt_facts *f, struct rdma_cm_id *id)
{
	bool iwarp = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	bool ethernet = false;
	struct ibv_port_attr port;

	if (!ibv_query_port(id->verbs, id->port_num, &port))
		ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	f->link_layer = ethernet ? "Ethernet" : "InfiniBand";
	f->transport = iwarp ? "iWARP" : ethernet ? "RoCE" : "InfiniBand";
}

/**
 * rtgt_facts_get() - collect the facts of a connection
 * @f: filled
 * @q: a queue pair, connected or about to be
 */
void rtgt_facts_get(struct rtgt_facts *f, const struct rtgt_qp *q)
{
	struct rdma_cm_id *id = q->cm->id;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct utsname name;

	memset(f, 0, sizeof(*f));
	if (!uname(&name)) {
		snprintf(f->kernel, sizeof(f->kernel), "%s", name.release);
		snprintf(f->machine, sizeof(f->machine), "%s", name.machine);
	}
	f->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	snprintf(f->device, sizeof(f->device), "%s", ibv_get_device_name(id->verbs->device));
	get_transport(f, id);
	get_netdev(f, id->port_num);
	f->path_mtu = ibv_query_qp(q->qp, &attr, IBV_QP_PATH_MTU, &init) ?
		      "none" : rtgt_mtu_str(attr.path_mtu);
	/* a datagram's queue pair has no path: what our own port can */
	if (q->cm->param.transport == RTGT_UD)
		f->path_mtu = port_mtu(id);
	print_address(rdma_get_local_addr(id), f->source, sizeof(f->source));
	print_address(rdma_get_peer_addr(id), f->destination, sizeof(f->destination));
	f->same_machine = is_ours(rdma_get_peer_addr(id));
}
