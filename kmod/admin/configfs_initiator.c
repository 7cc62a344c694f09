// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/config/rtgt/initiators: parse text into structures and print structures as text.
 *
 *   initiators/<name>/{addr,port,source,op,poll,size,iters,warmup,depth,segment,signal,
 *                      duration_ms,region,offset,span,walk,verify,timeout_ms}
 *   initiators/<name>/run      1 starts a run, 0 stops it
 *   initiators/<name>/state    idle, connecting, running, done, failed or stopped
 *   initiators/<name>/result   what the last run measured, or why it failed
 *
 * A store that fails changes nothing.  While a run is in progress, all stores except those of
 * "run" fail with -EBUSY.  rmdir stops the run.
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
#include "core/text.h"
#include "include/uapi/rtgt.h"
#include "initiator/initiator.h"

/**
 * struct rtgt_initiator_item - a directory below initiators/
 * @item: the directory
 * @ini: the initiator
 */
struct rtgt_initiator_item {
	struct config_item item;
	struct rtgt_initiator *ini;
};

static struct rtgt_initiator *to_initiator(struct config_item *item)
{
	return container_of(item, struct rtgt_initiator_item, item)->ini;
}

static ssize_t initiator_store(struct config_item *item, const char *page, size_t count,
			       int (*parse)(const char *page, struct rtgt_ini_cfg *cfg))
{
	struct rtgt_initiator *ini = to_initiator(item);
	struct rtgt_ini_cfg cfg;
	int ret;

	mutex_lock(&ini->config);
	cfg = ini->cfg;
	ret = rtgt_check_text(page, count) ?: parse(page, &cfg);
	if (!ret && rtgt_initiator_busy(ini))
		ret = -EBUSY;
	if (!ret)
		ini->cfg = cfg;
	mutex_unlock(&ini->config);
	return ret ?: count;
}

/* Return a copy of the attributes, because an address is read in more than one access. */
static struct rtgt_ini_cfg cfg_of(struct config_item *item)
{
	struct rtgt_initiator *ini = to_initiator(item);
	struct rtgt_ini_cfg cfg;

	mutex_lock(&ini->config);
	cfg = ini->cfg;
	mutex_unlock(&ini->config);
	return cfg;
}

/* Define the file of an attribute, whose parser is NAME_parse(). */
#define RTGT_INI_ATTR(_name, _fmt, _value)						\
static ssize_t rtgt_ini_##_name##_show(struct config_item *item, char *page)		\
{											\
	struct rtgt_ini_cfg copy = cfg_of(item), *cfg = &copy;				\
											\
	return sysfs_emit(page, _fmt "\n", _value);					\
}											\
static ssize_t rtgt_ini_##_name##_store(struct config_item *item, const char *page,	\
					size_t count)					\
{											\
	return initiator_store(item, page, count, _name##_parse);			\
}											\
CONFIGFS_ATTR(rtgt_ini_, _name)

static __be16 *sockaddr_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return &((struct sockaddr_in6 *)addr)->sin6_port;
	return &((struct sockaddr_in *)addr)->sin_port;
}

static int any_addr_parse(const char *page, struct sockaddr_storage *addr)
{
	char word[INET6_ADDRSTRLEN + IFNAMSIZ + 1];
	int ret = rtgt_parse_word(page, word, sizeof(word));

	return ret ?: rtgt_parse_addr(word, addr);
}

static int addr_parse(const char *page, struct rtgt_ini_cfg *cfg)
{
	__be16 port = *sockaddr_port(&cfg->addr);
	int ret = any_addr_parse(page, &cfg->addr);

	*sockaddr_port(&cfg->addr) = port;
	return ret;
}

RTGT_INI_ATTR(addr, "%pISc", &cfg->addr);

