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
 * iw_cm has no events.  Its functions have the same arguments in all kernels that cannot name
 * them, so there the probes go by offsets.  An iWARP device sets most states of a queue pair
 * itself: siw does in two functions, at whose beginning the state is still the old one.
 *
 * Whatever is made is named after this process and removed by tl_tracefs_close().
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
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

#define NEW_QP		"qpn=$retval->qp_num dev=$retval->device->name:string"
#define SIW_QP		"qpn=qp->base_qp.qp_num dev=qp->base_qp.device->name:string "
/* Of struct iw_cm_id: both addresses as they were asked for, or as TCP has them */
#define ADDRESS(as, of)	as "=" of ".__data:x8[22] "
#define ASKED		"family=cm_id->local_addr.ss_family " \
			ADDRESS("local", "cm_id->local_addr") \
			ADDRESS("remote", "cm_id->remote_addr")
#define MAPPED		"family=cm_id->m_local_addr.ss_family " \
			ADDRESS("local", "cm_id->m_local_addr") \
			ADDRESS("remote", "cm_id->m_remote_addr")
/* The same by offset, and members of struct iw_cm_conn_param and struct iw_cm_event */
#define OLD_ASKED	"family=+24($arg1):u16 local=+26($arg1):x8[22] " \
			"remote=+154($arg1):x8[22] "
#define OLD_MAPPED	"family=+280($arg1):u16 local=+282($arg1):x8[22] " \
			"remote=+410($arg1):x8[22] "
#define OLD_QPN		"qpn=+20($arg2):u32 "

/* What a probe is for; OF_REST: for a kernel that has not the function of the first probe */
enum probe_of { OF_ALL, OF_REST, OF_IWARP, OF_SIW };

/**
 * struct probe - in a function
 * @of: devices
 * @kind: "p" at its beginning, "r" at its return
 * @name: of the event
 * @function: where
 * @args: the values that the event records, by name
 * @old: the same by offsets; NULL: there is no such way
 * @old_function: what the function is called then, if NULL the same
 */
static const struct probe {
	enum probe_of of;
	const char *kind, *name, *function, *args, *old, *old_function;
} probes[TL_PROBES] = {
	/* all moves come through it, also those of ib_drain_qp(), if the compiler kept it */
	{ OF_ALL, "r", "rtgt_qp_modify", "_ib_modify_qp",
	  "qpn=qp->qp_num dev=qp->device->name:string state=attr->qp_state mask=attr_mask "
	  "ret=$retval:s32", NULL, NULL },
	{ OF_ALL, "r", "rtgt_qp_create", "ib_create_qp_kernel", NEW_QP, NULL, NULL },
	{ OF_ALL, "r", "rtgt_qp_create_user", "ib_create_qp_user", NEW_QP, NULL, NULL },
	{ OF_REST, "r", "rtgt_qp_modify", "ib_modify_qp",
	  "qpn=qp->qp_num dev=qp->device->name:string state=qp_attr->qp_state mask=qp_attr_mask "
	  "ret=$retval:s32", NULL, NULL },
	{ OF_REST, "r", "rtgt_qp_modify_user", "ib_modify_qp_with_udata",
	  "qpn=ib_qp->qp_num dev=ib_qp->device->name:string state=attr->qp_state mask=attr_mask "
	  "ret=$retval:s32", NULL, NULL },
	{ OF_ALL, "r", "rtgt_qp_destroy", "ib_destroy_qp_user",
	  "qpn=qp->qp_num dev=qp->device->name:string ret=$retval:s32", NULL, NULL },
	{ OF_IWARP, "p", "rtgt_iw_connect", "iw_cm_connect", ASKED "qpn=iw_param->qpn",
	  OLD_ASKED OLD_QPN, NULL },
	{ OF_IWARP, "p", "rtgt_iw_accept", "iw_cm_accept", MAPPED "qpn=iw_param->qpn",
	  OLD_MAPPED OLD_QPN, NULL },
	{ OF_IWARP, "p", "rtgt_iw_reject", "iw_cm_reject", MAPPED, OLD_MAPPED, NULL },
	{ OF_IWARP, "p", "rtgt_iw_disconnect", "iw_cm_disconnect", MAPPED, OLD_MAPPED, NULL },
	{ OF_IWARP, "p", "rtgt_iw_event", "cm_event_handler",
	  MAPPED "event=iw_event->event status=iw_event->status "
	  ADDRESS("new_local", "iw_event->local_addr")
	  ADDRESS("new_remote", "iw_event->remote_addr"),
	  OLD_MAPPED "event=+0($arg2):s32 status=+4($arg2):s32 "
	  "new_local=+10($arg2):x8[22] new_remote=+138($arg2):x8[22]", "iw_cm:cm_event_handler" },
	{ OF_SIW, "p", "rtgt_siw_modifies", "siw_qp_modify", SIW_QP, NULL, NULL },
	{ OF_SIW, "r", "rtgt_siw_modify", "siw_qp_modify", SIW_QP "now=qp->attrs.state", NULL,
	  NULL },
	{ OF_SIW, "p", "rtgt_siw_closes", "siw_qp_llp_close", SIW_QP, NULL, NULL },
	{ OF_SIW, "r", "rtgt_siw_close", "siw_qp_llp_close", SIW_QP "now=qp->attrs.state", NULL,
	  NULL },
};

