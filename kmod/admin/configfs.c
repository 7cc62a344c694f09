// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/config/rtgt: parse text into structures and print structures as text.
 *
 *   features
 *   ports/<port>/{addr,port,service,transport,scope,srq,max_conns,backlog,
 *                 peer_conns_max,conn_memory_max,handshake_ms,recv_size,
 *                 recv_depth,withhold_max,idle_ms,mr_max,faults,enable,state,revoke}
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
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <net/ipv6.h>

#include "admin/configfs.h"
#include "admin/debugfs.h"
#include "core/device.h"
#include "core/text.h"
#include "registration/region.h"
#include "target/domains.h"
#include "target/fault.h"
#include "target/listener.h"
#include "target/port.h"
#include "target/services.h"

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

/* Store an attribute of a port: parse it into a copy, and use the copy if the port is disabled. */
static ssize_t port_store(struct config_item *item, const char *page, size_t count,
			  int (*parse)(const char *page, struct rtgt_port_cfg *cfg))
{
	struct rtgt_port *port = to_port_item(item)->port;
	struct rtgt_port_cfg cfg;
	int ret;

	mutex_lock(&port->config);
	cfg = port->cfg;
	ret = rtgt_check_text(page, count) ?: parse(page, &cfg);
	if (!ret && rtgt_port_enabled(port))
		ret = -EBUSY;
	if (!ret)
		port->cfg = cfg;
	mutex_unlock(&port->config);
	return ret ?: count;
}

/* -------------------------------------------------------------- a port's files */

/* Define the file of an attribute, whose parser is NAME_parse(). */
#define RTGT_PORT_ATTR(_name, _fmt, _value)						\
static ssize_t rtgt_port_##_name##_show(struct config_item *item, char *page)		\
{											\
	struct rtgt_port_cfg *cfg = &to_port_item(item)->port->cfg;			\
											\
	return sysfs_emit(page, _fmt "\n", _value);					\
}											\
static ssize_t rtgt_port_##_name##_store(struct config_item *item, const char *page,	\
					 size_t count)					\
{											\
	return port_store(item, page, count, _name##_parse);				\
}											\
CONFIGFS_ATTR(rtgt_port_, _name)

static __be16 *cfg_port(struct rtgt_port_cfg *cfg)
{
	if (cfg->addr.ss_family == AF_INET6)
		return &((struct sockaddr_in6 *)&cfg->addr)->sin6_port;
	return &((struct sockaddr_in *)&cfg->addr)->sin_port;
}

static int addr_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	__be16 port = *cfg_port(cfg);
	char word[INET6_ADDRSTRLEN + IFNAMSIZ + 1];
	int ret;

	ret = rtgt_parse_word(page, word, sizeof(word));
	if (!ret)
		ret = rtgt_parse_addr(word, &cfg->addr) ? -EINVAL : 0;
	*cfg_port(cfg) = port;
	return ret;
}

static ssize_t rtgt_port_addr_show(struct config_item *item, char *page)
{
	return rtgt_show_addr(page, &to_port_item(item)->port->cfg.addr);
}

static ssize_t rtgt_port_addr_store(struct config_item *item, const char *page, size_t count)
{
	return port_store(item, page, count, addr_parse);
}
CONFIGFS_ATTR(rtgt_port_, addr);

static int port_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	u32 val;
	int ret = rtgt_parse_u32(page, 1, U16_MAX, &val);

	if (!ret)
		*cfg_port(cfg) = htons(val);
	return ret;
}

RTGT_PORT_ATTR(port, "%u", ntohs(*cfg_port(cfg)));

static int service_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	const struct rtgt_service *service;
	char word[RTGT_NAME_LEN];
	int ret;

	ret = rtgt_parse_word(page, word, sizeof(word));
	if (ret)
		return ret;
	service = rtgt_service_find(word);
	if (!service)
		return -EINVAL;
	cfg->service = service;
	return 0;
}

RTGT_PORT_ATTR(service, "%s", cfg->service->name);

static int scope_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	char word[16];
	int ret;

	ret = rtgt_parse_word(page, word, sizeof(word));
	if (ret)
		return ret;
	if (strcmp(word, "private") && strcmp(word, "shared"))
		return -EINVAL;
	cfg->private = !strcmp(word, "private");
	return 0;
}

RTGT_PORT_ATTR(scope, "%s", cfg->private ? "private" : "shared");

