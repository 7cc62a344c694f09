/* SPDX-License-Identifier: GPL-2.0 */
/* The module's files in debugfs. */
#ifndef _RTGT_DEBUGFS_H
#define _RTGT_DEBUGFS_H

struct rtgt_port;

void rtgt_debugfs_init(void);
void rtgt_debugfs_exit(void);
void rtgt_debugfs_port(struct rtgt_port *port);

#endif /* _RTGT_DEBUGFS_H */
