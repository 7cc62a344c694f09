// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The library's structures as JSON.  An object returned here belongs to the caller.
 *
 * A file of its own, since it needs libibverbs and who prints values only does not.
 */
#include <stdlib.h>

#include "json.h"

/* Access bits (RTGT_ACCESS_*) as an array of words */
static struct json_object *access_words(uint32_t access)
{
	struct json_object *a = json_object_new_array();

	if (access & RTGT_ACCESS_READ)
		json_object_array_add(a, json_object_new_string("read"));
	if (access & RTGT_ACCESS_WRITE)
		json_object_array_add(a, json_object_new_string("write"));
	if (access & RTGT_ACCESS_ATOMIC)
		json_object_array_add(a, json_object_new_string("atomic"));
	if (access & RTGT_ACCESS_FLUSH)
		json_object_array_add(a, json_object_new_string("flush"));
	return a;
}

/**
 * rtgt_json_hist() - a histogram's summary, in microseconds
 * @h: the histogram
 *
 * Return: the object.
 */
struct json_object *rtgt_json_hist(const struct rtgt_hist *h)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_us(o, "min", h->min);
	rtgt_json_us(o, "mean", h->count ? h->sum / h->count : 0);
	rtgt_json_us(o, "p50", rtgt_hist_percentile(h, 5000));
	rtgt_json_us(o, "p90", rtgt_hist_percentile(h, 9000));
	rtgt_json_us(o, "p99", rtgt_hist_percentile(h, 9900));
	rtgt_json_us(o, "p99_9", rtgt_hist_percentile(h, 9990));
	rtgt_json_us(o, "max", h->max);
	return o;
}

static struct json_object *json_versions(const struct rtgt_facts *f)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_str(o, "rtgt", f->version);
	rtgt_json_int(o, "protocol", RTGT_VERSION);
	rtgt_json_str(o, "libibverbs", f->verbs);
	rtgt_json_str(o, "json-c", json_c_version());
	return o;
}

static struct json_object *json_tcp(const struct rtgt_facts_tcp *t)
{
	struct json_object *o = json_object_new_object();

	if (t->netdev[0])
		rtgt_json_str(o, "netdev", t->netdev);
	if (t->netdev_mtu)
		rtgt_json_int(o, "netdev_mtu", t->netdev_mtu);
	if (t->mss)
		rtgt_json_int(o, "mss", t->mss);
	if (t->congestion[0])
		rtgt_json_str(o, "congestion", t->congestion);
	return o;
}

/**
 * rtgt_json_facts() - facts as an object
 * @f: from rtgt_facts_get()
 *
 * Return: the object.
 */
struct json_object *rtgt_json_facts(const struct rtgt_facts *f)
{
	struct json_object *o = json_object_new_object();
	long path_mtu = strtol(f->path_mtu, NULL, 10);

	json_object_object_add(o, "versions", json_versions(f));
	rtgt_json_str(o, "kernel", f->kernel);
	rtgt_json_str(o, "machine", f->machine);
	rtgt_json_int(o, "cpus", f->cpus);
	rtgt_json_str(o, "accelerator", f->accelerator);
	rtgt_json_str(o, "time", f->virtual_time ? "virtual" : "wall");
	rtgt_json_str(o, "device", f->device[0] ? f->device : "none");
	rtgt_json_str(o, "transport", f->transport);
	rtgt_json_str(o, "link_layer", f->link_layer);
	if (f->netdev[0])
		rtgt_json_str(o, "netdev", f->netdev);
	if (f->netdev_mtu)
		rtgt_json_int(o, "netdev_mtu", f->netdev_mtu);
	if (path_mtu)
		rtgt_json_int(o, "path_mtu", path_mtu);
	rtgt_json_str(o, "source", f->source[0] ? f->source : "none");
	rtgt_json_str(o, "destination", f->destination[0] ? f->destination : "none");
	rtgt_json_str(o, "topology", f->same_machine ? "one machine" : "two machines");
	if (f->has_tcp)
		json_object_object_add(o, "tcp", json_tcp(&f->tcp));
	return o;
}

/**
 * rtgt_json_error() - what failed
 * @err: of a function that did
 *
 * Return: the object.
 */
struct json_object *rtgt_json_error(const struct rtgt_err *err)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_int(o, "errno", err->code);
	rtgt_json_str(o, "text", err->text);
	if (err->wc_status) {
		rtgt_json_int(o, "wc_status", err->wc_status);
		rtgt_json_str(o, "wc_status_text",
			      ibv_wc_status_str((enum ibv_wc_status)err->wc_status));
		rtgt_json_int(o, "vendor_err", err->vendor_err);
	}
	return o;
}

static struct json_object *json_region(const struct rtgt_client *c, uint32_t index)
{
	const struct rtgt_region_info *mem = &c->peer.region[index];
	struct json_object *o = json_object_new_object();

	rtgt_json_int(o, "index", index);
	rtgt_json_hex(o, "addr", mem->addr);
	rtgt_json_hex(o, "rkey", mem->rkey);
	rtgt_json_int(o, "len", (int64_t)c->layout[index].size);
	rtgt_json_int(o, "extents", c->layout[index].nr);
	json_object_object_add(o, "access", access_words(mem->access));
	return o;
}

/* Work requests that were posted, by what they do */
static struct json_object *json_posted(const struct rtgt_qp *q)
{
	struct json_object *a = json_object_new_array();

	for (int i = 0; i < RTGT_OPCODES; i++) {
		struct json_object *o;

		if (!q->posted[i].count)
			continue;
		o = json_object_new_object();
		rtgt_json_str(o, "op", rtgt_wr_opcode_str((enum ibv_wr_opcode)i));
		rtgt_json_int(o, "count", (int64_t)q->posted[i].count);
		rtgt_json_int(o, "bytes", (int64_t)q->posted[i].bytes);
		json_object_array_add(a, o);
	}
	return a;
}

/**
 * rtgt_json_client() - a connection and what its target offers
 * @c: open
 *
 * Return: the object.
 */
struct json_object *rtgt_json_client(const struct rtgt_client *c)
{
	struct json_object *o = json_object_new_object();
	struct json_object *regions = json_object_new_array();
	struct json_object *times = json_object_new_object();
	const struct rtgt_rep_info *p = &c->peer;

	rtgt_json_str(o, "protocol", p->rtgt ? "rtgt" : "plain");
	rtgt_json_str(o, "transport", rtgt_transport_str(c->cm.param.transport));
	rtgt_json_int(o, "qpn", c->qp.qp->qp_num);
	if (p->rtgt) {
		rtgt_json_int(o, "version", p->version);
		rtgt_json_int(o, "conn_id", p->conn_id);
		rtgt_json_int(o, "recv_size", p->recv_size);
		rtgt_json_int(o, "recv_depth", p->recv_depth);
		rtgt_json_bool(o, "private", p->features & RTGT_F_PRIVATE);
	}
	for (uint32_t i = 0; i < p->nr; i++)
		json_object_array_add(regions, json_region(c, i));
	json_object_object_add(o, "regions", regions);
	json_object_object_add(o, "posted", json_posted(&c->qp));
	rtgt_json_us(times, "address", c->cm.step_ns[RTGT_CM_ADDR]);
	rtgt_json_us(times, "route", c->cm.step_ns[RTGT_CM_ROUTE]);
	rtgt_json_us(times, "connect", c->cm.step_ns[RTGT_CM_CONNECT]);
	json_object_object_add(o, "setup_us", times);
	return o;
}
