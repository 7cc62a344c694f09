/* SPDX-License-Identifier: GPL-2.0 */
/* All headers of the target, for files that do not name what they need yet. */
#ifndef _RTGT_H
#define _RTGT_H

#include "admin/debugfs.h"
#include "core/cq.h"
#include "core/device.h"
#include "core/mem.h"
#include "core/stats.h"
#include "core/text.h"
#include "include/uapi/rtgt.h"
#include "main.h"
#include "proto/proto.h"
#include "registration/reg.h"
#include "registration/region.h"
#include "target/conn.h"
#include "target/endpoint.h"
#include "target/port.h"
#include "target/recv.h"
#include "target/service.h"

int rtgt_configfs_init(void);
void rtgt_configfs_exit(void);

#endif /* _RTGT_H */
