// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt serve: memory, and the registrations that make it reachable.
 *
 * A region's memory is mapped, anonymous or, with a state directory, of a file there: the
 * file IS the memory, so whoever reads it sees what a peer has written.  It must be on a
 * tmpfs, because the kernel pins no pages of a file that has to be written back.
 *
 * A region is registered twice.  The peers' registrations are the extents: one, or as
 * many as mr_max makes of it, each with an rkey and at an address chosen at random, so a
 * capability says nothing about this process.  The target's own has no right a peer could
 * use, and is what PULL and PUSH go through: they outlive a key that is revoked.
 *
 * The kernel's target keeps a registration and gives it another key, and a peer can kill
 * that key with SEND_WITH_INVALIDATE.  In user space a registration has one key, for life.
 * So it is registered for peers itself, nobody can kill its key, and to make that new is
 * to register anew, at the same address.
 *
 * What comes nearer is a window of type 2 (--windows).  It is bound on one queue pair, so
 * it can be had where each connection has keys of its own, on a private port, from a
 * device with windows; of a region of one extent below 4 GiB, and not for FLUSH, which no
 * window grants.  It is not the default, because rxe (6.12) dereferences NULL when a window is
 * invalidated that is not bound: a peer that kills a key twice takes the kernel down.
 */
#include <errno.h>
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"

/* IBV_ACCESS_FLUSH_GLOBAL and the device's word for it, which older verbs.h have not */
#define ACCESS_FLUSH_GLOBAL	(1 << 8)
#define DEVICE_FLUSH_GLOBAL	(1ull << 38)

#define MAX_EXTENTS	16384

static uint64_t page_align(uint64_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) & ~(page - 1);
}

/* ------------------------------------------------------------------------- memory */

static int make_dir(const char *path)
{
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* DIR/regions/NAME, or DIR/conns/ID/NAME, as debugfs has them */
static int make_dirs(struct serve_mem *mem, const struct serve_cfg *cfg, const char *name,
		     uint32_t conn)
{
	int at, ret;

	if (conn)
		at = snprintf(mem->dir, sizeof(mem->dir), "%s/conns/%u", cfg->state, conn);
	else
		at = snprintf(mem->dir, sizeof(mem->dir), "%s/regions", cfg->state);
	if (at < 0 || (size_t)at + SERVE_NAME + 8 >= sizeof(mem->dir))
		return -ENAMETOOLONG;
	ret = make_dir(mem->dir);
	/* what was not made is not to be removed, nor what it is in */
	if (ret) {
		*mem->dir = '\0';
		return ret;
	}
	snprintf(mem->dir + at, sizeof(mem->dir) - (size_t)at, "/%s", name);
	return make_dir(mem->dir);
}

/* Space is taken here, so that nobody who touches the memory finds there is none */
static int open_file(const struct serve_mem *mem)
{
	char path[SERVE_PATH + 8];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/data", mem->dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = posix_fallocate(fd, 0, (off_t)mem->size);
	if (!ret)
		return fd;
	close(fd);
	return -ret;
}

static int map_mem(struct serve_mem *mem)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1, ret;
	void *base;

	if (*mem->dir) {
		flags = MAP_SHARED;
		fd = open_file(mem);
		if (fd < 0)
			return fd;
	}
	base = mmap(NULL, mem->size, PROT_READ | PROT_WRITE, flags, fd, 0);
	ret = base == MAP_FAILED ? -errno : 0;
	if (!ret)
		mem->base = base;
	if (fd >= 0)
		close(fd);
	return ret;
}

static void fill_mem(struct serve_mem *mem, uint16_t fill)
{
	uint64_t at;
	uint32_t word;

	if (fill != SERVE_FILL_COUNTER) {
		if (fill)
			memset(mem->base, fill, mem->size);
		return;
	}
	for (at = 0; at < mem->size; at += sizeof(word)) {
		word = htole32((uint32_t)(at / sizeof(word)));
		memcpy(mem->base + at, &word, mem->size - at < sizeof(word) ? mem->size - at :
									      sizeof(word));
	}
}

/*
 * Memory of region number @region: of the port, or, not 0, of connection @conn.  To be
 * destroyed when this returns 0.
 */
int serve_mem_create(struct serve_mem **mem, const struct serve_cfg *cfg, unsigned int region,
		     uint32_t conn)
{
	const struct serve_spec *spec = &cfg->region[region];
	struct serve_mem *m = calloc(1, sizeof(*m));
	int ret = 0;

	if (!m)
		return -ENOMEM;
	m->size = spec->size;
	if (cfg->state)
		ret = make_dirs(m, cfg, spec->name, conn);
	if (!ret)
		ret = map_mem(m);
	if (ret) {
		serve_mem_destroy(m);
		return ret;
	}
	fill_mem(m, spec->fill);
	*mem = m;
	return 0;
}

