// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports and regions as configfs objects: make, set, remove, enable, with every
 * errno told as what is wrong and what to do.
 *
 * The kernel judges the values, this file only knows the names: a value the
 * kernel refuses comes back as its errno together with what it would take.
 * Functions return an exit status and have told the reason when it is not 0.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rtgt/uapi.h>
#include "attr.h"
#include "tool/cli/cli.h"
#include "tree.h"

const struct attr port_attrs[] = {
	{ "addr", false, "an IPv4 or IPv6 address of this machine, or 0.0.0.0 for all" },
	{ "port", true, "1 to 65535" },
	{ "service", false, "rtgt, rping, rping-inv, sink, or with rtgt_work ps" },
	{ "transport", false, "rc, uc or ud" },
	{ "scope", false, "shared or private" },
	{ "srq", true, "0 or 1" },
	{ "max_conns", true, "1 to " STRING(RTGT_CONNS_MAX) },
	{ "backlog", true, "1 to " STRING(RTGT_CONNS_MAX) },
	{ "peer_conns_max", true, "0 to " STRING(RTGT_CONNS_MAX) ", 0 for max_conns" },
	{ "conn_memory_max", true, "bytes, K, M and G taken, 0 for what the machine has" },
	{ "handshake_ms", true, "1 to " STRING(RTGT_IDLE_MAX_MS) " milliseconds" },
	{ "recv_size", true, STRING(RTGT_RECV_SIZE_MIN) " to " STRING(RTGT_RECV_SIZE_MAX)
	  " bytes, K and M taken" },
	{ "recv_depth", true, "1 to " STRING(RTGT_RECV_DEPTH_MAX) },
	{ "withhold_max", true, "0 to " STRING(RTGT_RECV_DEPTH_MAX)
	  ", 0 for half of shared receives and all of others" },
	{ "idle_ms", true, "0 to " STRING(RTGT_IDLE_MAX_MS) " milliseconds, 0 for never" },
	{ "keepalive_ms", true, "0 to " STRING(RTGT_IDLE_MAX_MS) " milliseconds, 0 for never" },
	{ "mr_max", true, "whole pages up to " STRING(RTGT_EXTENT_MAX_GIB)
	  "G bytes, K, M and G taken, 0 for no limit" },
	{ "faults", false,
	  "NAME [every N] [after N] [for N] [ms N], NAME off, or off (rtgt show: names)" },
	{ }
};

const struct attr region_attrs[] = {
	{ "size", true, "1 to " STRING(RTGT_REGION_MAX_GIB) "G bytes, K, M and G taken" },
	{ "access", false, "one or more of read,write,atomic,flush with commas between" },
	{ "fill", false, "zero, counter, or a byte as 0xNN" },
	{ }
};

static int bad_name(const char *what, const char *name)
{
	return misused("\"%s\" is no name for a %s: at most 63 letters, digits and _ . -, of which the last two do not begin it",
		       name, what);
}

/* Find the place of a port; it need not exist */
int object_port(struct object *o, const char *name)
{
	if (!tree_name_ok(name))
		return bad_name("port", name);
	*o = (struct object) { .what = "port", .name = name, .attrs = port_attrs };
	snprintf(o->port, sizeof(o->port), "%s", name);
	if (tree_path(o->path, tree_config(), "ports/%s", name))
		return failed("too long: the path of port %s", name);
	return EXIT_OK;
}

/* Find the place of a region from PORT/NAME; it need not exist */
int object_region(struct object *o, const char *name)
{
	const char *slash = strchr(name, '/');

	*o = (struct object) { .what = "region", .name = name, .attrs = region_attrs };
	if (!slash || (size_t)(slash - name) >= sizeof(o->port))
		return misused("a region is written PORT/NAME, not \"%s\"", name);
	memcpy(o->port, name, (size_t)(slash - name));
	if (!tree_name_ok(o->port))
		return bad_name("port", o->port);
	if (!tree_name_ok(slash + 1))
		return bad_name("region", slash + 1);
	if (tree_path(o->path, tree_config(), "ports/%s/regions/%s", o->port, slash + 1))
		return failed("too long: the path of region %s", name);
	return EXIT_OK;
}