static const char *const transport_names[] = {
	[RTGT_RC] = "rc",
	[RTGT_UC] = "uc",
	[RTGT_UD] = "ud",
};

static int transport_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	char word[8];
	int ret;

	ret = rtgt_parse_word(page, word, sizeof(word));
	if (ret)
		return ret;
	ret = sysfs_match_string(transport_names, word);
	if (ret < 0)
		return ret;
	cfg->transport = ret;
	return 0;
}

RTGT_PORT_ATTR(transport, "%s", transport_names[cfg->transport]);

static int max_conns_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 1, RTGT_CONNS_MAX, &cfg->max_conns);
}

RTGT_PORT_ATTR(max_conns, "%u", cfg->max_conns);

static int backlog_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 1, RTGT_CONNS_MAX, &cfg->backlog);
}

RTGT_PORT_ATTR(backlog, "%u", cfg->backlog);

static int peer_conns_max_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 0, RTGT_CONNS_MAX, &cfg->peer_conns_max);
}

RTGT_PORT_ATTR(peer_conns_max, "%u", cfg->peer_conns_max);

static int conn_memory_max_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_bytes(page, 0, S64_MAX, &cfg->conn_memory_max);
}

RTGT_PORT_ATTR(conn_memory_max, "%llu", cfg->conn_memory_max);

static int handshake_ms_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 1, RTGT_IDLE_MAX_MS, &cfg->handshake_ms);
}

RTGT_PORT_ATTR(handshake_ms, "%u", cfg->handshake_ms);

static int recv_size_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	u64 val;
	int ret = rtgt_parse_bytes(page, RTGT_RECV_SIZE_MIN, RTGT_RECV_SIZE_MAX, &val);

	if (!ret)
		cfg->recv_size = val;
	return ret;
}

RTGT_PORT_ATTR(recv_size, "%u", cfg->recv_size);

static int recv_depth_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 1, RTGT_RECV_DEPTH_MAX, &cfg->recv_depth);
}

RTGT_PORT_ATTR(recv_depth, "%u", cfg->recv_depth);

static int withhold_max_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 0, RTGT_RECV_DEPTH_MAX, &cfg->withhold_max);
}

RTGT_PORT_ATTR(withhold_max, "%u", cfg->withhold_max);

static int srq_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_bool(page, &cfg->srq);
}

RTGT_PORT_ATTR(srq, "%d", cfg->srq);

static int idle_ms_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	return rtgt_parse_u32(page, 0, RTGT_IDLE_MAX_MS, &cfg->idle_ms);
}

RTGT_PORT_ATTR(idle_ms, "%u", cfg->idle_ms);

static int mr_max_parse(const char *page, struct rtgt_port_cfg *cfg)
{
	u64 val;
	int ret = rtgt_parse_bytes(page, 0, RTGT_EXTENT_MAX, &val);

	if (ret)
		return ret;
	if (!PAGE_ALIGNED(val))
		return -EINVAL;
	cfg->mr_max = val;
	return 0;
}

RTGT_PORT_ATTR(mr_max, "%llu", cfg->mr_max);

static ssize_t rtgt_port_faults_show(struct config_item *item, char *page)
{
	return rtgt_faults_show(to_port_item(item)->port, page);
}

static ssize_t rtgt_port_faults_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_port *port = to_port_item(item)->port;
	int ret = rtgt_check_text(page, count);

	mutex_lock(&port->config);
	if (!ret)
		ret = rtgt_faults_set(port, page);
	mutex_unlock(&port->config);
	return ret ?: count;
}
CONFIGFS_ATTR(rtgt_port_, faults);

static ssize_t rtgt_port_revoke_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_port *port = to_port_item(item)->port;
	char word[16];
	u32 id = 0;
	int ret;

	ret = rtgt_check_text(page, count) ?: rtgt_parse_word(page, word, sizeof(word));
	if (!ret && strcmp(word, "all"))
		ret = rtgt_parse_u32(word, 1, U32_MAX, &id);
	if (ret)
		return ret;
	mutex_lock(&port->config);
	ret = rtgt_port_revoke(port, id);
	mutex_unlock(&port->config);
	return ret ?: count;
}

static ssize_t rtgt_port_state_show(struct config_item *item, char *page)
{
	struct rtgt_port *port = to_port_item(item)->port;

	return sysfs_emit(page, "%s\n", rtgt_port_state_name(READ_ONCE(port->state)));
}

