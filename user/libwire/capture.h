/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where packets come from: a file (pcap or pcapng), a pipe, an interface.  See capture.c.
 */
#ifndef RTGT_PACKET_CAPTURE_H
#define RTGT_PACKET_CAPTURE_H

#include <rtgt/log.h>
#include "packet.h"

struct capture;
struct pcap;

/**
 * struct capture_how - how an interface is listened to
 * @snaplen: bytes kept of a packet
 * @buffer: bytes the kernel may keep until they are read; 0: as libpcap has it
 * @promisc: also what is for other machines
 * @at_once: each packet as it comes, rather than many together
 */
struct capture_how {
	int snaplen;
	int buffer;
	bool promisc;
	bool at_once;
};

int capture_open_file(struct capture **c, const char *path, struct rtgt_err *err);
int capture_open_live(struct capture **c, const char *interface, const struct capture_how *how,
		      struct rtgt_err *err);
struct pcap *capture_pcap(struct capture *c);
int capture_filter(struct capture *c, const char *filter, struct rtgt_err *err);
int capture_only(struct capture *c, const char *interface, struct rtgt_err *err);
int capture_next(struct capture *c, struct pkt *p, struct rtgt_err *err);
void capture_stop(struct capture *c);
uint64_t capture_dropped(struct capture *c);
void capture_close(struct capture *c);

#endif /* RTGT_PACKET_CAPTURE_H */
