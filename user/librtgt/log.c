// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Errors and facts.
 *
 * A function of this library that can fail returns 0 or a negative errno and
 * leaves a sentence in the caller's struct rtgt_err; it prints nothing.  Facts
 * (queue pairs, work requests, completions) go to the struct rtgt_log the
 * caller gave, one line each; without one they cost a comparison.
 *
 * They may go to the kernel's trace instead or as well.  There the kernel stamps them with
 * the clock of its own events, so that both can be put in one order (rtgt timeline).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rtgt/log.h>

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

	/* of a library that fails and leaves errno at 0, as the one of siw does: it failed */
	if (!code)
		code = EIO;
	err->code = code;
	err->wc_status = 0;
	err->vendor_err = 0;
	err->target_status = 0;
	err->reject = 0;
	/* rtgt lat waits for nothing before each operation: the error it gets shall cost little */
	if (!strchr(fmt, '%')) {
		const size_t len = strnlen(fmt, sizeof(err->text) - 1);

		memcpy(err->text, fmt, len);
		err->text[len] = '\0';
		return -code;
	}
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -code;
}

/**
 * rtgt_log_marker() - tell facts to the kernel's trace, if the environment asks for it
 * @log: @log->marker is set; NULL if RTGT_TRACE_MARKER is not in the environment.  Ends
 *	with the process
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int rtgt_log_marker(struct rtgt_log *log, struct rtgt_err *err)
{
	const char *path = getenv(RTGT_TRACE_MARKER);

	log->marker = NULL;
	if (!path || !*path)
		return 0;
	log->marker = fopen(path, "we");
	if (!log->marker)
		return rtgt_fail(err, errno, RTGT_TRACE_MARKER "=%s: %s", path, strerror(errno));
	/* a line is one write and so one event */
	setvbuf(log->marker, NULL, _IOLBF, BUFSIZ);
	return 0;
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
	if (log->marker)
		fprintf(log->marker, "rtgt %s %s\n", topic, fact);
	if (!log->to)
		return;
	/* In one piece: others may write to the same place */
	fprintf(log->to, "%10.3f ms  %-4s %s\n", (double)(rtgt_now_ns() - log->start) / 1e6,
		topic, fact);
}
