/* SPDX-License-Identifier: GPL-2.0 */
/* Single work requests and requests of a run, waited for. */
#ifndef _RTGT_INI_ASK_H
#define _RTGT_INI_ASK_H

#include <linux/types.h>

struct ib_send_wr;
struct rtgt_reply;
struct rtgt_run;

int rtgt_run_post_once(struct rtgt_run *run, struct ib_send_wr *wr);
void *rtgt_run_ask_body(struct rtgt_run *run);
int rtgt_run_ask(struct rtgt_run *run, u32 op, u32 len, struct rtgt_reply *reply);
int rtgt_run_capability(struct rtgt_run *run);

#endif /* _RTGT_INI_ASK_H */
