/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the library has to say: errors, as one sentence for a person, and facts
 * for whoever wants to watch.  See log.c.
 */
#ifndef RTGT_LOG_H
#define RTGT_LOG_H

#include <stdint.h>
#include <stdio.h>

#include <rtgt/rtgt.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rtgt_log - where facts go
 * @to: stream; the caller owns it; NULL for none
 * @marker: the kernel's trace, from rtgt_log_marker(); NULL for none
 * @start: rtgt_now_ns() of the zero of the printed times
 */
struct rtgt_log {
	FILE *to;
	FILE *marker;
	uint64_t start;
};

/* Names a trace_marker of tracefs: who finds it set tells its facts there as well */
#define RTGT_TRACE_MARKER	"RTGT_TRACE_MARKER"

uint64_t rtgt_now_ns(void);
int rtgt_log_marker(struct rtgt_log *log, struct rtgt_err *err);

int rtgt_fail(struct rtgt_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void rtgt_log(const struct rtgt_log *log, const char *topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif /* RTGT_LOG_H */
