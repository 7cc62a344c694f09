// SPDX-License-Identifier: GPL-2.0
/*
 * What an administrator writes into a file, parsed, and the other way round.
 * Every parser takes the whole text or nothing: no silent default, nothing
 * ignored behind a value.
 */
#include <linux/ctype.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <net/ipv6.h>

#include "core/mem.h"
#include "core/text.h"
#include "include/uapi/rtgt.h"

/**
 * rtgt_check_text() - is all of it what the parsers will see?
 * @page: text
 * @count: bytes written
 *
 * Return: 0, or -EINVAL if there is a NUL, behind which anything could stand.
 */
int rtgt_check_text(const char *page, size_t count)
{
	return strnlen(page, count) == count ? 0 : -EINVAL;
}

/**
 * rtgt_parse_bytes() - a number with an optional K, M or G behind it
 * @page: text
 * @min: smallest value taken
 * @max: largest
 * @out: the value, unchanged on error
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int rtgt_parse_bytes(const char *page, u64 min, u64 max, u64 *out)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	char word[32], *last;
	unsigned int shift = 0;
	u64 val;
	int ret;

	ret = rtgt_parse_word(page, word, sizeof(word));
	if (ret)
		return ret;
	last = word + strlen(word) - 1;
	suffix = strchr(suffixes, toupper(*last));
	if (suffix) {
		shift = 10 * (suffix - suffixes + 1);
		*last = '\0';
	}
	ret = kstrtoull(word, 0, &val);
	if (ret)
		return ret;
	if (val > max >> shift || val << shift < min)
		return -ERANGE;
	*out = val << shift;
	return 0;
}

/**
 * rtgt_parse_u32() - a number
 * @page: text
 * @min: smallest value taken
 * @max: largest
 * @out: the value, unchanged on error
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int rtgt_parse_u32(const char *page, u32 min, u32 max, u32 *out)
{
	u32 val;
	int ret = kstrtou32(page, 0, &val);

	if (ret)
		return ret;
	if (val < min || val > max)
		return -ERANGE;
	*out = val;
	return 0;
}

/**
 * rtgt_parse_bool() - 0 or 1; kstrtobool() looks at the first character only
 * @page: text
 * @out: the value, unchanged on error
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int rtgt_parse_bool(const char *page, bool *out)
{
	u32 val;
	int ret = rtgt_parse_u32(page, 0, 1, &val);

	if (!ret)
		*out = val;
	return ret;
}

/**
 * rtgt_parse_word() - the text without white space around it
 * @page: text
 * @word: where to
 * @size: room there
 *
 * Return: 0, or -EINVAL if nothing is left or it does not fit.
 */
int rtgt_parse_word(const char *page, char *word, size_t size)
{
	page = skip_spaces(page);
	if (strscpy(word, page, size) < 0)
		return -EINVAL;
	strim(word);
	return *word ? 0 : -EINVAL;
}

static const struct {
	const char *name;
	u32 bit;
} access_names[] = {
	{ "read",	RTGT_ACCESS_READ },
	{ "write",	RTGT_ACCESS_WRITE },
	{ "atomic",	RTGT_ACCESS_ATOMIC },
	{ "flush",	RTGT_ACCESS_FLUSH },
};

/**
 * rtgt_parse_access() - a comma-separated list of accesses
 * @page: text
 * @out: RTGT_ACCESS_*, unchanged on error
 *
 * Return: 0 or -EINVAL.
 */
int rtgt_parse_access(const char *page, u32 *out)
{
	char buf[64], *next = buf, *name;
	u32 access = 0;
	unsigned int i;
	int ret;

	ret = rtgt_parse_word(page, buf, sizeof(buf));
	if (ret)
		return ret;
	while ((name = strsep(&next, ","))) {
		for (i = 0; i < ARRAY_SIZE(access_names); i++)
			if (!strcmp(name, access_names[i].name))
				break;
		if (i == ARRAY_SIZE(access_names))
			return -EINVAL;
		access |= access_names[i].bit;
	}
	*out = access;
	return 0;
}

/**
 * rtgt_parse_fill() - what a region is filled with
 * @page: text
 * @out: rtgt_spec.fill, unchanged on error
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int rtgt_parse_fill(const char *page, u16 *out)
{
	char word[16];
	u8 byte;
	int ret;

	ret = rtgt_parse_word(page, word, sizeof(word));
	if (ret)
		return ret;
	if (!strcmp(word, "zero")) {
		*out = 0;
	} else if (!strcmp(word, "counter")) {
		*out = RTGT_FILL_COUNTER;
	} else {
		if (strncmp(word, "0x", 2))
			return -EINVAL;
		ret = kstrtou8(word, 16, &byte);
		if (ret)
			return ret;
		*out = byte;
	}
	return 0;
}

/**
 * rtgt_show_access() - the other way round
 * @page: a page
 * @access: RTGT_ACCESS_*
 *
 * Return: bytes written.
 */
ssize_t rtgt_show_access(char *page, u32 access)
{
	ssize_t len = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(access_names); i++)
		if (access & access_names[i].bit)
			len += sysfs_emit_at(page, len, "%s%s", len ? "," : "",
					     access_names[i].name);
	return len + sysfs_emit_at(page, len, "\n");
}

/**
 * rtgt_show_fill() - the other way round
 * @page: a page
 * @fill: rtgt_spec.fill
 *
 * Return: bytes written.
 */
ssize_t rtgt_show_fill(char *page, u16 fill)
{
	if (fill == RTGT_FILL_COUNTER)
		return sysfs_emit(page, "counter\n");
	if (!fill)
		return sysfs_emit(page, "zero\n");
	return sysfs_emit(page, "0x%02x\n", fill);
}

/**
 * rtgt_parse_addr() - an IPv4 or IPv6 address
 * @word: text, nothing around it
 * @addr: overwritten, also on error; the port in it is 0
 *
 * inet_pton_with_scope() takes an IPv4 address with anything behind a colon and an
 * IPv6 address that has no scope with anything behind a percent sign, so that is
 * looked at here.
 *
 * Return: 0 or -EINVAL.
 */
int rtgt_parse_addr(const char *word, struct sockaddr_storage *addr)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;
	const char *end;

	memset(addr, 0, sizeof(*addr));
	if (in4_pton(word, -1, (u8 *)&sin->sin_addr, -1, &end)) {
		sin->sin_family = AF_INET;
		return *end ? -EINVAL : 0;
	}
	if (inet_pton_with_scope(current->nsproxy->net_ns, AF_INET6, word, NULL, addr))
		return -EINVAL;
	if (strchr(word, '%') && !(ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return -EINVAL;
	return 0;
}

/**
 * rtgt_show_addr() - the other way round
 * @page: a page
 * @addr: IPv4 or IPv6; of a link-local one the interface is told by its number
 *
 * Return: bytes written.
 */
ssize_t rtgt_show_addr(char *page, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6 && sin6->sin6_scope_id)
		return sysfs_emit(page, "%pISc%%%u\n", addr, sin6->sin6_scope_id);
	return sysfs_emit(page, "%pISc\n", addr);
}
