// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt port: the ports of the kernel target.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <rtgt/uapi.h>
#include "attr.h"
#include "model.h"
#include "tool/cli/cli.h"
#include "show.h"
#include "tree.h"

static const char help[] =
"Usage: rtgt port COMMAND\n"
"\n"
"  rtgt port add NAME [KEY VALUE]...    make a port (disabled)\n"
"  rtgt port set NAME KEY VALUE...      change a disabled port; faults of any port\n"
"  rtgt port enable NAME                listen\n"
"  rtgt port disable NAME               stop, and wait until every connection is gone\n"
"  rtgt port revoke NAME [ID]           make the keys given away invalid; on a private port\n"
"                                       those of connection ID only\n"
"  rtgt port del NAME | --all           disable, remove the regions, remove the port\n"
"  rtgt port show [NAME]                list ports\n"
"\n"
"Keys, with the module's defaults:\n"
"  addr 0.0.0.0        IPv4 or IPv6 address to listen on\n"
"  port " STRING(RTGT_PORT) "           1 to 65535\n"
"  service rtgt        what the port speaks: rtgt, rping, rping-inv (invalidates\n"
"                      the rkeys), sink (takes all, answers nothing), or with the\n"
"                      module rtgt_work ps (a parameter server)\n"
"  transport rc        rc, uc or ud\n"
"  scope shared        shared: one memory for all connections; private: each has its own\n"
"  srq 0               1: the connections of a shared port share their receives\n"
"  max_conns 1024      connections at a time, 1 to " STRING(RTGT_CONNS_MAX) "\n"
"  recv_size 4096      bytes of the largest SEND taken, " STRING(RTGT_RECV_SIZE_MIN)
" to 2M (K, M)\n"
"  recv_depth 16       SENDs held at a time, 1 to " STRING(RTGT_RECV_DEPTH_MAX) "\n"
"  withhold_max 0      receives that WITHHOLD may hold back at a time; 0: half of those\n"
"                      that clients share (srq, ud), all of others\n"
"  backlog 512         half-open connections at a time, one peer address half of them\n"
"  peer_conns_max 0    connections of one peer address at a time; 0: max_conns\n"
"  conn_memory_max 0   bytes for all connections together; 0: what the machine has\n"
"  handshake_ms 10000  close a connection that is not established so long after the REP\n"
"  idle_ms 0           close a connection that sent nothing for so long; 0: never\n"
"  keepalive_ms 0      probe a peer that was silent for so long, and close its connection\n"
"                      if its device does not answer for as long again; 0: never\n"
"  mr_max 0            bytes of the largest memory registration, whole pages; 0: what the\n"
"                      device takes.  A larger region is covered by several\n"
"  faults              misbehave, to test initiators: \"reply-tag every 3 after 10 for 5\",\n"
"                      \"reply-tag off\", \"off\" for all.  One at a time; rtgt show lists\n"
"                      the names (fault-NAME) and counts those that are set\n"
"\n"
"A port of service rtgt needs a region (rtgt region add) before it can be enabled.\n"
"Example:\n"
"  rtgt port add t0 addr 192.0.2.1\n"
"  rtgt region add t0/data size 1M\n"
"  rtgt port enable t0\n";

static_assert(RTGT_RECV_SIZE_MAX == 2 << 20, "the help says 2M");

static int named(struct object *port, const char *verb, int argc, char **argv)
{
	if (!argc)
		return misused("%s which port? (rtgt port help)", verb);
	return object_port(port, argv[0]);
}

static int port_add(struct tool *tool, int argc, char **argv)
{
	struct object port;
	int ret = named(&port, "add", argc, argv);

	(void)tool;
	return ret ? ret : object_add(&port, argc - 1, argv + 1);
}

static int port_set(struct tool *tool, int argc, char **argv)
{
	struct object port;
	int ret = named(&port, "set", argc, argv);

	(void)tool;
	return ret ? ret : object_set(&port, argc - 1, argv + 1);
}

static int switch_port(const char *verb, bool on, int argc, char **argv)
{
	struct object port;
	int ret = named(&port, verb, argc, argv);

	if (!ret && argc > 1)
		ret = misused("%s takes one port, \"%s\" is too much", verb, argv[1]);
	if (!ret)
		ret = object_exists(&port);
	return ret ? ret : port_enable(&port, on);
}

static int port_on(struct tool *tool, int argc, char **argv)
{
	(void)tool;
	return switch_port("enable", true, argc, argv);
}

static int port_off(struct tool *tool, int argc, char **argv)
{
	(void)tool;
	return switch_port("disable", false, argc, argv);
}

static int port_revoked(struct tool *tool, int argc, char **argv)
{
	struct object port;
	int ret = named(&port, "revoke", argc, argv);

	(void)tool;
	if (!ret && argc > 2)
		ret = misused("revoke takes a port and a connection, \"%s\" is too much", argv[2]);
	if (!ret)
		ret = object_exists(&port);
	return ret ? ret : port_revoke(&port, argc > 1 ? argv[1] : "all");
}

static int del_regions(const struct object *port)
{
	char dir[TREE_PATH], name[TREE_PATH];
	struct object region;
	int ret = EXIT_OK;
	char **names;

	tree_path(dir, port->path, "regions");
	tree_list(dir, &names);
	for (char **n = names; n && *n && !ret; n++) {
		snprintf(name, sizeof(name), "%s/%s", port->name, *n);
		ret = object_region(&region, name);
		if (!ret)
			ret = object_remove(&region);
	}
	tree_list_free(names);
	return ret;
}

static int del_port(const char *name)
{
	struct object port;
	int ret = object_port(&port, name);

	if (!ret)
		ret = object_exists(&port);
	if (!ret)
		ret = port_enable(&port, false);
	if (!ret)
		ret = del_regions(&port);
	if (!ret)
		ret = object_remove(&port);
	return ret;
}

static int del_all(void)
{
	int ret = tree_need_module(), one;
	char dir[TREE_PATH];
	char **names;

	if (ret)
		return ret;
	tree_path(dir, tree_config(), "ports");
	ret = tree_list(dir, &names);
	if (ret < 0)
		return failed("%s: %s", dir, strerror(-ret));
	ret = EXIT_OK;
	for (char **n = names; n && *n; n++) {
		one = del_port(*n);
		if (one)
			ret = one;
	}
	tree_list_free(names);
	return ret;
}

static int port_del(struct tool *tool, int argc, char **argv)
{
	(void)tool;
	if (argc != 1)
		return misused("del takes one port, or --all");
	return strcmp(argv[0], "--all") ? del_port(argv[0]) : del_all();
}

static int port_show(struct tool *tool, int argc, char **argv)
{
	struct object port;
	int ret;

	if (argc > 1)
		return misused("show takes one port, \"%s\" is too much", argv[1]);
	ret = argc ? object_port(&port, argv[0]) : EXIT_OK;
	if (!ret)
		ret = argc ? object_exists(&port) : tree_need_module();
	return ret ? ret : show_ports(tool, argc ? argv[0] : NULL);
}

int cmd_port(struct tool *tool, int argc, char **argv)
{
	static const struct command table[] = {
		{ "add", port_add },
		{ "set", port_set },
		{ "enable", port_on },
		{ "disable", port_off },
		{ "revoke", port_revoked },
		{ "del", port_del },
		{ "show", port_show },
		{ }
	};

	return dispatch(tool, table, "port ", help, argc, argv);
}
