// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's initiators for rtgt lat and rtgt bw, through configfs: directories
 * below initiators/ of our own, gone again when we are.  See Documentation/configfs.rst.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/cli/interrupt.h"
#include "kernel.h"

/**
 * kernel_set() - write an attribute
 * @k: opened
 * @i: which of them
 * @attr: name
 * @value: text
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int kernel_set(const struct kernel *k, unsigned int i, const char *attr, const char *value,
	       struct rtgt_err *err)
{
	char path[TREE_PATH + TREE_NAME];
	int ret;

	snprintf(path, sizeof(path), "%s/%s", k->dir[i], attr);
	ret = tree_write(path, value);
	if (!ret)
		return 0;
	return rtgt_fail(err, -ret, "%s: \"%s\" was refused: %s", path, value, strerror(-ret));
}

/**
 * kernel_set_number() - write an attribute that is a number
 * @k: opened
 * @i: which of them
 * @attr: name
 * @value: the number
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int kernel_set_number(const struct kernel *k, unsigned int i, const char *attr, uint64_t value,
		      struct rtgt_err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return kernel_set(k, i, attr, text, err);
}

/* The kernel takes addresses, and a user may give a name: its first address of the source's kind */
static int set_address(struct kernel *k, unsigned int i, struct rtgt_err *err)
{
	const char *source = k->param.source;
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_family = !source ? AF_UNSPEC : strchr(source, ':') ? AF_INET6 : AF_INET,
	};
	char text[NI_MAXHOST];
	struct addrinfo *ai;
	int ret = getaddrinfo(k->param.host, NULL, &hints, &ai);

	if (ret)
		return rtgt_fail(err, EINVAL, "%s: %s", k->param.host, gai_strerror(ret));
	ret = getnameinfo(ai->ai_addr, ai->ai_addrlen, text, sizeof(text), NULL, 0,
			  NI_NUMERICHOST);
	freeaddrinfo(ai);
	if (ret)
		return rtgt_fail(err, EINVAL, "%s: %s", k->param.host, gai_strerror(ret));
	return kernel_set(k, i, "addr", text, err);
}

static int make(struct kernel *k, unsigned int i, struct rtgt_err *err)
{
	char *dir = k->dir[i];
	char name[TREE_NAME];
	int ret;

	snprintf(name, sizeof(name), "%s.%d.%u", k->param.name, getpid(), i);
	if (tree_path(dir, tree_config(), "initiators/%s", name) || mkdir(dir, 0700)) {
		ret = errno;
		if (ret == ENOENT)
			return rtgt_fail(err, ret, "no kernel initiator: module rtgt is not loaded here (insmod rtgt.ko, as root), or configfs not mounted");
		if (ret == EACCES || ret == EPERM)
			return rtgt_fail(err, ret, "no kernel initiator: be root (%s)",
					 strerror(ret));
		return rtgt_fail(err, ret, "no kernel initiator: %s: %s", name, strerror(ret));
	}
	k->nr++;
	ret = set_address(k, i, err);
	if (!ret)
		ret = kernel_set(k, i, "port", k->param.service, err);
	if (!ret && k->param.source)
		ret = kernel_set(k, i, "source", k->param.source, err);
	if (!ret)
		ret = kernel_set(k, i, "poll", k->param.completion, err);
	if (!ret)
		ret = kernel_set_number(k, i, "iters", k->param.count, err);
	if (!ret)
		ret = kernel_set_number(k, i, "warmup", k->param.warmup, err);
	if (!ret)
		ret = kernel_set_number(k, i, "region", k->param.region, err);
	if (!ret)
		ret = kernel_set_number(k, i, "timeout_ms", k->param.timeout * 1000ull, err);
	return ret;
}

/**
 * kernel_open() - make initiators, and tell them what the command line says
 * @k: filled
 * @param: what all runs have in common; its strings must outlive @k
 * @nr: how many, at most KERNEL_MAX
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno; kernel_close() in either case.
 */
int kernel_open(struct kernel *k, const struct kernel_param *param, unsigned int nr,
		struct rtgt_err *err)
{
	int ret = 0;

	k->param = *param;
	k->nr = 0;
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = make(k, i, err);
	return ret;
}

