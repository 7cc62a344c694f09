/* SPDX-License-Identifier: GPL-2.0 */
/* The set-up of a connection, as the listener and the datagram endpoint use it. */
#ifndef _RTGT_SETUP_H
#define _RTGT_SETUP_H

#include <linux/types.h>

struct ib_device;
struct rdma_cm_id;
struct rdma_conn_param;
struct rtgt_conn;
struct rtgt_port;

int rtgt_conn_request(struct rtgt_port *port, struct rdma_cm_id *id,
		      const struct rdma_conn_param *param);
struct rtgt_conn *rtgt_conn_create(struct rtgt_port *port, struct ib_device *ibdev);
int rtgt_conn_admit(struct rtgt_conn *conn, u32 *why, u32 *arg);
int rtgt_conn_settle(struct rtgt_conn *conn, struct ib_device *ibdev);
int rtgt_conn_send_rep(struct rtgt_conn *conn, struct rdma_conn_param *param);
void rtgt_conn_not_accepted(struct rtgt_conn *conn, int err);
void rtgt_conn_reject(struct rtgt_port *port, struct rdma_cm_id *id, u32 reason, u32 arg);
u32 rtgt_conn_reject_reason(int err, u32 *arg);

#endif /* _RTGT_SETUP_H */