static int port_parse(const char *page, struct rtgt_ini_cfg *cfg)
{
	u32 val;
	int ret = rtgt_parse_u32(page, 1, U16_MAX, &val);

	if (!ret)
		*sockaddr_port(&cfg->addr) = htons(val);
	return ret;
}

RTGT_INI_ATTR(port, "%u", ntohs(*sockaddr_port(&cfg->addr)));

static int source_parse(const char *page, struct rtgt_ini_cfg *cfg)
{
	return any_addr_parse(page, &cfg->source);
}

RTGT_INI_ATTR(source, "%pISc", &cfg->source);

static int word_parse(const char *page, const char *const *names, size_t nr)
{
	char word[16];
	int ret = rtgt_parse_word(page, word, sizeof(word));

	return ret ?: __sysfs_match_string(names, nr, word);
}

static const char *const op_names[] = {
	[RTGT_INI_WRITE] = "write",
	[RTGT_INI_READ] = "read",
	[RTGT_INI_WRITE_IMM] = "write-imm",
	[RTGT_INI_SEND] = "send",
	[RTGT_INI_CAS] = "cas",
	[RTGT_INI_FAA] = "faa",
};

static int op_parse(const char *page, struct rtgt_ini_cfg *cfg)
{
	int ret = word_parse(page, op_names, ARRAY_SIZE(op_names));

	if (ret < 0)
		return ret;
	cfg->op = ret;
	return 0;
}

RTGT_INI_ATTR(op, "%s", op_names[cfg->op]);

/* enum ib_poll_context has gaps that differ between kernels */
static const char *const poll_names[] = { "softirq", "workqueue", "direct" };
static const enum ib_poll_context polls[] = {
	IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE, IB_POLL_DIRECT,
};

static const char *poll_name(enum ib_poll_context poll)
{
	unsigned int i;

	for (i = 0; polls[i] != poll; i++)
		;
	return poll_names[i];
}

static int poll_parse(const char *page, struct rtgt_ini_cfg *cfg)
{
	int ret = word_parse(page, poll_names, ARRAY_SIZE(poll_names));

	if (ret < 0)
		return ret;
	cfg->poll = polls[ret];
	return 0;
}

RTGT_INI_ATTR(poll, "%s", poll_name(cfg->poll));

static int bytes_parse(const char *page, u32 min, u32 *out)
{
	u64 val;
	int ret = rtgt_parse_bytes(page, min, RTGT_INI_SIZE_MAX, &val);

	if (!ret)
		*out = val;
	return ret;
}

/* Define the file of an attribute whose parser is one call. */
#define RTGT_INI_VALUE(_name, _fmt, _value, _call)					\
static int _name##_parse(const char *page, struct rtgt_ini_cfg *cfg)			\
{											\
	return _call;									\
}											\
RTGT_INI_ATTR(_name, _fmt, _value)

RTGT_INI_VALUE(size, "%u", cfg->size, bytes_parse(page, 1, &cfg->size));
RTGT_INI_VALUE(iters, "%u", cfg->iters,
	       rtgt_parse_u32(page, 1, RTGT_INI_ITERS_MAX, &cfg->iters));
RTGT_INI_VALUE(warmup, "%u", cfg->warmup,
	       rtgt_parse_u32(page, 0, RTGT_INI_ITERS_MAX, &cfg->warmup));
RTGT_INI_VALUE(depth, "%u", cfg->depth,
	       rtgt_parse_u32(page, 1, RTGT_INI_DEPTH_MAX, &cfg->depth));
RTGT_INI_VALUE(segment, "%u", cfg->segment, bytes_parse(page, 0, &cfg->segment));
RTGT_INI_VALUE(signal, "%u", cfg->signal,
	       rtgt_parse_u32(page, 1, RTGT_INI_DEPTH_MAX, &cfg->signal));
RTGT_INI_VALUE(duration_ms, "%u", cfg->duration_ms,
	       rtgt_parse_u32(page, 0, RTGT_INI_TIMEOUT_MAX_MS, &cfg->duration_ms));
