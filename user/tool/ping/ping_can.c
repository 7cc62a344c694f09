// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What stands in the way of an operation of rtgt ping: the transport, the target,
 * the region, or a capability the device is asked for and has not.
 *
 * Each obstacle has one word, for the JSON document and whoever makes a table of
 * it, and a sentence for people.
 */
#include <stdarg.h>
#include <stdio.h>

#include "ping.h"

static const char *say(char *why, const char *missing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static const char *say(char *why, const char *missing, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, PING_WHY, fmt, ap);
	va_end(ap);
	return missing;
}

/* The words are those of the target's features file */
static const struct {
	unsigned int can;
	const char *word, *asked;
} capabilities[] = {
	{ RTGT_CAN_IMM, "immediate",
	  "no immediates (it is iWARP): a SEND behind a WRITE announces it" },
	{ RTGT_CAN_ATOMIC, "atomic", "no atomics (atomic_cap is none)" },
	{ RTGT_CAN_FLUSH, "flush", "no FLUSH (device_cap_flags_ex, bit 38)" },
	{ RTGT_CAN_ATOMIC_WRITE, "atomic-write", "no ATOMIC_WRITE (device_cap_flags_ex, bit 40)" },
	{ RTGT_CAN_WINDOW, "memory-window",
	  "no type 2 memory windows (device_cap_flags, bits 23 and 24; max_mw)" },
	{ RTGT_CAN_ODP, "odp", "no registrations on demand (odp_caps.general_caps)" },
};

static const char *device_lacks(const struct ping *p, unsigned int needs, char *why)
{
	const struct rtgt_qp *q = &p->client.qp;
	const char *device = ibv_get_device_name(p->client.cm.id->verbs->device);

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		if (!(capabilities[i].can & needs & ~q->can))
			continue;
		if (capabilities[i].can & q->unbuilt)
			return say(why, capabilities[i].word,
				   "device %s has it, but rtgt was built with an rdma-core before 45",
				   device);
		return say(why, capabilities[i].word, "device %s has %s", device,
			   capabilities[i].asked);
	}
	return NULL;
}

/* What --odp needs: requests and replies are messages, and verification WRITEs */
static const char *odp_lacks(const struct ping *p, char *why)
{
	unsigned int needs = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;

	if (p->op->access & RTGT_ACCESS_READ)
		needs |= IBV_ODP_SUPPORT_READ;
	if (p->op->access && ping_writable(p))
		needs |= IBV_ODP_SUPPORT_WRITE;
	if (p->op->access & RTGT_ACCESS_ATOMIC)
		needs |= IBV_ODP_SUPPORT_ATOMIC;
	needs &= ~p->client.qp.odp;
	if (!needs)
		return NULL;
	return say(why, "odp", "device %s: %s_odp_caps lack 0x%x",
		   ibv_get_device_name(p->client.cm.id->verbs->device),
		   rtgt_transport_str(p->transport), needs);
}

/* A region others use too is not taken from them, and not every region grants all */
static const char *region_lacks(const struct ping *p, char *why)
{
	char access[32], wanted[32];

	if (p->op->access & ~p->mem->access) {
		rtgt_access_str(p->mem->access, access, sizeof(access));
		rtgt_access_str(p->op->access, wanted, sizeof(wanted));
		return say(why, "access", "region %u grants %s only, it needs %s", p->region,
			   access, wanted);
	}
	if (p->op->size > p->region_len)
		return say(why, "size", "region %u has %llu bytes, it needs %u", p->region,
			   (unsigned long long)p->region_len, p->op->size);
	if (p->op->needs & PING_PRIVATE && !(p->client.peer.features & RTGT_F_PRIVATE))
		return say(why, "scope",
			   "it would take the region from all: it needs a port with scope private");
	return NULL;
}

/**
 * ping_lacks() - is the current operation impossible here?
 * @p: connected
 * @why: PING_WHY bytes, filled with the reason
 *
 * Return: what is missing, in a word; NULL when nothing is.
 */
const char *ping_lacks(const struct ping *p, char *why)
{
	unsigned int needs = p->op->can;
	const char *missing;

	if (!(p->op->on & 1u << p->transport))
		return say(why, "transport", "transport %s does not have it",
			   rtgt_transport_str(p->transport));
	if (p->op->needs & PING_TARGET && !p->client.peer.rtgt)
		return say(why, "target",
			   "it needs a target that speaks rtgt, this server gave a plain capability");
	/* before the region: one that grants FLUSH cannot be had without the device's */
	if (p->window && p->op->needs & PING_MOVE)
		needs |= RTGT_CAN_WINDOW;
	if (p->odp)
		needs |= RTGT_CAN_ODP;
	missing = device_lacks(p, needs, why);
	if (!missing && p->odp)
		missing = odp_lacks(p, why);
	if (!missing)
		missing = region_lacks(p, why);
	if (missing)
		return missing;
	if (p->op->access == RTGT_ACCESS_READ && p->sges > p->client.qp.max_sge_rd)
		return say(why, "max_sge_rd", "the device takes %u pieces for a READ (max_sge_rd)",
			   p->client.qp.max_sge_rd);
	return NULL;
}
