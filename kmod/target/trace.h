/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the system "rtgt".  They name a connection by its number and its QP number, as
 * debugfs, the REP and a capture do, so events can be matched with those.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtgt

#if !defined(_RTGT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RTGT_TRACE_H

#include <rdma/ib_cm.h>
#include <linux/tracepoint.h>
#include <trace/misc/rdma.h>

#include "proto/proto.h"
#include "target/conn.h"
#include "target/port.h"

TRACE_DEFINE_ENUM(RTGT_PORT_DISABLED);
TRACE_DEFINE_ENUM(RTGT_PORT_LISTENING);
TRACE_DEFINE_ENUM(RTGT_PORT_STARTING);
TRACE_DEFINE_ENUM(RTGT_PORT_STOPPING);
TRACE_DEFINE_ENUM(RTGT_PORT_REMOVED);
TRACE_DEFINE_ENUM(RTGT_CONN_CONNECTING);
TRACE_DEFINE_ENUM(RTGT_CONN_LIVE);
TRACE_DEFINE_ENUM(RTGT_CONN_CLOSING);

/* as debugfs and configfs have them; a function could not be called by trace-cmd */
#define rtgt_show_port_state(x)						\
	__print_symbolic(x,						\
			 { RTGT_PORT_DISABLED, "disabled" },		\
			 { RTGT_PORT_LISTENING, "listening" },		\
			 { RTGT_PORT_STARTING, "starting" },		\
			 { RTGT_PORT_STOPPING, "stopping" },		\
			 { RTGT_PORT_REMOVED, "device-removed" })

#define rtgt_show_conn_state(x)						\
	__print_symbolic(x,						\
			 { RTGT_CONN_CONNECTING, "connecting" },	\
			 { RTGT_CONN_LIVE, "live" },			\
			 { RTGT_CONN_CLOSING, "closing" })

/* Of a sockaddr_storage, what "%pISpc" looks at */
#define RTGT_TRACE_ADDR		sizeof(struct sockaddr_in6)
#define RTGT_TRACE_WHY		64

TRACE_EVENT(rtgt_port_state,
	TP_PROTO(const struct rtgt_port *port),
	TP_ARGS(port),
	TP_STRUCT__entry(
		__array(char, port, RTGT_NAME_LEN)
		__field(u32, state)
	),
	TP_fast_assign(
		strscpy(__entry->port, port->name, RTGT_NAME_LEN);
		__entry->state = port->state;
	),
	TP_printk("state=%s port=%s", rtgt_show_port_state(__entry->state), __entry->port)
);

TRACE_EVENT(rtgt_conn_state,
	TP_PROTO(const struct rtgt_conn *conn, u32 old, u32 new, const char *why),
	TP_ARGS(conn, old, new, why),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(u32, old)
		__field(u32, new)
		__array(char, port, RTGT_NAME_LEN)
		__array(u8, peer, RTGT_TRACE_ADDR)
		__array(char, why, RTGT_TRACE_WHY)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->old = old;
		__entry->new = new;
		strscpy(__entry->port, conn->port->name, RTGT_NAME_LEN);
		memcpy(__entry->peer, &conn->peer, RTGT_TRACE_ADDR);
		strscpy(__entry->why, why, RTGT_TRACE_WHY);
	),
	TP_printk("conn=%u qpn=%u %s -> %s port=%s peer=%pISpc why=%s", __entry->id,
		  __entry->qpn, rtgt_show_conn_state(__entry->old),
		  rtgt_show_conn_state(__entry->new), __entry->port, __entry->peer, __entry->why)
);

TRACE_EVENT(rtgt_cm_event,
	TP_PROTO(const struct rtgt_conn *conn, u32 event, int status),
	TP_ARGS(conn, event, status),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(u32, event)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->event = event;
		__entry->status = status;
	),
	TP_printk("conn=%u qpn=%u %s status=%d", __entry->id, __entry->qpn,
		  rdma_show_cm_event(__entry->event), __entry->status)
);

