/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt doctor: what a host lacks for RDMA.  See doctor.c.
 */
#ifndef RTGT_DOCTOR_H
#define RTGT_DOCTOR_H

#include <net/if.h>

#include "tool/cli/options.h"

struct json_object;

#define DOCTOR_PATH	256
#define DOCTOR_DEVICES	32
#define DOCTOR_NETDEVS	32

/**
 * struct doctor_device - an RDMA device
 * @name: in /sys/class/infiniband
 * @netdev: that its GIDs belong to, as far as they are in this network namespace
 * @netdevs: how many
 * @usable: a port is up, and a netdev has an address
 * @roce: it is neither iWARP's nor InfiniBand's
 */
struct doctor_device {
	char name[64], netdev[DOCTOR_NETDEVS][IF_NAMESIZE];
	unsigned int netdevs;
	bool usable, roce;
};

/**
 * struct doctor - what was found
 * @to: the other host, if @to.host; @to.service of its target
 * @verbose: print what is right, too
 * @spare: what is examined now need not work: another device does
 * @found: each check, as an object
 * @nr: checks; @wrong of them
 */
struct doctor {
	const struct tool *tool;
	struct where to;
	bool verbose, spare, to_host;
	struct json_object *found;
	unsigned int nr, wrong;
	struct doctor_device device[DOCTOR_DEVICES];
	unsigned int devices;
};

void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_wrong(struct doctor *d, const char *check, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool doctor_read(const char *path, char *buf, size_t size);

/* above: doctor_out.c */
void doctor_host(struct doctor *d);	/* doctor_host.c: this host */
void doctor_peer(struct doctor *d);	/* doctor_peer.c: the way to another one */

#endif /* RTGT_DOCTOR_H */
