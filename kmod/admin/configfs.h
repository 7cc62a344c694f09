/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of /sys/kernel/config/rtgt share: the directories of ports and of
 * their regions.
 */
#ifndef _RTGT_CONFIGFS_H
#define _RTGT_CONFIGFS_H

#include <linux/configfs.h>

#include "core/mem.h"

struct rtgt_port;

/**
 * struct rtgt_port_item - a directory below ports/
 * @group: the directory
 * @regions: its regions/
 * @port: what it describes
 */
struct rtgt_port_item {
	struct config_group group;
	struct config_group regions;
	struct rtgt_port *port;
};

/**
 * struct rtgt_region_item - a directory below regions/
 * @item: the directory
 * @owner: the port it belongs to
 * @spec: what it describes
 */
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
