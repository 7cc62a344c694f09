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

#include "admin/configfs.h"
#include "core/text.h"
#include "target/port.h"

static struct rtgt_region_item *to_region_item(struct config_item *item)
{
	return container_of(item, struct rtgt_region_item, item);
}

/* ------------------------------------------------------------------------- files */

static ssize_t region_store(struct config_item *item, const char *page, size_t count,
			    int (*parse)(const char *page, struct rtgt_spec *spec))
{
	struct rtgt_region_item *ri = to_region_item(item);
	struct rtgt_port *port = ri->owner->port;
	struct rtgt_spec spec;
	int ret;

	mutex_lock(&port->config);
	spec = ri->spec;
	ret = rtgt_check_text(page, count) ?: parse(page, &spec);
	if (!ret && rtgt_port_enabled(port))
		ret = -EBUSY;
	if (!ret)
		ri->spec = spec;
	mutex_unlock(&port->config);
	return ret ?: count;
}

static int size_parse(const char *page, struct rtgt_spec *spec)
{
	return rtgt_parse_bytes(page, 1, RTGT_REGION_MAX, &spec->size);
}

static ssize_t rtgt_region_size_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%llu\n", to_region_item(item)->spec.size);
}

static ssize_t rtgt_region_size_store(struct config_item *item, const char *page, size_t count)
{
	return region_store(item, page, count, size_parse);
}

static int access_parse(const char *page, struct rtgt_spec *spec)
{
	return rtgt_parse_access(page, &spec->access);
}

static ssize_t rtgt_region_access_show(struct config_item *item, char *page)
{
	return rtgt_show_access(page, to_region_item(item)->spec.access);
}

static ssize_t rtgt_region_access_store(struct config_item *item, const char *page, size_t count)
{
	return region_store(item, page, count, access_parse);
}

static int fill_parse(const char *page, struct rtgt_spec *spec)
{
	return rtgt_parse_fill(page, &spec->fill);
}

static ssize_t rtgt_region_fill_show(struct config_item *item, char *page)
{
	return rtgt_show_fill(page, to_region_item(item)->spec.fill);
}

static ssize_t rtgt_region_fill_store(struct config_item *item, const char *page, size_t count)
{
	return region_store(item, page, count, fill_parse);
}

static ssize_t rtgt_region_index_show(struct config_item *item, char *page)
{
	struct rtgt_region_item *ri = to_region_item(item);
	struct rtgt_port *port = ri->owner->port;
	unsigned int i;

	mutex_lock(&port->regions);
	for (i = 0; i < port->nr_regions; i++)
		if (port->spec[i] == &ri->spec)
			break;
	mutex_unlock(&port->regions);
	return sysfs_emit(page, "%u\n", i);
}

CONFIGFS_ATTR_RO(rtgt_region_, index);
CONFIGFS_ATTR(rtgt_region_, size);
CONFIGFS_ATTR(rtgt_region_, access);
CONFIGFS_ATTR(rtgt_region_, fill);

static struct configfs_attribute *rtgt_region_attrs[] = {
	&rtgt_region_attr_index,
	&rtgt_region_attr_size,
	&rtgt_region_attr_access,
	&rtgt_region_attr_fill,
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
	.ct_attrs = rtgt_region_attrs,
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
	struct rtgt_region_item *ri = to_region_item(item);
	unsigned int i;

	mutex_lock(&port->regions);
	for (i = 0; i < port->nr_regions; i++)
		if (port->spec[i] == &ri->spec)
			break;
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
