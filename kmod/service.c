// SPDX-License-Identifier: GPL-2.0
/* The services a port can speak: one file each, one line here. */
#include <linux/string.h>

#include "rtgt.h"

static const struct rtgt_service *const services[] = {
	&rtgt_service_rtgt,
};

/**
 * rtgt_service_nth() - walk the table
 * @n: 0, 1, ...
 *
 * Return: the service, NULL behind the last.
 */
const struct rtgt_service *rtgt_service_nth(unsigned int n)
{
	return n < ARRAY_SIZE(services) ? services[n] : NULL;
}

/**
 * rtgt_service_find() - look a service up
 * @name: as the administrator wrote it
 *
 * Return: the service or NULL.
 */
const struct rtgt_service *rtgt_service_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(services); i++)
		if (!strcmp(services[i]->name, name))
			return services[i];
	return NULL;
}
