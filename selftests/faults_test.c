// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * faults_test: kmod/proto/faults.c in user space: the text of rules, when a fault is due, and
 * what it does to the bytes of a reply or of a REP.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "bytes.h"
#include "types.h"
#include <rtgt/faults.h>
#include <rtgt/proto.h>

#include "kselftest_harness.h"

#define HEAD	16	/* of a message */

FIXTURE(fault)
{
	unsigned char buf[256];
	void *block;
	struct rtgt_fault_stale stale;
};

FIXTURE_SETUP(fault)
{
}

FIXTURE_TEARDOWN(fault)
{
	free(self->block);
}

/* Each name once, each with words about it, and as short as the file "features" needs it */
TEST_F(fault, names)
{
	for (unsigned int i = 0; i < RTGT_NR_FAULTS; i++) {
		ASSERT_NE(NULL, rtgt_fault_name(i)) {
			TH_LOG("fault %u has no name", i);
		}
		ASSERT_NE(NULL, rtgt_fault_about(i));
		EXPECT_GE(14, strlen(rtgt_fault_name(i)));
		EXPECT_LT(5, strlen(rtgt_fault_about(i)));
		EXPECT_EQ(NULL, strpbrk(rtgt_fault_name(i), " \t\n"));
		for (unsigned int j = 0; j < i; j++)
			EXPECT_NE(0, strcmp(rtgt_fault_name(i), rtgt_fault_name(j)));
	}
}

/* Every fault: what is printed is parsed to the same */
TEST_F(fault, lines)
{
	static const struct rtgt_fault_rule rules[] = {
		{ 1, 0, 0, 0 }, { 3, 10, 5, 0 }, { ~0u, ~0u, ~0u, 0 }, { 2, 0, 1, 0 },
	};
	char line[RTGT_FAULT_LINE_MAX];
	struct rtgt_fault_rule rule;
	unsigned int fault;
	int len;

	for (unsigned int i = 0; i < RTGT_NR_FAULTS; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(rules); j++) {
			struct rtgt_fault_rule want = rules[j];

			if (rtgt_fault_has_ms(i))
				want.ms = RTGT_FAULT_MAX_MS;
			len = rtgt_fault_print(line, sizeof(line), i, &want);
			ASSERT_EQ(strlen(line), (size_t)len);
			ASSERT_EQ(0, rtgt_fault_parse(line, &fault, &rule)) {
				TH_LOG("%s", line);
			}
			EXPECT_EQ(i, fault);
			EXPECT_EQ(0, memcmp(&want, &rule, sizeof(rule)));
		}
		rule.every = 0;
		rtgt_fault_print(line, sizeof(line), i, &rule);
		rule.every = 1;
		ASSERT_EQ(0, rtgt_fault_parse(line, &fault, &rule));
		EXPECT_EQ(i, fault);
		EXPECT_EQ(0, rule.every);
	}
}

