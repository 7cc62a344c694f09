/* SPDX-License-Identifier: GPL-2.0 */
/* How a run connects to its target. */
#ifndef _RTGT_CONNECT_H
#define _RTGT_CONNECT_H

struct rtgt_run;

int rtgt_run_check_region(struct rtgt_run *run);
int rtgt_run_connect(struct rtgt_run *run);

#endif /* _RTGT_CONNECT_H */
