/* SPDX-License-Identifier: GPL-2.0 */
/* Whether both ends of a run hold the same bytes. */
#ifndef _RTGT_VERIFY_H
#define _RTGT_VERIFY_H

#include <linux/types.h>

struct rtgt_run;

int rtgt_run_verify(struct rtgt_run *run, u64 *bytes);

#endif /* _RTGT_VERIFY_H */
