/* SPDX-License-Identifier: GPL-2.0 */
/* What domain.c, map.c and extent.c call of each other, upper ones lower ones only. */
#ifndef _RTGT_REGISTRATION_INTERNAL_H
#define _RTGT_REGISTRATION_INTERNAL_H

#include "registration/reg.h"
#include "registration/region.h"

int rtgt_map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem);
void rtgt_map_destroy(struct rtgt_map *map);
int rtgt_map_rotate(struct rtgt_map *map, u32 from, u32 nr, bool only_invalid,
		    struct rtgt_reg *reg);

int rtgt_extent_create(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len);
void rtgt_extent_destroy(struct rtgt_map *map, struct rtgt_extent *ext);
int rtgt_extent_rotate(struct rtgt_map *map, struct rtgt_extent *ext, u64 len,
		       struct rtgt_reg *reg);
void rtgt_extent_sync(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len, bool cpu);

#endif /* _RTGT_REGISTRATION_INTERNAL_H */