/* Can a probe name members of a function's arguments? */
static bool knows_names(const struct tl_tracefs *f)
{
	char path[128], line[256];
	bool found = false;
	FILE *readme;

	snprintf(path, sizeof(path), "%s/README", f->tracefs.root);
	readme = fopen(path, "re");
	while (readme && !found && fgets(line, sizeof(line), readme))
		found = strstr(line, "<argname>[->field");
	if (readme)
		fclose(readme);
	return found;
}

static bool make_probe(struct tl_tracefs *f, const struct probe *p, bool names)
{
	const bool old = !names && p->old;
	char text[1024];

	snprintf(text, sizeof(text), "%s:%s/%s %s %s", p->kind, f->tracefs.name, p->name,
		 old && p->old_function ? p->old_function : p->function, old ? p->old : p->args);
	return !tracefs_put(f->tracefs.root, "dynamic_events", text);
}

static void make_probes(struct tl_tracefs *f, unsigned int transports)
{
	const bool names = knows_names(f), siw = !access("/sys/module/siw", F_OK);

	for (unsigned int i = 0; i < TL_PROBES; i++) {
		const struct probe *p = &probes[i];

		if (p->of >= OF_IWARP && !(transports & TL_IWARP))
			continue;
		if (p->of == OF_REST && f->probe[0])
			continue;
		if (p->of == OF_SIW && !siw)
			continue;
		f->probe[i] = make_probe(f, p, names);
		if (!f->probe[i])
			fprintf(f->marker, TL_MARK "missing=%s: the kernel cannot probe %s\n",
				p->name, p->function);
	}
	if (transports & TL_IWARP && !siw)
		fprintf(f->marker,
			TL_MARK "missing=rtgt_siw: states that an iWARP device other than siw sets\n");
}

static void enable(struct tl_tracefs *f, const char *system, const char *without)
{
	if (tracefs_enable(&f->tracefs, system) && without)
		fprintf(f->marker, TL_MARK "missing=%s: %s\n", system, without);
}

/**
 * tl_tracefs_clock() - note how the trace's clock and the capture's go together
 * @f: open
 *
 * Packets have the real time, events the monotonic one.
 */
void tl_tracefs_clock(struct tl_tracefs *f)
{
	int64_t error;

	f->offset_ns = tracefs_offset(&error);
	fprintf(f->marker, TL_MARK "offset_ns=%" PRId64 " error_ns=%" PRId64 "\n", f->offset_ns,
		error);
}

static int open_marker(struct tl_tracefs *f, struct rtgt_err *err)
{
	char path[256];

	if (tracefs_put(f->tracefs.instance, "buffer_size_kb", BUFFER_KIB))
		return rtgt_fail(err, EIO, "%s: its size cannot be set", f->tracefs.instance);
	snprintf(path, sizeof(path), "%s/trace_marker", f->tracefs.instance);
	f->marker = fopen(path, "we");
	if (!f->marker)
		return rtgt_fail(err, errno, "%s: %s", path, strerror(errno));
	setvbuf(f->marker, NULL, _IOLBF, BUFSIZ);
	return 0;
}

