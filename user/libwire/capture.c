// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets from a file, from standard input or a FIFO, from an interface.  libpcap reads them, but
 * files in the format pcapng, for which pcapng.c says why.  One packet is in memory at a time,
 * and it is the reader's.
 *
 * A capture that is cut short or damaged gives all packets before the place, and then an
 * error that names the packet behind them.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "pcapng.h"

#define LIVE_MS		100
/* Link layers of one file that a filter is compiled for */
#define FILTERS		16
#define SNAPLEN_MAX	262144

/* What libpcap does for a file of one link layer; it has no filters for some: !@has */
struct filter {
	int link;
	bool has;
	struct bpf_program program;
};

struct capture {
	pcap_t *pcap;		/* or */
	struct pcapng *ng;
	char *text;		/* the filter's, of a pcapng */
	struct filter filter[FILTERS];
	unsigned int filters;
	atomic_bool stopped;	/* by a signal handler */
	char name[256];
	int linktype;
	bool live;
	unsigned int ns_per_tick;	/* of what libpcap calls microseconds */
	uint64_t number, first_ns;
};

static int capture_new(struct capture **c, const char *name, struct rtgt_err *err)
{
	*c = calloc(1, sizeof(**c));
	if (!*c)
		return rtgt_fail(err, ENOMEM, "no memory");
	snprintf((*c)->name, sizeof((*c)->name), "%s", name);
	return 0;
}

static int look_at(struct capture *c, struct rtgt_err *err)
{
	const char *name;

	c->linktype = pcap_datalink(c->pcap);
	c->ns_per_tick = pcap_get_tstamp_precision(c->pcap) == PCAP_TSTAMP_PRECISION_NANO ? 1 :
		1000;
	if (pkt_knows_link(c->linktype))
		return 0;
	name = pcap_datalink_val_to_name(c->linktype);
	return rtgt_fail(err, EPROTONOSUPPORT,
			 "%s: link layer %s is not known here; Ethernet, InfiniBand, ERF, Linux cooked and raw IP are",
			 c->name, name ? name : "without a name");
}

static int open_pcap(struct capture *c, FILE *file, struct rtgt_err *err)
{
	char text[PCAP_ERRBUF_SIZE] = "";

	c->pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);
	if (c->pcap)
		return 0;
	return rtgt_fail(err, EINVAL, "%s: neither a pcapng nor a capture that libpcap reads: %s",
			 c->name, text);
}

static int open_pcapng(struct capture *c, FILE *file, struct rtgt_err *err)
{
	c->ng = pcapng_open(file);
	return c->ng ? 0 : rtgt_fail(err, ENOMEM, "no memory");
}

/**
 * capture_open_file() - read a file
 * @c: set when 0 is returned; capture_close() frees it
 * @path: of the file; "-" is standard input
 * @err: filled in otherwise
 *
 * Return: 0 or a negative errno.
 */
int capture_open_file(struct capture **c, const char *path, struct rtgt_err *err)
{
	const bool input = !strcmp(path, "-");
	FILE *file;
	int first, ret;

	file = input ? stdin : fopen(path, "rb");
	if (!file)
		return rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
	ret = capture_new(c, input ? "standard input" : path, err);
	if (ret)
		goto close;
	/* one byte can be put back, whatever the file is */
	first = getc(file);
	ungetc(first, file);
	ret = first == PCAPNG_BEGINS ? open_pcapng(*c, file, err) : open_pcap(*c, file, err);
	if (ret)
		goto free;
	/* From here on the file is the reader's */
	ret = (*c)->pcap ? look_at(*c, err) : 0;
	if (ret)
		capture_close(*c);
	return ret;

free:
	free(*c);
close:
	if (!input)
		fclose(file);
	return ret;
}

static int activate(pcap_t *pcap, const char *interface, const struct capture_how *how,
		    struct rtgt_err *err)
{
	int ret;

