// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a timeline needs of tracefs: an instance of its own, with a clock that user space
 * has as well, and probes where the kernel has no events.
 *
 * The states of a queue pair have no event, but all go through two functions of ib_core,
 * whoever asks: rdma_cm for the kernel's, uverbs for a program's.  The probes name
 * members of their arguments, which takes a kernel with BTF that knows how (6.12 does);
 * what cannot be made is noted in the trace as missing.
 *
 * Whatever is made is named after this process and removed by tl_tracefs_close().
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "timeline.h"

#define CLASS		"/sys/class/infiniband"
#define BUFFER_KIB	"4096"	/* of a processor */
#define CLOCK_TRIES	32
#define BUSY_TRIES	100

/**
 * struct probe - on the return from a function
 * @name: of the event
 * @function: where
 * @qp: what the queue pair is called there
 * @more: what else is told
 */
static const struct probe {
	const char *name, *function, *qp, *more;
} probes[TL_PROBES] = {
	{ "rtgt_qp_create", "ib_create_qp_kernel", "$retval", "" },
	{ "rtgt_qp_create_user", "ib_create_qp_user", "$retval", "" },
	{ "rtgt_qp_modify", "ib_modify_qp", "qp",
	  "state=qp_attr->qp_state mask=qp_attr_mask ret=$retval:s32" },
	{ "rtgt_qp_modify_user", "ib_modify_qp_with_udata", "ib_qp",
	  "state=attr->qp_state mask=attr_mask ret=$retval:s32" },
	{ "rtgt_qp_destroy", "ib_destroy_qp_user", "qp", "ret=$retval:s32" },
};

/* Append @text to a file of tracefs */
static int put(const char *dir, const char *name, const char *text)
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

static void make_probes(struct tl_tracefs *f)
{
	char text[512];

	for (unsigned int i = 0; i < TL_PROBES; i++) {
		const struct probe *p = &probes[i];

		snprintf(text, sizeof(text),
			 "r:%s/%s %s qpn=%s->qp_num dev=%s->device->name:string %s", f->group,
			 p->name, p->function, p->qp, p->qp, p->more);
		f->probe[i] = !put(f->root, "dynamic_events", text);
		if (!f->probe[i])
			fprintf(f->marker, TL_MARK "missing=%s: the kernel cannot probe %s\n",
				p->name, p->function);
	}
}

static void enable(struct tl_tracefs *f, const char *system, const char *without)
{
	char path[256];

	snprintf(path, sizeof(path), "events/%s/enable", system);
	if (put(f->instance, path, "1") && without)
		fprintf(f->marker, TL_MARK "missing=%s: %s\n", system, without);
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/**
 * tl_tracefs_clock() - note how the trace's clock and the capture's go together
 * @f: open
 *
 * Packets have the real time, events the monotonic one.  Of some tries the one counts
 * during which least time went by.
 */
void tl_tracefs_clock(struct tl_tracefs *f)
{
	int64_t best = INT64_MAX;

	for (unsigned int i = 0; i < CLOCK_TRIES; i++) {
		const int64_t before = ns_of(CLOCK_MONOTONIC), real = ns_of(CLOCK_REALTIME);
		const int64_t after = ns_of(CLOCK_MONOTONIC);

		if (after - before >= best)
			continue;
		best = after - before;
		f->offset_ns = real - before - best / 2;
	}
	fprintf(f->marker, TL_MARK "offset_ns=%" PRId64 " error_ns=%" PRId64 "\n", f->offset_ns,
		(best + 1) / 2);
}

static int make_instance(struct tl_tracefs *f, struct rtgt_err *err)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[256];

	for (unsigned int i = 0; i < 2 && !f->root[0]; i++) {
		snprintf(path, sizeof(path), "%s/instances", roots[i]);
		if (!access(path, W_OK | X_OK))
			snprintf(f->root, sizeof(f->root), "%s", roots[i]);
	}
	if (!f->root[0])
		return rtgt_fail(err, errno,
				 "%s cannot be used (%s): be root, and see that tracefs is mounted there",
				 roots[0], strerror(errno));
	snprintf(f->group, sizeof(f->group), "rtgt_timeline_%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/instances/%s", f->root, f->group);
	if (mkdir(path, 0700))
		return rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
	memcpy(f->instance, path, sizeof(f->instance));
	if (put(path, "trace_clock", "mono") || put(path, "buffer_size_kb", BUFFER_KIB))
		return rtgt_fail(err, EIO, "%s: its clock and its size cannot be set", path);
	snprintf(path, sizeof(path), "%s/trace_marker", f->instance);
	f->marker = fopen(path, "we");
	if (!f->marker)
		return rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
	setvbuf(f->marker, NULL, _IOLBF, BUFSIZ);
	return 0;
}

