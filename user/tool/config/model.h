/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel target as it is, as JSON objects.  See model.c.
 */
#ifndef RTGT_MODEL_H
#define RTGT_MODEL_H

#include <stdbool.h>
#include <json-c/json.h>

struct json_object *model_features(void);
struct json_object *model_ports(const char *only, bool live);

const char *model_str(struct json_object *from, const char *key);
struct json_object *model_get(struct json_object *from, const char *key);
struct json_object *model_list(struct json_object *from, const char *key);

#endif /* RTGT_MODEL_H */
