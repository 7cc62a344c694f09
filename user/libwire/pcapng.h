/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Files in the format pcapng.  See pcapng.c.
 */
#ifndef RTGT_PACKET_PCAPNG_H
#define RTGT_PACKET_PCAPNG_H

#include <stdio.h>
#include <rtgt/log.h>
#include "packet.h"

/* The first byte of such files, and of no other capture */
#define PCAPNG_BEGINS	0x0a

struct pcapng;

struct pcapng *pcapng_open(FILE *file);
int pcapng_next(struct pcapng *ng, struct pkt *p, int *link, struct rtgt_err *err);
void pcapng_only(struct pcapng *ng, const char *interface);
void pcapng_close(struct pcapng *ng);

#endif /* RTGT_PACKET_PCAPNG_H */
