// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/rtgt: the state of ports, read-only and for root.
 *
 *   objects                                  numbers of allocated objects, lines "name value",
 *                                            and the bytes promised and not allocated yet
 *   ports/<port>/counters                    lines "name value"
 *   ports/<port>/connections                 a line for each connection
 *   ports/<port>/peers                       a line for each address that has connections
 *   ports/<port>/setups                      a line for each live connection: times and bytes
 *   ports/<port>/registrations               a line for each region in each domain
 *   ports/<port>/regions/<region>/data       the memory of a shared port
 *   ports/<port>/conns/<id>/<region>/data    of a private connection
 *   initiators/<name>/samples                times in ns, in rising order (initiator.c)
 *   initiators/<name>/wait                   its reader waits for the run (initiator.c)
 *
 * An open file holds no reference to the object that it shows: the file is removed before the
 * object is freed, and debugfs waits for readers then.  A failure to create a file is not an
 * error; the file is missing.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "admin/debugfs.h"
#include "core/mem.h"
#include "core/stats.h"
#include "main.h"
#include "registration/region.h"
#include "target/admission.h"
#include "target/conn.h"
#include "target/port_domains.h"
#include "target/port.h"
#include "target/qp.h"

static int objects_show(struct seq_file *m, void *v)
{
	seq_printf(m, "ports %d\nconns %d\ndomains %d\nmems %d\n",
		   atomic_read(&rtgt_live.ports), atomic_read(&rtgt_live.conns),
		   atomic_read(&rtgt_live.domains), atomic_read(&rtgt_live.mems));
	seq_printf(m, "peers %d\ninitiators %d\npromised %llu\n",
		   atomic_read(&rtgt_live.peers), atomic_read(&rtgt_live.initiators),
		   READ_ONCE(rtgt_budget.promised));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

static int counters_show(struct seq_file *m, void *v)
{
	struct rtgt_port *port = m->private;

	rtgt_stats_show(port->stats, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int connections_show(struct seq_file *m, void *v)
{
	struct rtgt_port *port = m->private;
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry) {
		enum rtgt_conn_state state = READ_ONCE(conn->state);

		seq_printf(m, "id=%u state=%s peer=%pISpc dev=%s qpn=%u client=%s recv_msgs=%llu imms=%llu replies=%llu held=%u\n",
			   conn->id, rtgt_conn_state_name(state), &conn->peer, conn->dev_name,
			   conn->qpn, conn->plain ? "plain" : "rtgt",
			   READ_ONCE(conn->recv_msgs), READ_ONCE(conn->imms),
			   (u64)atomic64_read(&conn->replies), READ_ONCE(conn->nr_held));
	}
	mutex_unlock(&port->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(connections);

static int peers_show(struct seq_file *m, void *v)
{
	rtgt_port_show_peers(m->private, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(peers);

/* Return the time between two steps.  The RTU may arrive before rdma_accept() returns. */
static u64 step_ns(const struct rtgt_conn *conn, enum rtgt_conn_step from, enum rtgt_conn_step to)
{
	u64 begin = READ_ONCE(conn->step_end[from]), end = READ_ONCE(conn->step_end[to]);

	return end > begin ? end - begin : 0;
}

static void show_setup(struct seq_file *m, const struct rtgt_conn *conn)
{
	size_t messages, bytes = sizeof(*conn) + rtgt_qp_bytes(conn, &messages);

	seq_printf(m, "id=%u domain_ns=%llu qp_ns=%llu accept_ns=%llu live_ns=%llu bytes=%zu message_bytes=%zu\n",
		   conn->id, step_ns(conn, RTGT_CONN_REQ_DONE, RTGT_CONN_DOMAIN_DONE),
		   step_ns(conn, RTGT_CONN_DOMAIN_DONE, RTGT_CONN_QP_DONE),
		   step_ns(conn, RTGT_CONN_QP_DONE, RTGT_CONN_ACCEPT_DONE),
		   step_ns(conn, RTGT_CONN_ACCEPT_DONE, RTGT_CONN_LIVE_DONE), bytes, messages);
}

/*
 * Show what each live connection cost.  The receive pool is valid: a teardown sets conn->domain
 * to NULL, with the lock held, before it frees the pool.
 */
static int setups_show(struct seq_file *m, void *v)
{
	struct rtgt_port *port = m->private;
	struct rtgt_conn *conn;

	mutex_lock(&port->lock);
	list_for_each_entry(conn, &port->conns, port_entry)
		if (READ_ONCE(conn->state) == RTGT_CONN_LIVE && conn->domain)
			show_setup(m, conn);
	mutex_unlock(&port->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(setups);

static void show_domain(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn, void *arg)
{
	struct seq_file *m = arg;
	unsigned int i;

	for (i = 0; i < dom->nr; i++) {
		const struct rtgt_map *map = &dom->map[i];
		const struct rtgt_mem *mem = map->mem;

		seq_printf(m, "region=%s dev=%s", port->spec[i]->name, dev_name(&dom->ibdev->dev));
		if (conn)
			seq_printf(m, " conn=%u", conn);
		seq_printf(m, " bytes=%llu chunk_size=%zu chunks=%u alloc_ns=%llu fill_ns=%llu",
			   mem->size, rtgt_mem_chunk(mem), mem->nr, mem->alloc_ns, mem->fill_ns);
		seq_printf(m, " extents=%u extent_size=%llu entries=%u entry_size=%u dma_ns=%llu mr_ns=%llu reg_ns=%llu\n",
			   map->nr, map->extent[0].len, map->entries, map->entry_size,
			   map->dma_ns, map->mr_ns, map->reg_ns);
	}
}

static int registrations_show(struct seq_file *m, void *v)
{
	rtgt_port_domains(m->private, show_domain, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(registrations);

/**
 * rtgt_debugfs_port() - create the directory of a port
 * @port: new port; rtgt_port_destroy() removes @port->debugfs
 */
void rtgt_debugfs_port(struct rtgt_port *port)
{
	port->debugfs = debugfs_create_dir(port->name, rtgt_debugfs_ports);
	port->debugfs_conns = debugfs_create_dir("conns", port->debugfs);
	debugfs_create_file("counters", 0400, port->debugfs, port, &counters_fops);
	debugfs_create_file("connections", 0400, port->debugfs, port, &connections_fops);
	debugfs_create_file("peers", 0400, port->debugfs, port, &peers_fops);
	debugfs_create_file("setups", 0400, port->debugfs, port, &setups_fops);
	debugfs_create_file("registrations", 0400, port->debugfs, port, &registrations_fops);
}

void rtgt_debugfs_init(void)
{
	struct dentry *top = debugfs_create_dir("rtgt", NULL);

	debugfs_create_file("objects", 0400, top, NULL, &objects_fops);
	rtgt_debugfs_ports = debugfs_create_dir("ports", top);
	rtgt_debugfs_initiators = debugfs_create_dir("initiators", top);
}

void rtgt_debugfs_exit(void)
{
	debugfs_lookup_and_remove("rtgt", NULL);
}
