// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * frames DIR: writes frames.h's frames: DIR/LINK.pcap, a capture for each link layer, and
 * DIR/seed-N, for the fuzzer: a byte that says the link layer and the frame behind it;
 * streams.h's streams: DIR/iwarp.pcap; and frames of all link layers in one file of several
 * sections: DIR/all.pcapng.
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "blocks.h"
#include "streams.h"

static const struct {
	int link;
	const char *name;
} links[] = {
	{ DLT_EN10MB, "ethernet" }, { DLT_LINUX_SLL, "sll" }, { DLT_LINUX_SLL2, "sll2" },
	{ DLT_RAW, "raw" }, { DLT_INFINIBAND, "infiniband" }, { DLT_ERF, "erf" },
};

#define NR_LINKS (sizeof(links) / sizeof(links[0]))

static pcap_dumper_t *out[NR_LINKS];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void open_all(const char *dir)
{
	char path[4096];
	pcap_t *pcap;

	for (size_t i = 0; i < NR_LINKS; i++) {
		snprintf(path, sizeof(path), "%s/%s.pcap", dir, links[i].name);
		pcap = pcap_open_dead(links[i].link, 65535);
		out[i] = pcap ? pcap_dump_open(pcap, path) : NULL;
		if (!out[i])
			fail(path);
	}
}

static void seed(const char *dir, unsigned int n, uint8_t link, const struct frame *f)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/seed-%u", dir, n);
	file = fopen(path, "wb");
	if (!file || fputc(link, file) == EOF || fwrite(f->b, 1, f->len, file) != f->len ||
	    fclose(file))
		fail(path);
}

static void dump(pcap_dumper_t *to, const struct frame *f)
{
	struct pcap_pkthdr h = { .caplen = (bpf_u_int32)f->len, .len = (bpf_u_int32)f->len };

	pcap_dump((u_char *)to, &h, f->b);
}

/* An FPDU a segment: tshark finds them only at the beginning of one */
static void streams(const char *dir)
{
	static struct stream_bytes both[2];
	pcap_dumper_t *to;
	char path[4096];
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);
	struct frame f;

	snprintf(path, sizeof(path), "%s/iwarp.pcap", dir);
	to = pcap ? pcap_dump_open(pcap, path) : NULL;
	if (!to)
		fail(path);
	/* if one end wants markers, tshark takes it that both do */
	for (unsigned int kind = 0; kind < 8; kind += kind == 2 ? 3 : 2) {
		const uint16_t port = (uint16_t)(50000 + kind);

		stream_make(both, kind);
		for (int back = 0; back < 2; back++) {
			stream_segment(&f, &both[back], back, 0x18, port, 0, 40);
			dump(to, &f);
		}
		for (unsigned int n = 0; n < 2 * STREAM_FPDUS; n++) {
			const struct stream_bytes *s = &both[n & 1];

			stream_segment(&f, s, n & 1, 0x18, port, n / 2 ? s->end[n / 2 - 1] : 40,
				       s->end[n / 2]);
			dump(to, &f);
		}
	}
	if (pcap_dump_flush(to))
		fail(path);
}

/* The first segments of streams, as packet_fuzz.c wants them */
static void stream_seeds(const char *dir)
{
	static struct stream_bytes both[2];
	char path[4096];
	FILE *file;

	for (unsigned int kind = 0; kind < 8; kind++) {
		stream_make(both, kind);
		snprintf(path, sizeof(path), "%s/seed-stream-%u", dir, kind);
		file = fopen(path, "wb");
		if (!file)
			fail(path);
		fputc(FRAME_FUZZ_STREAM, file);
		for (unsigned int n = 0; n < 4; n++) {
			const struct stream_bytes *s = &both[n & 1];
			const uint8_t head[3] = { n & 1 ? 0x98 : 0x18, 0, n < 2 ? 10 : 100 };

			fwrite(head, 1, 3, file);
			fwrite(s->b + (n < 2 ? 0 : 40), 1, 4 * head[2], file);
		}
		if (fclose(file))
			fail(path);
	}
}

/* Every frame of all, in sections and of interfaces in turn */
static void blocks(const char *dir)
{
	static struct block k;
	static const uint8_t units[] = { 6, 9, 0x8a };
	char path[4096];
	struct frame f;
	unsigned int n;
	FILE *file;
	bool ok = true;

	snprintf(path, sizeof(path), "%s/all.pcapng", dir);
	file = fopen(path, "wb");
	if (!file)
		fail(path);
	for (n = 0; n % 2 ? frame_make_ib(&f, n / 2) : frame_make(&f, n / 2); n++) {
		/* tshark takes no InfiniBand but Endace's, and of that time and lengths */
		if (f.link == DLT_INFINIBAND || f.link == DLT_ERF)
			frame_link(&f, DLT_EN10MB, false, 0);
		if (n % 40 == 0)
			ok = ok && block_section(&k, n / 40 % 2, file);
		ok = ok && block_interface(&k, (uint16_t)(f.link == DLT_RAW ? 101 : f.link), 65535,
					   units[n % 3], n % 5, file);
		ok = ok && block_packet(&k, n % 40, 1000000ull * n, f.b, (uint32_t)f.len,
					(uint32_t)f.len, file);
	}
	if (!ok || fclose(file))
		fail(path);
}

/* A frame, and a part of it */
static void put(const char *dir, const struct frame *f, unsigned int n, unsigned int name)
{
	struct pcap_pkthdr h = { .ts.tv_sec = n, .ts.tv_usec = n, .caplen = (bpf_u_int32)f->len,
				 .len = (bpf_u_int32)f->len };

	for (uint8_t i = 0; i < NR_LINKS; i++) {
		if (links[i].link != f->link)
			continue;
		seed(dir, name, i, f);
		/* of RoCE v1 in such a record tshark takes the link's checksum for the ICRC */
		if (f->link == DLT_ERF && f->grh)
			continue;
		pcap_dump((u_char *)out[i], &h, f->b);
		h.caplen = (bpf_u_int32)(f->len * (n % 8) / 8);
		/* at a short record of Endace tshark ends */
		if (h.caplen && f->link != DLT_ERF)
			pcap_dump((u_char *)out[i], &h, f->b);
	}
}

int main(int argc, char **argv)
{
	struct frame f;
	unsigned int n;

	if (argc != 2) {
		fprintf(stderr, "usage: frames DIR\n");
		return 2;
	}
	open_all(argv[1]);
	for (n = 0; frame_make(&f, n); n++)
		put(argv[1], &f, n, n);
	for (unsigned int i = 0; frame_make_ib(&f, i); i++)
		put(argv[1], &f, i, n++);
	for (size_t i = 0; i < NR_LINKS; i++)
		if (pcap_dump_flush(out[i]))
			fail(argv[1]);
	streams(argv[1]);
	stream_seeds(argv[1]);
	blocks(argv[1]);
	return 0;
}
