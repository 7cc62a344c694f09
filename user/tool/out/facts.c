// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Facts of the host, the device and the path, from the system itself.  What
 * cannot be learnt stays empty; nothing here fails.
 */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
/* of x86's compilers */
#if __has_include("cpuid.h")
#include <cpuid.h>
#define HAVE_CPUID
#endif

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

static unsigned int mtu_of(const char *netdev)
{
	char path[256], mtu[16];

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", netdev);
	read_line(path, mtu, sizeof(mtu));
	return (unsigned int)strtoul(mtu, NULL, 10);
}

/* The interface a port's first GID belongs to */
static void get_netdev(struct rtgt_facts *f, unsigned int port)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/0",
		 f->device, port);
	read_line(path, f->netdev, sizeof(f->netdev));
	if (f->netdev[0])
		f->netdev_mtu = mtu_of(f->netdev);
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

/* Is it an address of this machine?  If so, of which interface */
static bool is_ours(const struct sockaddr *addr, char *netdev, size_t size)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		found = i->ifa_addr && same_address(i->ifa_addr, addr);
		if (found && netdev)
			snprintf(netdev, size, "%s", i->ifa_name);
	}
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

#ifdef HAVE_CPUID
/* A hypervisor signs itself in a leaf of CPUID */
static const char *hypervisor(void)
{
	static const struct {
		const char *sign, *name;
	} known[] = {
		{ "KVMKVMKVM", "kvm" }, { "TCGTCGTCGTCG", "tcg" }, { "XenVMMXenVMM", "xen" },
		{ "Microsoft Hv", "hyper-v" }, { "VMwareVMware", "vmware" },
	};
	unsigned int eax, ebx, ecx, edx;
	char sign[13] = "";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return "unknown";
	if (!(ecx >> 31))
		return "none";
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(sign, &ebx, 4);
	memcpy(sign + 4, &ecx, 4);
	memcpy(sign + 8, &edx, 4);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(sign, known[i].sign))
			return known[i].name;
	return "unknown";
}
#else
static const char *hypervisor(void)
{
	return "unknown";
}
#endif

/**
 * rtgt_facts_host() - begin: the facts of this machine
 * @f: filled; what is about a connection is empty
 *
 * RTGT_ACCEL in the environment says what runs the machine, where whoever started it
 * knows better; RTGT_TIME=virtual that its clock counts instructions, which cannot be
 * found out from inside.
 */
void rtgt_facts_host(struct rtgt_facts *f)
{
	const char *accel = getenv("RTGT_ACCEL"), *time = getenv("RTGT_TIME");
	struct utsname name;

	memset(f, 0, sizeof(*f));
	f->version = RTGT_TOOL_VERSION;
	f->verbs = RTGT_VERBS_VERSION;
	f->transport = "none";
	f->link_layer = "none";
	f->path_mtu = "none";
	if (!uname(&name)) {
		snprintf(f->kernel, sizeof(f->kernel), "%s", name.release);
		snprintf(f->machine, sizeof(f->machine), "%s", name.machine);
	}
	f->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	snprintf(f->accelerator, sizeof(f->accelerator), "%s",
		 accel && *accel ? accel : hypervisor());
	f->virtual_time = time && !strcmp(time, "virtual");
}

/**
 * rtgt_facts_qp() - add those of an RDMA connection
 * @f: begun
 * @q: a queue pair, connected or about to be
 */
void rtgt_facts_qp(struct rtgt_facts *f, const struct rtgt_qp *q)
{
	struct rdma_cm_id *id = q->cm->id;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

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
	f->same_machine = is_ours(rdma_get_peer_addr(id), NULL, 0);
}

/**
 * rtgt_facts_tcp() - add those of a TCP connection
 * @f: begun
 * @fd: its socket
 */
void rtgt_facts_tcp(struct rtgt_facts *f, int fd)
{
	struct sockaddr_storage ours, peer;
	socklen_t len = sizeof(ours), peer_len = sizeof(peer);
	struct rtgt_facts_tcp *t = &f->tcp;

	f->has_tcp = true;
	if (!getsockname(fd, (struct sockaddr *)&ours, &len)) {
		is_ours((struct sockaddr *)&ours, t->netdev, sizeof(t->netdev));
		print_address((struct sockaddr *)&ours, f->source, sizeof(f->source));
	}
	if (!getpeername(fd, (struct sockaddr *)&peer, &peer_len)) {
		f->same_machine = is_ours((struct sockaddr *)&peer, NULL, 0);
		print_address((struct sockaddr *)&peer, f->destination, sizeof(f->destination));
	}
	if (t->netdev[0])
		t->netdev_mtu = mtu_of(t->netdev);
	len = sizeof(t->mss);
	if (getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &t->mss, &len))
		t->mss = 0;
	len = sizeof(t->congestion) - 1;
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, t->congestion, &len))
		t->congestion[0] = '\0';
}

/**
 * rtgt_facts_get() - all facts of an RDMA connection
 * @f: filled
 * @q: a queue pair, connected or about to be
 */
void rtgt_facts_get(struct rtgt_facts *f, const struct rtgt_qp *q)
{
	rtgt_facts_host(f);
	rtgt_facts_qp(f, q);
}