/**
 * tl_tracefs_open() - begin to trace
 * @f: filled in; tl_tracefs_close() is to be called also where this fails
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_tracefs_open(struct tl_tracefs *f, struct rtgt_err *err)
{
	int ret;

	memset(f, 0, sizeof(*f));
	ret = make_instance(f, err);
	if (ret)
		return ret;
	tl_tracefs_clock(f);
	make_probes(f);
	enable(f, f->group, NULL);
	enable(f, "rdma_cma", "rdma_cm is not loaded");
	enable(f, "rtgt", "the module is not loaded");
	return 0;
}

/**
 * tl_tracefs_save() - copy the trace as it is now; tracing goes on
 * @f: open
 * @path: of the copy
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_tracefs_save(const struct tl_tracefs *f, const char *path, struct rtgt_err *err)
{
	char from[256], buf[16384];
	FILE *in, *out;
	size_t n;
	int ret = 0;

	snprintf(from, sizeof(from), "%s/trace", f->instance);
	in = fopen(from, "re");
	if (!in)
		return rtgt_fail(err, errno, "%s: %s", from, strerror(errno));
	out = fopen(path, "we");
	if (!out) {
		ret = rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
		fclose(in);
		return ret;
	}
	while ((n = fread(buf, 1, sizeof(buf), in)))
		fwrite(buf, 1, n, out);
	if (ferror(in) || ferror(out))
		ret = rtgt_fail(err, EIO, "%s: the trace cannot be copied there", path);
	fclose(in);
	if (fclose(out) && !ret)
		ret = rtgt_fail(err, EIO, "%s: the trace cannot be copied there", path);
	return ret;
}

/* Somebody may be about to close the trace_marker */
static int remove_instance(const struct tl_tracefs *f)
{
	for (unsigned int i = 0; i < BUSY_TRIES; i++) {
		if (!rmdir(f->instance))
			return 0;
		if (errno != EBUSY)
			break;
		usleep(10000);
	}
	return -errno;
}

/**
 * tl_tracefs_close() - leave tracefs as it was
 * @f: as tl_tracefs_open() left it
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno: something is left.
 */
int tl_tracefs_close(struct tl_tracefs *f, struct rtgt_err *err)
{
	char text[256];
	int ret = 0;

	if (!f->instance[0])
		return 0;
	put(f->instance, "tracing_on", "0");
	put(f->instance, "events/enable", "0");
	if (f->marker)
		fclose(f->marker);
	if (remove_instance(f))
		ret = rtgt_fail(err, errno, "%s cannot be removed: %s; does the command still run?",
				f->instance, strerror(errno));
	for (unsigned int i = 0; i < TL_PROBES; i++) {
		snprintf(text, sizeof(text), "-:%s/%s", f->group, probes[i].name);
		if (f->probe[i] && put(f->root, "dynamic_events", text))
			ret = rtgt_fail(err, EBUSY,
					"the probe %s/%s cannot be removed from %s/dynamic_events",
					f->group, probes[i].name, f->root);
	}
	return ret;
}

/* The first line of a file below a device; "" without one */
static void line_of(const char *device, const char *name, unsigned int nr, char *buf, size_t size)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), CLASS "/%s/ports/1/%s/%u", device, name, nr);
	f = fopen(path, "re");
	if (!f || !fgets(buf, (int)size, f))
		buf[0] = 0;
	buf[strcspn(buf, "\n")] = 0;
	if (f)
		fclose(f);
}

/* A device's GIDs are its IP addresses */
static void note_device(FILE *marker, const char *device)
{
	char gid[64], addr[INET6_ADDRSTRLEN];
	struct in6_addr in;

	for (unsigned int i = 0; i < 16; i++) {
		line_of(device, "gids", i, gid, sizeof(gid));
		if (inet_pton(AF_INET6, gid, &in) != 1 || IN6_IS_ADDR_UNSPECIFIED(&in))
			continue;
		if (IN6_IS_ADDR_V4MAPPED(&in))
			inet_ntop(AF_INET, &in.s6_addr[12], addr, sizeof(addr));
		else
			inet_ntop(AF_INET6, &in, addr, sizeof(addr));
		fprintf(marker, TL_MARK "device=%s addr=%s\n", device, addr);
	}
}

/**
 * tl_devices() - note the RDMA devices of this machine, and where their packets are
 * @marker: for the notes
 * @interface: set to the network interface of the first
 * @size: of @interface
 *
 * Return: how many interfaces there are.
 */
int tl_devices(FILE *marker, char *interface, size_t size)
{
	char netdev[64], devices[64][64];
	DIR *dir = opendir(CLASS);
	struct dirent *d;
	int nr = 0, n = 0;

	interface[0] = 0;
	while (dir && n < 64 && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || strlen(d->d_name) >= sizeof(devices[0]))
			continue;
		strcpy(devices[n++], d->d_name);
	}
	if (dir)
		closedir(dir);
	for (int i = 0; i < n; i++) {
		note_device(marker, devices[i]);
		line_of(devices[i], "gid_attrs/ndevs", 0, netdev, sizeof(netdev));
		if (!netdev[0] || !strcmp(netdev, interface))
			continue;
		if (!nr++)
			snprintf(interface, size, "%s", netdev);
	}
	return nr;
}
