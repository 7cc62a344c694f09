/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where packets come from: a file (pcap or pcapng), a pipe, an interface.  See capture.c.
 */
#ifndef RTGT_PACKET_CAPTURE_H
#define RTGT_PACKET_CAPTURE_H

#include "../lib/log.h"
#include "packet.h"

struct capture;

int capture_open_file(struct capture **c, const char *path, struct rtgt_err *err);
int capture_open_live(struct capture **c, const char *interface, struct rtgt_err *err);
int capture_filter(struct capture *c, const char *filter, struct rtgt_err *err);
int capture_next(struct capture *c, struct pkt *p, struct rtgt_err *err);
void capture_stop(struct capture *c);
void capture_close(struct capture *c);

#endif /* RTGT_PACKET_CAPTURE_H */