TEST_F(fault, parse)
{
	static const struct {
		const char *line;
		unsigned int fault;
		struct rtgt_fault_rule rule;
	} all[] = {
		{ "off", RTGT_NR_FAULTS, { 0 } },
		{ "\toff\n", RTGT_NR_FAULTS, { 0 } },
		{ "reply-tag", RTGT_FAULT_REPLY_TAG, { .every = 1 } },
		{ "\treply-tag\t\n", RTGT_FAULT_REPLY_TAG, { .every = 1 } },
		{ "reply-tag off", RTGT_FAULT_REPLY_TAG, { 0 } },
		{ "reply-tag  off\t\n", RTGT_FAULT_REPLY_TAG, { 0 } },
		{ "reply-tag every 3 after 10 for 5", RTGT_FAULT_REPLY_TAG, { 3, 10, 5, 0 } },
		{ "reply-tag for 5\tafter 10 every 3\n", RTGT_FAULT_REPLY_TAG, { 3, 10, 5, 0 } },
		{ "reply-tag after 0", RTGT_FAULT_REPLY_TAG, { .every = 1 } },
		{ "reply-tag every 0007", RTGT_FAULT_REPLY_TAG, { .every = 7 } },
		{ "reply-tag for 4294967295", RTGT_FAULT_REPLY_TAG, { 1, 0, ~0u, 0 } },
		{ "reply-delay ms 10000", RTGT_FAULT_REPLY_DELAY, { 1, 0, 0, 10000 } },
	};
	static const struct { const char *line; int ret; } bad[] = {
		{ "", -EINVAL }, { "\n", -EINVAL }, { " ", -EINVAL },
		{ "reply", -EINVAL }, { "reply-tagg", -EINVAL }, { "Reply-tag", -EINVAL },
		{ "every 1", -EINVAL }, { "off off", -EINVAL }, { "off reply-tag", -EINVAL },
		{ "off\n\n", -EINVAL }, { "off\noff", -EINVAL },
		{ "reply-tag off 1", -EINVAL }, { "reply-tag off\nx", -EINVAL },
		{ "reply-tag every", -EINVAL }, { "reply-tag every\n", -EINVAL },
		{ "reply-tag every x", -EINVAL }, { "reply-tag every -1", -EINVAL },
		{ "reply-tag every +1", -EINVAL }, { "reply-tag every 0x1", -EINVAL },
		{ "reply-tag every 1x", -EINVAL }, { "reply-tag every every", -EINVAL },
		{ "reply-tag every 1 every 1", -EINVAL }, { "reply-tag every 1 2", -EINVAL },
		{ "reply-tag 1", -EINVAL }, { "reply-tag every 1 off", -EINVAL },
		{ "reply-tag every 1\nafter 2", -EINVAL }, { "reply-tag\n\n", -EINVAL },
		{ "reply-tag ms 5", -EINVAL }, { "reply-delay", -EINVAL },
		{ "reply-delay every 2", -EINVAL }, { "rep-delay after 1", -EINVAL },
		{ "reply-tag every 0", -ERANGE }, { "reply-tag for 0", -ERANGE },
		{ "reply-delay ms 0", -ERANGE }, { "reply-delay ms 10001", -ERANGE },
		{ "reply-tag every 4294967296", -ERANGE },
		{ "reply-tag after 18446744073709551617", -ERANGE },
		{ "reply-tag for 99999999999999999999999999999999", -ERANGE },
	};
	struct rtgt_fault_rule rule;
	unsigned int fault;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const char *line = exact(&self->block, all[i].line, strlen(all[i].line) + 1);

		EXPECT_EQ(0, rtgt_fault_parse(line, &fault, &rule));
		EXPECT_EQ(all[i].fault, fault);
		EXPECT_EQ(0, memcmp(&all[i].rule, &rule, sizeof(rule))) {
			TH_LOG("\"%s\"", all[i].line);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *line = exact(&self->block, bad[i].line, strlen(bad[i].line) + 1);

		EXPECT_EQ(bad[i].ret, rtgt_fault_parse(line, &fault, &rule)) {
			TH_LOG("\"%s\"", bad[i].line);
		}
	}
}

/* Against a count by hand, for small rules; and at the ends of 32 bits */
TEST_F(fault, due)
{
	struct rtgt_fault_rule rule = { 0 };

	for (u32 n = 0; n < 4; n++)
		EXPECT_FALSE(rtgt_fault_due(&rule, n));
	for (rule.every = 1; rule.every < 5; rule.every++) {
		for (rule.after = 0; rule.after < 5; rule.after++) {
			for (rule.times = 0; rule.times < 4; rule.times++) {
				u32 done = 0, next = rule.after;

				for (u32 n = 0; n < 40; n++) {
					bool want = n == next && (!rule.times || done < rule.times);

					ASSERT_EQ(want, rtgt_fault_due(&rule, n));
					if (n == next)
						next += rule.every;
					done += want;
				}
			}
		}
	}
	rule = (struct rtgt_fault_rule){ .every = 1, .after = ~0u };
	EXPECT_FALSE(rtgt_fault_due(&rule, ~0u - 1));
	EXPECT_TRUE(rtgt_fault_due(&rule, ~0u));
	rule = (struct rtgt_fault_rule){ .every = ~0u, .times = ~0u };
	EXPECT_TRUE(rtgt_fault_due(&rule, 0));
	EXPECT_FALSE(rtgt_fault_due(&rule, 1));
	EXPECT_TRUE(rtgt_fault_due(&rule, ~0u));
}

