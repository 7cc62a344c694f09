/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * iWARP's part of the table of fields, for table.c.
 */
#define IWARP_LAYOUTS