/* An error that means the same whatever was done to the object */
static int fail_common(const struct object *o, const char *doing, int code)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return failed("%s %s %s: not permitted: be root", doing, o->what, o->name);
	case EBUSY:
		return failed("%s %s %s: port %s is enabled: rtgt port disable %s first",
			      doing, o->what, o->name, o->port, o->port);
	case ENOENT:
		return failed("%s %s %s: no such %s: rtgt %s show lists them", doing, o->what,
			      o->name, o->what, o->what);
	default:
		return failed("%s %s %s: %s (dmesg may say more)", doing, o->what, o->name,
			      strerror(code));
	}
}

/* EXIT_OK when the object is there, otherwise an error is told */
int object_exists(const struct object *o)
{
	int ret = tree_need_module();

	if (ret)
		return ret;
	if (!tree_exists(o->path))
		return failed("no %s %s: rtgt %s show lists them", o->what, o->name, o->what);
	return EXIT_OK;
}

/* The attribute a word means, which may be abbreviated; NULL if none, or several */
const struct attr *attr_find(const struct attr *attrs, const char *word)
{
	const struct attr *found = NULL;

	for (const struct attr *a = attrs; a->name; a++) {
		if (!strcmp(a->name, word))
			return a;
		if (!is_prefix(word, a->name))
			continue;
		if (found)
			return NULL;
		found = a;
	}
	return found;
}

/* The words are KEY VALUE pairs of this object: told before anything is done */
static int check_pairs(const struct object *o, int argc, char **argv)
{
	char keys[1024] = "";
	size_t at = 0;

	for (const struct attr *a = o->attrs; a->name; a++)
		if (at < sizeof(keys))
			at += (size_t)snprintf(keys + at, sizeof(keys) - at, "%s%s", at ? ", " : "",
					       a->name);
	for (int i = 0; i < argc; i += 2) {
		if (!attr_find(o->attrs, argv[i]))
			return misused("\"%s\" is no attribute of a %s, or not only one: %s",
				       argv[i], o->what, keys);
		if (i + 1 == argc)
			return misused("%s needs a value", argv[i]);
	}
	return EXIT_OK;
}

static int set_attr(const struct object *o, const struct attr *attr, const char *value)
{
	char path[TREE_PATH];
	int ret;

	if (tree_path(path, o->path, "%s", attr->name))
		return failed("too long: the path of %s %s", o->what, o->name);
	ret = tree_write(path, value);
	switch (-ret) {
	case 0:
		return EXIT_OK;
	case EINVAL:
	case ERANGE:
		return failed("%s \"%s\" is refused for %s %s: it takes %s", attr->name, value,
			      o->what, o->name, attr->takes);
	case EOPNOTSUPP:
		return failed("%s \"%s\": cannot be set for %s %s: its service, transport or srq gives no opportunity",
			      attr->name, value, o->what, o->name);
	case ENOENT:
		if (tree_exists(o->path))
			return failed("this module's %s has no attribute %s: is it an older one?",
				      o->what, attr->name);
		return fail_common(o, "setting", ENOENT);
	default:
		return fail_common(o, "setting", -ret);
	}
}

static int set_pairs(const struct object *o, int argc, char **argv)
{
	int ret = EXIT_OK;

	for (int i = 0; i < argc && !ret; i += 2)
		ret = set_attr(o, attr_find(o->attrs, argv[i]), argv[i + 1]);
	return ret;
}

/* Set attributes of an object that is there, in the order given; the first refused one ends it */
int object_set(const struct object *o, int argc, char **argv)
{
	int ret = check_pairs(o, argc, argv);

	if (!ret && !argc)
		ret = misused("set what? KEY VALUE of %s %s", o->what, o->name);
	if (!ret)
		ret = object_exists(o);
	if (!ret)
		ret = set_pairs(o, argc, argv);
	return ret;
}

