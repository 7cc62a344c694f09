/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Values and the library's structures as JSON.  See json.c and json_client.c.
 */
#ifndef RTGT_JSON_H
#define RTGT_JSON_H

#include <stdbool.h>
#include <json-c/json.h>

#include <rtgt/client.h>
#include "facts.h"
#include "histogram.h"

struct json_object *rtgt_json_document(const char *schema);
void rtgt_json_str(struct json_object *to, const char *key, const char *value);
void rtgt_json_int(struct json_object *to, const char *key, int64_t value);
void rtgt_json_bool(struct json_object *to, const char *key, bool value);
void rtgt_json_us(struct json_object *to, const char *key, uint64_t ns);
void rtgt_json_not_compared(struct json_object *to, uint64_t bytes, const char *why);
void rtgt_json_hex(struct json_object *to, const char *key, uint64_t value);
struct json_object *rtgt_json_hist(const struct rtgt_hist *h);
struct json_object *rtgt_json_facts(const struct rtgt_facts *f);
struct json_object *rtgt_json_error(const struct rtgt_err *err);
struct json_object *rtgt_json_client(const struct rtgt_client *c);
int rtgt_json_print(struct json_object *doc, bool pretty, FILE *to);

#endif /* RTGT_JSON_H */
