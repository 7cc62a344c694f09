// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * timeline_test: user/tool/timeline/timeline_conn.c and timeline_iwarp.c, which find the connection
 * that an event of the trace belongs to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leaks.h"
#include "tool/timeline/timeline.h"

#include "kselftest_harness.h"

/* timeline_wire.c's, which needs libpcap */
int64_t tl_wire_us(const struct timeline *t, uint64_t ns)
{
	(void)t;
	return (int64_t)ns / 1000;
}

/* libwire's, which needs all of it */
const char *flow_step_name(enum flow_step step)
{
	(void)step;
	return "step";
}

const char *pkt_rdmap_name(unsigned int opcode)
{
	return opcode ? "SEND" : "RDMA WRITE";
}

#define CONNS	2
#define QPN	17

/* Two clients with the same number of a queue pair, and the first's REQ is still to come */
FIXTURE(conns)
{
	struct tl_line line;
	struct tl_conn conn[CONNS];
	struct timeline t;
	char rest[256];
};

FIXTURE_SETUP(conns)
{
	for (int i = 0; i < CONNS; i++) {
		for (int end = 0; end < 2; end++) {
			self->conn[i].qpn[end] = QPN + end;
			self->conn[i].has_qpn[end] = true;
		}
		self->conn[i].to_us = 1000;
	}
	self->t.conn = self->conn;
	self->t.conns = CONNS;
	self->t.trace.line = &self->line;
	self->t.trace.lines = 1;
	self->line.us = 10;
}

FIXTURE_TEARDOWN(conns)
{
	for (int i = 0; i < CONNS; i++)
		free(self->conn[i].events.event);
	EXPECT_EQ(0, leaked());
}

/* The index of the connection that a REQ from @src is taken for; -1 for none */
static int req_of(struct timeline *t, struct tl_line *line, char *rest, size_t size,
		  const char *src)
{
	struct rtgt_err err;

	snprintf(rest, size, "src=%s dst=192.0.2.9:7471 qp_num=%d", src, QPN);
	line->event = "cm_send_req";
	line->rest = rest;
	for (int i = 0; i < CONNS; i++)
		t->conn[i].name[0][0] = 0;
	if (tl_join_conns(t, &err))
		return -2;
	for (int i = 0; i < CONNS; i++)
		if (t->conn[i].name[0][0])
			return i;
	return -1;
}

/* What tl_trace_read() makes of a text: 0 or a negative errno, and what it says then */
static int trace_of(struct tl_trace *t, const char *text, struct rtgt_err *err)
{
	char path[] = "/tmp/timeline_test.XXXXXX";
	int fd = mkstemp(path), ret;

	memset(err, 0, sizeof(*err));
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	ret = tl_trace_read(t, path, err);
	unlink(path);
	return ret;
}

#define EVENT(rest)	"  tool-7  [001] ...1. " rest "\n"
#define MARK(rest)	EVENT("1.000000: tracing_mark_write: " TL_MARK rest)

