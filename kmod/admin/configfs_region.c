// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/config/rtgt/ports/<port>/regions: parse text into structures and print
 * structures as text.
 *
 *   regions/<region>/{index,size,access,fill}
 *
 * rtgt_port.config protects the attributes of the regions, rtgt_port.regions their list.  mkdir
 * makes the last region of the port; rmdir removes a region and decreases the index of the
 * regions after it.  Both, and all stores, fail with -EBUSY while the port is enabled.  A store
 * waits while the port is being enabled or disabled; mkdir and rmdir fail then as well.
 */
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "admin/attr.h"
#include "admin/configfs.h"
#include "target/port.h"

static struct rtgt_region_item *to_region_item(struct config_item *item)
{
	return container_of(item, struct rtgt_region_item, item);
}

/* ------------------------------------------------------------------------- files */

static ssize_t region_show(struct config_item *item, char *page, const struct rtgt_attr *attr)
{
	return rtgt_attr_show(attr, page, &to_region_item(item)->spec);
}

static ssize_t region_store(struct config_item *item, const char *page, size_t count,
			    const struct rtgt_attr *attr)
{
	struct rtgt_region_item *ri = to_region_item(item);
	struct rtgt_port *port = ri->owner->port;
	int ret = mutex_lock_killable(&port->config);

	if (ret)
		return ret;
	ret = rtgt_port_enabled(port) ? -EBUSY : rtgt_attr_parse(attr, page, count, &ri->spec);
	mutex_unlock(&port->config);
	return ret ?: count;
}

static const struct {
	const char *name;
	u32 bit;
} access_names[] = {
	{ "read",	RTGT_ACCESS_READ },
	{ "write",	RTGT_ACCESS_WRITE },
	{ "atomic",	RTGT_ACCESS_ATOMIC },
	{ "flush",	RTGT_ACCESS_FLUSH },
};

static int parse_access(const char *word, void *at)
{
	char buf[64], *next = buf, *name;
	u32 access = 0;
	unsigned int i;

	if (strscpy(buf, word, sizeof(buf)) < 0)
		return -EINVAL;
	while ((name = strsep(&next, ","))) {
		for (i = 0; i < ARRAY_SIZE(access_names); i++)
			if (!strcmp(name, access_names[i].name))
				break;
		if (i == ARRAY_SIZE(access_names))
			return -EINVAL;
		access |= access_names[i].bit;
	}
	*(u32 *)at = access;
	return 0;
}

static ssize_t show_access(char *page, const void *at)
{
	ssize_t len = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(access_names); i++)
		if (*(const u32 *)at & access_names[i].bit)
			len += sysfs_emit_at(page, len, "%s%s", len ? "," : "",
					     access_names[i].name);
	return len + sysfs_emit_at(page, len, "\n");
}

static int parse_fill(const char *word, void *at)
{
	bool counter = !strcmp(word, "counter");
	u8 byte = 0;
	int ret = 0;

	if (!counter && strcmp(word, "zero"))
		ret = strncmp(word, "0x", 2) ? -EINVAL : kstrtou8(word, 16, &byte);
	if (!ret)
		*(u16 *)at = counter ? RTGT_FILL_COUNTER : byte;
	return ret;
}

static ssize_t show_fill(char *page, const void *at)
{
	u16 fill = *(const u16 *)at;

	if (fill == RTGT_FILL_COUNTER)
		return sysfs_emit(page, "counter\n");
	if (!fill)
		return sysfs_emit(page, "zero\n");
	return sysfs_emit(page, "0x%02x\n", fill);
}

RTGT_ATTR(region, size, RTGT_BYTES(rtgt_spec, size, 1, RTGT_REGION_MAX));
RTGT_ATTR(region, access, RTGT_TEXT(rtgt_spec, access, parse_access, show_access));
RTGT_ATTR(region, fill, RTGT_TEXT(rtgt_spec, fill, parse_fill, show_fill));

static unsigned int region_index(const struct rtgt_region_item *ri)
{
	const struct rtgt_port *port = ri->owner->port;
	unsigned int i;

	lockdep_assert_held(&port->regions);
	for (i = 0; i < port->nr_regions && port->spec[i] != &ri->spec; i++)
		;
	return i;
}

static ssize_t region_index_show(struct config_item *item, char *page)
{
	struct rtgt_region_item *ri = to_region_item(item);
	unsigned int i;

	mutex_lock(&ri->owner->port->regions);
	i = region_index(ri);
	mutex_unlock(&ri->owner->port->regions);
	return sysfs_emit(page, "%u\n", i);
}

CONFIGFS_ATTR_RO(region_, index);

static struct configfs_attribute *region_attrs[] = {
	&region_attr_index, &region_attr_size, &region_attr_access, &region_attr_fill,
	NULL,
};

static void region_item_release(struct config_item *item)
{
	kfree(to_region_item(item));
}

static struct configfs_item_operations region_item_ops = {
	.release = region_item_release,
};

static const struct config_item_type region_item_type = {
	.ct_item_ops = &region_item_ops,
	.ct_attrs = region_attrs,
	.ct_owner = THIS_MODULE,
};

/* -------------------------------------------------------------------- directories */

static struct rtgt_port_item *regions_owner(struct config_group *group)
{
	return container_of(group, struct rtgt_port_item, regions);
}

static struct config_item *regions_make_item(struct config_group *group, const char *name)
{
	struct rtgt_port_item *pi = regions_owner(group);
	struct rtgt_port *port = pi->port;
	struct rtgt_region_item *ri;
	int ret = 0;

	if (strlen(name) >= RTGT_NAME_LEN)
		return ERR_PTR(-ENAMETOOLONG);
	ri = kzalloc(sizeof(*ri), GFP_KERNEL);
	if (!ri)
		return ERR_PTR(-ENOMEM);
	ri->owner = pi;
	strscpy(ri->spec.name, name, sizeof(ri->spec.name));
	ri->spec.size = PAGE_SIZE;
	ri->spec.access = RTGT_ACCESS_READ | RTGT_ACCESS_WRITE;

	mutex_lock(&port->regions);
	if (port->pinned)
		ret = -EBUSY;
	else if (port->nr_regions == RTGT_MAX_REGIONS)
		ret = -ENOSPC;
	else
		port->spec[port->nr_regions++] = &ri->spec;
	mutex_unlock(&port->regions);
	if (ret) {
		kfree(ri);
		return ERR_PTR(ret);
	}
	config_item_init_type_name(&ri->item, name, &region_item_type);
	return &ri->item;
}

static void regions_drop_item(struct config_group *group, struct config_item *item)
{
	struct rtgt_port *port = regions_owner(group)->port;
	unsigned int i;

	mutex_lock(&port->regions);
	i = region_index(to_region_item(item));
	for (port->nr_regions--; i < port->nr_regions; i++)
		port->spec[i] = port->spec[i + 1];
	mutex_unlock(&port->regions);
	config_item_put(item);
}

static struct configfs_group_operations regions_group_ops = {
	.make_item = regions_make_item,
	.drop_item = regions_drop_item,
};

/* The type of ports/<port>/regions */
const struct config_item_type rtgt_regions_type = {
	.ct_group_ops = &regions_group_ops,
	.ct_owner = THIS_MODULE,
};
