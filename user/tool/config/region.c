// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt region: the memory a port exposes.
 */
#include <assert.h>

#include <rtgt/uapi.h>
#include "attr.h"
#include "tool/cli/cli.h"
#include "show.h"
#include "tree.h"

static const char help[] =
"Usage: rtgt region COMMAND\n"
"\n"
"  rtgt region add PORT/NAME [KEY VALUE]...    make a region of a disabled port\n"
"  rtgt region set PORT/NAME KEY VALUE...      change it\n"
"  rtgt region del PORT/NAME                   remove it\n"
"  rtgt region show [PORT]                     list regions\n"
"\n"
"Keys, with the module's defaults:\n"
"  size 4096           bytes, 1 to " STRING(RTGT_REGION_MAX_GIB) "G (K, M, G)\n"
"  access read,write   what a peer may do: read, write, atomic, and flush where the device\n"
"                      can, with commas between\n"
"  fill zero           what it holds at first: zero, counter (32-bit words holding\n"
"                      their own index, little-endian) or a byte as 0xNN\n"
"\n"
"A port has at most six regions; a client numbers them in the order they were made,\n"
"which is the index that show tells.\n"
"While the port is enabled its regions cannot be changed: rtgt port disable first.\n";

static_assert(RTGT_MAX_REGIONS == 6, "the help says six");

static int named(struct object *region, const char *verb, int argc, char **argv)
{
	if (!argc)
		return misused("%s which region? PORT/NAME (rtgt region help)", verb);
	return object_region(region, argv[0]);
}

static int region_add(struct tool *tool, int argc, char **argv)
{
	struct object region;
	int ret = named(&region, "add", argc, argv);

	(void)tool;
	return ret ? ret : object_add(&region, argc - 1, argv + 1);
}

static int region_set(struct tool *tool, int argc, char **argv)
{
	struct object region;
	int ret = named(&region, "set", argc, argv);

	(void)tool;
	return ret ? ret : object_set(&region, argc - 1, argv + 1);
}

static int region_del(struct tool *tool, int argc, char **argv)
{
	struct object region;
	int ret = named(&region, "del", argc, argv);

	(void)tool;
	if (!ret && argc > 1)
		ret = misused("del takes one region, \"%s\" is too much", argv[1]);
	if (!ret)
		ret = object_exists(&region);
	return ret ? ret : object_remove(&region);
}

static int region_show(struct tool *tool, int argc, char **argv)
{
	struct object port;
	int ret;

	if (argc > 1)
		return misused("show takes one port, \"%s\" is too much", argv[1]);
	ret = argc ? object_port(&port, argv[0]) : EXIT_OK;
	if (!ret)
		ret = argc ? object_exists(&port) : tree_need_module();
	return ret ? ret : show_regions(tool, argc ? argv[0] : NULL);
}

int cmd_region(struct tool *tool, int argc, char **argv)
{
	static const struct command table[] = {
		{ "add", region_add },
		{ "set", region_set },
		{ "del", region_del },
		{ "show", region_show },
		{ }
	};

	return dispatch(tool, table, "region ", help, argc, argv);
}
