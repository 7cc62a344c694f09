/* SPDX-License-Identifier: GPL-2.0 */
/* Admission; conn.h is above this header, so that conn.c needs no other file of a port. */
#ifndef _RTGT_ADMISSION_H
#define _RTGT_ADMISSION_H

#include <linux/types.h>

struct rtgt_conn;
struct rtgt_port;
struct seq_file;

int rtgt_port_admit(struct rtgt_port *port, struct rtgt_conn *conn, u64 bytes, u32 *bound);
int rtgt_port_admit_request(struct rtgt_port *port, u32 *bound);
void rtgt_port_request_done(struct rtgt_port *port);
void rtgt_port_established(struct rtgt_port *port, struct rtgt_conn *conn);
void rtgt_port_forget(struct rtgt_port *port, struct rtgt_conn *conn);
bool rtgt_port_idle(const struct rtgt_port *port);
void rtgt_port_show_peers(struct rtgt_port *port, struct seq_file *m);

#endif /* _RTGT_ADMISSION_H */
