// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt doctor: this host.  Of each device what its port and its netdev say, and whether a program
 * can open it, register memory and make queues.
 */
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "doctor.h"

#define SYS	"/sys/class/infiniband"
#define CM_FILE	"/dev/infiniband/rdma_cm"
#define MTU_MIN	352		/* bytes: 256 of data, and what rxe takes for headers */
#define PORTS_MAX	4
#define TRIED	(1u << 20)	/* bytes that a program may want to register at least */

static void check_file(struct doctor *d, const char *path, const char *missing)
{
	struct stat st;
	char text[160];

	if (stat(path, &st)) {
		doctor_wrong(d, "file", missing, "%s is missing", path);
	} else if (access(path, R_OK | W_OK)) {
		snprintf(text, sizeof(text), "be root, or chgrp YOUR-GROUP %s; chmod g+rw %s", path,
			 path);
		doctor_wrong(d, "file", text, "no permission for %s (group %u, mode %03o)", path,
			     st.st_gid, st.st_mode & 0777);
	} else {
		doctor_fine(d, "file", "%s can be opened", path);
	}
}

/* IPv4, or IPv6 that is not of the link alone */
static bool has_address(const char *netdev)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		/* "eth0:1" is a label of eth0 */
		if (!i->ifa_addr || strncmp(i->ifa_name, netdev, strlen(netdev)) ||
		    (i->ifa_name[strlen(netdev)] && i->ifa_name[strlen(netdev)] != ':'))
			continue;
		found = i->ifa_addr->sa_family == AF_INET ||
			(i->ifa_addr->sa_family == AF_INET6 &&
			 !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr));
	}
	freeifaddrs(all);
	return found;
}

static bool is_up(const struct doctor_device *dev, unsigned int port, char *state, size_t size)
{
	char path[DOCTOR_PATH];

	snprintf(path, sizeof(path), SYS "/%s/ports/%u/state", dev->name, port);
	doctor_read(path, state, size);
	return strstr(state, "ACTIVE");
}

/* One of its ports has to be */
static bool check_port(struct doctor *d, const struct doctor_device *dev)
{
	char path[DOCTOR_PATH], state[64] = "", fix[96];
	unsigned int port;

	for (port = 1; port <= PORTS_MAX; port++) {
		snprintf(path, sizeof(path), SYS "/%s/ports/%u", dev->name, port);
		if (access(path, F_OK))
			break;
		if (is_up(dev, port, state, sizeof(state))) {
			doctor_fine(d, "port", "%s/%u is ACTIVE, on %s", dev->name, port,
				    dev->netdevs ? dev->netdev[0] : "no netdev of this namespace");
			return true;
		}
	}
	if (strstr(state, "INIT") || strstr(state, "ARMED"))
		snprintf(fix, sizeof(fix), "is there a subnet manager (opensm)?");
	else
		snprintf(fix, sizeof(fix), "ip link set %s up; is its cable in?",
			 dev->netdevs ? dev->netdev[0] : "NETDEV");
	doctor_wrong(d, "port", fix, "the port of %s is %s", dev->name,
		     strchr(state, ' ') ? strchr(state, ' ') + 1 : "in no known state");
	return false;
}

static void check_mtu(struct doctor *d, const struct doctor_device *dev, const char *netdev)
{
	char path[DOCTOR_PATH], text[64], fix[96];
	unsigned long mtu;

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", netdev);
	if (!doctor_read(path, text, sizeof(text)))
		return;
	mtu = strtoul(text, NULL, 10);
	if (mtu < MTU_MIN && dev->roce) {
		snprintf(fix, sizeof(fix), "ip link set %s mtu 1500", netdev);
		doctor_wrong(d, "mtu", fix, "the MTU of %s is %lu, and %s needs %u", netdev, mtu,
			     dev->name, MTU_MIN);
	} else {
		doctor_fine(d, "mtu", "the MTU of %s is %lu", netdev, mtu);
	}
}

/* Of one of its netdevs: a VLAN may have the address */
static void check_address(struct doctor *d, const struct doctor_device *dev)
{
	char fix[96];

	for (unsigned int i = 0; i < dev->netdevs; i++) {
		if (has_address(dev->netdev[i])) {
			doctor_fine(d, "address", "%s has an address", dev->netdev[i]);
			return;
		}
	}
	snprintf(fix, sizeof(fix), "ip addr add ADDRESS/24 dev %s", dev->netdev[0]);
	doctor_wrong(d, "address", fix, "%s, the netdev of %s, has no address", dev->netdev[0],
		     dev->name);
}

static void registers(struct doctor *d, const struct doctor_device *dev, struct ibv_pd *pd)
{
	void *buf = aligned_alloc(4096, TRIED);
	struct rlimit limit = {};
	struct ibv_mr *mr = NULL;
	int err = ENOMEM;

	if (buf) {
		mr = ibv_reg_mr(pd, buf, TRIED, IBV_ACCESS_LOCAL_WRITE);
		err = errno;
	}
	if (mr)
		ibv_dereg_mr(mr);
	free(buf);
	if (mr) {
		doctor_fine(d, "memory", "%s registers 1 MiB", dev->name);
		return;
	}
	getrlimit(RLIMIT_MEMLOCK, &limit);
	/* EPERM: nothing may be locked at all */
	if ((err == ENOMEM || err == EPERM) && limit.rlim_cur < 64 * TRIED)
		doctor_wrong(d, "memory", "ulimit -l unlimited (for good: /etc/security/limits.conf)",
			     "%s cannot register 1 MiB, and only %llu KiB may be locked", dev->name,
			     (unsigned long long)limit.rlim_cur >> 10);
	else
		doctor_wrong(d, "memory", "dmesg; free", "%s cannot register 1 MiB: %s", dev->name,
			     strerror(err));
}

