/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rtgt report: a directory as one HTML page.  See report.c.
 */
#ifndef RTGT_REPORT_H
#define RTGT_REPORT_H

#include <json-c/json.h>

/* What the page may have, and of that what its parts get */
#define REPORT_MAX		(2 * 1024 * 1024)
#define REPORT_DOCS_MAX		(512 * 1024)
#define REPORT_STEPS_MAX	(1024 * 1024)

struct json_object *report_docs(const char *dir);
struct json_object *report_commands(const char *dir);
struct json_object *report_steps(const char *path);
struct json_object *report_wire(const char *path);

#endif /* RTGT_REPORT_H */
