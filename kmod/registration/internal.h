/* SPDX-License-Identifier: GPL-2.0 */
/* What domain.c, map.c, renewal.c, extent.c and mr.c call of each other, downwards only. */
#ifndef _RTGT_REGISTRATION_INTERNAL_H
#define _RTGT_REGISTRATION_INTERNAL_H

#include "registration/regqp.h"
#include "registration/region.h"

int rtgt_map_create(struct rtgt_domain *dom, const struct rtgt_spec *spec, struct rtgt_mem *mem);
void rtgt_map_destroy(struct rtgt_map *map);
int rtgt_map_rotate(struct rtgt_map *map, u32 from, u32 nr, bool only_invalid,
		    unsigned int *rotated);

int rtgt_extent_create(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len);
void rtgt_extent_destroy(struct rtgt_map *map, struct rtgt_extent *ext);
bool rtgt_extent_invalid(const struct rtgt_extent *ext);
int rtgt_extent_rotate(struct rtgt_map *map, struct rtgt_extent *ext, u64 len);
void rtgt_extent_replace_mr(struct rtgt_extent *ext, struct rtgt_mr *mr);
void rtgt_extent_sync(struct rtgt_map *map, struct rtgt_extent *ext, u64 offset, u64 len, bool cpu);

struct rtgt_mr *rtgt_mr_create(struct rtgt_map *map, struct sg_table *sgt, u64 len);
void rtgt_mr_destroy(struct rtgt_mr *mr);
unsigned int rtgt_mr_entries(const struct rtgt_map *map, u64 len);
void rtgt_mr_set_invalid(struct rtgt_mr *mr, bool invalid);
void rtgt_mr_reg_wr(struct rtgt_mr *mr, const struct rtgt_map *map, struct ib_reg_wr *wr);

#endif /* _RTGT_REGISTRATION_INTERNAL_H */
