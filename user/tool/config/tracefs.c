// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An instance of tracefs: a buffer with events of its own, beside what others trace.
 *
 * It has the monotonic clock, which user space has as well.  It is named after this process, and
 * tracefs_close() removes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracefs.h"

#define CLOCK_TRIES	32
#define BUSY_TRIES	100

/**
 * tracefs_put() - append to a file of tracefs
 * @dir: where it is
 * @name: of the file
 * @text: for it
 *
 * Return: 0 or a negative errno.
 */
int tracefs_put(const char *dir, const char *name, const char *text)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

/**
 * tracefs_open() - make an instance
 * @t: filled in; tracefs_close() is to be called also where this fails
 * @what: part of its name
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tracefs_open(struct tracefs *t, const char *what, struct rtgt_err *err)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[sizeof(t->instance)];
	int why = 0;

	memset(t, 0, sizeof(*t));
	for (unsigned int i = 0; i < 2 && !t->root[0]; i++) {
		snprintf(path, sizeof(path), "%s/instances", roots[i]);
		if (!access(path, W_OK | X_OK))
			snprintf(t->root, sizeof(t->root), "%s", roots[i]);
		else if (!i)
			why = errno;
	}
	if (!t->root[0])
		return rtgt_fail(err, why,
				 "%s cannot be used (%s): be root, and see that tracefs is mounted there",
				 roots[0], strerror(why));
	snprintf(t->name, sizeof(t->name), "rtgt_%s_%d", what, (int)getpid());
	snprintf(path, sizeof(path), "%s/instances/%s", t->root, t->name);
	if (mkdir(path, 0700))
		return rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
	memcpy(t->instance, path, sizeof(path));
	if (tracefs_put(path, "trace_clock", "mono"))
		return rtgt_fail(err, EIO, "%s: its clock cannot be set", path);
	return 0;
}

/**
 * tracefs_enable() - have events recorded
 * @t: open
 * @events: a system, or "SYSTEM/EVENT"
 *
 * Return: 0 or a negative errno: -ENOENT if the kernel does not have them.
 */
int tracefs_enable(const struct tracefs *t, const char *events)
{
	char path[256];

	snprintf(path, sizeof(path), "events/%s/enable", events);
	return tracefs_put(t->instance, path, "1");
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/**
 * tracefs_offset() - from the clock of the instance to the real time
 * @error_ns: told how exact it is, in nanoseconds
 *
 * Of some tries the one counts during which least time went by.
 *
 * Return: nanoseconds.
 */
int64_t tracefs_offset(int64_t *error_ns)
{
	int64_t best = INT64_MAX, offset = 0;

	for (unsigned int i = 0; i < CLOCK_TRIES; i++) {
		const int64_t before = ns_of(CLOCK_MONOTONIC), real = ns_of(CLOCK_REALTIME);
		const int64_t after = ns_of(CLOCK_MONOTONIC);

		if (after - before >= best)
			continue;
		best = after - before;
		offset = real - before - best / 2;
	}
	*error_ns = (best + 1) / 2;
	return offset;
}

/* Somebody may be about to close a file of it */
static int remove_instance(const struct tracefs *t)
{
	for (unsigned int i = 0; i < BUSY_TRIES; i++) {
		if (!rmdir(t->instance))
			return 0;
		if (errno != EBUSY)
			break;
		usleep(10000);
	}
	return -errno;
}

/**
 * tracefs_close() - remove the instance
 * @t: as tracefs_open() left it
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno: it is left.
 */
int tracefs_close(struct tracefs *t, struct rtgt_err *err)
{
	if (!t->instance[0])
		return 0;
	tracefs_put(t->instance, "tracing_on", "0");
	tracefs_put(t->instance, "events/enable", "0");
	if (remove_instance(t))
		return rtgt_fail(err, errno, "%s cannot be removed: %s; does the command still run?",
				 t->instance, strerror(errno));
	return 0;
}
