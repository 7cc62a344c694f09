/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Attributes of ports and regions.  See attr.c.
 */
#ifndef RTGT_ATTR_H
#define RTGT_ATTR_H

#include <stdbool.h>

#include "tree.h"

/**
 * struct attr - an attribute an administrator sets
 * @name: its file, and the word on the command line
 * @number: shown as a number in JSON
 * @takes: what the kernel takes for it
 */
struct attr {
	const char *name;
	bool number;
	const char *takes;
};

extern const struct attr port_attrs[];
extern const struct attr region_attrs[];

/**
 * struct object - a port or a region
 * @what: "port" or "region"
 * @name: as the user writes it, NAME or PORT/NAME
 * @port: the port it is or belongs to
 * @path: its directory in configfs
 * @attrs: its attributes
 */
struct object {
	const char *what;
	const char *name;
	char port[TREE_NAME];
	char path[TREE_PATH];
	const struct attr *attrs;
};

const struct attr *attr_find(const struct attr *attrs, const char *word);
int object_port(struct object *o, const char *name);
int object_region(struct object *o, const char *name);
int object_exists(const struct object *o);
int object_add(const struct object *o, int argc, char **argv);
int object_set(const struct object *o, int argc, char **argv);
int object_remove(const struct object *o);
int port_enable(const struct object *port, bool on);
int port_revoke(const struct object *port, const char *id);

#endif /* RTGT_ATTR_H */
