// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults on demand: the table of names, the text of a rule, and what a fault does to the bytes
 * of a reply or of a REP, which the target itself has encoded.
 *
 * A rule is a line: a name, then any of "every N", "after N", "for N" and "ms N", in any order.
 * A name alone means every opportunity; "NAME off" ends the fault, "off" ends all.  All functions
 * are pure: the caller finds the opportunities (with rtgt_fault_reply_fits() and
 * rtgt_fault_rep_fits() where bytes decide), counts them, and calls rtgt_fault_due() at each.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#define scnprintf snprintf
#endif
#include <asm/byteorder.h>

#include "faults.h"
#include "types.h"

static const struct {
	const char *name;
	const char *about;
} faults[RTGT_NR_FAULTS] = {
	[RTGT_FAULT_REPLY_DROP] = { "reply-drop", "send no reply" },
	[RTGT_FAULT_REPLY_DELAY] = { "reply-delay", "send the reply \"ms\" milliseconds later" },
	[RTGT_FAULT_REPLY_TWICE] = { "reply-twice", "send the reply twice" },
	[RTGT_FAULT_REPLY_SWAP] = { "reply-swap", "send the reply after the next one" },
	[RTGT_FAULT_REPLY_TAG] = { "reply-tag", "reply with the tag of another request" },
	[RTGT_FAULT_REPLY_OP] = { "reply-op", "reply with another operation" },
	[RTGT_FAULT_REPLY_LEN] = { "reply-len", "reply with a length that is off by one" },
	[RTGT_FAULT_REPLY_SHORT] = { "reply-short", "send the reply without its last byte" },
	[RTGT_FAULT_REPLY_LONG] = { "reply-long", "send as many bytes as recv_size" },
	[RTGT_FAULT_REPLY_STATUS] = { "reply-status", "reply with the status \"failed\"" },
	[RTGT_FAULT_REPLY_BIT] = { "reply-bit", "flip a bit of the reply's body" },
	[RTGT_FAULT_REPLY_STALE] = { "reply-stale", "reply with the body of an earlier reply" },
	[RTGT_FAULT_REGION_BIT] = { "region-bit", "flip a bit of the region before a CHECKSUM" },
	[RTGT_FAULT_MOVE_RANGE] = { "move-range", "PULL or PUSH the bytes next to the range" },
	[RTGT_FAULT_MOVE_TWICE] = { "move-twice", "PULL or PUSH twice" },
	[RTGT_FAULT_MOVE_LATE] = { "move-late", "reply first, move \"ms\" milliseconds later" },
	[RTGT_FAULT_MOVE_NEVER] = { "move-never", "reply without a PULL or PUSH" },
	[RTGT_FAULT_CAP_RKEY] = { "cap-rkey", "return a wrong rkey to EXTENTS or REVOKE" },
	[RTGT_FAULT_CAP_ADDR] = { "cap-addr", "return an address beyond the memory" },
	[RTGT_FAULT_CAP_LEN] = { "cap-len", "return a length of 1" },
	[RTGT_FAULT_REP_RKEY] = { "rep-rkey", "send a wrong rkey in the REP" },
	[RTGT_FAULT_REP_ADDR] = { "rep-addr", "send an address beyond the memory" },
	[RTGT_FAULT_REP_LEN] = { "rep-len", "send twice the length" },
	[RTGT_FAULT_REP_ASK] = { "rep-ask", "send a REP that has no capability (RTGT_F_ASK)" },
	[RTGT_FAULT_REP_VERSION] = { "rep-version", "send a REP of another version" },
	[RTGT_FAULT_REP_SHORT] = { "rep-short", "send a REP that ends too early" },
	[RTGT_FAULT_REP_DELAY] = { "rep-delay", "send the REP \"ms\" milliseconds later" },
	[RTGT_FAULT_REP_NEVER] = { "rep-never", "send neither REP nor REJ" },
	[RTGT_FAULT_REJ_VERSION] = { "rej-version", "reject with the reason \"version\"" },
	[RTGT_FAULT_REJ_SIZE] = { "rej-size", "reject with the reason \"size\"" },
	[RTGT_FAULT_REJ_FULL] = { "rej-full", "reject with the reason \"full\"" },
	[RTGT_FAULT_REJ_RESOURCES] = { "rej-resources", "reject with the reason \"resources\"" },
	[RTGT_FAULT_REJ_DEVICE] = { "rej-device", "reject with the reason \"device\"" },
	[RTGT_FAULT_REJ_STOPPING] = { "rej-stopping", "reject with the reason \"stopping\"" },
	[RTGT_FAULT_REJ_ASK] = { "rej-ask", "reject with the reason \"ask\"" },
	[RTGT_FAULT_RECV_NONE] = { "recv-none", "post no receives" },
	[RTGT_FAULT_RTU_IGNORE] = { "rtu-ignore", "ignore the RTU and all messages" },
	[RTGT_FAULT_DREQ_IGNORE] = { "dreq-ignore", "keep the connection after a DREQ" },
	[RTGT_FAULT_DISCONNECT] = { "disconnect", "disconnect instead of serving a message" },
	[RTGT_FAULT_QP_ERR] = { "qp-err", "move the QP to ERR instead of serving a message" },
	[RTGT_FAULT_QP_SQD] = { "qp-sqd", "move the QP to SQD before serving a message" },
};