	pcap_set_snaplen(pcap, how->snaplen);
	pcap_set_promisc(pcap, how->promisc);
	pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
	if (how->buffer)
		pcap_set_buffer_size(pcap, how->buffer);
	if (how->at_once)
		pcap_set_immediate_mode(pcap, 1);
	else
		pcap_set_timeout(pcap, LIVE_MS);
	ret = pcap_activate(pcap);
	if (ret >= 0)
		return 0;
	return rtgt_fail(err, ret == PCAP_ERROR_PERM_DENIED ? EPERM : ENODEV, "%s: %s", interface,
			 *pcap_geterr(pcap) ? pcap_geterr(pcap) : pcap_statustostr(ret));
}

/**
 * capture_open_live() - listen to an interface
 * @c: set when 0 is returned; capture_close() frees it
 * @interface: its name
 * @how: may go when this returns
 * @err: filled in otherwise
 *
 * Return: 0 or a negative errno.
 */
int capture_open_live(struct capture **c, const char *interface, const struct capture_how *how,
		      struct rtgt_err *err)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	int ret = capture_new(c, interface, err);

	if (ret)
		return ret;
	(*c)->live = true;
	(*c)->pcap = pcap_create(interface, text);
	if (!(*c)->pcap)
		ret = rtgt_fail(err, ENODEV, "%s: %s", interface, text);
	if (!ret)
		ret = activate((*c)->pcap, interface, how, err);
	if (!ret)
		ret = look_at(*c, err);
	if (ret)
		capture_close(*c);
	return ret;
}

/**
 * capture_pcap() - libpcap's handle, for who writes packets as they come to a file
 * @c: of an interface
 *
 * Return: the handle, which capture_close() closes.
 */
struct pcap *capture_pcap(struct capture *c)
{
	return c->pcap;
}

/*
 * The filter for a link layer, compiled when the first packet of it comes: NULL if it cannot be.
 * Every valid filter compiles for Ethernet: one that does not is wrong.
 */
static const struct filter *filter_of(struct capture *c, int link, struct rtgt_err *err)
{
	struct filter *f = c->filter;
	pcap_t *dead;
	bool has;

	for (; f < c->filter + c->filters; f++)
		if (f->link == link)
			return f;
	dead = c->filters < FILTERS ? pcap_open_dead(link, SNAPLEN_MAX) : NULL;
	has = dead && !pcap_compile(dead, &f->program, c->text, 1, PCAP_NETMASK_UNKNOWN);
	if (!dead || (!has && link == DLT_EN10MB)) {
		rtgt_fail(err, EINVAL, "filter \"%s\": %s; see pcap-filter(7)", c->text,
			  dead ? pcap_geterr(dead) : "too many link layers");
		f = NULL;
	}
	if (f) {
		f->link = link;
		f->has = has;
		c->filters++;
	}
	if (dead)
		pcap_close(dead);
	return f;
}

/**
 * capture_filter() - let only some packets through
 * @c: open
 * @filter: in the language of pcap-filter(7)
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int capture_filter(struct capture *c, const char *filter, struct rtgt_err *err)
{
	struct bpf_program program;
	int ret = 0;

	if (c->ng) {
		c->text = strdup(filter);
		if (!c->text)
			return rtgt_fail(err, ENOMEM, "no memory");
		/* a bad filter is an error before the first packet is read */
		return filter_of(c, DLT_EN10MB, err) ? 0 : -EINVAL;
	}
	if (pcap_compile(c->pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN))
		return rtgt_fail(err, EINVAL, "filter \"%s\": %s; see pcap-filter(7)", filter,
				 pcap_geterr(c->pcap));
	if (pcap_setfilter(c->pcap, &program))
		ret = rtgt_fail(err, EINVAL, "filter \"%s\": %s", filter, pcap_geterr(c->pcap));
	pcap_freecode(&program);
	return ret;
}

/**
 * capture_only() - of a file, read the packets of one interface
 * @c: open, nothing was read
 * @interface: its name in the file, which stays valid
 * @err: filled in on failure
 *
 * Return: 0, or -EINVAL: the format has no interfaces.  If there is none of that name,
 * capture_next() fails at the end of the file.
 */
