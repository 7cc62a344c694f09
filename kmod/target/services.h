/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of services: NAME for what kmod/service_NAME.c defines.  A port speaks the
 * first one unless it is told otherwise.
 *
 * Read twice, so it has no guard: rtgt.h declares what it holds, service.c walks it.
 */
RTGT_SERVICE(rtgt);
RTGT_SERVICE(rping);
RTGT_SERVICE(sink);
#undef RTGT_SERVICE