TRACE_EVENT(rtgt_qp_event,
	TP_PROTO(const struct rtgt_conn *conn, u32 event),
	TP_ARGS(conn, event),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(u32, event)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->event = event;
	),
	TP_printk("conn=%u qpn=%u %s", __entry->id, __entry->qpn,
		  rdma_show_ib_event(__entry->event))
);

TRACE_EVENT(rtgt_wc,
	TP_PROTO(const struct rtgt_conn *conn, const struct ib_wc *wc, bool send),
	TP_ARGS(conn, wc, send),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(bool, send)
		__field(u32, status)
		__field(u32, opcode)
		__field(u32, byte_len)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->send = send;
		__entry->status = wc->status;
		/* only the status is valid in a failed completion */
		__entry->opcode = wc->status ? 0 : wc->opcode;
		__entry->byte_len = wc->status || send ? 0 : wc->byte_len;
	),
	TP_printk("conn=%u qpn=%u %s status=%s opcode=%u byte_len=%u", __entry->id, __entry->qpn,
		  __entry->send ? "send" : "recv", rdma_show_wc_status(__entry->status),
		  __entry->opcode, __entry->byte_len)
);

TRACE_EVENT(rtgt_request,
	TP_PROTO(const struct rtgt_conn *conn, const struct rtgt_request *rq, u32 status),
	TP_ARGS(conn, rq, status),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(u32, op)
		__field(u32, tag)
		__field(u32, len)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->op = rq->op;
		__entry->tag = rq->tag;
		__entry->len = rq->len;
		__entry->status = status;
	),
	TP_printk("conn=%u qpn=%u op=%u tag=%u len=%u status=%u", __entry->id, __entry->qpn,
		  __entry->op, __entry->tag, __entry->len, __entry->status)
);

TRACE_EVENT(rtgt_imm,
	TP_PROTO(const struct rtgt_conn *conn, u32 imm, u32 byte_len),
	TP_ARGS(conn, imm, byte_len),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(u32, imm)
		__field(u32, byte_len)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->imm = imm;
		__entry->byte_len = byte_len;
	),
	TP_printk("conn=%u qpn=%u imm=0x%08x byte_len=%u", __entry->id, __entry->qpn,
		  __entry->imm, __entry->byte_len)
);

TRACE_EVENT(rtgt_reply,
	TP_PROTO(const struct rtgt_conn *conn, const struct rtgt_request *rq, u32 status, u32 len),
	TP_ARGS(conn, rq, status, len),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, qpn)
		__field(u32, op)
		__field(u32, tag)
		__field(u32, status)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->id = conn->id;
		__entry->qpn = conn->qpn;
		__entry->op = rq->op;
		__entry->tag = rq->tag;
		__entry->status = status;
		__entry->len = len;
	),
	TP_printk("conn=%u qpn=%u op=%u tag=%u status=%u len=%u", __entry->id, __entry->qpn,
		  __entry->op, __entry->tag, __entry->status, __entry->len)
);

TRACE_EVENT(rtgt_reject,
	TP_PROTO(const struct rtgt_port *port, const struct rdma_cm_id *id, u32 reason, u32 arg),
	TP_ARGS(port, id, reason, arg),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__array(char, port, RTGT_NAME_LEN)
		__array(u8, peer, RTGT_TRACE_ADDR)
		__field(u32, reason)
		__field(u32, arg)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&id->device->dev), IB_DEVICE_NAME_MAX);
		strscpy(__entry->port, port->name, RTGT_NAME_LEN);
		memcpy(__entry->peer, &id->route.addr.dst_addr, RTGT_TRACE_ADDR);
		__entry->reason = reason;
		__entry->arg = arg;
	),
	TP_printk("dev=%s reason=%s arg=%u port=%s peer=%pISpc", __entry->dev,
		  rtgt_rej_name(__entry->reason), __entry->arg, __entry->port, __entry->peer)
);

#endif /* _RTGT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH target
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