/* A reply with a body of @body bytes, that count from 1 */
static u32 make_reply(unsigned char *buf, u32 op, u32 status, u32 body)
{
	const struct rtgt_request rq = { .op = (u8)op, .tag = 0x01020304 };

	rtgt_encode_reply(buf, &rq, status, body, 0);
	for (u32 i = 0; i < body; i++)
		buf[HEAD + i] = (unsigned char)(i + 1);
	return HEAD + body;
}

/* Every fault on every reply: what fits changes what its name says and nothing else */
TEST_F(fault, reply)
{
	static const struct { u32 op, body, caps; } replies[] = {
		{ RTGT_MSG_ECHO, 0, 0 }, { RTGT_MSG_ECHO, 1, 0 }, { RTGT_MSG_ECHO, 100, 0 },
		{ RTGT_MSG_CHECKSUM, 16, 0 }, { RTGT_MSG_IMM, 4, 0 }, { RTGT_MSG_PULL, 0, 0 },
		{ RTGT_MSG_REVOKE, 24, 1 }, { RTGT_MSG_EXTENTS, 16, 0 },
		{ RTGT_MSG_EXTENTS, 56, 2 },
	};

	self->stale.len = 8;
	memset(self->stale.bytes, 0xee, sizeof(self->stale.bytes));
	for (size_t i = 0; i < ARRAY_SIZE(replies) * 2 * RTGT_NR_FAULTS; i++) {
		unsigned int fault = i % RTGT_NR_FAULTS, r = i / RTGT_NR_FAULTS / 2;
		u32 status = i / RTGT_NR_FAULTS % 2 ? RTGT_ST_FAILED : RTGT_OK;
		u32 body = replies[r].body;
		u32 len = make_reply(self->buf, replies[r].op, status, body);
		u32 first = replies[r].op == RTGT_MSG_REVOKE ? HEAD : HEAD + 16;
		unsigned char want[256], *buf;
		u32 want_len = len, room = len;
		bool fits = true;

		if (replies[r].op == RTGT_MSG_EXTENTS)
			put(self->buf, HEAD + 12, 4, replies[r].caps);
		memcpy(want, self->buf, len);
		switch (fault) {
		case RTGT_FAULT_REPLY_TAG:
			put(want, 4, 4, 0x01020305);
			break;
		case RTGT_FAULT_REPLY_OP:
			want[1] = replies[r].op == RTGT_MSG_ECHO ? 0x82 : 0x81;
			break;
		case RTGT_FAULT_REPLY_LEN:
			put(want, 8, 4, body ? body - 1 : 1);
			break;
		case RTGT_FAULT_REPLY_SHORT:
			fits = body;
			want_len = len - 1;
			put(want, 8, 4, body - 1);
			break;
		case RTGT_FAULT_REPLY_LONG:
			room = len + 7;
			want_len = room;
			put(want, 8, 4, body + 7);
			memset(want + len, 0, 7);
			memset(self->buf + len, 0xee, 7);
			break;
		case RTGT_FAULT_REPLY_STATUS:
			fits = status == RTGT_OK;
			put(want, 2, 2, RTGT_ST_FAILED);
			break;
		case RTGT_FAULT_REPLY_BIT:
			fits = body;
			want[HEAD + (replies[r].op == RTGT_MSG_ECHO ? body / 2 : 3)] ^= 1;
			break;
		case RTGT_FAULT_REPLY_STALE:
			fits = body;
			memset(want + HEAD, 0xee, body < 8 ? body : 8);
			break;
		case RTGT_FAULT_CAP_RKEY:
		case RTGT_FAULT_CAP_ADDR:
		case RTGT_FAULT_CAP_LEN:
			fits = replies[r].caps && status == RTGT_OK;
			for (u32 c = 0; c < replies[r].caps; c++) {
				unsigned char *cap = want + first + c * 20;
				u64 addr, bytes;

				memcpy(&addr, cap, 8);
				memcpy(&bytes, cap + 12, 8);
				if (fault == RTGT_FAULT_CAP_RKEY)
					cap[11] ^= 1;
				else if (fault == RTGT_FAULT_CAP_ADDR)
					put(cap, 0, 8, be64toh(addr) + be64toh(bytes));
				else
					put(cap, 12, 8, 1);
			}
			break;
		}
		buf = exact(&self->block, self->buf, room);
		ASSERT_EQ(fits, rtgt_fault_reply_fits(fault, buf, len, room, &self->stale)) {
			TH_LOG("%s, operation %u, %u bytes", rtgt_fault_name(fault), replies[r].op,
			       body);
		}
		if (!fits)
			continue;
		ASSERT_EQ(want_len, rtgt_fault_reply(fault, buf, len, room, &self->stale));
		ASSERT_EQ(0, memcmp(want, buf, want_len)) {
			TH_LOG("%s, operation %u, %u bytes", rtgt_fault_name(fault), replies[r].op,
			       body);
		}
	}
}