RTGT_INI_VALUE(region, "%u", cfg->region,
	       rtgt_parse_u32(page, 0, RTGT_MAX_REGIONS - 1, &cfg->region));
RTGT_INI_VALUE(offset, "%llu", cfg->offset,
	       rtgt_parse_bytes(page, 0, RTGT_REGION_MAX, &cfg->offset));
RTGT_INI_VALUE(span, "%llu", cfg->span,
	       rtgt_parse_bytes(page, 0, RTGT_REGION_MAX, &cfg->span));
RTGT_INI_VALUE(timeout_ms, "%u", cfg->timeout_ms,
	       rtgt_parse_u32(page, 1, RTGT_INI_TIMEOUT_MAX_MS, &cfg->timeout_ms));
RTGT_INI_VALUE(walk, "%d", cfg->walk, rtgt_parse_bool(page, &cfg->walk));

static const char *const verify_names[] = { "end", "all" };

static int verify_parse(const char *page, struct rtgt_ini_cfg *cfg)
{
	int ret = word_parse(page, verify_names, ARRAY_SIZE(verify_names));

	if (ret < 0)
		return ret;
	cfg->verify_all = ret;
	return 0;
}

RTGT_INI_ATTR(verify, "%s", verify_names[cfg->verify_all]);

/* --------------------------------------------------------------- run and its end */

static ssize_t rtgt_ini_run_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", rtgt_initiator_busy(to_initiator(item)));
}

static ssize_t rtgt_ini_run_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_initiator *ini = to_initiator(item);
	bool run;
	int ret;

	ret = rtgt_check_text(page, count) ?: rtgt_parse_bool(page, &run);
	if (ret)
		return ret;
	if (!run)
		return rtgt_initiator_stop(ini) ?: count;
	mutex_lock(&ini->config);
	ret = rtgt_initiator_start(ini, current->nsproxy->net_ns);
	mutex_unlock(&ini->config);
	return ret ?: count;
}

static ssize_t rtgt_ini_state_show(struct config_item *item, char *page)
{
	struct rtgt_initiator *ini = to_initiator(item);
	ssize_t len;

	mutex_lock(&ini->lock);
	len = sysfs_emit(page, "%s\n", rtgt_ini_state_name(ini->state));
	mutex_unlock(&ini->lock);
	return len;
}

/* Return the smallest sample that at least @per_mille of all samples do not exceed. */
static u32 percentile(const struct rtgt_ini_result *r, u32 per_mille)
{
	u64 rank = DIV_ROUND_UP_ULL((u64)r->nr_samples * per_mille, 1000);

	return r->sample[rank ? rank - 1 : 0];
}

static ssize_t show_times(const struct rtgt_ini_result *r, char *page, ssize_t len)
{
	len += sysfs_emit_at(page, len, "ops %u\nbytes %llu\nverified %llu\n", r->done,
			     (u64)r->done * r->cfg.size, r->verified);
	if (r->why_not)
		len += sysfs_emit_at(page, len, "not_compared %llu\nnot_compared_why %s\n",
				     r->not_compared, r->why_not);
	len += sysfs_emit_at(page, len, "begin_ns %llu\nelapsed_ns %llu\n", r->begin_ns,
			     r->elapsed_ns);
	if (!r->nr_samples)
		return len;
	len += sysfs_emit_at(page, len, "min_ns %u\np50_ns %u\np90_ns %u\n", r->sample[0],
			     percentile(r, 500), percentile(r, 900));
	len += sysfs_emit_at(page, len, "p99_ns %u\np999_ns %u\nmax_ns %u\n",
			     percentile(r, 990), percentile(r, 999), r->sample[r->nr_samples - 1]);
	return len;
}

