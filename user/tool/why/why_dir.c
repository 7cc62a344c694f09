// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt why DIR: what else was recorded beside the capture, as evidence.
 *
 *	timeline.json		of rtgt timeline record: the states of both ends, and where the
 *				time of an operation went
 *	NAME-before.json,	of rdma -j statistic show, or rtgt -j show: the counters of errors
 *	NAME-after.json		that rose
 *
 * What is missing, or is something else, is left out: the capture alone is judged as without it.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <json-c/json.h>

#include "tool/out/json.h"
#include "why.h"

#define EVENTS	6	/* of a connection */
#define RISEN	16	/* counters of a pair of files */

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	return json_object_is_type(o, json_type_object) &&
	       json_object_object_get_ex(o, key, &value) ? value : NULL;
}

static const char *text(struct json_object *o, const char *key)
{
	const char *value = json_object_get_string(member(o, key));

	return value ? value : "";
}

/*
 * The object of the array @list of the timeline with this number; NULL if there is none, or if the
 * timeline is of another capture, whose numbers are others
 */
static struct json_object *numbered(const struct why *w, const char *list, int64_t id)
{
	struct json_object *array = member(w->timeline, list);
	struct json_object *first = member(member(w->timeline, "clock"), "first_packet_ns");

	if (json_object_get_int64(first) != (int64_t)w->first_ns)
		return NULL;

	for (size_t i = 0; json_object_is_type(array, json_type_array) &&
	     i < json_object_array_length(array); i++) {
		struct json_object *o = json_object_array_get_idx(array, i);

		if (json_object_get_int64(member(o, "id")) == id)
			return o;
	}
	return NULL;
}

/* Does an event tell how a connection ended? */
static bool tells_of_the_end(const char *what)
{
	static const char *const words[] = {
		"closing", "queue pair:", "->ERR", "->SQ", "REJECTED", "UNREACHABLE", "CONNECT_ERROR",
		"DISCONNECTED", "DEVICE_REMOVAL", "sends REJ",
	};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(what, words[i]))
			return true;
	return false;
}

static void seen_states(const struct why *w, struct json_object *o, int64_t connection)
{
	struct json_object *events = member(numbered(w, "connections", connection), "events");
	unsigned int nr = 0;

	for (size_t i = 0; json_object_is_type(events, json_type_array) &&
	     i < json_object_array_length(events) && nr < EVENTS; i++) {
		struct json_object *e = json_object_array_get_idx(events, i);

		if (!strcmp(text(e, "end"), "wire") || !tells_of_the_end(text(e, "what")))
			continue;
		why_seen(o, "after %.6f s, the %s: %s", json_object_get_double(member(e, "time")),
			 text(e, "end"), text(e, "what"));
		nr++;
	}
}

static void seen_stage(const struct why *w, struct json_object *o, int64_t message)
{
	struct json_object *op = numbered(w, "operations", message);
	struct json_object *stages = member(op, "stages"), *longest = NULL;
	int64_t all = 0, most = -1;

	for (size_t i = 0; json_object_is_type(stages, json_type_array) &&
	     i < json_object_array_length(stages); i++) {
		struct json_object *s = json_object_array_get_idx(stages, i);
		const int64_t us = json_object_get_int64(member(s, "us"));

		/* from the post to a completion: the sum of others */
		if (!strcmp(text(s, "from"), "post") && strcmp(text(s, "to"), "first")) {
			all = us > all ? us : all;
		} else if (us > most) {
			most = us;
			longest = s;
		}
	}
	if (longest && all)
		why_seen(o, "%" PRId64 " of %" PRId64 " us: %s", most, all, text(longest, "what"));
}

/**
 * why_found() - print something that failed or took long, and free it
 * @w: capture
 * @o: problem; gets what the timeline has of its connection and its message
 */
void why_found(struct why *w, struct json_object *o)
{
	struct json_object *connection = member(o, "connection"), *message = member(o, "message");

	w->problems++;
	if (w->timeline && message)
		seen_stage(w, o, json_object_get_int64(message));
	if (w->timeline && connection)
		seen_states(w, o, json_object_get_int64(connection));
	why_put(w->tool, o);
}