/**
 * rtgt_fault_name() - return the name of a fault
 * @fault: enum rtgt_fault, below RTGT_NR_FAULTS
 * Return: a constant string, one word.
 */
const char *rtgt_fault_name(unsigned int fault)
{
	return faults[fault].name;
}

/**
 * rtgt_fault_about() - return what a fault does
 * @fault: enum rtgt_fault, below RTGT_NR_FAULTS
 * Return: a constant string, the predicate of a sentence whose subject is the target.
 */
const char *rtgt_fault_about(unsigned int fault)
{
	return faults[fault].about;
}

/* The word at the beginning of a text; returns its bytes, and moves the text to it. */
static unsigned int word_of(const char **text)
{
	*text += strspn(*text, " \t");
	return strcspn(*text, " \t\n");
}

static bool word_is(const char *word, unsigned int len, const char *want)
{
	return strlen(want) == len && !memcmp(word, want, len);
}

/* Take a decimal number from a text.  Returns 0, -EINVAL or, above @max, -ERANGE. */
static int number_of(const char **text, u32 max, u32 *out)
{
	unsigned int len = word_of(text), i;
	u64 val = 0;

	if (!len)
		return -EINVAL;
	for (i = 0; i < len; i++)
		if ((*text)[i] < '0' || (*text)[i] > '9')
			return -EINVAL;
	for (i = 0; i < len && val <= max; i++)
		val = val * 10 + (u64)((*text)[i] - '0');
	*text += len;
	if (val > max)
		return -ERANGE;
	*out = (u32)val;
	return 0;
}

/* Parse what follows the name of a fault. */
static int parse_rule(const char *line, unsigned int fault, struct rtgt_fault_rule *rule)
{
	static const char *const keys[] = { "every", "after", "for", "ms" };
	u32 *const values[] = { &rule->every, &rule->after, &rule->times, &rule->ms };
	unsigned int seen = 0, len, i;
	int ret;

	*rule = (struct rtgt_fault_rule){ .every = 1 };
	while ((len = word_of(&line))) {
		for (i = 0; i < 4 && !word_is(line, len, keys[i]); i++)
			;
		if (i == 4 || seen & 1U << i)
			return -EINVAL;
		seen |= 1U << i;
		line += len;
		ret = number_of(&line, values[i] == &rule->ms ? RTGT_FAULT_MAX_MS : ~0U, values[i]);
		if (ret)
			return ret;
		/* "after 0" alone says something */
		if (!*values[i] && values[i] != &rule->after)
			return -ERANGE;
	}
	if (line[*line == '\n'])
		return -EINVAL;
	return !rtgt_fault_has_ms(fault) == !rule->ms ? 0 : -EINVAL;
}

/**
 * rtgt_fault_parse() - parse a line that sets or ends a fault
 * @line: text; one newline may end it
 * @fault: set to the fault, or to RTGT_NR_FAULTS for "off", which ends all
 * @rule: overwritten; with @rule->every 0 the fault ends
 * Return: 0; -EINVAL for an unknown name or word, a missing number, and "ms" where it does not
 * belong or is missing; -ERANGE for 0 (except "after 0"), for a number above 32 bits, and for
 * "ms" above RTGT_FAULT_MAX_MS.
 */