/* What a program does first */
static void check_use(struct doctor *d, const struct doctor_device *dev, struct ibv_device *ibv)
{
	struct ibv_context *context = ibv_open_device(ibv);
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;

	if (!cq)
		doctor_wrong(d, "verbs", "dmesg; ls -l /dev/infiniband", "%s: %s: %s", dev->name,
			     pd ? "no completion queue" : context ? "no protection domain" :
			     "it cannot be opened", strerror(errno));
	else
		registers(d, dev, pd);
	if (cq)
		ibv_destroy_cq(cq);
	if (pd)
		ibv_dealloc_pd(pd);
	if (context)
		ibv_close_device(context);
}

static void add_netdev(struct doctor_device *dev, const char *name)
{
	/* another namespace's: what has its name here is something else */
	if (!name[0] || !if_nametoindex(name) || dev->netdevs == DOCTOR_NETDEVS)
		return;
	for (unsigned int i = 0; i < dev->netdevs; i++)
		if (!strcmp(dev->netdev[i], name))
			return;
	snprintf(dev->netdev[dev->netdevs++], IF_NAMESIZE, "%s", name);
}

/* Of all GIDs of all ports: those of VLANs have netdevs of their own */
static void find_netdevs(struct doctor_device *dev)
{
	char path[DOCTOR_PATH + 32], name[IF_NAMESIZE];
	struct dirent *e;
	DIR *dir;

	for (unsigned int port = 1; port <= PORTS_MAX; port++) {
		snprintf(path, DOCTOR_PATH, SYS "/%s/ports/%u/gid_attrs/ndevs", dev->name, port);
		dir = opendir(path);
		while (dir && (e = readdir(dir))) {
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), SYS "/%s/ports/%u/gid_attrs/ndevs/%.16s",
				 dev->name, port, e->d_name);
			if (doctor_read(path, name, sizeof(name)))
				add_netdev(dev, name);
		}
		if (dir)
			closedir(dir);
	}
}

static bool has_any_address(const struct doctor_device *dev)
{
	for (unsigned int i = 0; i < dev->netdevs; i++)
		if (has_address(dev->netdev[i]))
			return true;
	return false;
}

/* A port is up, and whoever comes from an address of this host may use it */
static bool is_usable(const struct doctor_device *dev)
{
	char state[64];

	for (unsigned int port = 1; port <= PORTS_MAX; port++)
		if (is_up(dev, port, state, sizeof(state)) &&
		    (!dev->netdevs || has_any_address(dev)))
			return true;
	return false;
}

static void learn(struct doctor_device *dev)
{
	char path[DOCTOR_PATH], layer[32], type[32];

	snprintf(path, sizeof(path), SYS "/%s/ports/1/link_layer", dev->name);
	doctor_read(path, layer, sizeof(layer));
	snprintf(path, sizeof(path), SYS "/%s/node_type", dev->name);
	doctor_read(path, type, sizeof(type));
	dev->roce = strstr(layer, "Ethernet") && !strstr(type, "RNIC");
	find_netdevs(dev);
	dev->usable = is_usable(dev);
}

static void check_device(struct doctor *d, const struct doctor_device *dev,
			 struct ibv_device **list)
{
	char path[DOCTOR_PATH];

	/* an adapter without a cable beside one that has one is no fault */
	for (unsigned int i = 0; i < d->devices; i++)
		d->spare |= !dev->usable && d->device[i].usable;
	if (check_port(d, dev) && dev->netdevs)
		check_address(d, dev);
	d->spare = false;
	for (unsigned int i = 0; i < dev->netdevs; i++)
		check_mtu(d, dev, dev->netdev[i]);
	while (*list && strcmp(ibv_get_device_name(*list), dev->name))
		list++;
	if (!*list) {
		doctor_wrong(d, "provider",
			     "modprobe ib_uverbs; install rdma-core's providers (ibverbs-providers)",
			     "libibverbs does not know %s", dev->name);
		return;
	}
	snprintf(path, sizeof(path), "/dev/infiniband/%s", (*list)->dev_name);
	if (access(path, R_OK | W_OK))
		check_file(d, path, "modprobe ib_uverbs; udevadm trigger");
	else
		check_use(d, dev, *list);
}

/**
 * doctor_host() - examine this host
 * @d: gets what is found, and the devices
 */
void doctor_host(struct doctor *d)
{
	struct ibv_device *none = NULL, **list = ibv_get_device_list(NULL);
	DIR *dir = opendir(SYS);
	struct dirent *e;

	while (dir && d->devices < DOCTOR_DEVICES && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			snprintf(d->device[d->devices++].name, sizeof(d->device[0].name), "%.63s",
				 e->d_name);
	if (dir)
		closedir(dir);
	if (!d->devices)
		doctor_wrong(d, "device",
			     "modprobe rdma_rxe; rdma link add rxe0 type rxe netdev NETDEV",
			     "there is no RDMA device");
	check_file(d, CM_FILE, "modprobe rdma_ucm");
	for (unsigned int i = 0; i < d->devices; i++)
		learn(&d->device[i]);
	for (unsigned int i = 0; i < d->devices; i++)
		check_device(d, &d->device[i], list ? list : &none);
	if (list)
		ibv_free_device_list(list);
}
