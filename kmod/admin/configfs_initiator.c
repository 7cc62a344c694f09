// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/config/rtgt/initiators: parse text into structures and print structures as text.
 *
 *   initiators/<name>/{addr,port,source,transport,private_data,op,poll,size,sges,fence,iters,
 *                      warmup,depth,segment,signal,duration_ms,region,offset,span,walk,verify,
 *                      timeout_ms}
 *   initiators/<name>/run      1 starts a run, 0 stops it
 *   initiators/<name>/state    idle, connecting, running, done, failed or stopped
 *   initiators/<name>/result   what the last run measured, or why it failed
 *
 * A store that fails changes nothing.  While a run is in progress, all stores except those of
 * "run" fail with -EBUSY.  rmdir stops the run.
 */
#include <linux/configfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "admin/attr.h"
#include "admin/configfs.h"
#include "include/uapi/rtgt.h"
#include "initiator/initiator.h"

/* A directory below initiators/ */
struct rtgt_initiator_item {
	struct config_item item;
	struct rtgt_initiator *ini;
};

static struct rtgt_initiator *to_initiator(struct config_item *item)
{
	return container_of(item, struct rtgt_initiator_item, item)->ini;
}

static ssize_t ini_store(struct config_item *item, const char *page, size_t count,
			 const struct rtgt_attr *attr)
{
	struct rtgt_initiator *ini = to_initiator(item);
	int ret = mutex_lock_killable(&ini->config);

	if (ret)
		return ret;
	ret = rtgt_initiator_busy(ini) ? -EBUSY : rtgt_attr_parse(attr, page, count, &ini->cfg);
	mutex_unlock(&ini->config);
	return ret ?: count;
}

/* The lock, because an address is read in more than one access */
static ssize_t ini_show(struct config_item *item, char *page, const struct rtgt_attr *attr)
{
	struct rtgt_initiator *ini = to_initiator(item);
	ssize_t len;

	mutex_lock(&ini->config);
	len = rtgt_attr_show(attr, page, &ini->cfg);
	mutex_unlock(&ini->config);
	return len;
}

static int parse_private(const char *word, void *at)
{
	struct rtgt_ini_private private = {};
	size_t len = strcmp(word, "rtgt") ? strlen(word) : 0;

	if (len > 2 * RTGT_INI_PRIVATE_MAX)
		return -ERANGE;
	if (len % 2 || (len && word[strspn(word, "0123456789abcdefABCDEF")]))
		return -EINVAL;
	for (; private.len < len / 2; private.len++)
		if (sscanf(&word[2 * private.len], "%2hhx", &private.data[private.len]) != 1)
			return -EINVAL;
	*(struct rtgt_ini_private *)at = private;
	return 0;
}

static ssize_t show_private(char *page, const void *at)
{
	const struct rtgt_ini_private *private = at;

	return private->len ? sysfs_emit(page, "%*phN\n", private->len, private->data) :
			      sysfs_emit(page, "rtgt\n");
}

static const char *const transport_names[] = { "rc", "uc" };

static const char *const op_names[] = {
	[RTGT_INI_WRITE] = "write",
	[RTGT_INI_READ] = "read",
	[RTGT_INI_WRITE_IMM] = "write-imm",
	[RTGT_INI_SEND] = "send",
	[RTGT_INI_CAS] = "cas",
	[RTGT_INI_FAA] = "faa",
};

static const char *const poll_names[] = {
	[RTGT_POLL_SOFTIRQ] = "softirq",
	[RTGT_POLL_WORKQUEUE] = "workqueue",
	[RTGT_POLL_DIRECT] = "direct",
};

static const char *const verify_names[] = { "end", "all" };

#define INI_ATTR(_name, _kind, ...)	\
	RTGT_ATTR(ini, _name, _kind(rtgt_ini_cfg, __VA_ARGS__))

