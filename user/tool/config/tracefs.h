/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An instance of tracefs, for this process.  See tracefs.c.
 */
#ifndef RTGT_TRACEFS_H
#define RTGT_TRACEFS_H

#include <stdint.h>

#include <rtgt/log.h>

/**
 * struct tracefs - what was made in tracefs
 * @root: where it is
 * @name: of the instance
 * @instance: its path; "" while there is none
 */
struct tracefs {
	char root[64], name[64], instance[160];
};

int tracefs_open(struct tracefs *t, const char *what, struct rtgt_err *err);
int tracefs_put(const char *dir, const char *name, const char *text);
int tracefs_enable(const struct tracefs *t, const char *events);
int64_t tracefs_offset(int64_t *error_ns);
int tracefs_close(struct tracefs *t, struct rtgt_err *err);

#endif /* RTGT_TRACEFS_H */
