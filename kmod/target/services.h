/* SPDX-License-Identifier: GPL-2.0 */
/* The table of services, and functions that several services use. */
#ifndef _RTGT_SERVICES_H
#define _RTGT_SERVICES_H

#include <linux/types.h>

struct rtgt_conn;
struct rtgt_service;

int rtgt_service_accept_any(struct rtgt_conn *conn, const void *priv, size_t len, u32 *arg);
size_t rtgt_service_capability(const struct rtgt_conn *conn, void *priv, size_t size);
size_t rtgt_service_endpoint(const struct rtgt_conn *conn, void *priv, size_t size);
const struct rtgt_service *rtgt_service_find(const char *name);
const struct rtgt_service *rtgt_service_nth(unsigned int n);

/* Of the files service_NAME.c; services.c has the table */
extern const struct rtgt_service rtgt_service_rping;
extern const struct rtgt_service rtgt_service_rping_inv;
extern const struct rtgt_service rtgt_service_rtgt;
extern const struct rtgt_service rtgt_service_sink;

#endif /* _RTGT_SERVICES_H */
