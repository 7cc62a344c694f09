// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel initiator of rtgt lat, through configfs: a directory below initiators/
 * of our own, gone again when we are.  See Documentation/configfs.rst.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lat.h"
#include "tree.h"

static char dir[TREE_PATH];

static int set(const char *attr, const char *value, struct rtgt_err *err)
{
	char path[TREE_PATH + TREE_NAME];
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, attr);
	ret = tree_write(path, value);
	if (!ret)
		return 0;
	return rtgt_fail(err, -ret, "%s: \"%s\" was refused: %s", path, value, strerror(-ret));
}

static int set_number(const char *attr, uint64_t value, struct rtgt_err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return set(attr, text, err);
}

int lat_kernel_open(struct lat *l, struct rtgt_err *err)
{
	char name[TREE_NAME];
	int ret;

	snprintf(name, sizeof(name), "lat.%d", getpid());
	if (tree_path(dir, tree_config(), "initiators/%s", name) || mkdir(dir, 0700)) {
		ret = errno;
		dir[0] = '\0';
		if (ret == ENOENT)
			return rtgt_fail(err, ret, "no kernel initiator: module rtgt is not loaded here (insmod rtgt.ko, as root)");
		return rtgt_fail(err, ret, "no kernel initiator: %s: %s", name, strerror(ret));
	}
	ret = set("addr", l->host, err);
	if (!ret)
		ret = set("port", l->service, err);
	if (!ret && l->source)
		ret = set("source", l->source, err);
	if (!ret)
		ret = set("poll", l->completion, err);
	if (!ret)
		ret = set_number("iters", l->count, err);
	if (!ret)
		ret = set_number("warmup", l->warmup, err);
	if (!ret)
		ret = set_number("region", l->region, err);
	if (!ret)
		ret = set_number("timeout_ms", l->timeout * 1000ull, err);
	return ret;
}

void lat_kernel_close(void)
{
	/* a run under way is stopped by that */
	if (dir[0])
		rmdir(dir);
	dir[0] = '\0';
}

/* The value behind a key of "result" */
static const char *value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return line + len + 1;
	}
	return "";
}

static int read_result(struct lat_run *run, struct rtgt_err *err)
{
	char path[TREE_PATH + TREE_NAME], text[4096];
	const char *why;

	snprintf(path, sizeof(path), "%s/result", dir);
	if (tree_read(path, text, sizeof(text)))
		return rtgt_fail(err, EIO, "%s cannot be read", path);
	if (strncmp(value_of(text, "state"), "done", 4)) {
		why = value_of(text, "error");
		return rtgt_fail(err, EIO, "%.*s", (int)strcspn(why, "\n"),
				 *why ? why : "it was stopped");
	}
	run->elapsed_ns = strtoull(value_of(text, "elapsed_ns"), NULL, 10);
	run->verified = strtoull(value_of(text, "verified"), NULL, 10);
	return 0;
}

static int read_samples(const struct lat *l, struct lat_run *run, struct rtgt_err *err)
{
	char path[TREE_PATH];
	unsigned long long ns;
	FILE *f;

	tree_path(path, tree_debug(), "initiators/%s/samples", strrchr(dir, '/') + 1);
	f = fopen(path, "r");
	if (!f)
		return rtgt_fail(err, errno, "%s: %s (mount -t debugfs none /sys/kernel/debug)",
				 path, strerror(errno));
	while (run->nr < l->count && fscanf(f, "%llu", &ns) == 1)
		run->ns[run->nr++] = ns;
	fclose(f);
	if (run->nr != l->count)
		return rtgt_fail(err, EIO, "%s holds %llu samples", path,
				 (unsigned long long)run->nr);
	return 0;
}

int lat_kernel_run(struct lat *l, struct lat_run *run, struct rtgt_err *err)
{
	int ret = set("op", run->op->name, err);

	if (!ret)
		ret = set_number("size", run->size, err);
	if (!ret)
		ret = set("run", "1", err);
	if (!ret && set("run", "wait", err) && lat_interrupted)
		ret = rtgt_fail(err, EINTR, "interrupted");
	if (!ret)
		ret = read_result(run, err);
	if (!ret)
		ret = read_samples(l, run, err);
	return ret;
}
