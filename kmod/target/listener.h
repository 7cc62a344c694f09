/* SPDX-License-Identifier: GPL-2.0 */
/* Enable and disable a port. */
#ifndef _RTGT_LISTENER_H
#define _RTGT_LISTENER_H

struct net;
struct rtgt_port;

int rtgt_port_enable(struct rtgt_port *port, struct net *net);
void rtgt_port_disable(struct rtgt_port *port);

#endif /* _RTGT_LISTENER_H */