/* Is this a counter of something that went wrong? */
static bool is_error(const char *name)
{
	static const char *const words[] = {
		"err", "nak", "retr", "dup", "seq", "timeout", "discard", "drop", "out_of", "reject",
		"malformed", "over_depth", "abandoned",
	};

	/* of rxe: an ACK that waited for its turn */
	if (!strcmp(name, "ack_deferred"))
		return false;
	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* The element of @array that is called as @o is; the one at @nth if they have no names */
static struct json_object *namesake(struct json_object *array, struct json_object *o, size_t nth)
{
	const char *key = member(o, "ifname") ? "ifname" : "name";

	if (!json_object_is_type(array, json_type_array))
		return NULL;
	for (size_t i = 0; member(o, key) && i < json_object_array_length(array); i++) {
		struct json_object *other = json_object_array_get_idx(array, i);

		if (!strcmp(text(o, key), text(other, key)) &&
		    json_object_get_int(member(o, "port")) ==
		    json_object_get_int(member(other, "port")))
			return other;
	}
	return member(o, key) ? NULL : json_object_array_get_idx(array, nth);
}

/* Compares the numbers of two documents of one shape, however deep they are */
static void compare(struct json_object *o, struct json_object *before, struct json_object *after,
		    unsigned int *nr)
{
	if (json_object_is_type(after, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(after); i++) {
			struct json_object *element = json_object_array_get_idx(after, i);

			compare(o, namesake(before, element, i), element, nr);
		}
		return;
	}
	if (!json_object_is_type(after, json_type_object))
		return;
	json_object_object_foreach(after, key, value) {
		struct json_object *was = member(before, key);
		const int64_t risen = json_object_get_int64(value) - json_object_get_int64(was);

		if (!json_object_is_type(value, json_type_int))
			compare(o, was, value, nr);
		else if (is_error(key) && was && risen > 0 && (*nr)++ < RISEN)
			why_seen(o, "%s rose by %" PRId64, key, risen);
	}
}

static void compare_pair(const struct why *w, const char *name, size_t len)
{
	struct json_object *before, *after, *o = why_problem("counters");
	char path[PATH_MAX];
	unsigned int nr = 0;

	snprintf(path, sizeof(path), "%s/%.*s-before.json", w->dir, (int)len, name);
	before = json_object_from_file(path);
	snprintf(path, sizeof(path), "%s/%.*s-after.json", w->dir, (int)len, name);
	after = json_object_from_file(path);
	compare(o, before, after, &nr);
	json_object_put(before);
	json_object_put(after);
	if (nr > RISEN)
		why_seen(o, "and %u more", nr - RISEN);
	if (nr) {
		why_say(o, "what", "%.*s: counters of errors that rose meanwhile", (int)len, name);
		why_put(w->tool, o);
	} else {
		json_object_put(o);
	}
}

/**
 * why_dir_counters() - print which counters of errors rose
 * @w: capture
 */
void why_dir_counters(const struct why *w)
{
	static const char end[] = "-after.json";
	struct dirent **names;
	int n = w->dir ? scandir(w->dir, &names, NULL, alphasort) : -1;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		const size_t len = strlen(name);

		if (len > sizeof(end) - 1 && !strcmp(name + len - (sizeof(end) - 1), end))
			compare_pair(w, name, len - (sizeof(end) - 1));
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/**
 * why_dir_open() - take what is beside the capture of a directory
 * @w: gets it
 * @dir: the directory; a string that stays
 * @capture: gets the path of the capture
 * @size: of @capture
 *
 * Return: whether there is a capture.
 */
bool why_dir_open(struct why *w, const char *dir, char *capture, size_t size)
{
	static const char *const names[] = { "capture.pcap", "wire.pcap" };
	char path[PATH_MAX];

	w->dir = dir;
	snprintf(path, sizeof(path), "%s/timeline.json", dir);
	if (!access(path, R_OK))
		w->timeline = json_object_from_file(path);
	if (strcmp(text(w->timeline, "schema"), "rtgt-timeline-1")) {
		json_object_put(w->timeline);
		w->timeline = NULL;
	}
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(capture, size, "%s/%s", dir, names[i]);
		if (!access(capture, F_OK))
			return true;
	}
	return false;
}