/* Make an object and set its attributes; when one is refused, nothing is left behind */
int object_add(const struct object *o, int argc, char **argv)
{
	int ret = check_pairs(o, argc, argv);

	if (!ret)
		ret = tree_need_module();
	if (ret)
		return ret;
	if (mkdir(o->path, 0755)) {
		switch (errno) {
		case EEXIST:
			return failed("%s %s exists already: rtgt %s set changes it", o->what,
				      o->name, o->what);
		case ENOENT:
			return failed("no port %s: rtgt port add %s makes it", o->port, o->port);
		case ENOSPC:
			return failed("port %s has %u regions, and no port has more: rtgt region del one",
				      o->port, RTGT_MAX_REGIONS);
		default:
			return fail_common(o, "adding", errno);
		}
	}
	ret = set_pairs(o, argc, argv);
	if (ret && rmdir(o->path))
		failed("%s %s stays half made: %s", o->what, o->name, strerror(errno));
	return ret;
}

/* Remove an object that has nothing below it */
int object_remove(const struct object *o)
{
	if (!rmdir(o->path))
		return EXIT_OK;
	return fail_common(o, "removing", errno);
}

static int fail_enable(const struct object *port, int code)
{
	char addr[64], number[16], path[TREE_PATH], **names;
	int regions;
	char service[32];

	tree_path(path, port->path, "addr");
	tree_read(path, addr, sizeof(addr));
	tree_path(path, port->path, "port");
	tree_read(path, number, sizeof(number));
	switch (code) {
	case ENODEV:
		return failed("no RDMA device for %s: rdma link add rxe0 type rxe netdev NETDEV",
			      addr);
	case EADDRINUSE:
		return failed("port %s: %s port %s is in use: see rdma resource show cm_id",
			      port->name, addr, number);
	case EADDRNOTAVAIL:
		return failed("port %s: %s is no address of this machine: ip addr", port->name,
			      addr);
	case EINVAL:
		tree_path(path, port->path, "regions");
		regions = tree_list(path, &names);
		if (regions >= 0)
			tree_list_free(names);
		tree_path(path, port->path, "service");
		/* other services need none */
		if (!regions && !tree_read(path, service, sizeof(service)) &&
		    !strcmp(service, "rtgt"))
			return failed("port %s has no region: rtgt region add %s/NAME", port->name,
				      port->name);
		return failed("port %s: its settings do not fit each other: see dmesg", port->name);
	case ENOMEM:
		return failed("port %s: no memory for its regions: make them smaller (rtgt region show, dmesg)",
			      port->name);
	case E2BIG:
		return failed("port %s: a region needs too many registrations: see dmesg, or make mr_max larger",
			      port->name);
	case EOPNOTSUPP:
		return failed("port %s: the device lacks what it needs: see dmesg, and rtgt show",
			      port->name);
	default:
		return fail_common(port, "enabling", code);
	}
}

/* Listen, or stop and wait until every connection is gone */
int port_enable(const struct object *port, bool on)
{
	char path[TREE_PATH];
	int ret;

	if (tree_path(path, port->path, "enable"))
		return failed("too long: the path of port %s", port->name);
	ret = tree_write(path, on ? "1" : "0");
	if (!ret)
		return EXIT_OK;
	return on ? fail_enable(port, -ret) : fail_common(port, "disabling", -ret);
}

/* Make the keys given away invalid: those of one connection, or of "all" */
int port_revoke(const struct object *port, const char *id)
{
	char path[TREE_PATH];
	int ret;

	if (tree_path(path, port->path, "revoke"))
		return failed("too long: the path of port %s", port->name);
	ret = tree_write(path, id);
	switch (-ret) {
	case 0:
		return EXIT_OK;
	case EINVAL:
	case ERANGE:
		return failed("revoke \"%s\": give the number of a connection of a private port, or all: rtgt show",
			      id);
	case ENOENT:
		if (!tree_exists(path))
			return failed("this module cannot revoke: is it an older one?");
		return failed("port %s has no live connection %s: rtgt show %s lists them",
			      port->name, id, port->name);
	default:
		return fail_common(port, "revoking the keys of", -ret);
	}
}
