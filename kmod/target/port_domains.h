/* SPDX-License-Identifier: GPL-2.0 */
/* The protection domains of a port. */
#ifndef _RTGT_PORT_DOMAINS_H
#define _RTGT_PORT_DOMAINS_H

#include <linux/types.h>

struct ib_device;
struct rtgt_domain;
struct rtgt_port;

struct rtgt_domain *rtgt_port_domain_get(struct rtgt_port *port, struct ib_device *ibdev);
void rtgt_port_domains_drop(struct rtgt_port *port);
void rtgt_port_domains(struct rtgt_port *port,
		       void (*fn)(struct rtgt_port *port, struct rtgt_domain *dom, u32 conn,
				  void *arg), void *arg);
int rtgt_port_revoke(struct rtgt_port *port, u32 id);

#endif /* _RTGT_PORT_DOMAINS_H */