INI_ATTR(addr, RTGT_TEXT, addr, rtgt_parse_addr, rtgt_show_addr);
INI_ATTR(port, RTGT_TEXT, addr, rtgt_parse_port, rtgt_show_port);
INI_ATTR(source, RTGT_TEXT, source, rtgt_parse_addr, rtgt_show_addr);
INI_ATTR(transport, RTGT_WORDS, uc, transport_names);
INI_ATTR(private_data, RTGT_TEXT, private, parse_private, show_private);
INI_ATTR(op, RTGT_WORDS, op, op_names);
INI_ATTR(poll, RTGT_WORDS, poll, poll_names);
INI_ATTR(size, RTGT_BYTES, size, 1, RTGT_INI_SIZE_MAX);
INI_ATTR(sges, RTGT_NUMBER, sges, 1, RTGT_INI_CUTS_MAX);
INI_ATTR(fence, RTGT_NUMBER, fence, 0, 1);
INI_ATTR(iters, RTGT_NUMBER, iters, 1, RTGT_INI_ITERS_MAX);
INI_ATTR(warmup, RTGT_NUMBER, warmup, 0, RTGT_INI_ITERS_MAX);
INI_ATTR(depth, RTGT_NUMBER, depth, 1, RTGT_INI_DEPTH_MAX);
INI_ATTR(segment, RTGT_BYTES, segment, 0, RTGT_INI_SIZE_MAX);
INI_ATTR(signal, RTGT_NUMBER, signal, 1, RTGT_INI_DEPTH_MAX);
INI_ATTR(duration_ms, RTGT_NUMBER, duration_ms, 0, RTGT_INI_TIMEOUT_MAX_MS);
INI_ATTR(region, RTGT_NUMBER, region, 0, RTGT_MAX_REGIONS - 1);
INI_ATTR(offset, RTGT_BYTES, offset, 0, RTGT_REGION_MAX);
INI_ATTR(span, RTGT_BYTES, span, 0, RTGT_REGION_MAX);
INI_ATTR(walk, RTGT_NUMBER, walk, 0, 1);
INI_ATTR(verify, RTGT_WORDS, verify_all, verify_names);
INI_ATTR(timeout_ms, RTGT_NUMBER, timeout_ms, 1, RTGT_INI_TIMEOUT_MAX_MS);

/* --------------------------------------------------------------- run and its end */

static ssize_t ini_run_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", rtgt_initiator_busy(to_initiator(item)));
}

static ssize_t ini_run_store(struct config_item *item, const char *page, size_t count)
{
	struct rtgt_initiator *ini = to_initiator(item);
	bool run;
	int ret;

	ret = rtgt_parse_bool(page, count, &run);
	if (ret)
		return ret;
	if (!run)
		return rtgt_initiator_stop(ini) ?: count;
	ret = mutex_lock_killable(&ini->config);
	if (ret)
		return ret;
	ret = rtgt_initiator_start(ini, current->nsproxy->net_ns);
	mutex_unlock(&ini->config);
	return ret ?: count;
}

static ssize_t ini_state_show(struct config_item *item, char *page)
{
	struct rtgt_initiator *ini = to_initiator(item);
	ssize_t len;

	mutex_lock(&ini->lock);
	len = sysfs_emit(page, "%s\n", rtgt_ini_state_names[ini->state]);
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

static ssize_t ini_result_show(struct config_item *item, char *page)
{
	struct rtgt_initiator *ini = to_initiator(item);
	const struct rtgt_ini_result *r = &ini->result;
	ssize_t len;

	mutex_lock(&ini->lock);
	len = sysfs_emit(page, "state %s\n", rtgt_ini_state_names[ini->state]);
	if (ini->state == RTGT_INI_FAILED)
		len += sysfs_emit_at(page, len, "error %s\n", r->why[0] ? r->why : "no memory");
	if (ini->state == RTGT_INI_DONE) {
		len += sysfs_emit_at(page, len, "op %s\npoll %s\nsize %u\ndepth %u\ndevice %s\n",
				     op_names[r->cfg.op], poll_names[r->cfg.poll], r->cfg.size,
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

CONFIGFS_ATTR(ini_, run);
CONFIGFS_ATTR_RO(ini_, state);
CONFIGFS_ATTR_RO(ini_, result);

static struct configfs_attribute *ini_attrs[] = {
	&ini_attr_addr, &ini_attr_port, &ini_attr_source, &ini_attr_transport,
	&ini_attr_private_data, &ini_attr_op, &ini_attr_poll,
	&ini_attr_size, &ini_attr_sges, &ini_attr_fence, &ini_attr_iters, &ini_attr_warmup,
	&ini_attr_depth,
	&ini_attr_segment, &ini_attr_signal, &ini_attr_duration_ms, &ini_attr_region,
	&ini_attr_offset, &ini_attr_span, &ini_attr_walk, &ini_attr_verify,
	&ini_attr_timeout_ms, &ini_attr_run, &ini_attr_state, &ini_attr_result,
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
	.ct_attrs = ini_attrs,
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
