/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The target's files in configfs and debugfs.  See tree.c.
 */
#ifndef RTGT_TREE_H
#define RTGT_TREE_H

#include <stdbool.h>
#include <stddef.h>

#define TREE_PATH	512
#define TREE_NAME	64

const char *tree_config(void);
const char *tree_debug(void);
int tree_need_module(void);

int tree_path(char *path, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool tree_exists(const char *path);
int tree_read(const char *path, char *buf, size_t size);
int tree_write(const char *path, const char *value);
int tree_list(const char *path, char ***names);
void tree_list_free(char **names);

bool tree_name_ok(const char *name);

#endif /* RTGT_TREE_H */
