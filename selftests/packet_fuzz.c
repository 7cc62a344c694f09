// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * packet_fuzz: libFuzzer's way into user/libwire, which takes captured packets apart.
 *
 * The first byte says the link layer, and the rest is a packet, in an allocation that ends
 * with it; or that the rest is a whole capture file, or segments of a TCP stream.  Everything the
 * table of fields has is read, and what pkt_parse() promises is checked: no header reaches beyond
 * what was captured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bytes.h"
#include "frames.h"
#include "libwire/capture.h"
#include "libwire/fields.h"
#include "libwire/flow.h"
#include "libwire/iwarp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct pkt *p)
{
	static char buf[1 << 17];

	for (enum pkt_header h = 0; h < PKT_HEADERS; h++)
		if (p->at[h].len > p->caplen || p->at[h].off > p->caplen - p->at[h].len)
			abort();
	if (pkt_line(p, buf, 256) > 255)
		abort();
	for (const struct pkt_layout *l = pkt_layouts; l->nr; l++)
		for (unsigned int i = 0; i < l->nr; i++)
			if (pkt_has_layout(p, l) && pkt_has_field(p, l, &l->field[i]) &&
			    pkt_field_print(p, l, &l->field[i], buf, sizeof(buf)) > sizeof(buf))
				abort();
}

static void no_message(void *arg, const struct flow_conn *conn, const struct flow_msg *msg)
{
	(void)arg;
	(void)conn;
	(void)msg;
}

static void no_connection(void *arg, const struct flow_conn *conn)
{
	(void)arg;
	(void)conn;
}

static void no_rule(void *arg, const char *rule, uint64_t packet, const char *words)
{
	(void)arg;
	if (!*rule || !*words || !packet)
		abort();
}

/*
 * Opened by its number: memory has no name.  Few connections and messages: that there
 * are too many happens as well
 */
static void fuzz_capture(const uint8_t *data, size_t size)
{
	static const struct flow_ops ops = { no_message, no_connection, no_rule, no_rule };
	struct flow *f = flow_new(&ops, NULL, 2, 2);
	struct rtgt_err err = {};
	struct flow_seen seen;
	struct capture *c;
	char path[64];
	struct pkt p;
	FILE *file = tmpfile();

	if (!file || !f)
		abort();
	fwrite(data, 1, size, file);
	fflush(file);
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(file));
	if (!capture_open_file(&c, path, &err)) {
		while (capture_next(c, &p, &err) == 1) {
			look(&p);
			flow_packet(f, &p, &seen);
		}
		flow_end(f);
		capture_close(c);
	}
	flow_free(f);
	fclose(file);
}

/* Segments of a connection: flags, of which the highest bit is the direction; how far behind
 * the last one it begins; bytes, in units of four; the bytes
 */
static void fuzz_stream(const uint8_t *data, size_t size)
{
	struct iwarp *w = iwarp_new();
	uint32_t seq[2] = { 0xfffffff0, 0 };
	struct pkt p = {};
	void *block = NULL;
	uint8_t *b;

	while (w && size >= 3) {
		const bool back = data[0] & 0x80;
		const size_t room = size - 3, len = data[2] * 4u < room ? data[2] * 4u : room;
		const struct pkt *u;
		unsigned int nr;

		memset(&p, 0, sizeof(p));
		free(block);
		b = calloc(1, 20 + len);
		block = b;
		if (!b)
			break;
		memcpy(b + 20, data + 3, len);
		seq[back] += (uint32_t)(int8_t)data[1];
		put(b, 4, 4, seq[back]);
		b[13] = data[0] & 0x7f;
		p.data = b;
		p.number++;
		p.at[PKT_TCP].len = 20;
		p.at[PKT_PAYLOAD].off = 20;
		p.at[PKT_PAYLOAD].len = (uint32_t)len;
		p.caplen = 20 + (uint32_t)len;
		p.len = p.caplen;
		p.sport = back;
		p.dport = !back;
		u = iwarp_feed(w, &p, &nr);
		for (unsigned int i = 0; i < nr; i++)
			look(&u[i]);
		seq[back] += (uint32_t)len;
		data += 3 + len;
		size -= 3 + len;
	}
	iwarp_free(w);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int links[] = { DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_RAW,
				     DLT_INFINIBAND, DLT_ERF, 147 };
	const size_t nr = sizeof(links) / sizeof(links[0]);
	struct pkt p = {};
	void *block = NULL;

	if (!size)
		return 0;
	if (data[0] == FRAME_FUZZ_FILE || data[0] == FRAME_FUZZ_STREAM) {
		(data[0] == FRAME_FUZZ_FILE ? fuzz_capture : fuzz_stream)(data + 1, size - 1);
		return 0;
	}
	p.data = exact(&block, data + 1, size - 1);
	p.caplen = size - 1;
	/* as if more had been on the wire */
	p.len = p.caplen + (data[0] & 0x80 ? 100 : 0);
	pkt_parse(&p, links[(data[0] & 0x7f) % nr]);
	look(&p);
	free(block);
	return 0;
}