/**
 * tl_tracefs_open() - begin to trace
 * @f: filled in; tl_tracefs_close() is to be called also where this fails
 * @transports: what tl_transports() returned
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_tracefs_open(struct tl_tracefs *f, unsigned int transports, struct rtgt_err *err)
{
	int ret;

	memset(f, 0, sizeof(*f));
	ret = tracefs_open(&f->tracefs, "timeline", err);
	if (!ret)
		ret = open_marker(f, err);
	if (ret)
		return ret;
	tl_tracefs_clock(f);
	make_probes(f, transports);
	enable(f, f->tracefs.name, NULL);
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

	snprintf(from, sizeof(from), "%s/trace", f->tracefs.instance);
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
	int ret;

	if (!f->tracefs.instance[0])
		return 0;
	if (f->marker)
		fclose(f->marker);
	ret = tracefs_close(&f->tracefs, err);
	for (unsigned int i = 0; i < TL_PROBES; i++) {
		snprintf(text, sizeof(text), "-:%s/%s", f->tracefs.name, probes[i].name);
		if (f->probe[i] && tracefs_put(f->tracefs.root, "dynamic_events", text))
			ret = rtgt_fail(err, EBUSY,
					"the probe %s/%s cannot be removed from %s/dynamic_events",
					f->tracefs.name, probes[i].name, f->tracefs.root);
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

static void note_addr(FILE *marker, const char *device, int family, const void *addr)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, addr, text, sizeof(text));
	fprintf(marker, TL_MARK "device=%s addr=%s\n", device, text);
}

/* The GIDs of a RoCE device are its IP addresses */
static void note_gids(FILE *marker, const char *device)
{
	struct in6_addr in;
	char gid[64];

	for (unsigned int i = 0; i < 16; i++) {
		line_of(device, "gids", i, gid, sizeof(gid));
		if (inet_pton(AF_INET6, gid, &in) != 1 || IN6_IS_ADDR_UNSPECIFIED(&in))
			continue;
		if (IN6_IS_ADDR_V4MAPPED(&in))
			note_addr(marker, device, AF_INET, &in.s6_addr[12]);
		else
			note_addr(marker, device, AF_INET6, &in);
	}
}

/* The network interface of a device; "" if that is not known */
static void netdev_of(const char *device, const struct ifaddrs *all, char *buf, size_t size)
{
	char gid[64];
	struct in6_addr in;

	line_of(device, "gid_attrs/ndevs", 0, buf, size);
	line_of(device, "gids", 0, gid, sizeof(gid));
	if (buf[0] || inet_pton(AF_INET6, gid, &in) != 1)
		return;
	/* The GID of an iWARP device is the MAC address */
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_ll *ll = (const struct sockaddr_ll *)i->ifa_addr;

		if (ll && ll->sll_family == AF_PACKET && ll->sll_halen == ETH_ALEN &&
		    !memcmp(ll->sll_addr, in.s6_addr, ETH_ALEN))
			snprintf(buf, size, "%s", i->ifa_name);
	}
}

/* An iWARP device has the addresses of its network interface */
static void note_interface(FILE *marker, const char *device, const char *netdev,
			   const struct ifaddrs *all)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)i->ifa_addr;
		const struct sockaddr_in *in = (const struct sockaddr_in *)i->ifa_addr;

		if (!in || strcmp(i->ifa_name, netdev))
			continue;
		if (in->sin_family == AF_INET)
			note_addr(marker, device, AF_INET, &in->sin_addr);
		else if (in->sin_family == AF_INET6)
			note_addr(marker, device, AF_INET6, &in6->sin6_addr);
	}
}

static bool speaks_iwarp(const char *device)
{
	char path[512], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), CLASS "/%s/node_type", device);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return strstr(text, "RNIC");
}

/**
 * tl_transports() - what the RDMA devices of this machine speak
 *
 * Return: TL_ROCE, TL_IWARP or both; TL_ROCE without any device.
 */
unsigned int tl_transports(void)
{
	unsigned int found = 0;
	DIR *dir = opendir(CLASS);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			found |= speaks_iwarp(d->d_name) ? TL_IWARP : TL_ROCE;
	if (dir)
		closedir(dir);
	return found ? found : TL_ROCE;
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
	struct ifaddrs *all;
	struct dirent *d;
	int nr = 0, n = 0;

	if (getifaddrs(&all))
		all = NULL;
	interface[0] = 0;
	while (dir && n < 64 && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || strlen(d->d_name) >= sizeof(devices[0]))
			continue;
		strcpy(devices[n++], d->d_name);
	}
	if (dir)
		closedir(dir);
	for (int i = 0; i < n; i++) {
		netdev_of(devices[i], all, netdev, sizeof(netdev));
		if (speaks_iwarp(devices[i]))
			note_interface(marker, devices[i], netdev, all);
		else
			note_gids(marker, devices[i]);
		if (!netdev[0] || !strcmp(netdev, interface))
			continue;
		if (!nr++)
			snprintf(interface, size, "%s", netdev);
	}
	freeifaddrs(all);
	return nr;
}
