/* SPDX-License-Identifier: GPL-2.0 */
/* The text of attributes in configfs. */
#ifndef _RTGT_TEXT_H
#define _RTGT_TEXT_H

#include <linux/socket.h>
#include <linux/types.h>

int rtgt_check_text(const char *page, size_t count);
int rtgt_parse_bytes(const char *page, u64 min, u64 max, u64 *out);
int rtgt_parse_u32(const char *page, u32 min, u32 max, u32 *out);
int rtgt_parse_bool(const char *page, bool *out);
int rtgt_parse_word(const char *page, char *word, size_t size);
int rtgt_parse_access(const char *page, u32 *out);
int rtgt_parse_fill(const char *page, u16 *out);
int rtgt_parse_addr(const char *word, struct sockaddr_storage *addr);
ssize_t rtgt_show_access(char *page, u32 access);
ssize_t rtgt_show_fill(char *page, u16 fill);
ssize_t rtgt_show_addr(char *page, const struct sockaddr_storage *addr);

#endif /* _RTGT_TEXT_H */
