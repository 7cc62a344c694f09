// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/config/rtgt: parse text into structures and print structures as text.
 *
 *   features
 *   ports/<port>/{addr,port,service,transport,scope,srq,max_conns,backlog,
 *                 peer_conns_max,conn_memory_max,handshake_ms,recv_size,
 *                 recv_depth,withhold_max,idle_ms,keepalive_ms,mr_max,faults,enable,
 *                 state,netns,revoke}
 *   ports/<port>/regions/          (configfs_region.c)
 *   initiators/                    (configfs_initiator.c)
 *
 * A store fails with -EBUSY while the port is enabled, except to faults and to revoke, and a store
 * that fails changes nothing.  An enabled port and its regions are pinned (a configfs dependency),
 * so rmdir fails with -EBUSY, too, instead of freeing memory that a peer uses; mkdir of a region
 * fails with -EBUSY.
 *
 * configfs holds the module while a port directory exists.
 */
#include <linux/configfs.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>

#include "admin/attr.h"
#include "admin/configfs.h"
#include "admin/debugfs.h"
#include "core/device.h"
#include "registration/region.h"
#include "target/port_domains.h"
#include "target/fault.h"
#include "target/listener.h"
#include "target/port.h"
#include "target/service.h"

/* The constant part of the file "features" */
#define RTGT_FEATURES \
	"op-write\nop-read\nop-write-imm\nop-send\nop-send-imm\nop-send-inv\nop-atomic\n" \
	"scope-shared\nscope-private\ntransport-rc\ntransport-uc\ntransport-ud\nsrq\n"

static const char *const msg_names[] = {
	[RTGT_MSG_ECHO]		= "echo",
	[RTGT_MSG_CHECKSUM]	= "checksum",
	[RTGT_MSG_PULL]		= "pull",
	[RTGT_MSG_PUSH]		= "push",
	[RTGT_MSG_REVOKE]	= "revoke",
	[RTGT_MSG_WITHHOLD]	= "withhold",
	[RTGT_MSG_DISCONNECT]	= "disconnect",
	[RTGT_MSG_EXTENTS]	= "extents",
};

static_assert(ARRAY_SIZE(msg_names) == RTGT_MSG_NR);

static struct configfs_subsystem rtgt_subsys;

static struct rtgt_port_item *to_port_item(struct config_item *item)
{
	return container_of(to_config_group(item), struct rtgt_port_item, group);
}

/* -------------------------------------------------------------- a port's files */

static ssize_t port_show(struct config_item *item, char *page, const struct rtgt_attr *attr)
{
	return rtgt_attr_show(attr, page, &to_port_item(item)->port->cfg);
}

static ssize_t port_store(struct config_item *item, const char *page, size_t count,
			  const struct rtgt_attr *attr)
{
	struct rtgt_port *port = to_port_item(item)->port;
	int ret = mutex_lock_killable(&port->config);

	if (ret)
		return ret;
	ret = rtgt_port_enabled(port) ? -EBUSY : rtgt_attr_parse(attr, page, count, &port->cfg);
	mutex_unlock(&port->config);
	return ret ?: count;
}

static int parse_service(const char *word, void *at)
{
	return rtgt_service_set(at, word);
}

static ssize_t show_service(char *page, const void *at)
{
	return rtgt_service_show(at, page);
}

static const char *const scope_names[] = { "shared", "private" };

static const char *const transport_names[] = {
	[RTGT_RC] = "rc",
	[RTGT_UC] = "uc",
	[RTGT_UD] = "ud",
};

#define PORT_ATTR(_name, _kind, ...)	\
	RTGT_ATTR(port, _name, _kind(rtgt_port_cfg, __VA_ARGS__))

PORT_ATTR(addr, RTGT_TEXT, addr, rtgt_parse_addr, rtgt_show_addr);
PORT_ATTR(port, RTGT_TEXT, addr, rtgt_parse_port, rtgt_show_port);
PORT_ATTR(service, RTGT_TEXT, service, parse_service, show_service);
PORT_ATTR(transport, RTGT_WORDS, transport, transport_names);
PORT_ATTR(scope, RTGT_WORDS, private, scope_names);
PORT_ATTR(srq, RTGT_NUMBER, srq, 0, 1);
PORT_ATTR(max_conns, RTGT_NUMBER, max_conns, 1, RTGT_CONNS_MAX);
PORT_ATTR(backlog, RTGT_NUMBER, backlog, 1, RTGT_CONNS_MAX);
PORT_ATTR(peer_conns_max, RTGT_NUMBER, peer_conns_max, 0, RTGT_CONNS_MAX);
PORT_ATTR(conn_memory_max, RTGT_BYTES, conn_memory_max, 0, S64_MAX);
PORT_ATTR(handshake_ms, RTGT_NUMBER, handshake_ms, 1, RTGT_IDLE_MAX_MS);
PORT_ATTR(recv_size, RTGT_BYTES, recv_size, RTGT_RECV_SIZE_MIN, RTGT_RECV_SIZE_MAX);
PORT_ATTR(recv_depth, RTGT_NUMBER, recv_depth, 1, RTGT_RECV_DEPTH_MAX);
PORT_ATTR(withhold_max, RTGT_NUMBER, withhold_max, 0, RTGT_RECV_DEPTH_MAX);
PORT_ATTR(idle_ms, RTGT_NUMBER, idle_ms, 0, RTGT_IDLE_MAX_MS);
PORT_ATTR(keepalive_ms, RTGT_NUMBER, keepalive_ms, 0, RTGT_IDLE_MAX_MS);
RTGT_ATTR(port, mr_max, RTGT_BYTES(rtgt_port_cfg, mr_max, 0, RTGT_EXTENT_MAX), .align = PAGE_SIZE);