/* The file goes with the memory: a directory that is not empty then is somebody else's */
void serve_mem_destroy(struct serve_mem *mem)
{
	char path[SERVE_PATH + 8];
	char *slash;

	if (!mem)
		return;
	if (mem->base)
		munmap(mem->base, mem->size);
	if (*mem->dir) {
		snprintf(path, sizeof(path), "%s/data", mem->dir);
		unlink(path);
		rmdir(mem->dir);
		slash = strrchr(mem->dir, '/');
		*slash = '\0';
		rmdir(mem->dir);
	}
	free(mem);
}

/* ------------------------------------------------------------------------ a region */

uint64_t serve_extent_len(const struct serve_map *map, unsigned int i)
{
	uint64_t left = map->mem->size - i * map->extent_size;

	return left < map->extent_size ? left : map->extent_size;
}

/* What a capability of the region's first extent says */
uint32_t serve_map_access(const struct serve_map *map)
{
	return map->access | (map->nr > 1 ? RTGT_ACCESS_MORE : 0);
}

/* As IBV_ACCESS_* */
unsigned int serve_remote_access(const struct serve_map *map)
{
	unsigned int access = 0;

	if (map->access & RTGT_ACCESS_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (map->access & RTGT_ACCESS_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (map->access & RTGT_ACCESS_ATOMIC)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	if (map->access & RTGT_ACCESS_FLUSH)
		access |= ACCESS_FLUSH_GLOBAL;
	return access;
}

/* Bit 46 set and none above, as the kernel's target chooses it; whole pages */
static int random_iova(uint64_t *iova)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (getrandom(iova, sizeof(*iova), 0) != sizeof(*iova))
		return -EIO;
	*iova &= (1ull << 46) - 1;
	*iova = (*iova | 1ull << 46) & ~(page - 1);
	return 0;
}

static int register_extent(struct serve_domain *dom, struct serve_map *map, unsigned int i)
{
	unsigned int access = map->windowed ? IBV_ACCESS_MW_BIND : serve_remote_access(map);
	uint8_t *at = map->mem->base + i * map->extent_size;

	map->mr[i] = ibv_reg_mr_iova(dom->pd, at, serve_extent_len(map, i), map->iova[i],
				     IBV_ACCESS_LOCAL_WRITE | access);
	return map->mr[i] ? 0 : -errno;
}

/* ----------------------------------------------------------------------- a window */

static bool window_fits(const struct serve_device *dev, const struct serve_map *map)
{
	const struct ibv_device_attr *attr = &dev->attr.orig_attr;

	/* struct rtgt_wr binds what 32 bits can count */
	return map->nr == 1 && map->mem->size <= UINT32_MAX &&
	       !(map->access & RTGT_ACCESS_FLUSH) && attr->max_mw > 0 &&
	       attr->device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
					 IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

/*
 * Make the windows of a domain, dead still.  After the queue pair they will be bound on, and
 * to be destroyed before it, which waits for them: also when the process dies, where the
 * kernel goes backwards.  0 or a negative errno.
 */
int serve_windows_create(struct serve_domain *dom)
{
	for (unsigned int i = 0; i < dom->nr; i++) {
		struct serve_map *map = &dom->map[i];

		if (!map->windowed)
			continue;
		map->mw = ibv_alloc_mw(dom->pd, IBV_MW_TYPE_2);
		if (!map->mw)
			return -errno;
		map->dead = true;
	}
	return 0;
}

/* Those there are */
void serve_windows_destroy(struct serve_domain *dom)
{
	for (unsigned int i = 0; dom && i < dom->nr; i++) {
		if (dom->map[i].mw)
			ibv_dealloc_mw(dom->map[i].mw);
		dom->map[i].mw = NULL;
	}
}

/* A peer's SEND has killed a key, if it is one of a window's */
bool serve_domain_invalidated(struct serve_domain *dom, uint32_t rkey)
{
	for (unsigned int i = 0; i < dom->nr; i++) {
		if (!dom->map[i].mw || dom->map[i].mw->rkey != rkey)
			continue;
		dom->map[i].dead = true;
		return true;
	}
	return false;
}

/* The key of an extent; 0 if it could not be made anew */
uint32_t serve_key(const struct serve_map *map, unsigned int extent)
{
	if (map->mw)
		return map->mw->rkey;
	return map->mr[extent] ? map->mr[extent]->rkey : 0;
}

static void map_destroy(struct serve_map *map, bool private)
{
	for (unsigned int i = 0; map->mr && i < map->nr; i++)
		if (map->mr[i])
			ibv_dereg_mr(map->mr[i]);
	if (map->own)
		ibv_dereg_mr(map->own);
	free(map->mr);
	free(map->iova);
	if (private)
		serve_mem_destroy(map->mem);
}

/* What fails is taken back by map_destroy() */
static int map_register(struct serve_domain *dom, struct serve_map *map,
			const struct serve_cfg *cfg)
{
	uint64_t max = cfg->mr_max;
	int ret = 0;

	map->extent_size = max && max < map->mem->size ? max : page_align(map->mem->size);
	if (map->mem->size > map->extent_size * MAX_EXTENTS)
		return -E2BIG;
	map->nr = (unsigned int)((map->mem->size + map->extent_size - 1) / map->extent_size);
	map->mr = calloc(map->nr, sizeof(*map->mr));
	map->iova = calloc(map->nr, sizeof(*map->iova));
	if (!map->mr || !map->iova)
		return -ENOMEM;
	map->own = ibv_reg_mr(dom->pd, map->mem->base, map->mem->size, IBV_ACCESS_LOCAL_WRITE);
	if (!map->own)
		return -errno;
	map->windowed = cfg->windows && window_fits(dom->dev, map);
	for (unsigned int i = 0; i < map->nr && !ret; i++) {
		/* siw registers at the address of the memory, whatever it is asked for */
		if (dom->dev->iwarp)
			map->iova[i] = (uintptr_t)map->mem->base + i * map->extent_size;
		else
			ret = random_iova(&map->iova[i]);
		if (!ret)
			ret = register_extent(dom, map, i);
	}
	return ret;
}

static int map_create(struct serve_domain *dom, struct server *s, unsigned int region,
		      uint32_t conn)
{
	struct serve_map *map = &dom->map[region];
	int ret = 0;

	map->access = s->cfg.region[region].access;
	if (map->access & RTGT_ACCESS_FLUSH &&
	    !(dom->dev->attr.device_cap_flags_ex & DEVICE_FLUSH_GLOBAL))
		return -EOPNOTSUPP;
	if (conn)
		ret = serve_mem_create(&map->mem, &s->cfg, region, conn);
	else
		map->mem = s->mem[region];
	if (!ret)
		ret = map_register(dom, map, &s->cfg);
	if (!ret)
		serve_count(s, RTGT_REGISTRATIONS, map->nr);
	return ret;
}

/* ------------------------------------------------------------------------ a domain */

/*
 * A protection domain with all regions, each key valid: of the memory all share, or, not
 * 0, of memory of connection @conn's own.  With srq the receives are there as well.  To be
 * destroyed when this returns 0.
 */
int serve_domain_create(struct serve_domain **out, struct server *s, struct serve_device *dev,
			uint32_t conn)
{
	struct serve_domain *dom = calloc(1, sizeof(*dom));
	int ret = 0;

	if (!dom)
		return -ENOMEM;
	dom->dev = dev;
	dom->pd = ibv_alloc_pd(dev->verbs);
	if (!dom->pd)
		ret = -errno;
	if (!ret && s->cfg.srq)
		ret = serve_pool_create(&dom->pool, &s->cfg, dom->pd);
	while (!ret && dom->nr < s->cfg.nr_regions) {
		ret = map_create(dom, s, dom->nr, conn);
		dom->nr++;
	}
	if (ret)
		serve_domain_destroy(dom, conn);
	else
		*out = dom;
	return ret;
}

/* No queue pair is left in it; @private, its memory goes too */
void serve_domain_destroy(struct serve_domain *dom, bool private)
{
	if (!dom)
		return;
	for (unsigned int i = 0; i < dom->nr; i++)
		map_destroy(&dom->map[i], private);
	serve_pool_destroy(dom->pool);
	if (dom->pd)
		ibv_dealloc_pd(dom->pd);
	free(dom);
}

/*
 * Kill the keys of a region without a window and make others.  When it returns the device
 * accepts the old ones no more.  0 or a negative errno; what could not be made anew is out
 * of reach then.  After -EBUSY the device has kept an old key.
 */
int serve_domain_rotate(struct serve_domain *dom, unsigned int region)
{
	struct serve_map *map = &dom->map[region];
	int err = 0, ret;

	for (unsigned int i = 0; i < map->nr; i++) {
		if (map->mr[i] && ibv_dereg_mr(map->mr[i]))
			return -EBUSY;
		map->mr[i] = NULL;
		ret = register_extent(dom, map, i);
		err = err ? err : ret;
	}
	return err;
}