/* ------------------------------------------------------------- enable, and pins */

static struct config_item *region_dir(struct rtgt_port *port, unsigned int i)
{
	return &container_of(port->spec[i], struct rtgt_region_item, spec)->item;
}

static void port_unpin(struct rtgt_port_item *pi)
{
	struct rtgt_port *port = pi->port;
	unsigned int i;

	mutex_lock(&port->regions);
	for (i = 0; i < port->nr_regions; i++)
		configfs_undepend_item(region_dir(port, i));
	configfs_undepend_item(&pi->group.cg_item);
	port->pinned = false;
	mutex_unlock(&port->regions);
}

static int port_pin_locked(struct rtgt_port_item *pi)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&pi->port->regions);
	ret = configfs_depend_item_unlocked(&rtgt_subsys, &pi->group.cg_item);
	if (ret)
		return ret;
	for (i = 0; i < pi->port->nr_regions; i++) {
		ret = configfs_depend_item_unlocked(&rtgt_subsys, region_dir(pi->port, i));
		if (ret)
			break;
	}
	if (!ret)
		return 0;
	while (i--)
		configfs_undepend_item(region_dir(pi->port, i));
	configfs_undepend_item(&pi->group.cg_item);
	return ret;
}

/*
 * Pin the directories of a port and of its regions: rmdir of these and mkdir of a region fail
 * until port_unpin().
 */
static int port_pin(struct rtgt_port_item *pi)
{
	int ret;

	mutex_lock(&pi->port->regions);
	ret = port_pin_locked(pi);
	pi->port->pinned = !ret;
	mutex_unlock(&pi->port->regions);
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

static ssize_t rtgt_port_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", rtgt_port_enabled(to_port_item(item)->port));
}

static ssize_t rtgt_port_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_port_item *pi = to_port_item(item);
	bool enable;
	int ret;

	ret = rtgt_check_text(page, count) ?: rtgt_parse_bool(page, &enable);
	if (ret)
		return ret;
	mutex_lock(&pi->port->config);
	if (enable)
		ret = port_item_enable(pi);
	else
		port_item_disable(pi);
	mutex_unlock(&pi->port->config);
	return ret ?: count;
}

CONFIGFS_ATTR(rtgt_port_, enable);
CONFIGFS_ATTR_RO(rtgt_port_, state);
CONFIGFS_ATTR_WO(rtgt_port_, revoke);

static struct configfs_attribute *rtgt_port_attrs[] = {
	&rtgt_port_attr_addr,
	&rtgt_port_attr_port,
	&rtgt_port_attr_service,
	&rtgt_port_attr_transport,
	&rtgt_port_attr_scope,
	&rtgt_port_attr_srq,
	&rtgt_port_attr_max_conns,
	&rtgt_port_attr_backlog,
	&rtgt_port_attr_peer_conns_max,
	&rtgt_port_attr_conn_memory_max,
	&rtgt_port_attr_handshake_ms,
	&rtgt_port_attr_recv_size,
	&rtgt_port_attr_recv_depth,
	&rtgt_port_attr_withhold_max,
	&rtgt_port_attr_idle_ms,
	&rtgt_port_attr_mr_max,
	&rtgt_port_attr_faults,
	&rtgt_port_attr_enable,
	&rtgt_port_attr_state,
	&rtgt_port_attr_revoke,
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
	.ct_attrs = rtgt_port_attrs,
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
	pi->port = rtgt_port_create(name, rtgt_service_nth(0));
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
	const struct rtgt_service *service;
	ssize_t len;
	unsigned int i;

	len = sysfs_emit(page, RTGT_FEATURES);
	for (i = 0; i < ARRAY_SIZE(msg_names); i++)
		if (msg_names[i])
			len += sysfs_emit_at(page, len, "msg-%s\n", msg_names[i]);
	for (i = 0; (service = rtgt_service_nth(i)); i++)
		len += sysfs_emit_at(page, len, "service-%s\n", service->name);
	/* last: with many devices the page ends here */
	return rtgt_faults_features(page, rtgt_dev_features(page, len));
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
 *
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

/**
 * rtgt_configfs_exit() - remove the module's directory
 *
 * No port is left, because each port pins the module.
 */
void rtgt_configfs_exit(void)
{
	configfs_unregister_subsystem(&rtgt_subsys);
	mutex_destroy(&rtgt_subsys.su_mutex);
}
