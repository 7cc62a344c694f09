/* SPDX-License-Identifier: GPL-2.0 */
/* The requests of the service "rtgt" */
#ifndef _RTGT_OPS_H
#define _RTGT_OPS_H

struct rtgt_recv_ctx;

void rtgt_ops_message(struct rtgt_recv_ctx *recv);
void rtgt_ops_imm(struct rtgt_recv_ctx *recv);
void rtgt_ops_work(struct rtgt_recv_ctx *recv);
void rtgt_ops_moved(struct rtgt_recv_ctx *recv);

#endif /* _RTGT_OPS_H */
