// SPDX-License-Identifier: GPL-2.0
/*
 * The sources of datagrams, and which of them a datagram endpoint resolves.
 *
 * The target replies to the source of a datagram, so it makes an address handle from the headers
 * of the packet.  On RoCE, ib_core then waits one second for a neighbor that does not exist.
 * Without a bound, a host that sends datagrams from such addresses keeps all workers of the
 * endpoint waiting.  So an endpoint keeps a table of sources.  A source is
 *
 *   known     an earlier datagram from it was resolved, or its address, when a client of it
 *             requested the endpoint (ud_endpoint.c).  Any number of workers resolve it: they do
 *             not wait, because the neighbor is known
 *   failed    it could not be resolved in the last SOURCE_RETRY.  Its datagrams are dropped
 *   unknown   SOURCES_AT_ONCE workers resolve such sources at a time; while they do,
 *             datagrams of other unknown sources are dropped
 *
 * A dropped datagram gets no reply; the caller counts it.
 *
 * The table has a fixed size.  A known source stays until it fails, or until another known
 * source needs an entry of its set and the SOURCE_WAYS entries are all known.  A failed source
 * never replaces a known one.  A source without an entry is unknown.
 *
 * The table belongs to the endpoint's connection.  Its lock is held only for the lookup.
 * InfiniBand resolves no addresses, so the table is not used there.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "target/ud_sources.h"

#define SOURCES_AT_ONCE		4
#define SOURCE_RETRY		(5 * HZ)
#define SOURCE_SETS		256
#define SOURCE_WAYS		4

/* An address that sent a datagram */
struct source {
	union ib_gid gid;	/* zero in an entry that was never used */
	bool known;		/* it could be resolved */
	unsigned long retry;	/* jiffies until which it counts as failed, if not @known */
};

/* Sources of one datagram endpoint */
struct rtgt_sources {
	spinlock_t lock;	/* protects all of it */
	unsigned int resolving;	/* unknown sources that are being resolved */
	unsigned int next;	/* the entry of a full set that the next known source takes */
	u32 seed;		/* of the hash, so that no host can choose the set of an address */
	struct source set[SOURCE_SETS][SOURCE_WAYS];
};

static struct source *source_set(struct rtgt_sources *sources, const union ib_gid *gid)
{
	return sources->set[jhash(gid, sizeof(*gid), sources->seed) % SOURCE_SETS];
}

static struct source *source_find(struct rtgt_sources *sources, const union ib_gid *gid)
{
	struct source *set = source_set(sources, gid);
	unsigned int i;

	lockdep_assert_held(&sources->lock);
	for (i = 0; i < SOURCE_WAYS; i++)
		if (!memcmp(&set[i].gid, gid, sizeof(*gid)))
			return &set[i];
	return NULL;
}

/* Return the entry for a new source, or NULL: a failed source does not replace a known one. */
static struct source *source_place(struct rtgt_sources *sources, const union ib_gid *gid,
				   bool known)
{
	struct source *set = source_set(sources, gid);
	struct source *place = NULL;
	unsigned int i;

	lockdep_assert_held(&sources->lock);
	for (i = 0; i < SOURCE_WAYS; i++)
		if (!set[i].known && (!place || time_before(set[i].retry, place->retry)))
			place = &set[i];
	if (!place && known)
		place = &set[sources->next++ % SOURCE_WAYS];
	return place;
}

static void source_set_known(struct rtgt_sources *sources, const union ib_gid *gid, bool known)
{
	struct source *source = source_find(sources, gid) ?: source_place(sources, gid, known);

	if (!source)
		return;
	source->gid = *gid;
	source->known = known;
	source->retry = jiffies + SOURCE_RETRY;
}

/* For rtgt_sources_destroy(), or NULL without memory.  May sleep. */
struct rtgt_sources *rtgt_sources_create(void)
{
	struct rtgt_sources *sources = kvzalloc(sizeof(*sources), GFP_KERNEL);

	if (!sources)
		return NULL;
	spin_lock_init(&sources->lock);
	sources->seed = get_random_u32();
	return sources;
}