/* A trace: lines in the order of their times, what was lost, and what the recorder says */
TEST(trace)
{
	struct rtgt_err err;
	struct tl_trace t;

	ASSERT_EQ(0, trace_of(&t, "# tracer: nop\n"
		"# entries-in-buffer/entries-written: 3/5   #P:1\n\n"
		EVENT("12.000003: late: a=1")
		" my [x]-70 [012] d..2. 12.000002: early:\n"
		"CPU:1 [LOST 40 EVENTS]\nCPU:0 [LOST EVENTS]\n"
		EVENT("12.000003: last: b=2")
		EVENT("3.000009: tracing_mark_write: of somebody else")
		MARK("offset_ns=500 error_ns=20") MARK("dropped=6") MARK("dropped=0")
		MARK("missing=rdma_cma") MARK("device=rxe0 addr=192.0.2.1")
		MARK("offset_ns=530 error_ns=10"), &err));
	ASSERT_EQ(4, t.lines);
	EXPECT_EQ(3000009, t.line[0].us);
	EXPECT_EQ(12000002, t.line[1].us);
	EXPECT_STREQ("early", t.line[1].event);
	EXPECT_STREQ("", t.line[1].rest);
	EXPECT_EQ(70, t.line[1].pid);
	EXPECT_EQ(5, t.line[1].nr);
	EXPECT_STREQ("late", t.line[2].event);
	EXPECT_STREQ("a=1", t.line[2].rest);
	EXPECT_EQ(7, t.line[2].pid);
	EXPECT_STREQ("last", t.line[3].event);
	EXPECT_EQ(43, t.lost);
	EXPECT_EQ(6, t.dropped);
	EXPECT_EQ(500, t.offset_ns);
	EXPECT_EQ(20, t.error_ns);
	EXPECT_EQ(30, t.moved_ns);
	ASSERT_EQ(1, t.nr_missing);
	EXPECT_STREQ("rdma_cma", t.missing[0]);
	ASSERT_EQ(1, t.devices);
	EXPECT_STREQ("rxe0", t.device[0].name);
	EXPECT_STREQ("192.0.2.1", t.device[0].addr);
	tl_trace_free(&t);
	EXPECT_EQ(0, leaked());
}

/* Texts that are no trace: the error names the line */
TEST(no_trace)
{
	static const struct {
		const char *text, *says;
	} all[] = {
		{ "a text\n", "line 1 is no event of a trace: \"a text\"" },
		{ MARK("offset_ns=1 error_ns=1") "  tool-7 [001] ...1. 1.00003: x: y\n",
		  "line 2 is no event" },
		{ "  tool-7 [001] ...1. 1.000003: x\n", "line 1 is no event" },
		{ "  tool-7 [001] ...1. 1.000003: : y\n", "line 1 is no event" },
		{ "  tool-7 (001) ...1. 1.000003: x: y\n", "line 1 is no event" },
		{ "  tool-x [001] ...1. 1.000003: x: y\n", "line 1 is no event" },
		{ EVENT("1.000003: x: y"), "does not say how its clock" },
		{ "# a comment", "its last line is cut short" },
	};
	struct rtgt_err err;
	struct tl_trace t;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		EXPECT_EQ(-EPROTO, trace_of(&t, all[i].text, &err));
		EXPECT_NE(NULL, strstr(err.text, all[i].says)) {
			TH_LOG("row %zu: %s", i, err.text);
		}
		tl_trace_free(&t);
	}
	EXPECT_EQ(-ENOENT, tl_trace_read(&t, "/nowhere/at/all", &err));
	tl_trace_free(&t);
	EXPECT_EQ(0, leaked());
}

/* Values of an event by their names, which are whole words */
TEST(values)
{
	const char *rest = "conn=3 why=\"no answer\" qp_conn=4 state=live";
	char text[10];
	int64_t n = 7;

	EXPECT_TRUE(tl_text(rest, "why", text, sizeof(text)));
	EXPECT_STREQ("no answer", text);
	EXPECT_FALSE(tl_text(rest, "why", text, sizeof(text) - 1));
	EXPECT_TRUE(tl_text(rest, "state", text, sizeof(text)));
	EXPECT_STREQ("live", text);
	EXPECT_FALSE(tl_text(rest, "tate", text, sizeof(text)));
	EXPECT_FALSE(tl_text(rest, "nothing", text, sizeof(text)));
	EXPECT_TRUE(tl_number(rest, "conn", &n));
	EXPECT_EQ(3, n);
	EXPECT_FALSE(tl_number(rest, "nothing", &n));
	EXPECT_EQ(3, n);
}

#define REQ_OF(src)	req_of(&self->t, &self->line, self->rest, sizeof(self->rest), src)