int rtgt_fault_parse(const char *line, unsigned int *fault, struct rtgt_fault_rule *rule)
{
	unsigned int len = word_of(&line), i;
	const char *rest = line + len;

	*rule = (struct rtgt_fault_rule){ 0 };
	for (i = 0; i < RTGT_NR_FAULTS && !word_is(line, len, faults[i].name); i++)
		;
	*fault = i;
	if (i < RTGT_NR_FAULTS) {
		line = rest;
		len = word_of(&line);
		if (!word_is(line, len, "off"))
			return parse_rule(rest, i, rule);
		rest = line + len;
	}
	if (!word_is(line, len, "off") || word_of(&rest))
		return -EINVAL;
	return rest[*rest == '\n'] ? -EINVAL : 0;
}

/**
 * rtgt_fault_print() - print a rule as rtgt_fault_parse() parses it
 * @line: buffer
 * @size: its bytes; RTGT_FAULT_LINE_MAX is enough
 * @fault: enum rtgt_fault
 * @rule: its rule; with every 0 "off" is printed
 * Return: number of bytes printed, without the NUL at the end; there is no newline.
 */
int rtgt_fault_print(char *line, unsigned int size, unsigned int fault,
		     const struct rtgt_fault_rule *rule)
{
	int len;

	if (!rule->every)
		return scnprintf(line, size, "%s off", faults[fault].name);
	len = scnprintf(line, size, "%s every %u", faults[fault].name, rule->every);
	if (rule->after)
		len += scnprintf(line + len, size - len, " after %u", rule->after);
	if (rule->times)
		len += scnprintf(line + len, size - len, " for %u", rule->times);
	if (rule->ms)
		len += scnprintf(line + len, size - len, " ms %u", rule->ms);
	return len;
}

/* The capabilities in a reply: how many, and the first of them. */
static unsigned int reply_caps(void *buf, u32 len, struct rtgt_cap **caps)
{
	struct rtgt_msg *msg = buf;
	struct rtgt_extents *extents = (struct rtgt_extents *)(msg + 1);
	struct rtgt_region *region = (struct rtgt_region *)(msg + 1);
	unsigned int nr, room;

	if (msg->status || len < sizeof(*msg) + sizeof(*extents))
		return 0;
	if (msg->op == (RTGT_MSG_REPLY | RTGT_MSG_EXTENTS)) {
		*caps = extents->cap;
		/* not what the bytes say alone: reply-stale may have put others there */
		room = (len - sizeof(*msg) - sizeof(*extents)) / sizeof(struct rtgt_cap);
		nr = __be32_to_cpu(extents->nr);
		return nr < room ? nr : room;
	}
	*caps = &region->cap;
	return msg->op == (RTGT_MSG_REPLY | RTGT_MSG_REVOKE) &&
	       len >= sizeof(*msg) + sizeof(*region);
}

static u32 stale_len(const struct rtgt_fault_stale *stale, u32 len)
{
	len -= sizeof(struct rtgt_msg);
	return len < stale->len ? len : stale->len;
}

/**
 * rtgt_fault_reply_fits() - can a fault change a reply?
 * @fault: enum rtgt_fault
 * @buf: the reply
 * @len: its bytes
 * @room: those of its memory
 * @stale: from rtgt_fault_keep()
 * Return: true if so, and for a fault that changes no bytes of a reply (reply-drop).
 */
bool rtgt_fault_reply_fits(unsigned int fault, const void *buf, u32 len, u32 room,
			   const struct rtgt_fault_stale *stale)
{
	const struct rtgt_msg *msg = buf;
	struct rtgt_cap *caps;
	u32 same;

	switch (fault) {
	case RTGT_FAULT_REPLY_STATUS:
		return !msg->status;
	case RTGT_FAULT_REPLY_SHORT:
	case RTGT_FAULT_REPLY_BIT:
		return len > sizeof(*msg);
	case RTGT_FAULT_REPLY_LONG:
		return len < room;
	case RTGT_FAULT_REPLY_STALE:
		same = stale_len(stale, len);
		return same && memcmp(msg + 1, stale->bytes, same);
	case RTGT_FAULT_CAP_RKEY:
	case RTGT_FAULT_CAP_ADDR:
	case RTGT_FAULT_CAP_LEN:
		return reply_caps((void *)buf, len, &caps) > 0;
	default:
		return true;
	}
}

/* The byte of a reply whose bit is flipped: the middle of an echo, else the end of a number. */
static u32 bit_at(const struct rtgt_msg *msg, u32 len)
{
	u32 body = len - sizeof(*msg);

	if (msg->op == (RTGT_MSG_REPLY | RTGT_MSG_ECHO))
		return sizeof(*msg) + body / 2;
	return sizeof(*msg) + (body < 4 ? body : 4) - 1;
}

