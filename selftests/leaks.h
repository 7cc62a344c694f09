/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a unit test has allocated and lost.  The harness ends each test with _exit(), at which the
 * address sanitizer does not look; so a fixture's teardown asks.  Only for scripts/unit-tests: to
 * look takes a guest long.
 */
#ifndef RTGT_LEAKS_H
#define RTGT_LEAKS_H

#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else	/* SANITIZE= does without */
#define __lsan_do_recoverable_leak_check()	0
#endif

/* 0, or memory was lost, and stderr has where it was allocated */
static inline int leaked(void)
{
	return getenv("RTGT_LEAKS") ? __lsan_do_recoverable_leak_check() : 0;
}

#endif /* RTGT_LEAKS_H */