TEST_F(conns, one_address_in_another)
{
	strcpy(self->conn[0].addr[0], "192.0.2.1");
	strcpy(self->conn[1].addr[0], "192.0.2.11");
	EXPECT_EQ(0, REQ_OF("192.0.2.1:40000"));
	EXPECT_EQ(1, REQ_OF("192.0.2.11:40000"));
	strcpy(self->conn[0].addr[0], "2.0.2.1");
	strcpy(self->conn[1].addr[0], "192.0.2.1");
	EXPECT_EQ(1, REQ_OF("192.0.2.1:40000"));
	EXPECT_EQ(-1, REQ_OF("192.0.2.111:40000"));
}

/* The trace has what this machine does: a queue pair of that number elsewhere is another one */
TEST_F(conns, of_another_machine)
{
	self->conn[0].device[0] = "rxe0";
	EXPECT_EQ(&self->conn[0], tl_conn_at(&self->t, 0, QPN, 500));
	EXPECT_EQ(NULL, tl_conn_at(&self->t, 1, QPN + 1, 500));
}

TEST_F(conns, ipv6)
{
	strcpy(self->conn[0].addr[0], "2001:db8::1");
	strcpy(self->conn[1].addr[0], "2001:db8::1:2");
	EXPECT_EQ(0, REQ_OF("[2001:db8::1]:40000"));
	EXPECT_EQ(1, REQ_OF("[2001:db8::1:2]:40000"));
	/* two spellings of one address */
	strcpy(self->conn[1].addr[0], "2001:db8:0:1:1:1:1:1");
	EXPECT_EQ(1, REQ_OF("[2001:db8::1:1:1:1:1]:40000"));
	EXPECT_EQ(-1, REQ_OF("2001:db8::1"));
}

/*
 * A connection over iWARP: 192.0.2.2 port 40000 to 192.0.2.1 port 7471, its MPA request in
 * packet 7
 */
FIXTURE(iwarp)
{
	struct tl_line line[16];
	struct tl_segment segment[16];
	struct tl_conn conn;
	struct timeline t;
	struct rtgt_err err;
};

#define ZEROS	",0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0}"
#define CLIENT	"{0x9c,0x40,0xc0,0x0,0x2,0x2" ZEROS
#define TARGET	"{0x1d,0x2f,0xc0,0x0,0x2,0x1" ZEROS

FIXTURE_SETUP(iwarp)
{
	struct tl_conn *c = &self->conn;

	c->iwarp = true;
	c->to_us = 1000;
	c->seen.first_packet = 7;
	for (int end = 0; end < 2; end++) {
		c->seen.end[end].ip_version = 4;
		c->seen.end[end].qpn = FLOW_PORT(end ? 7471 : 40000);
		memcpy(c->seen.end[end].addr, end ? "\xc0\0\2\1" : "\xc0\0\2\2", 4);
		strcpy(c->addr[end], end ? "192.0.2.1" : "192.0.2.2");
		tl_iwarp_name(&c->seen, end, c->addr[end], c->name[end], sizeof(c->name[end]));
	}
	self->t.conn = c;
	self->t.conns = 1;
	self->t.trace.line = self->line;
	self->t.segment = self->segment;
}

FIXTURE_TEARDOWN(iwarp)
{
	free(self->conn.events.event);
	free(self->t.qp);
	EXPECT_EQ(0, leaked());
}

static void add_line(struct timeline *t, const char *event, const char *rest)
{
	struct tl_line *l = &t->trace.line[t->trace.lines];

	*l = (struct tl_line) {
		.us = 10 + t->trace.lines++, .pid = 5, .event = event, .rest = rest,
	};
}

/* A segment, from the client or to it */
static void add_segment(struct timeline *t, uint64_t number, unsigned int from, uint8_t flags)
{
	struct tl_segment *s = &t->segment[t->segments++];
	const struct flow_end *e = t->conn[0].seen.end;

	*s = (struct tl_segment) {
		.number = number, .us = (int64_t)number, .flags = flags,
		.sport = e[from].qpn & 0xffff, .dport = e[!from].qpn & 0xffff,
	};
	memcpy(s->src, e[from].addr, sizeof(s->src));
	memcpy(s->dst, e[!from].addr, sizeof(s->dst));
}