static void cap_fault(unsigned int fault, struct rtgt_cap *cap)
{
	switch (fault) {
	case RTGT_FAULT_CAP_RKEY:
	case RTGT_FAULT_REP_RKEY:
		cap->rkey ^= __cpu_to_be32(1);
		break;
	case RTGT_FAULT_CAP_ADDR:
	case RTGT_FAULT_REP_ADDR:
		cap->addr = __cpu_to_be64(__be64_to_cpu(cap->addr) + __be64_to_cpu(cap->len));
		break;
	case RTGT_FAULT_CAP_LEN:
		cap->len = __cpu_to_be64(1);
		break;
	case RTGT_FAULT_REP_LEN:
		cap->len = __cpu_to_be64(2 * __be64_to_cpu(cap->len));
		break;
	}
}

/**
 * rtgt_fault_reply() - do to a reply what a fault does
 * @fault: enum rtgt_fault, for which rtgt_fault_reply_fits() returned true
 * @buf: the reply, changed; a fault that changes no bytes of a reply leaves it alone
 * @len: its bytes
 * @room: those of its memory
 * @stale: from rtgt_fault_keep()
 * Return: the bytes to send.
 */
u32 rtgt_fault_reply(unsigned int fault, void *buf, u32 len, u32 room,
		     const struct rtgt_fault_stale *stale)
{
	struct rtgt_msg *msg = buf;
	struct rtgt_cap *caps;
	unsigned int nr;
	u32 body;

	switch (fault) {
	case RTGT_FAULT_REPLY_TAG:
		msg->tag = __cpu_to_be32(__be32_to_cpu(msg->tag) + 1);
		break;
	case RTGT_FAULT_REPLY_OP:
		msg->op = RTGT_MSG_REPLY | (msg->op == (RTGT_MSG_REPLY | RTGT_MSG_ECHO) ?
					    RTGT_MSG_CHECKSUM : RTGT_MSG_ECHO);
		break;
	case RTGT_FAULT_REPLY_LEN:
		body = __be32_to_cpu(msg->len);
		msg->len = __cpu_to_be32(body ? body - 1 : 1);
		break;
	case RTGT_FAULT_REPLY_SHORT:
		len--;
		msg->len = __cpu_to_be32(len - sizeof(*msg));
		break;
	case RTGT_FAULT_REPLY_LONG:
		/* not what another client has sent */
		memset((u8 *)buf + len, 0, room - len);
		len = room;
		msg->len = __cpu_to_be32(len - sizeof(*msg));
		break;
	case RTGT_FAULT_REPLY_STATUS:
		msg->status = __cpu_to_be16(RTGT_ST_FAILED);
		break;
	case RTGT_FAULT_REPLY_BIT:
		((u8 *)buf)[bit_at(msg, len)] ^= 1;
		break;
	case RTGT_FAULT_REPLY_STALE:
		memcpy(msg + 1, stale->bytes, stale_len(stale, len));
		break;
	case RTGT_FAULT_CAP_RKEY:
	case RTGT_FAULT_CAP_ADDR:
	case RTGT_FAULT_CAP_LEN:
		for (nr = reply_caps(buf, len, &caps); nr; nr--)
			cap_fault(fault, caps++);
		break;
	}
	return len;
}

/**
 * rtgt_fault_keep() - keep the body of a reply for reply-stale
 * @stale: zeroed at first; a reply without a body leaves it alone.  For rtgt_fault_reply() on
 *	   the same reply, the caller keeps a copy of what it was before
 * @buf: the reply, before any fault changes it
 * @len: its bytes
 */
void rtgt_fault_keep(struct rtgt_fault_stale *stale, const void *buf, u32 len)
{
	u32 body = len - sizeof(struct rtgt_msg);

	if (!body)
		return;
	stale->len = body < sizeof(stale->bytes) ? body : sizeof(stale->bytes);
	memcpy(stale->bytes, (const struct rtgt_msg *)buf + 1, stale->len);
}

/**
 * rtgt_fault_rep_fits() - can a fault change the private data of a REP?
 * @fault: enum rtgt_fault
 * @priv: the private data
 * @len: its bytes
 * Return: true if so, and for a fault that changes no bytes of a REP (rep-never).
 */