/**
 * kernel_close() - remove them
 * @k: opened, or zero; runs that are under way are stopped by that
 */
void kernel_close(struct kernel *k)
{
	while (k->nr)
		rmdir(k->dir[--k->nr]);
}

/* What the module shows of an initiator in debugfs */
static void debug_path(const struct kernel *k, unsigned int i, const char *file, char *path)
{
	tree_path(path, tree_debug(), "initiators/%s/%s", strrchr(k->dir[i], '/') + 1,
		  file);
}

static int fail_debug(struct rtgt_err *err, int ret, const char *path)
{
	return rtgt_fail(err, ret, "%s: %s (mount -t debugfs none /sys/kernel/debug)", path,
			 strerror(ret));
}

static int wait_for(const struct kernel *k, unsigned int i, struct rtgt_err *err)
{
	char path[TREE_PATH], state[16];
	int ret;

	debug_path(k, i, "wait", path);
	ret = tree_read(path, state, sizeof(state));
	return ret ? fail_debug(err, -ret, path) : 0;
}

/**
 * kernel_run() - start runs, all at once, and wait for their end
 * @k: opened
 * @nr: the first so many run
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.  How they ended, kernel_result() tells.
 */
int kernel_run(const struct kernel *k, unsigned int nr, struct rtgt_err *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = kernel_set(k, i, "run", "1", err);
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = wait_for(k, i, err);
	return interrupted ? rtgt_fail(err, EINTR, "interrupted") : ret;
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

static uint64_t number_of(const char *text, const char *key)
{
	return strtoull(value_of(text, key), NULL, 10);
}

/* Why bytes were not compared: the word in "result", and a phrase */
static const char *why_not(const char *word)
{
	static const char *const reasons[][2] = {
		{ "overwritten", "a later operation overwrote them" },
		{ "buffer-reused", "the READs shared one buffer" },
		{ "first-result", "the value before the first atomic is not known" },
		{ "no-checksum", "the target sends no checksum of the region" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strncmp(word, reasons[i][0], strlen(reasons[i][0])))
			return reasons[i][1];
	return *word ? "the kernel's initiator has another reason" : NULL;
}

/**
 * kernel_result() - what a run came to
 * @k: opened
 * @i: which of the initiators
 * @result: filled
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno when the run failed.
 */
int kernel_result(const struct kernel *k, unsigned int i, struct kernel_result *result,
		  struct rtgt_err *err)
{
	char path[TREE_PATH + TREE_NAME], text[4096];
	const char *why;

	snprintf(path, sizeof(path), "%s/result", k->dir[i]);
	if (tree_read(path, text, sizeof(text)))
		return rtgt_fail(err, EIO, "%s cannot be read", path);
	if (strncmp(value_of(text, "state"), "done", 4)) {
		why = value_of(text, "error");
		why = *why ? why : "it was stopped";
		return rtgt_fail(err, EIO, "%.*s", (int)strcspn(why, "\n"), why);
	}
	result->ops = number_of(text, "ops");
	result->begin_ns = number_of(text, "begin_ns");
	result->elapsed_ns = number_of(text, "elapsed_ns");
	result->verified = number_of(text, "verified");
	result->not_compared = number_of(text, "not_compared");
	result->why_not = why_not(value_of(text, "not_compared_why"));
	return 0;
}

/**
 * kernel_samples() - how long each operation took
 * @k: a run ended well
 * @i: which of the initiators
 * @ns: filled, in rising order
 * @nr: how many there must be
 * @err: says what is wrong
 *
 * Return: 0, or a negative errno.
 */
int kernel_samples(const struct kernel *k, unsigned int i, uint64_t *ns, uint64_t nr,
		   struct rtgt_err *err)
{
	char path[TREE_PATH];
	unsigned long long one;
	uint64_t got = 0;
	FILE *f;

	debug_path(k, i, "samples", path);
	f = fopen(path, "r");
	if (!f)
		return fail_debug(err, errno, path);
	while (got < nr && fscanf(f, "%llu", &one) == 1)
		ns[got++] = one;
	fclose(f);
	if (got != nr)
		return rtgt_fail(err, EIO, "%s holds %llu samples", path,
				 (unsigned long long)got);
	return 0;
}
