// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fragment KEEP CRUMBS: leaves the machine KEEP MiB of free memory as they were and
 * CRUMBS MiB in single pages, until stdin ends.
 *
 * Takes the rest, in large pages where it can because that is faster, and twice
 * CRUMBS in single pages, of which it gives every other one back.  The kernel would
 * move those that stay out of the way: they are locked, and while this runs it is
 * told not to touch locked ones (vm.compact_unevictable_allowed).  Afterwards it is
 * told what it was told before.  Says ready=1 when it is done.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

#define SYSCTL	"/proc/sys/vm/compact_unevictable_allowed"

static char before[16];

static void __attribute__((noreturn)) give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void tell(const char *file, const char *value)
{
	FILE *f = fopen(file, "w");

	if (!f || fputs(value, f) < 0 || fclose(f))
		give_up(file);
}

static void ask_kernel(void)
{
	FILE *f = fopen(SYSCTL, "r");

	if (!f || !fgets(before, sizeof(before), f))
		give_up(SYSCTL);
	fclose(f);
}

static void put_back(void)
{
	tell(SYSCTL, before);
}

/* A signal ends the program by way of exit(), so that what was changed is put back */
static void on_signal(int sig)
{
	(void)sig;
	exit(1);
}

static size_t free_bytes(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return (size_t)kib << 10;
}

static char *take(size_t len, int advice)
{
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		give_up("mmap");
	madvise(map, len, advice);
	if (mlock(map, len))
		give_up("mlock");
	return map;
}

int main(int argc, char **argv)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t keep, crumbs, free = free_bytes();
	char *map;

	if (argc != 3) {
		fputs("usage: fragment KEEP CRUMBS\n", stderr);
		return 2;
	}
	keep = (size_t)atol(argv[1]) << 20;
	crumbs = 2 * (size_t)atol(argv[2]) << 20;
	if (free <= keep + crumbs) {
		fputs("fragment: no more memory is free\n", stderr);
		return 1;
	}
	ask_kernel();
	atexit(put_back);
	signal(SIGTERM, on_signal);
	tell(SYSCTL, "0");
	/* if something goes wrong, this one is to go first */
	tell("/proc/self/oom_score_adj", "1000");
	take((free - keep - crumbs) & ~(page - 1), MADV_HUGEPAGE);
	map = take(crumbs, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < crumbs; at += 2 * page)
		if (madvise(map + at, page, MADV_DONTNEED_LOCKED))
			give_up("madvise");
	puts("ready=1");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
