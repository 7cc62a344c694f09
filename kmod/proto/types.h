/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's names of integers, for the files here that user space builds too.
 */
#ifndef _RTGT_TYPES_H
#define _RTGT_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
#endif

#endif /* _RTGT_TYPES_H */
