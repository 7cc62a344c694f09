// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Errors and facts.
 *
 * A function of this library that can fail returns 0 or a negative errno and
 * leaves a sentence in the caller's struct rtgt_err; it prints nothing.  Facts
 * (queue pairs, work requests, completions) go to the struct rtgt_log the
 * caller gave, one line each; without one they cost a comparison.
 */
#include <stdarg.h>
#include <time.h>

#include "log.h"

/**
 * rtgt_now_ns() - the monotonic clock
 *
 * Return: nanoseconds since some point before the program began.
 */
uint64_t rtgt_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/**
 * rtgt_fail() - note an error
 * @err: where to; overwritten
 * @code: errno value, positive
 * @fmt: the sentence, printf-like
 *
 * Return: -@code, so that a caller can return it at once.
 */
int rtgt_fail(struct rtgt_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->wc_status = 0;
	err->vendor_err = 0;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -code;
}

/**
 * rtgt_log() - tell a fact
 * @log: where to; NULL for nowhere
 * @topic: a word: cm, qp, mr, sge, wr, wc, ...
 * @fmt: the fact, printf-like, no newline
 *
 * A line is the time since @log->start in milliseconds, the topic, the fact.
 */
void rtgt_log(const struct rtgt_log *log, const char *topic, const char *fmt, ...)
{
	char fact[384];
	va_list ap;

	if (!log)
		return;
	va_start(ap, fmt);
	vsnprintf(fact, sizeof(fact), fmt, ap);
	va_end(ap);
	/* In one piece: others may write to the same place */
	fprintf(log->to, "%10.3f ms  %-4s %s\n", (double)(rtgt_now_ns() - log->start) / 1e6,
		topic, fact);
}