/* What the connection's events are, joined by commas */
static const char *told(struct timeline *t, char *buf, size_t size)
{
	const struct tl_events *e = &t->conn[0].events;
	int n = 0;

	buf[0] = 0;
	for (unsigned int i = 0; i < e->nr; i++)
		n += snprintf(buf + n, size - (size_t)n, "%s%c:%s", i ? "; " : "",
			      "ctw"[e->event[i].end], e->event[i].what);
	return buf;
}

#define TOLD	told(&self->t, buf, sizeof(buf))

TEST_F(iwarp, what_iw_cm_does)
{
	char buf[1024];

	add_line(&self->t, "rtgt_iw_connect", "family=2 local=" CLIENT " remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_iw_event", "family=2 local=" TARGET " remote=" TARGET
		 " event=1 status=0 new_local=" TARGET " new_remote=" CLIENT);
	add_line(&self->t, "rtgt_iw_accept", "family=2 local=" TARGET " remote=" CLIENT " qpn=4");
	add_line(&self->t, "rtgt_iw_event", "family=2 local=" CLIENT " remote=" TARGET
		 " event=2 status=-104 new_local=" CLIENT " new_remote=" TARGET);
	ASSERT_EQ(0, tl_join_conns(&self->t, &self->err));
	EXPECT_STREQ("c:rdma_cm asks iw_cm to connect; t:the device reports CONNECT_REQUEST to iw_cm; "
		     "t:rdma_cm asks iw_cm to accept; "
		     "c:the device reports CONNECT_REPLY to iw_cm, error -104", TOLD);
	EXPECT_EQ(3, self->conn.qpn[0]);
	EXPECT_EQ(4, self->conn.qpn[1]);
}

/* The first FPDU is the first packet of the connection's first message that has one */
TEST_F(iwarp, first_fpdu)
{
	struct tl_msg msg[] = {
		{ .conn = 2, .seen.id = 5 },
		{ .conn = 1, .seen.id = 6 },
		{ .conn = 1, .seen.id = 7 },
	};
	struct tl_packet packet[] = {
		{ .number = 20, .us = 200, .msg = 5 },
		{ .number = 21, .us = 210, .msg = 7, .opcode = 3 },
		{ .number = 22, .us = 220, .msg = 7, .opcode = 3, .from_server = true },
	};
	char buf[1024];

	self->conn.seen.id = 1;
	self->t.msg = msg;
	self->t.msgs = 3;
	self->t.packet = packet;
	self->t.packets = 3;
	tl_iwarp_segments(&self->t, &self->conn);
	EXPECT_STREQ("w:the first FPDU: SEND", TOLD);
	ASSERT_EQ(1, self->conn.events.nr);
	EXPECT_EQ(21, self->conn.events.event[0].packet);
	EXPECT_EQ(210, self->conn.events.event[0].us);
	EXPECT_TRUE(self->conn.events.event[0].to_target);
	/* of another connection only */
	self->conn.events.nr = 0;
	self->t.packets = 1;
	tl_iwarp_segments(&self->t, &self->conn);
	EXPECT_STREQ("", TOLD);
}

/* Another's, and what is no address */
TEST_F(iwarp, of_others)
{
	char buf[1024];

	add_line(&self->t, "rtgt_iw_connect", "family=2 local=" TARGET " remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_iw_connect", "family=0 local=" CLIENT " remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_iw_connect", "family=2 local={0x9c} remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_iw_connect", "family=2 local=(fault) remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_iw_event",
		 "family=2 local=" CLIENT " remote=" TARGET " event=9 status=0");
	ASSERT_EQ(0, tl_join_conns(&self->t, &self->err));
	EXPECT_STREQ("", TOLD);
	EXPECT_FALSE(self->conn.has_qpn[0]);
}

