/* SPDX-License-Identifier: GPL-2.0 */
/* The datagram endpoint of a device. */
#ifndef _RTGT_UD_ENDPOINT_H
#define _RTGT_UD_ENDPOINT_H

struct rdma_cm_id;
struct rdma_ud_param;
struct rtgt_port;

int rtgt_endpoint_request(struct rtgt_port *port, struct rdma_cm_id *id,
			  const struct rdma_ud_param *param);

#endif /* _RTGT_UD_ENDPOINT_H */