bool rtgt_fault_rep_fits(unsigned int fault, const void *priv, u32 len)
{
	const struct rtgt_rep *rep = priv;
	bool rtgt = len >= offsetof(struct rtgt_rep, more) &&
		   rep->magic == __cpu_to_be32(RTGT_MAGIC);
	bool ask = rtgt && rep->features & __cpu_to_be32(RTGT_F_ASK);

	switch (fault) {
	case RTGT_FAULT_REP_RKEY:
	case RTGT_FAULT_REP_ADDR:
	case RTGT_FAULT_REP_ASK:
		return rtgt && rep->nr_regions && !ask;
	case RTGT_FAULT_REP_LEN:
		return rtgt && rep->nr_regions;
	case RTGT_FAULT_REP_VERSION:
	case RTGT_FAULT_REP_SHORT:
		return rtgt;
	default:
		return true;
	}
}

/**
 * rtgt_fault_rep() - do to the private data of a REP what a fault does
 * @fault: enum rtgt_fault, for which rtgt_fault_rep_fits() returned true
 * @priv: the private data, changed; a fault that changes no bytes of a REP leaves it alone
 * @len: its bytes
 *
 * Only the first region's capability is changed, except by rep-ask.  RoCE pads private data with
 * zeros, so rep-short also shrinks the size in the data.
 * Return: the bytes to send.
 */
u32 rtgt_fault_rep(unsigned int fault, void *priv, u32 len)
{
	struct rtgt_rep *rep = priv;
	struct rtgt_cap *cap;
	unsigned int i;

	switch (fault) {
	case RTGT_FAULT_REP_ASK:
		rep->features |= __cpu_to_be32(RTGT_F_ASK);
		for (i = 0; i < __be16_to_cpu(rep->nr_regions); i++) {
			cap = i ? &rep->more[i - 1].cap : &rep->cap;
			cap->addr = 0;
			cap->rkey = 0;
		}
		break;
	case RTGT_FAULT_REP_VERSION:
		rep->version = __cpu_to_be16(RTGT_VERSION + 1);
		break;
	case RTGT_FAULT_REP_SHORT:
		len = offsetof(struct rtgt_rep, more) - sizeof(rep->rsvd);
		rep->size = __cpu_to_be16(len);
		break;
	case RTGT_FAULT_REP_RKEY:
	case RTGT_FAULT_REP_ADDR:
	case RTGT_FAULT_REP_LEN:
		cap_fault(fault, &rep->cap);
		break;
	}
	return len;
}

/**
 * rtgt_fault_rej() - return the REJ that a fault sends
 * @fault: enum rtgt_fault
 * @arg: set to the argument of the reason
 * Return: enum rtgt_rej_reason, or 0 if the fault is none that rejects.
 */
u32 rtgt_fault_rej(unsigned int fault, u32 *arg)
{
	static const struct {
		u32 reason, arg;
	} rejects[] = {
		{ RTGT_REJ_VERSION, RTGT_VERSION + 1 },
		{ RTGT_REJ_SIZE, sizeof(struct rtgt_req) },
		{ RTGT_REJ_FULL, 1 },
		{ RTGT_REJ_RESOURCES, ENOMEM },
		{ RTGT_REJ_DEVICE, EOPNOTSUPP },
		{ RTGT_REJ_STOPPING, ESHUTDOWN },
		{ RTGT_REJ_ASK, RTGT_MSG_EXTENTS },
	};

	if (fault < RTGT_FAULT_REJ_VERSION || fault > RTGT_FAULT_REJ_ASK)
		return 0;
	*arg = rejects[fault - RTGT_FAULT_REJ_VERSION].arg;
	return rejects[fault - RTGT_FAULT_REJ_VERSION].reason;
}

/**
 * rtgt_fault_range() - move a range to the neighbouring bytes of its region
 * @offset: first byte; changed
 * @len: bytes, at least 1; the range is in the region
 * @size: bytes of the region
 *
 * The neighbour follows the range, or precedes it; near both ends it overlaps the range.
 * Return: true; false if the range is the whole region, which has no neighbour.
 */
bool rtgt_fault_range(u64 *offset, u64 len, u64 size)
{
	u64 after = size - len - *offset;

	if (after >= len)
		*offset += len;
	else if (*offset >= len)
		*offset -= len;
	else if (after)
		*offset += after;
	else
		*offset = 0;
	return len != size;
}