/* The device sets states itself, in calls that return late */
TEST_F(iwarp, states)
{
	char buf[1024];

	strcpy(self->t.trace.device[0].name, "siw_c");
	strcpy(self->t.trace.device[0].addr, "192.0.2.2");
	self->t.trace.devices = 1;
	add_line(&self->t, "rtgt_qp_create_user", "qpn=3 dev=\"siw_c\"");
	add_line(&self->t, "rtgt_qp_modify_user", "qpn=3 dev=\"siw_c\" state=1 mask=41 ret=0");
	add_line(&self->t, "rtgt_iw_connect", "family=2 local=" CLIENT " remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_siw_modifies", "qpn=3 dev=\"siw_c\"");
	add_line(&self->t, "rtgt_siw_modify", "qpn=3 dev=\"siw_c\" now=2");
	add_line(&self->t, "rtgt_siw_modifies", "qpn=3 dev=\"siw_c\"");
	add_line(&self->t, "rtgt_iw_event",
		 "family=2 local=" CLIENT " remote=" TARGET " event=5 status=0");
	add_line(&self->t, "rtgt_siw_modify", "qpn=3 dev=\"siw_c\" now=3");
	add_line(&self->t, "rtgt_siw_modify", "qpn=3 dev=\"siw_t\" now=5");
	add_line(&self->t, "rtgt_qp_destroy", "qpn=3 dev=\"siw_c\" ret=0");
	ASSERT_EQ(0, tl_join_conns(&self->t, &self->err));
	EXPECT_STREQ("c:QP created: IDLE; c:rdma_cm asks iw_cm to connect; c:QP IDLE->RTS; "
		     "c:QP RTS->CLOSING; c:the device reports CLOSE to iw_cm; c:QP destroyed",
		     TOLD);
}

/* Without those, what a program asks for is no state */
TEST_F(iwarp, wishes)
{
	char buf[1024];

	strcpy(self->t.trace.device[0].name, "x0");
	strcpy(self->t.trace.device[0].addr, "192.0.2.2");
	self->t.trace.devices = 1;
	add_line(&self->t, "rtgt_qp_create_user", "qpn=3 dev=\"x0\"");
	add_line(&self->t, "rtgt_iw_connect", "family=2 local=" CLIENT " remote=" TARGET " qpn=3");
	add_line(&self->t, "rtgt_qp_modify_user", "qpn=3 dev=\"x0\" state=4 mask=1 ret=0");
	ASSERT_EQ(0, tl_join_conns(&self->t, &self->err));
	EXPECT_STREQ("c:QP created: IDLE; c:rdma_cm asks iw_cm to connect; "
		     "c:requests the QP state CLOSING", TOLD);
}

/* The same ports before and after belong to other connections */
TEST_F(iwarp, segments)
{
	char buf[1024];

	add_segment(&self->t, 1, 0, 0x02);
	add_segment(&self->t, 2, 0, 0x11);
	add_segment(&self->t, 3, 0, 0x02);
	add_segment(&self->t, 4, 0, 0x02);
	add_segment(&self->t, 5, 1, 0x12);
	add_segment(&self->t, 9, 0, 0x11);
	add_segment(&self->t, 10, 1, 0x14);
	add_segment(&self->t, 11, 0, 0x02);
	ASSERT_EQ(0, tl_join_conns(&self->t, &self->err));
	EXPECT_STREQ("w:TCP SYN; w:TCP SYN; w:TCP SYN, ACK; w:TCP FIN; w:TCP RST", TOLD);
	EXPECT_EQ(3, self->conn.events.event[0].packet);
	EXPECT_FALSE(self->conn.events.event[2].to_target);
}

TEST_HARNESS_MAIN