static ssize_t port_faults_show(struct config_item *item, char *page)
{
	return rtgt_faults_show(to_port_item(item)->port, page);
}

static ssize_t port_faults_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_port *port = to_port_item(item)->port;
	int ret = mutex_lock_killable(&port->config);

	if (ret)
		return ret;
	ret = strnlen(page, count) == count ? rtgt_faults_set(port, page) : -EINVAL;
	mutex_unlock(&port->config);
	return ret ?: count;
}
CONFIGFS_ATTR(port_, faults);

static ssize_t port_revoke_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_port *port = to_port_item(item)->port;
	char word[16];
	u32 id = 0;
	int ret;

	ret = rtgt_parse_word(page, count, word, sizeof(word));
	if (!ret && strcmp(word, "all"))
		ret = kstrtou32(word, 0, &id) ?: id ? 0 : -ERANGE;
	if (!ret)
		ret = mutex_lock_killable(&port->config);
	if (ret)
		return ret;
	ret = rtgt_port_revoke(port, id);
	mutex_unlock(&port->config);
	return ret ?: count;
}

static ssize_t port_state_show(struct config_item *item, char *page)
{
	struct rtgt_port *port = to_port_item(item)->port;

	return sysfs_emit(page, "%s\n", rtgt_port_state_name(READ_ONCE(port->state)));
}

static ssize_t port_netns_show(struct config_item *item, char *page)
{
	struct rtgt_port *port = to_port_item(item)->port;
	unsigned int inum;

	mutex_lock(&port->lock);
	inum = port->net ? port->net->ns.inum : 0;
	mutex_unlock(&port->lock);
	return inum ? sysfs_emit(page, "net:[%u]\n", inum) : sysfs_emit(page, "\n");
}

/* ------------------------------------------------------------- enable, and pins */

static struct config_item *region_dir(struct rtgt_port *port, unsigned int i)
{
	return &container_of(port->spec[i], struct rtgt_region_item, spec)->item;
}

/* The first @nr regions, and the port */
static void port_undepend(struct rtgt_port_item *pi, unsigned int nr)
{
	while (nr--)
		configfs_undepend_item(region_dir(pi->port, nr));
	configfs_undepend_item(&pi->group.cg_item);
}

static void port_unpin(struct rtgt_port_item *pi)
{
	mutex_lock(&pi->port->regions);
	port_undepend(pi, pi->port->nr_regions);
	pi->port->pinned = false;
	mutex_unlock(&pi->port->regions);
}

/*
 * Pin the directories of a port and of its regions: rmdir of these and mkdir of a region fail
 * until port_unpin().
 */
static int port_pin(struct rtgt_port_item *pi)
{
	struct rtgt_port *port = pi->port;
	unsigned int i;
	int ret;

	mutex_lock(&port->regions);
	ret = configfs_depend_item_unlocked(&rtgt_subsys, &pi->group.cg_item);
	for (i = 0; !ret && i < port->nr_regions; i++) {
		ret = configfs_depend_item_unlocked(&rtgt_subsys, region_dir(port, i));
		if (ret)
			port_undepend(pi, i);
	}
	port->pinned = !ret;
	mutex_unlock(&port->regions);
	return ret;
}

static int port_item_enable(struct rtgt_port_item *pi)
{
	int ret;

	if (rtgt_port_enabled(pi->port))
		return 0;
	ret = port_pin(pi);
	if (ret)
		return ret;
	ret = rtgt_port_enable(pi->port, current->nsproxy->net_ns);
	if (ret)
		port_unpin(pi);
	return ret;
}

static void port_item_disable(struct rtgt_port_item *pi)
{
	if (!rtgt_port_enabled(pi->port))
		return;
	rtgt_port_disable(pi->port);
	port_unpin(pi);
}

static ssize_t port_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", rtgt_port_enabled(to_port_item(item)->port));
}

