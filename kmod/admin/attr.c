// SPDX-License-Identifier: GPL-2.0
/*
 * Parse the text that an administrator writes into a file of configfs, and print values for
 * reading.  A parser accepts the whole text or fails: it has no silent default and ignores
 * nothing after a value.  White space around it is ignored.
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

#include "admin/attr.h"

/* The longest is private data, in hexadecimal */
#define WORD_MAX	128

/**
 * rtgt_parse_word() - copy the text without leading and trailing white space
 * @page: text
 * @count: number of bytes that were written
 * @word: buffer
 * @size: bytes of the buffer
 * Return: 0, or -EINVAL if the text is only white space, does not fit, or contains a NUL, after
 * which the parsers would see nothing.
 */
int rtgt_parse_word(const char *page, size_t count, char *word, size_t size)
{
	if (strnlen(page, count) != count || strscpy(word, skip_spaces(page), size) < 0)
		return -EINVAL;
	strim(word);
	return *word ? 0 : -EINVAL;
}

/**
 * rtgt_parse_bool() - parse 0 or 1
 * @page: text
 * @count: number of bytes that were written
 * @out: the value, unchanged on error
 *
 * kstrtobool() reads only the first character, so it would accept anything after that.
 * Return: 0, -EINVAL or -ERANGE.
 */
int rtgt_parse_bool(const char *page, size_t count, bool *out)
{
	static const struct rtgt_attr attr = { .size = sizeof(bool), .max = 1 };

	return rtgt_attr_parse(&attr, page, count, out);
}

static int parse_number(const struct rtgt_attr *attr, char *word, u64 *val)
{
	static const char suffixes[] = "KMG";
	char *last = word + strlen(word) - 1;
	const char *suffix = attr->suffix ? strchr(suffixes, toupper(*last)) : NULL;
	unsigned int shift = 0;
	int ret;

	if (suffix) {
		shift = 10 * (suffix - suffixes + 1);
		*last = '\0';
	}
	ret = kstrtoull(word, 0, val);
	if (ret)
		return ret;
	if (*val > attr->max >> shift || *val << shift < attr->min)
		return -ERANGE;
	*val <<= shift;
	return attr->align && !IS_ALIGNED(*val, attr->align) ? -EINVAL : 0;
}

/**
 * rtgt_attr_parse() - set an attribute to what a text says
 * @attr: attribute
 * @page: text
 * @count: number of bytes that were written
 * @cfg: structure that the attribute is a member of; unchanged on error
 * Return: 0, -EINVAL or -ERANGE.
 */
int rtgt_attr_parse(const struct rtgt_attr *attr, const char *page, size_t count, void *cfg)
{
	void *at = cfg + attr->at;
	char word[WORD_MAX];
	u64 val;
	int ret;

	ret = rtgt_parse_word(page, count, word, sizeof(word));
	if (ret)
		return ret;
	if (attr->parse)
		return attr->parse(word, at);
	if (attr->words) {
		ret = __sysfs_match_string(attr->words, attr->nr_words, word);
		val = ret;
	} else {
		ret = parse_number(attr, word, &val);
	}
	if (ret < 0)
		return ret;
	if (attr->size == sizeof(bool))
		*(bool *)at = val;
	else if (attr->size == sizeof(u32))
		*(u32 *)at = val;
	else
		*(u64 *)at = val;
	return 0;
}

/**
 * rtgt_attr_show() - print an attribute as rtgt_attr_parse() parses it
 * @attr: attribute
 * @page: a page
 * @cfg: structure that the attribute is a member of
 * Return: number of bytes printed.
 */
ssize_t rtgt_attr_show(const struct rtgt_attr *attr, char *page, const void *cfg)
{
	const void *at = cfg + attr->at;
	u64 val;

	if (attr->show)
		return attr->show(page, at);
	if (attr->size == sizeof(bool))
		val = *(const bool *)at;
	else if (attr->size == sizeof(u32))
		val = *(const u32 *)at;
	else
		val = *(const u64 *)at;
	return attr->words ? sysfs_emit(page, "%s\n", attr->words[val]) :
			     sysfs_emit(page, "%llu\n", val);
}

/**
 * rtgt_parse_addr() - parse an IPv4 or IPv6 address
 * @word: text without white space around it
 * @at: struct sockaddr_storage, in which the port number stays
 *
 * inet_pton_with_scope() ignores what follows a colon after an IPv4 address, and what follows
 * a percent sign after an IPv6 address that has no scope.  This function rejects both.
 * Return: 0 or -EINVAL.
 */
int rtgt_parse_addr(const char *word, void *at)
{
	struct sockaddr_storage addr = {};
	struct sockaddr_in6 *sin6 = (void *)&addr;
	struct sockaddr_in *sin = (void *)&addr;
	bool scope = strchr(word, '%');
	const char *end;

	if (in4_pton(word, -1, (u8 *)&sin->sin_addr, -1, &end)) {
		sin->sin_family = AF_INET;
		if (*end)
			return -EINVAL;
	} else if (inet_pton_with_scope(current->nsproxy->net_ns, AF_INET6, word, NULL, &addr) ||
		   (scope && !(ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL))) {
		return -EINVAL;
	}
	/* at the same place in both families */
	sin->sin_port = ((struct sockaddr_in *)at)->sin_port;
	*(struct sockaddr_storage *)at = addr;
	return 0;
}

/* Parse the port number of a struct sockaddr_storage, as rtgt_attr.parse does. */
int rtgt_parse_port(const char *word, void *at)
{
	u16 port;
	int ret = kstrtou16(word, 0, &port);

	if (!ret && !port)
		ret = -ERANGE;
	if (!ret)
		((struct sockaddr_in *)at)->sin_port = htons(port);
	return ret;
}

/* Print a struct sockaddr_storage; the interface of a link-local address as its index. */
ssize_t rtgt_show_addr(char *page, const void *at)
{
	const struct sockaddr_in6 *sin6 = at;

	if (sin6->sin6_family == AF_INET6 && sin6->sin6_scope_id)
		return sysfs_emit(page, "%pISc%%%u\n", at, sin6->sin6_scope_id);
	return sysfs_emit(page, "%pISc\n", at);
}

/* Print the port number of a struct sockaddr_storage. */
ssize_t rtgt_show_port(char *page, const void *at)
{
	return sysfs_emit(page, "%u\n", ntohs(((const struct sockaddr_in *)at)->sin_port));
}
