// SPDX-License-Identifier: GPL-2.0
/*
 * Parse the text that an administrator writes into a file of configfs, and print values for
 * reading.  A parser accepts the whole text or fails: it has no silent default and ignores
 * nothing after a value.
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
 * rtgt_check_text() - check that the parsers see the whole text
 * @page: text
 * @count: number of bytes that were written
 *
 * Return: 0, or -EINVAL if the text contains a NUL, after which the parsers would see nothing.
 */
int rtgt_check_text(const char *page, size_t count)
{
	return strnlen(page, count) == count ? 0 : -EINVAL;
}

/**
 * rtgt_parse_bytes() - parse a number that K, M or G may follow
 * @page: text
 * @min: smallest accepted value
 * @max: largest accepted value
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
 * rtgt_parse_u32() - parse a number
 * @page: text
 * @min: smallest accepted value
 * @max: largest accepted value
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
 * rtgt_parse_bool() - parse 0 or 1
 * @page: text
 * @out: the value, unchanged on error
 *
 * kstrtobool() reads only the first character, so it would accept anything after that.
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
 * rtgt_parse_word() - copy the text without leading and trailing white space
 * @page: text
 * @word: buffer
 * @size: bytes of the buffer
 *
 * Return: 0, or -EINVAL if the text is only white space or does not fit.
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
 * rtgt_parse_access() - parse a comma-separated list of accesses
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
 * rtgt_parse_fill() - parse what the memory of a region is filled with
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
 * rtgt_show_access() - print accesses as rtgt_parse_access() parses them
 * @page: a page
 * @access: RTGT_ACCESS_*
 *
 * Return: number of bytes printed.
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
 * rtgt_show_fill() - print a fill as rtgt_parse_fill() parses it
 * @page: a page
 * @fill: rtgt_spec.fill
 *
 * Return: number of bytes printed.
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
 * rtgt_parse_addr() - parse an IPv4 or IPv6 address
 * @word: text without white space around it
 * @addr: overwritten, also on error; its port number is 0
 *
 * inet_pton_with_scope() ignores what follows a colon after an IPv4 address, and what follows
 * a percent sign after an IPv6 address that has no scope.  This function rejects both.
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
 * rtgt_show_addr() - print an address as rtgt_parse_addr() parses it
 * @page: a page
 * @addr: IPv4 or IPv6; the interface of a link-local address is printed as its index
 *
 * Return: number of bytes printed.
 */
ssize_t rtgt_show_addr(char *page, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6 && sin6->sin6_scope_id)
		return sysfs_emit(page, "%pISc%%%u\n", addr, sin6->sin6_scope_id);
	return sysfs_emit(page, "%pISc\n", addr);
}
