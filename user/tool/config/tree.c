// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * File input and output on the target's configfs and debugfs trees.
 *
 * The functions return negative errnos and print nothing: which sentence an
 * errno deserves depends on what the caller was about to do.  The exception is
 * tree_need_module(), which says why there is no tree at all.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/cli.h"
#include "tree.h"

#define CONFIGFS	"/sys/kernel/config"

/* Where the module's configfs directory is; RTGT_CONFIGFS overrides it */
const char *tree_config(void)
{
	const char *root = getenv("RTGT_CONFIGFS");

	return root ? root : CONFIGFS "/rtgt";
}

/* Where its debugfs directory is; RTGT_DEBUGFS overrides it */
const char *tree_debug(void)
{
	const char *root = getenv("RTGT_DEBUGFS");

	return root ? root : "/sys/kernel/debug/rtgt";
}

/* EXIT_OK when the configfs tree is there, otherwise an error is told */
int tree_need_module(void)
{
	if (!access(tree_config(), F_OK))
		return EXIT_OK;
	if (getenv("RTGT_CONFIGFS"))
		return failed("RTGT_CONFIGFS is %s: %s", tree_config(), strerror(errno));
	if (access("/sys/module/rtgt", F_OK))
		return failed("module rtgt is not loaded: insmod rtgt.ko or modprobe rtgt (root)");
	return failed("configfs is not mounted: mount -t configfs none " CONFIGFS ", as root");
}

int tree_path(char *path, const char *root, const char *fmt, ...)
{
	char tail[TREE_PATH];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(tail, sizeof(tail), fmt, ap);
	va_end(ap);
	if (n < TREE_PATH)
		n = snprintf(path, TREE_PATH, "%s/%s", root, tail);
	return n < TREE_PATH ? 0 : -ENAMETOOLONG;
}

bool tree_exists(const char *path)
{
	return !access(path, F_OK);
}

/* A file's text, without the newline at its end; cut at @size - 1 bytes */
int tree_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (at < size - 1 && (n = read(fd, buf + at, size - 1 - at)) > 0)
		at += (size_t)n;
	n = n < 0 ? -errno : 0;
	close(fd);
	buf[at] = '\0';
	if (at && buf[at - 1] == '\n')
		buf[at - 1] = '\0';
	return (int)n;
}

/* One write of the whole value: a store sees all of it or nothing */
int tree_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int ret;

	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	ret = n < 0 ? -errno : 0;
	if (!ret && (size_t)n != strlen(value))
		ret = -EIO;
	close(fd);
	return ret;
}

static int is_listed(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* The names in a directory in order, NULL behind the last; returns how many or an errno */
int tree_list(const char *path, char ***names)
{
	struct dirent **all;
	int n = scandir(path, &all, is_listed, versionsort);

	*names = NULL;
	if (n < 0)
		return -errno;
	*names = calloc((size_t)n + 1, sizeof(**names));
	for (int i = 0; i < n; i++) {
		if (*names)
			(*names)[i] = strdup(all[i]->d_name);
		free(all[i]);
	}
	free(all);
	return *names ? n : -ENOMEM;
}

void tree_list_free(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

/* What may become a directory's name: no way out of the tree, nothing hidden, no option */
bool tree_name_ok(const char *name)
{
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) || (name[len] && strchr("_.-", name[len])))
		len++;
	return len && !name[len] && len < TREE_NAME && name[0] != '.' && name[0] != '-';
}