static ssize_t port_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_port_item *pi = to_port_item(item);
	bool enable;
	int ret;

	ret = rtgt_parse_bool(page, count, &enable);
	if (!ret)
		ret = mutex_lock_killable(&pi->port->config);
	if (ret)
		return ret;
	if (enable)
		ret = port_item_enable(pi);
	else
		port_item_disable(pi);
	mutex_unlock(&pi->port->config);
	return ret ?: count;
}

CONFIGFS_ATTR(port_, enable);
CONFIGFS_ATTR_RO(port_, state);
CONFIGFS_ATTR_RO(port_, netns);
CONFIGFS_ATTR_WO(port_, revoke);

static struct configfs_attribute *port_attrs[] = {
	&port_attr_addr, &port_attr_port, &port_attr_service, &port_attr_transport,
	&port_attr_scope, &port_attr_srq, &port_attr_max_conns, &port_attr_backlog,
	&port_attr_peer_conns_max, &port_attr_conn_memory_max, &port_attr_handshake_ms,
	&port_attr_recv_size, &port_attr_recv_depth, &port_attr_withhold_max,
	&port_attr_idle_ms, &port_attr_keepalive_ms, &port_attr_mr_max, &port_attr_faults,
	&port_attr_enable, &port_attr_state, &port_attr_netns, &port_attr_revoke,
	NULL,
};

/* ------------------------------------------------------------ directories: ports */

static void port_item_release(struct config_item *item)
{
	struct rtgt_port_item *pi = to_port_item(item);

	rtgt_port_destroy(pi->port);
	kfree(pi);
}

static struct configfs_item_operations port_item_ops = {
	.release = port_item_release,
};

static const struct config_item_type port_item_type = {
	.ct_item_ops = &port_item_ops,
	.ct_attrs = port_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_group *ports_make_group(struct config_group *group, const char *name)
{
	struct rtgt_port_item *pi;
	int ret;

	if (strlen(name) >= RTGT_NAME_LEN)
		return ERR_PTR(-ENAMETOOLONG);
	pi = kzalloc(sizeof(*pi), GFP_KERNEL);
	if (!pi)
		return ERR_PTR(-ENOMEM);
	pi->port = rtgt_port_create(name);
	if (IS_ERR(pi->port)) {
		ret = PTR_ERR(pi->port);
		kfree(pi);
		return ERR_PTR(ret);
	}
	rtgt_debugfs_port(pi->port);
	config_group_init_type_name(&pi->group, name, &port_item_type);
	config_group_init_type_name(&pi->regions, "regions", &rtgt_regions_type);
	configfs_add_default_group(&pi->regions, &pi->group);
	return &pi->group;
}

static struct configfs_group_operations ports_group_ops = {
	.make_group = ports_make_group,
};

static const struct config_item_type ports_type = {
	.ct_group_ops = &ports_group_ops,
	.ct_owner = THIS_MODULE,
};

static struct config_group rtgt_ports_group;
static struct config_group rtgt_initiators_group;

/* ------------------------------------------------------------------ the subsystem */

static ssize_t rtgt_features_show(struct config_item *item, char *page)
{
	ssize_t len;
	unsigned int i;

	len = sysfs_emit(page, RTGT_FEATURES);
	for (i = 0; i < ARRAY_SIZE(msg_names); i++)
		if (msg_names[i])
			len += sysfs_emit_at(page, len, "msg-%s\n", msg_names[i]);
	len = rtgt_services_show(page, len);
	/* devices last: with many of them the page ends there */
	return rtgt_dev_features(page, rtgt_faults_features(page, len));
}

CONFIGFS_ATTR_RO(rtgt_, features);

static struct configfs_attribute *rtgt_root_attrs[] = {
	&rtgt_attr_features,
	NULL,
};

static const struct config_item_type rtgt_root_type = {
	.ct_attrs = rtgt_root_attrs,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem rtgt_subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "rtgt",
			.ci_type = &rtgt_root_type,
		},
	},
};

/**
 * rtgt_configfs_init() - register the module's directory
 * Return: 0, or the errno of configfs_register_subsystem().
 */
int rtgt_configfs_init(void)
{
	mutex_init(&rtgt_subsys.su_mutex);
	config_group_init(&rtgt_subsys.su_group);
	config_group_init_type_name(&rtgt_ports_group, "ports", &ports_type);
	configfs_add_default_group(&rtgt_ports_group, &rtgt_subsys.su_group);
	config_group_init_type_name(&rtgt_initiators_group, "initiators", &rtgt_initiators_type);
	configfs_add_default_group(&rtgt_initiators_group, &rtgt_subsys.su_group);
	return configfs_register_subsystem(&rtgt_subsys);
}

/* No port is left, because each port pins the module. */
void rtgt_configfs_exit(void)
{
	configfs_unregister_subsystem(&rtgt_subsys);
	mutex_destroy(&rtgt_subsys.su_mutex);
}
