// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The documents of a report's directory: all its JSON, and the command lines of its
 * transcript.  What cannot be read as JSON is told on stderr and left out.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "tool/cli/cli.h"

static int is_json(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".json");
}

/**
 * report_docs() - all JSON documents of a directory, by their names
 * @dir: the directory
 *
 * Those that would make the page too large are left out, which is told on stderr.
 *
 * Return: an object, the caller's, or NULL.
 */
struct json_object *report_docs(const char *dir)
{
	struct json_object *docs = json_object_new_object(), *doc;
	struct dirent **list = NULL;
	long long left = REPORT_DOCS_MAX;
	int n = scandir(dir, &list, is_json, alphasort);
	char path[PATH_MAX];
	struct stat st;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (stat(path, &st) || access(path, R_OK)) {
			failed("report: %s: %s, left out", path, strerror(errno));
		} else if (st.st_size <= left) {
			doc = json_object_from_file(path);
			if (doc) {
				json_object_object_add(docs, name, doc);
				left -= st.st_size;
			} else {
				failed("report: %s is no JSON, left out", path);
			}
		} else {
			failed("report: %s is too large for the page, left out", path);
		}
		free(list[i]);
	}
	free(list);
	return docs;
}

static bool is_command(const char *line)
{
	static const char *const prompts[] = { "server# ", "client# ", "host$ " };

	for (size_t i = 0; i < sizeof(prompts) / sizeof(prompts[0]); i++)
		if (!strncmp(line, prompts[i], strlen(prompts[i])))
			return true;
	return false;
}

/**
 * report_commands() - the command lines of a run
 * @dir: where its transcript.txt is
 *
 * Return: an array of lines, the caller's, or NULL without a transcript.
 */
struct json_object *report_commands(const char *dir)
{
	struct json_object *all;
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *from;

	snprintf(path, sizeof(path), "%s/transcript.txt", dir);
	from = fopen(path, "r");
	if (!from)
		return NULL;
	all = json_object_new_array();
	while ((n = getline(&line, &size, from)) > 0) {
		if (line[n - 1] == '\n')
			n--;
		if (is_command(line) && n < 1024)
			json_object_array_add(all, json_object_new_string_len(line, (int)n));
	}
	free(line);
	fclose(from);
	return all;
}
