// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * -d and -x, as perftest has them: where rtgt lat and rtgt bw connect from.
 *
 * rdma_cm chooses the device after the source address.  So the two become one: an address of the
 * device's interface, or the one that is in an entry of its GID table.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"

#define SYSFS	"/sys/class/infiniband"

/* The first line of a file of the device; false if it cannot be read or is empty */
static bool read_port(const char *device, const char *file, char *line, size_t size)
{
	char path[256];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), SYSFS "/%s/ports/1/%s", device, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	got = fgets(line, (int)size, f);
	fclose(f);
	line[got ? strcspn(line, "\n") : 0] = '\0';
	return line[0];
}

/* Without -d there must be one device */
static int only_device(char *name, size_t size)
{
	DIR *dir = opendir(SYSFS);
	unsigned int nr = 0;

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (d->d_name[0] != '.' && !nr++)
			snprintf(name, size, "%s", d->d_name);
	if (dir)
		closedir(dir);
	if (nr == 1)
		return EXIT_OK;
	return nr ? misused("-x: of which device?  There are %u: -d names it (rdma link)", nr) :
		    misused("-x: this machine has no RDMA device: rdma link add rxe0 type rxe netdev NETDEV");
}

static int from_gid(struct measure *m, const char *device)
{
	struct in6_addr gid;
	char file[32], text[64];

	snprintf(file, sizeof(file), "gids/%d", m->gid);
	if (!read_port(device, file, text, sizeof(text)) || inet_pton(AF_INET6, text, &gid) != 1 ||
	    IN6_IS_ADDR_UNSPECIFIED(&gid))
		return misused("-x %d: the GID table of %s has no such entry: /sys/class/infiniband/%s/ports/1/gids has them",
			       m->gid, device, device);
	if (IN6_IS_ADDR_LINKLOCAL(&gid))
		return misused("-x %d: this entry of %s is a link-local address, which no route leads to: take another",
			       m->gid, device);
	if (IN6_IS_ADDR_V4MAPPED(&gid))
		inet_ntop(AF_INET, &gid.s6_addr[12], m->address, sizeof(m->address));
	else
		inet_ntop(AF_INET6, &gid, m->address, sizeof(m->address));
	return EXIT_OK;
}

/* An address of the interface, of the kind that HOST is if that is an address */
static int from_netdev(struct measure *m, const char *device)
{
	const int family = strchr(m->to.host, ':') ? AF_INET6 : AF_INET;
	char netdev[IF_NAMESIZE];
	struct ifaddrs *all;

	if (!read_port(device, "gid_attrs/ndevs/0", netdev, sizeof(netdev)))
		return misused("-d %s: no such RDMA device, or it has no interface: rdma link lists them",
			       device);
	if (getifaddrs(&all))
		return failed("no addresses: %s", strerror(errno));
	for (struct ifaddrs *a = all; a && !m->address[0]; a = a->ifa_next) {
		const void *addr = a->ifa_addr;
		const struct sockaddr_in6 *in6 = addr;
		const struct sockaddr_in *in = addr;

		if (!addr || a->ifa_addr->sa_family != family || strcmp(a->ifa_name, netdev))
			continue;
		if (family == AF_INET)
			inet_ntop(AF_INET, &in->sin_addr, m->address, sizeof(m->address));
		else if (!IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			inet_ntop(AF_INET6, &in6->sin6_addr, m->address, sizeof(m->address));
	}
	freeifaddrs(all);
	if (m->address[0])
		return EXIT_OK;
	return misused("-d %s: its interface %s has no %s address: ip addr add", device, netdev,
		       family == AF_INET ? "IPv4" : "IPv6");
}

/**
 * measure_source() - make of -d and -x a source address
 * @m: parsed
 *
 * Return: an exit status.
 */
int measure_source(struct measure *m)
{
	char only[NAME_MAX + 1];
	const char *device = m->device;
	int ret = EXIT_OK;

	if (!device && m->gid < 0)
		return EXIT_OK;
	if (m->to.source)
		return misused("-I names the source address, and so do -d and -x: one of them");
	if (!device) {
		ret = only_device(only, sizeof(only));
		device = only;
	}
	if (!ret)
		ret = m->gid < 0 ? from_netdev(m, device) : from_gid(m, device);
	if (!ret)
		m->to.source = m->address;
	return ret;
}
