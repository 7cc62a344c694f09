/* SPDX-License-Identifier: GPL-2.0 */
/* Sources of datagrams: which of them an endpoint resolves. */
#ifndef _RTGT_UD_SOURCES_H
#define _RTGT_UD_SOURCES_H

struct ib_ah;
struct ib_grh;
struct ib_pd;
struct ib_wc;
struct rtgt_sources;
struct sockaddr;

struct rtgt_sources *rtgt_sources_create(void);
void rtgt_sources_destroy(struct rtgt_sources *sources);
bool rtgt_sources_has(struct rtgt_sources *sources, struct sockaddr *addr);
void rtgt_sources_add(struct rtgt_sources *sources, struct sockaddr *addr);
struct ib_ah *rtgt_sources_ah(struct rtgt_sources *sources, struct ib_pd *pd,
			      const struct ib_wc *wc, const struct ib_grh *grh);

#endif /* _RTGT_UD_SOURCES_H */