/* @sources may be NULL.  Any context. */
void rtgt_sources_destroy(struct rtgt_sources *sources)
{
	kvfree(sources);
}

/* Is the source with this address known?  Process context. */
bool rtgt_sources_has(struct rtgt_sources *sources, struct sockaddr *addr)
{
	struct source *source;
	union ib_gid gid;
	bool known;

	if (rdma_ip2gid(addr, &gid))
		return false;
	spin_lock(&sources->lock);
	source = source_find(sources, &gid);
	known = source && source->known;
	spin_unlock(&sources->lock);
	return known;
}

/* Make a client's address known, which was resolved just now.  Process context. */
void rtgt_sources_add(struct rtgt_sources *sources, struct sockaddr *addr)
{
	union ib_gid gid;

	if (rdma_ip2gid(addr, &gid))
		return;
	spin_lock(&sources->lock);
	source_set_known(sources, &gid, true);
	spin_unlock(&sources->lock);
}

/* Returns 0 if the source is known, 1 if it is one of SOURCES_AT_ONCE, or a negative errno. */
static int sources_begin(struct rtgt_sources *sources, const union ib_gid *gid)
{
	struct source *source;
	int ret = 1;

	spin_lock(&sources->lock);
	source = source_find(sources, gid);
	if (source && source->known)
		ret = 0;
	else if (source && time_before(jiffies, source->retry))
		ret = -EHOSTUNREACH;
	else if (sources->resolving == SOURCES_AT_ONCE)
		ret = -EBUSY;
	else
		sources->resolving++;
	spin_unlock(&sources->lock);
	return ret;
}

static void sources_end(struct rtgt_sources *sources, const union ib_gid *gid, int begun, bool ok)
{
	/* a known source stays known */
	if (!begun && ok)
		return;
	spin_lock(&sources->lock);
	sources->resolving -= begun;
	source_set_known(sources, gid, ok);
	spin_unlock(&sources->lock);
}

/* Return the address to which the reply goes, as ib_core finds it in the packet. */
static int source_gid(const struct ib_wc *wc, const struct ib_grh *grh, union ib_gid *gid)
{
	const union rdma_network_hdr *hdr = (const union rdma_network_hdr *)grh;
	enum rdma_network_type type = RDMA_NETWORK_IPV6;
	union ib_gid dgid;

	if (!(wc->wc_flags & IB_WC_GRH))
		return -EPROTOTYPE;
	if (ib_get_rdma_header_version(hdr) == 4)
		type = RDMA_NETWORK_IPV4;
	return ib_get_gids_from_rdma_hdr(hdr, type, gid, &dgid);
}

/**
 * rtgt_sources_ah() - make an address handle for the reply to a datagram
 * @sources: table of the endpoint that received the datagram
 * @pd: protection domain of the endpoint
 * @wc: completion of the receive
 * @grh: first bytes of the receive, synchronized for the CPU
 *
 * Context: may sleep, up to one second if the source is not known.
 * Return: an address handle for rdma_destroy_ah(), or an ERR_PTR: the datagram gets no reply.
 * -EBUSY: SOURCES_AT_ONCE other unknown sources are being resolved.
 */
struct ib_ah *rtgt_sources_ah(struct rtgt_sources *sources, struct ib_pd *pd,
			      const struct ib_wc *wc, const struct ib_grh *grh)
{
	union ib_gid gid;
	struct ib_ah *ah;
	int ret;

	if (!rdma_protocol_roce(pd->device, wc->port_num))
		return ib_create_ah_from_wc(pd, wc, grh, wc->port_num);
	ret = source_gid(wc, grh, &gid);
	if (ret)
		return ERR_PTR(ret);
	ret = sources_begin(sources, &gid);
	if (ret < 0)
		return ERR_PTR(ret);
	ah = ib_create_ah_from_wc(pd, wc, grh, wc->port_num);
	sources_end(sources, &gid, ret, !IS_ERR(ah));
	return ah;
}