int capture_only(struct capture *c, const char *interface, struct rtgt_err *err)
{
	if (!c->ng)
		return rtgt_fail(err, EINVAL, "%s: only a pcapng names the interfaces of its packets",
				 c->name);
	pcapng_only(c->ng, interface);
	return 0;
}

/* The next packet of a file that libpcap does not read: as capture_next(), with its link layer */
static int next_pcapng(struct capture *c, struct pkt *p, struct rtgt_err *err)
{
	struct rtgt_err why = { 0 };
	int ret;

	for (;;) {
		struct pcap_pkthdr header = { 0 };
		const struct filter *filter;

		ret = c->stopped ? 0 : pcapng_next(c->ng, p, &c->linktype, &why);
		if (ret <= 0 || !c->text)
			break;
		filter = filter_of(c, c->linktype, &why);
		header.caplen = p->caplen;
		header.len = p->len;
		if (!filter ||
		    (filter->has && pcap_offline_filter(&filter->program, &header, p->data))) {
			ret = filter ? 1 : -EINVAL;
			break;
		}
	}
	if (ret < 0)
		return rtgt_fail(err, why.code, "%s: packet %llu: %s", c->name,
				 (unsigned long long)c->number + 1, why.text);
	return ret;
}

/* The same of libpcap */
static int next_pcap(struct capture *c, struct pkt *p, struct rtgt_err *err)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	int ret;

	/* 0: an interface was silent for a while */
	do
		ret = pcap_next_ex(c->pcap, &header, &data);
	while (!ret);
	if (ret == PCAP_ERROR_BREAK)
		return 0;
	if (ret < 0)
		return rtgt_fail(err, c->live ? ENETDOWN : EIO, "%s: packet %llu: %s", c->name,
				 (unsigned long long)c->number + 1, pcap_geterr(c->pcap));
	p->data = data;
	p->caplen = header->caplen;
	p->len = header->len;
	p->ns = (uint64_t)header->ts.tv_sec * 1000000000;
	p->ns += (uint64_t)header->ts.tv_usec * c->ns_per_tick;
	return 1;
}

/**
 * capture_next() - the next packet
 * @c: open
 * @p: parsed when 1 is returned; its bytes are there until the next call
 * @err: filled in when the return value is negative
 *
 * Return: 1, 0 at the end, or a negative errno.
 */
int capture_next(struct capture *c, struct pkt *p, struct rtgt_err *err)
{
	const int ret = c->ng ? next_pcapng(c, p, err) : next_pcap(c, p, err);

	/* a read that a signal ended is no error of the file's */
	if (ret <= 0)
		return c->stopped ? 0 : ret;
	p->number = ++c->number;
	if (p->number == 1)
		c->first_ns = p->ns;
	p->first_ns = c->first_ns;
	pkt_parse(p, c->linktype);
	return 1;
}

/**
 * capture_stop() - make capture_next() return 0, also the call that waits
 * @c: open
 *
 * Context: also a signal handler.
 */
void capture_stop(struct capture *c)
{
	c->stopped = true;
	if (c->pcap)
		pcap_breakloop(c->pcap);
}

/**
 * capture_dropped() - how many packets of an interface are missing: the kernel had no room for them
 * @c: open
 *
 * Return: their number until now; 0 for a file.
 */
uint64_t capture_dropped(struct capture *c)
{
	struct pcap_stat stat = { 0 };

	return c->live && !pcap_stats(c->pcap, &stat) ? stat.ps_drop : 0;
}

/**
 * capture_close() - end reading
 * @c: what capture_open_file() or capture_open_live() made
 */
void capture_close(struct capture *c)
{
	if (c->pcap)
		pcap_close(c->pcap);
	pcapng_close(c->ng);
	while (c->filters--)
		if (c->filter[c->filters].has)
			pcap_freecode(&c->filter[c->filters].program);
	free(c->text);
	free(c);
}
