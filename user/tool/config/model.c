// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel target read from configfs and debugfs into JSON objects, which the
 * show commands print as they are or as a table: one source for both.
 *
 * An attribute that cannot be read is left out.  What the caller gets is his to
 * json_object_put().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "model.h"
#include "tool/cli/cli.h"
#include "tree.h"

/* A decimal number becomes one in JSON, everything else a string: 007 may be a name */
static void add_value(struct json_object *to, const char *key, const char *text)
{
	uint64_t value;

	if ((text[0] != '0' || !text[1]) && !parse_number(text, INT64_MAX, &value))
		json_object_object_add(to, key, json_object_new_int64((int64_t)value));
	else
		json_object_object_add(to, key, json_object_new_string(text));
}

static void add_attr(struct json_object *to, const char *dir, const char *name, bool number)
{
	char path[TREE_PATH], text[256];

	if (tree_path(path, dir, "%s", name) || tree_read(path, text, sizeof(text)))
		return;
	if (number)
		add_value(to, name, text);
	else
		json_object_object_add(to, name, json_object_new_string(text));
}

static void add_attrs(struct json_object *to, const char *dir, const struct attr *attrs)
{
	for (const struct attr *a = attrs; a->name; a++)
		if (strcmp(a->name, "faults"))
			add_attr(to, dir, a->name, a->number);
}

/* A file of lines as an array; nothing when it cannot be read */
static void add_lines(struct json_object *to, const char *dir, const char *name)
{
	struct json_object *all = json_object_new_array();
	char path[TREE_PATH], text[4096], *save;

	if (!tree_path(path, dir, "%s", name) && !tree_read(path, text, sizeof(text)))
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			json_object_array_add(all, json_object_new_string(line));
	json_object_object_add(to, name, all);
}

/* As a client numbers them; a module that does not tell the index leaves the order of names */
static int by_index(const void *a, const void *b)
{
	struct json_object *x = *(struct json_object *const *)a, *i = model_get(x, "index");
	struct json_object *y = *(struct json_object *const *)b, *j = model_get(y, "index");

	if (i && j)
		return json_object_get_int(i) - json_object_get_int(j);
	return strverscmp(model_str(x, "name"), model_str(y, "name"));
}

/* The whole of a debugfs file; NULL when it is not there or not for us */
static char *read_live(const char *port, const char *file)
{
	char path[TREE_PATH], *text = NULL, *more;

	if (tree_path(path, tree_debug(), "ports/%s/%s", port, file))
		return NULL;
	/* what fills it may have been cut */
	for (size_t size = 1 << 16; ; size *= 4) {
		more = realloc(text, size);
		if (!more || tree_read(path, more, size)) {
			free(more ? more : text);
			return NULL;
		}
		text = more;
		if (strlen(text) + 2 < size)
			return text;
	}
}

/* Lines of "name value" */
static struct json_object *read_counters(const char *port)
{
	struct json_object *all;
	char *text = read_live(port, "counters");
	char *save, *value;

	if (!text)
		return NULL;
	all = json_object_new_object();
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value = '\0';
		add_value(all, line, value + 1);
	}
	free(text);
	return all;
}

/* Words of key=value */
static struct json_object *parse_words(char *line)
{
	struct json_object *c = json_object_new_object();
	char *save, *value;

	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		value = strchr(word, '=');
		if (!value)
			continue;
		*value = '\0';
		add_value(c, word, value + 1);
	}
	return c;
}

/* An object for each line of such words */
static struct json_object *read_lines(const char *port, const char *file)
{
	struct json_object *all;
	char *text = read_live(port, file);
	char *save;

	if (!text)
		return NULL;
	all = json_object_new_array();
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		json_object_array_add(all, parse_words(line));
	free(text);
	return all;
}

/* Give each registration to its region */
static void add_registrations(const char *port, const char *name, struct json_object *region)
{
	struct json_object *all = read_lines(port, "registrations"), *mine;

	if (!all)
		return;
	mine = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		struct json_object *r = json_object_array_get_idx(all, i);

		if (strcmp(model_str(r, "region"), name))
			continue;
		json_object_object_del(r, "region");
		json_object_array_add(mine, json_object_get(r));
	}
	json_object_put(all);
	json_object_object_add(region, "registrations", mine);
}

static struct json_object *read_regions(const char *port, const char *port_dir)
{
	struct json_object *all = json_object_new_array();
	char dir[TREE_PATH], path[TREE_PATH];
	char **names;

	tree_path(dir, port_dir, "regions");
	tree_list(dir, &names);
	for (char **n = names; n && *n; n++) {
		struct json_object *r = json_object_new_object();

		json_object_object_add(r, "name", json_object_new_string(*n));
		if (!tree_path(path, dir, "%s", *n)) {
			add_attr(r, path, "index", true);
			add_attrs(r, path, region_attrs);
			add_registrations(port, *n, r);
		}
		json_object_array_add(all, r);
	}
	tree_list_free(names);
	json_object_array_sort(all, by_index);
	return all;
}

static struct json_object *read_port(const char *name, bool live)
{
	struct json_object *p = json_object_new_object(), *connections, *counters;
	char dir[TREE_PATH];

	json_object_object_add(p, "name", json_object_new_string(name));
	if (tree_path(dir, tree_config(), "ports/%s", name))
		return p;
	add_attr(p, dir, "state", false);
	add_attr(p, dir, "netns", false);
	add_attrs(p, dir, port_attrs);
	add_lines(p, dir, "faults");
	json_object_object_add(p, "regions", read_regions(name, dir));
	if (!live)
		return p;
	connections = read_lines(name, "connections");
	counters = read_counters(name);
	if (connections)
		json_object_object_add(p, "connections", connections);
	if (counters)
		json_object_object_add(p, "counters", counters);
	return p;
}

/* The ports in order, or @only one; with @live their connections and counters too */
struct json_object *model_ports(const char *only, bool live)
{
	struct json_object *all = json_object_new_array();
	char dir[TREE_PATH];
	char **names;

	tree_path(dir, tree_config(), "ports");
	tree_list(dir, &names);
	for (char **n = names; n && *n; n++)
		if (!only || !strcmp(only, *n))
			json_object_array_add(all, read_port(*n, live));
	tree_list_free(names);
	return all;
}

/* The words of the features file */
struct json_object *model_features(void)
{
	struct json_object *doc = json_object_new_object(), *all;

	add_lines(doc, tree_config(), "features");
	all = json_object_get(model_get(doc, "features"));
	json_object_put(doc);
	return all;
}

/* A member, NULL without it */
struct json_object *model_get(struct json_object *from, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(from, key, &value) ? value : NULL;
}

/* A member that is a list; NULL without it, or if it is anything else */
struct json_object *model_list(struct json_object *from, const char *key)
{
	struct json_object *value = model_get(from, key);

	return json_object_is_type(value, json_type_array) ? value : NULL;
}

/* A member as text, "-" without it */
const char *model_str(struct json_object *from, const char *key)
{
	struct json_object *value = model_get(from, key);

	return value ? json_object_get_string(value) : "-";
}
