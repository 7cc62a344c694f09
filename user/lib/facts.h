/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a number needs beside it to mean something.  See facts.c.
 */
#ifndef RTGT_FACTS_H
#define RTGT_FACTS_H

#include <stdbool.h>

#include "qp.h"

/**
 * struct rtgt_facts - where a measurement was made
 * @kernel: release
 * @machine: architecture
 * @cpus: online
 * @device: RDMA device
 * @transport: InfiniBand, RoCE or iWARP
 * @link_layer: Ethernet or InfiniBand
 * @netdev: network interface below the device; empty when not known
 * @netdev_mtu: its MTU; 0 when not known
 * @path_mtu: bytes a packet of this connection carries; "none" before it is connected
 * @source: our address
 * @destination: the target's
 * @same_machine: the destination is an address of this machine
 */
struct rtgt_facts {
	char kernel[65];
	char machine[65];
	long cpus;
	char device[64];
	const char *transport;
	const char *link_layer;
	char netdev[64];
	unsigned int netdev_mtu;
	const char *path_mtu;
	char source[64];
	char destination[64];
	bool same_machine;
};

void rtgt_facts_get(struct rtgt_facts *f, const struct rtgt_qp *q);

#endif /* RTGT_FACTS_H */
