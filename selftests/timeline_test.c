// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * timeline_test: user/tool/timeline/timeline_conn.c, which finds the connection that an event of
 * the trace belongs to.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		self->conn[i].seen.end[0].qpn = QPN;
		self->conn[i].seen.end[1].qpn = QPN + 1;
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

TEST_HARNESS_MAIN