static bool stale_fits(const void *buf, u32 len, const struct rtgt_fault_stale *stale)
{
	return rtgt_fault_reply_fits(RTGT_FAULT_REPLY_STALE, buf, len, len, stale);
}

/* The body of an earlier reply, of which 64 bytes are kept; an equal one is no fault */
TEST_F(fault, stale)
{
	u32 len = make_reply(self->buf, RTGT_MSG_ECHO, 0, 100);

	EXPECT_FALSE(stale_fits(self->buf, len, &self->stale));
	rtgt_fault_keep(&self->stale, self->buf, len);
	EXPECT_EQ(64, self->stale.len);
	EXPECT_FALSE(stale_fits(self->buf, len, &self->stale));
	self->buf[HEAD + 64] ^= 1;
	EXPECT_FALSE(stale_fits(self->buf, len, &self->stale));
	self->buf[HEAD + 63] ^= 1;
	EXPECT_TRUE(stale_fits(self->buf, len, &self->stale));
	rtgt_fault_reply(RTGT_FAULT_REPLY_STALE, self->buf, len, len, &self->stale);
	EXPECT_EQ(64, self->buf[HEAD + 63]);
	len = make_reply(self->buf, RTGT_MSG_PULL, 0, 0);
	rtgt_fault_keep(&self->stale, self->buf, len);
	EXPECT_EQ(64, self->stale.len);
}

/* Two faults at once: the count of capabilities is an earlier reply's; as many as fit count */
TEST_F(fault, stale_caps)
{
	static const unsigned int caps[] = { RTGT_FAULT_CAP_RKEY, RTGT_FAULT_CAP_ADDR,
					     RTGT_FAULT_CAP_LEN };
	u32 len = make_reply(self->buf, RTGT_MSG_ECHO, 0, 64);
	unsigned char *buf;

	memset(self->buf + HEAD, 0xff, 64);
	rtgt_fault_keep(&self->stale, self->buf, len);
	for (unsigned int i = 0; i < 3; i++) {
		len = make_reply(self->buf, RTGT_MSG_EXTENTS, 0, 16 + 2 * 20);
		buf = exact(&self->block, self->buf, len);
		rtgt_fault_reply(RTGT_FAULT_REPLY_STALE, buf, len, len, &self->stale);
		EXPECT_TRUE(rtgt_fault_reply_fits(caps[i], buf, len, len, &self->stale));
		EXPECT_EQ(len, rtgt_fault_reply(caps[i], buf, len, len, &self->stale));
	}
}

