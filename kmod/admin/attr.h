/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes of ports, regions and initiators in configfs: where each is, and its values. */
#ifndef _RTGT_ATTR_H
#define _RTGT_ATTR_H

#include <linux/configfs.h>
#include <linux/stddef.h>
#include <linux/types.h>

/* An attribute: a member of a structure, and its text */
struct rtgt_attr {
	size_t at;			/* offset of the member */
	size_t size;			/* bytes of the member */
	u64 min;			/* smallest value of a number */
	u64 max;			/* largest value of a number */
	u32 align;			/* a number is a multiple of this; 0 and 1 for any */
	bool suffix;			/* K, M or G may follow a number */
	const char *const *words;	/* words of the values 0, 1, ..., or NULL */
	unsigned int nr_words;		/* number of @words */
	/* for all else: set the member at @at; or return -EINVAL or -ERANGE, and set nothing */
	int (*parse)(const char *word, void *at);
	/* and print it with a newline; returns the number of bytes */
	ssize_t (*show)(char *page, const void *at);
};

#define RTGT_MEMBER(_type, _member)	\
	.at = offsetof(struct _type, _member), .size = sizeof_field(struct _type, _member)
#define RTGT_NUMBER(_type, _member, _min, _max)	\
	RTGT_MEMBER(_type, _member), .min = (_min), .max = (_max)
#define RTGT_BYTES(_type, _member, _min, _max)	\
	RTGT_NUMBER(_type, _member, _min, _max), .suffix = true
#define RTGT_WORDS(_type, _member, _words)	\
	RTGT_MEMBER(_type, _member), .words = (_words), .nr_words = ARRAY_SIZE(_words)
#define RTGT_TEXT(_type, _member, _parse, _show)	\
	RTGT_MEMBER(_type, _member), .parse = (_parse), .show = (_show)

/*
 * Define the file of an attribute.  configfs does not pass the attribute to a file's functions, so
 * each has its own, which call OWNER_show() and OWNER_store() with it.
 */
#define RTGT_ATTR(_owner, _name, ...)							\
static const struct rtgt_attr rtgt_##_name = { __VA_ARGS__ };				\
static ssize_t _owner##_##_name##_show(struct config_item *item, char *page)		\
{											\
	return _owner##_show(item, page, &rtgt_##_name);				\
}											\
static ssize_t _owner##_##_name##_store(struct config_item *item, const char *page,	\
					size_t count)					\
{											\
	return _owner##_store(item, page, count, &rtgt_##_name);			\
}											\
CONFIGFS_ATTR(_owner##_, _name)

int rtgt_attr_parse(const struct rtgt_attr *attr, const char *page, size_t count, void *cfg);
ssize_t rtgt_attr_show(const struct rtgt_attr *attr, char *page, const void *cfg);
int rtgt_parse_word(const char *page, size_t count, char *word, size_t size);
int rtgt_parse_bool(const char *page, size_t count, bool *out);
int rtgt_parse_addr(const char *word, void *at);
int rtgt_parse_port(const char *word, void *at);
ssize_t rtgt_show_addr(char *page, const void *at);
ssize_t rtgt_show_port(char *page, const void *at);

#endif /* _RTGT_ATTR_H */
