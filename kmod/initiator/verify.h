/* SPDX-License-Identifier: GPL-2.0 */
/* Whether both ends of a run hold the same bytes. */
#ifndef _RTGT_VERIFY_H
#define _RTGT_VERIFY_H

struct rtgt_run;

int rtgt_run_verify_begin(struct rtgt_run *run);
int rtgt_run_verify(struct rtgt_run *run);

#endif /* _RTGT_VERIFY_H */
