/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a number needs beside it to mean something.  See facts.c.
 */
#ifndef RTGT_FACTS_H
#define RTGT_FACTS_H

#include <stdbool.h>

#include <rtgt/qp.h>

/**
 * struct rtgt_facts_tcp - of a TCP connection
 * @netdev: network interface of our address; empty when not known
 * @netdev_mtu: its MTU; 0 when not known
 * @mss: bytes of data in the largest segment; 0 when not known
 * @congestion: what controls congestion; empty when not known
 */
struct rtgt_facts_tcp {
	char netdev[64];
	unsigned int netdev_mtu;
	int mss;
	char congestion[32];
};

/**
 * struct rtgt_facts - where a measurement was made
 * @version: of rtgt
 * @verbs: of libibverbs, as it was built with
 * @kernel: release
 * @machine: architecture
 * @cpus: online
 * @accelerator: what runs this machine: kvm, tcg, another hypervisor's name, unknown, or
 *		 none: it is no guest
 * @virtual_time: the clock counts instructions and not seconds
 * @device: RDMA device; empty without an RDMA connection
 * @transport: InfiniBand, RoCE or iWARP
 * @link_layer: Ethernet or InfiniBand
 * @netdev: network interface below the device; empty when not known
 * @netdev_mtu: its MTU; 0 when not known
 * @path_mtu: bytes a packet of this connection carries; "none" before it is connected
 * @source: our address
 * @destination: the target's
 * @same_machine: the destination is an address of this machine
 * @has_tcp: there is a TCP connection
 * @tcp: its facts
 */
struct rtgt_facts {
	const char *version;
	const char *verbs;
	char kernel[65];
	char machine[65];
	long cpus;
	char accelerator[32];
	bool virtual_time;
	char device[64];
	const char *transport;
	const char *link_layer;
	char netdev[64];
	unsigned int netdev_mtu;
	const char *path_mtu;
	char source[64];
	char destination[64];
	bool same_machine;
	bool has_tcp;
	struct rtgt_facts_tcp tcp;
};

void rtgt_facts_get(struct rtgt_facts *f, const struct rtgt_qp *q);
void rtgt_facts_host(struct rtgt_facts *f);
void rtgt_facts_qp(struct rtgt_facts *f, const struct rtgt_qp *q);
void rtgt_facts_tcp(struct rtgt_facts *f, int fd);

#endif /* RTGT_FACTS_H */
