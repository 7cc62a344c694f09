// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * packet_fuzz: libFuzzer's way into user/packet, which takes captured packets apart.
 *
 * The first byte says the link layer or that the rest is a whole capture file; otherwise
 * the rest is a packet, in an allocation that ends with it.  Everything the table of
 * fields has is read, and what pkt_parse() promises is checked: no header reaches beyond
 * what was captured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bytes.h"
#include "frames.h"
#include "../packet/capture.h"
#include "../packet/fields.h"

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

/* Opened by its number: memory has no name */
static void fuzz_capture(const uint8_t *data, size_t size)
{
	struct rtgt_err err = {};
	struct capture *c;
	char path[64];
	struct pkt p;
	FILE *file = tmpfile();

	if (!file)
		return;
	fwrite(data, 1, size, file);
	fflush(file);
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(file));
	if (!capture_open_file(&c, path, &err)) {
		while (capture_next(c, &p, &err) == 1)
			look(&p);
		capture_close(c);
	}
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int links[] = { DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_RAW, 147 };
	struct pkt p = {};
	void *block = NULL;

	if (!size)
		return 0;
	if (data[0] == sizeof(links) / sizeof(links[0])) {
		fuzz_capture(data + 1, size - 1);
		return 0;
	}
	p.data = exact(&block, data + 1, size - 1);
	p.caplen = size - 1;
	/* as if more had been on the wire */
	p.len = p.caplen + (data[0] & 0x80 ? 100 : 0);
	pkt_parse(&p, links[(data[0] & 0x7f) % (sizeof(links) / sizeof(links[0]))]);
	look(&p);
	free(block);
	return 0;
}