static ssize_t rtgt_ini_result_show(struct config_item *item, char *page)
{
	struct rtgt_initiator *ini = to_initiator(item);
	const struct rtgt_ini_result *r = &ini->result;
	ssize_t len;

	mutex_lock(&ini->lock);
	len = sysfs_emit(page, "state %s\n", rtgt_ini_state_name(ini->state));
	if (ini->state == RTGT_INI_FAILED)
		len += sysfs_emit_at(page, len, "error %s\n",
				     ini->why[0] ? ini->why : "no memory");
	if (ini->state == RTGT_INI_DONE) {
		len += sysfs_emit_at(page, len, "op %s\npoll %s\nsize %u\ndepth %u\ndevice %s\n",
				     op_names[r->cfg.op], poll_name(r->cfg.poll), r->cfg.size,
				     r->cfg.depth, r->dev);
		len = show_times(r, page, len);
		len += sysfs_emit_at(page, len, "addr_ns %llu\nroute_ns %llu\n",
				     r->step_ns[RTGT_STEP_ADDR], r->step_ns[RTGT_STEP_ROUTE]);
		len += sysfs_emit_at(page, len, "qp_ns %llu\nconnect_ns %llu\n",
				     r->step_ns[RTGT_STEP_QP], r->step_ns[RTGT_STEP_CONNECT]);
	}
	mutex_unlock(&ini->lock);
	return len;
}

CONFIGFS_ATTR(rtgt_ini_, run);
CONFIGFS_ATTR_RO(rtgt_ini_, state);
CONFIGFS_ATTR_RO(rtgt_ini_, result);

static struct configfs_attribute *rtgt_ini_attrs[] = {
	&rtgt_ini_attr_addr,
	&rtgt_ini_attr_port,
	&rtgt_ini_attr_source,
	&rtgt_ini_attr_op,
	&rtgt_ini_attr_poll,
	&rtgt_ini_attr_size,
	&rtgt_ini_attr_iters,
	&rtgt_ini_attr_warmup,
	&rtgt_ini_attr_depth,
	&rtgt_ini_attr_segment,
	&rtgt_ini_attr_signal,
	&rtgt_ini_attr_duration_ms,
	&rtgt_ini_attr_region,
	&rtgt_ini_attr_offset,
	&rtgt_ini_attr_span,
	&rtgt_ini_attr_walk,
	&rtgt_ini_attr_verify,
	&rtgt_ini_attr_timeout_ms,
	&rtgt_ini_attr_run,
	&rtgt_ini_attr_state,
	&rtgt_ini_attr_result,
	NULL,
};

/* -------------------------------------------------------------------- directories */

/* configfs calls this for rmdir, also while one of the files is open */
static void initiator_item_release(struct config_item *item)
{
	struct rtgt_initiator_item *ii = container_of(item, struct rtgt_initiator_item, item);

	rtgt_initiator_destroy(ii->ini);
	kfree(ii);
}

static struct configfs_item_operations initiator_item_ops = {
	.release = initiator_item_release,
};

static const struct config_item_type initiator_item_type = {
	.ct_item_ops = &initiator_item_ops,
	.ct_attrs = rtgt_ini_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *initiators_make_item(struct config_group *group, const char *name)
{
	struct rtgt_initiator_item *ii;

	if (strlen(name) >= RTGT_NAME_LEN)
		return ERR_PTR(-ENAMETOOLONG);
	ii = kzalloc(sizeof(*ii), GFP_KERNEL);
	if (!ii)
		return ERR_PTR(-ENOMEM);
	ii->ini = rtgt_initiator_create(name);
	if (!ii->ini) {
		kfree(ii);
		return ERR_PTR(-ENOMEM);
	}
	config_item_init_type_name(&ii->item, name, &initiator_item_type);
	return &ii->item;
}

static struct configfs_group_operations initiators_group_ops = {
	.make_item = initiators_make_item,
};

const struct config_item_type rtgt_initiators_type = {
	.ct_group_ops = &initiators_group_ops,
	.ct_owner = THIS_MODULE,
};
