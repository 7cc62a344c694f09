/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The directories of ports and of their regions, for the files that implement
 * /sys/kernel/config/rtgt.
 */
#ifndef _RTGT_CONFIGFS_H
#define _RTGT_CONFIGFS_H

#include <linux/configfs.h>

#include "core/mem.h"

struct rtgt_port;

/* A directory below ports/ */
struct rtgt_port_item {
	struct config_group group;
	struct config_group regions;
	struct rtgt_port *port;
};

/* A directory below regions/ */
struct rtgt_region_item {
	struct config_item item;
	struct rtgt_port_item *owner;
	struct rtgt_spec spec;
};

extern const struct config_item_type rtgt_initiators_type;
extern const struct config_item_type rtgt_regions_type;

int rtgt_configfs_init(void);
void rtgt_configfs_exit(void);

#endif /* _RTGT_CONFIGFS_H */
