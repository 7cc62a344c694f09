/* SPDX-License-Identifier: GPL-2.0 */
/* The queue pair of a connection. */
#ifndef _RTGT_QP_H
#define _RTGT_QP_H

#include <linux/types.h>

struct rdma_cm_id;
struct rdma_conn_param;
struct rtgt_conn;

u64 rtgt_qp_needs(const struct rtgt_conn *conn);
size_t rtgt_qp_bytes(const struct rtgt_conn *conn, size_t *messages);
int rtgt_qp_create(struct rtgt_conn *conn, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param);
void rtgt_qp_destroy(struct rtgt_conn *conn);

#endif /* _RTGT_QP_H */