/* Every fault on a REP with capabilities, on one with RTGT_F_ASK, and on one that is no rtgt's */
TEST_F(fault, rep)
{
	struct rtgt_rep_info info = { .nr = 2, .recv_depth = 16, .recv_size = 4096 }, got;
	const u32 size = sizeof(struct rtgt_rep);

	for (unsigned int i = 0; i < 3 * RTGT_NR_FAULTS; i++) {
		unsigned int fault = i % RTGT_NR_FAULTS, kind = i / RTGT_NR_FAULTS;
		bool ask = kind == 1, fits = true, changed = true;
		enum rtgt_misfit misfit = RTGT_FITS;
		u32 len;

		for (u32 r = 0; r < 2; r++)
			info.region[r] = (struct rtgt_region_info){
				ask ? 0 : 0x1000 * (r + 1), 0x400, ask ? 0 : 0x77 + r, 1,
			};
		info.features = ask ? RTGT_F_ASK : 0;
		ASSERT_EQ(size, rtgt_encode_rep(self->buf, sizeof(self->buf), &info));
		if (kind == 2)
			self->buf[20] ^= 1;
		switch (fault) {
		case RTGT_FAULT_REP_RKEY:
		case RTGT_FAULT_REP_ADDR:
		case RTGT_FAULT_REP_ASK:
			fits = !kind;
			break;
		case RTGT_FAULT_REP_LEN:
			fits = kind < 2;
			break;
		case RTGT_FAULT_REP_VERSION:
			fits = kind < 2;
			misfit = RTGT_MISFIT_VERSION;
			break;
		case RTGT_FAULT_REP_SHORT:
			fits = kind < 2;
			misfit = RTGT_MISFIT_SIZE;
			break;
		default:
			changed = false;
		}
		ASSERT_EQ(fits, rtgt_fault_rep_fits(fault, self->buf, size)) {
			TH_LOG("%s, kind %u", rtgt_fault_name(fault), kind);
		}
		if (!fits || kind == 2)
			continue;
		len = rtgt_fault_rep(fault, self->buf, size);
		EXPECT_EQ(fault == RTGT_FAULT_REP_SHORT ? 48 : size, len);
		/* RoCE pads it */
		memset(self->buf + len, 0, RTGT_REP_MAX - len);
		ASSERT_EQ(misfit, rtgt_decode_rep(self->buf, RTGT_REP_MAX, &got));
		if (misfit != RTGT_FITS)
			continue;
		got.rtgt = false;
		got.version = 0;
		EXPECT_EQ(changed, memcmp(&info, &got, sizeof(info)) != 0) {
			TH_LOG("%s", rtgt_fault_name(fault));
		}
		switch (fault) {
		case RTGT_FAULT_REP_RKEY:
			got.region[0].rkey ^= 1;
			break;
		case RTGT_FAULT_REP_ADDR:
			got.region[0].addr -= got.region[0].len;
			break;
		case RTGT_FAULT_REP_LEN:
			got.region[0].len /= 2;
			break;
		case RTGT_FAULT_REP_ASK:
			EXPECT_EQ(RTGT_F_ASK, got.features);
			for (u32 r = 0; r < 2; r++)
				EXPECT_FALSE(got.region[r].addr || got.region[r].rkey);
			continue;
		}
		EXPECT_EQ(0, memcmp(&info, &got, sizeof(info))) {
			TH_LOG("%s", rtgt_fault_name(fault));
		}
	}
}

/* Each fault that rejects has the reason of its name */
TEST_F(fault, rej)
{
	unsigned int reasons = 0;
	char name[32];
	u32 arg;

	for (unsigned int i = 0; i < RTGT_NR_FAULTS; i++) {
		u32 reason = rtgt_fault_rej(i, &arg);

		ASSERT_EQ(!strncmp(rtgt_fault_name(i), "rej-", 4), reason != 0);
		if (!reason)
			continue;
		snprintf(name, sizeof(name), "rej-%s", rtgt_rej_name(reason));
		EXPECT_STREQ(name, rtgt_fault_name(i));
		reasons++;
	}
	EXPECT_EQ(RTGT_REJ_ASK, reasons);
}

/* In a region of each small size, each range: it moves, stays inside, and is the neighbour */
TEST_F(fault, range)
{
	for (u64 size = 1; size < 9; size++) {
		for (u64 offset = 0; offset < size; offset++) {
			for (u64 len = 1; len <= size - offset; len++) {
				u64 at = offset;

				ASSERT_EQ(len < size, rtgt_fault_range(&at, len, size));
				ASSERT_TRUE(rtgt_range_ok(at, len, size));
				ASSERT_EQ(len < size, at != offset);
				if (offset + 2 * len <= size)
					ASSERT_EQ(offset + len, at);
			}
		}
	}
}

TEST_HARNESS_MAIN
