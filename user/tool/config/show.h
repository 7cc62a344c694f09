/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Printing what model.h reads.  See show.c.
 */
#ifndef RTGT_SHOW_H
#define RTGT_SHOW_H

#include "tool/cli/cli.h"

int show_ports(const struct tool *tool, const char *only);
int show_regions(const struct tool *tool, const char *only);

#endif /* RTGT_SHOW_H */
