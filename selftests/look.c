// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * look: what the tests look at after every case, in one small static program.
 *
 *	look log OLD NEW RULES [TOLERATED]	what the kernel logged between the
 *						markers OLD and NEW, or up to now if
 *						NEW is empty, and must not have
 *	look since MARKER			all it logged after it
 *	look leaks FILE RULES			reports of kmemleak's, but those RULES
 *						say are not ours
 *	look resources DEVICE...		RDMA objects there are, a line a device
 *	look crc FILE [OFFSET LENGTH]		CRC-32 of a part of a file
 *	look filled FILE OFFSET LENGTH BYTE	are they all BYTE?
 *	look holds FILE OFFSET LENGTH CRC BYTE	these have this CRC-32, and all
 *						around them are BYTE
 *	look words FILE OFFSET...		the 64-bit numbers that are there
 *	look after TEXT STORE FILE OFFSET...	write TEXT to the file STORE; what is
 *						there then, before anything else can
 *						happen: "gone" if the file is not
 *	look serve RULES			do these on request: see serve() and
 *						machine.sh, look_at
 *
 * A pipeline of standard tools would do as well, but starting a dozen processes
 * a case is most of what a suite costs in an emulated guest.  So is starting this
 * one: what serves forks for a request and executes nothing, and has compiled the
 * rules and passed over the log up to the last request's NEW.
 *
 * Exits 0 when all is as it should be, 1 with the reason on stdout when not, 2
 * when it could not look.
 */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#define RECORD	8192	/* what the kernel needs at most for one */
#define LEVEL_ERR 3
#define REPORTS	20	/* that many leaks are shown */

struct rules {
	regex_t bad, errors_of, tolerated, leak;
	bool compiled, tolerates, leaks;
};

static void __attribute__((noreturn)) give_up(const char *what)
{
	fprintf(stderr, "look: %s: %s\n", what, errno ? strerror(errno) : "cannot be used");
	exit(2);
}

static void compile(regex_t *re, const char *text)
{
	errno = 0;
	if (regcomp(re, text, REG_EXTENDED | REG_NOSUB))
		give_up(text);
}

/* One more alternative */
static void add(char *all, size_t size, const char *more)
{
	size_t len = strlen(all);

	if ((size_t)snprintf(all + len, size - len, "%s%s", len ? "|" : "", more) >= size - len)
		give_up("too many rules");
}

/* RULES: "bad", "errors-of", "tolerate" or "leak", then an expression; # begins a comment */
static void read_rules(struct rules *r, const char *file, const char *more)
{
	char line[512], bad[4096] = "", errors_of[512] = "", tolerated[4096] = "", leak[4096] = "";
	FILE *f = fopen(file, "r");
	char *text, *save;

	if (!f)
		give_up(file);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		text = strchr(line, ' ');
		if (!text || line[0] == '#')
			continue;
		*text++ = '\0';
		if (!strcmp(line, "bad"))
			add(bad, sizeof(bad), text);
		else if (!strcmp(line, "errors-of"))
			add(errors_of, sizeof(errors_of), text);
		else if (!strcmp(line, "tolerate"))
			add(tolerated, sizeof(tolerated), text);
		else if (!strcmp(line, "leak"))
			add(leak, sizeof(leak), text);
		else
			give_up(line);
	}
	fclose(f);
	text = strdup(more);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		add(tolerated, sizeof(tolerated), l);
	free(text);
	compile(&r->bad, bad);
	compile(&r->errors_of, errors_of);
	r->tolerates = tolerated[0];
	if (r->tolerates)
		compile(&r->tolerated, tolerated);
	r->leaks = leak[0];
	if (r->leaks)
		compile(&r->leak, leak);
	r->compiled = true;
}

static bool matches(const regex_t *re, const char *text)
{
	return !regexec(re, text, 0, NULL, 0);
}

/* "prio,seq,usec,flags;text"; prio is the level and, times 8, the facility */
static bool is_bad(const struct rules *r, unsigned long prio, const char *text)
{
	if (!matches(&r->bad, text) && !(prio <= LEVEL_ERR && matches(&r->errors_of, text)))
		return false;
	return !r->tolerates || !matches(&r->tolerated, text);
}

static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		give_up("/dev/kmsg");
	return fd;
}

/* Lines that wait to be printed: a later marker may show that another request printed them */
struct text {
	char *data;
	size_t size;
	FILE *stream;
};

static void empty(struct text *t)
{
	if (t->stream) {
		fclose(t->stream);
		free(t->data);
	}
	t->stream = open_memstream(&t->data, &t->size);
	if (!t->stream)
		give_up("memory");
}

/*
 * Print what the log has after the marker @old and before @new, or up to its end: with rules
 * the lines that are bad, without rules all of them.  It is read from where the last reader of
 * @fd stopped, which is directly after @old if @seen.  A marker is a whole line; if @old is
 * there several times, the last one counts.  What was overwritten before it was read could be
 * bad.  Returns 0, or 1 with the reason printed.
 */
static int look_log(int fd, const char *old, const char *new, bool seen, const struct rules *r)
{
	struct text found = { NULL };
	char record[RECORD], *text;
	unsigned long prio, usec;
	bool lost = false, end = !*new;
	ssize_t n;

	empty(&found);
	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE) {
			lost = lost || seen;
			continue;
		}
		if (n < 0)
			break;
		record[n] = '\0';
		text = strchr(record, ';');
		if (!text || sscanf(record, "%lu,%*u,%lu", &prio, &usec) != 2)
			continue;
		*text++ = '\0';
		text[strcspn(text, "\n")] = '\0';
		if (!strcmp(text, old)) {
			seen = true;
			lost = false;
			empty(&found);
			continue;
		}
		if (seen && *new && !strcmp(text, new)) {
			end = true;
			break;
		}
		if (seen && (!r || is_bad(r, prio, text)))
			fprintf(found.stream, "[%5lu.%06lu] %s\n", usec / 1000000, usec % 1000000,
				text);
	}
	fclose(found.stream);
	fputs(found.data, stdout);
	if (!seen || lost || !end)
		printf("the kernel log no longer holds all lines from the marker \"%s\"%s%s\n", old,
		       end ? "" : " to ", end ? "" : new);
	return !seen || lost || !end || (r && found.size);
}

static uint32_t crc32(uint32_t crc, const uint8_t *p, size_t n)
{
	static uint32_t table[256];

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = (c >> 1) ^ (c & 1 ? 0xedb88320 : 0);
		table[i] = c;
	}
	for (crc = ~crc; n--; p++)
		crc = table[(crc ^ *p) & 0xff] ^ (crc >> 8);
	return ~crc;
}

static struct nlattr *attr_next(struct nlattr *a)
{
	return (struct nlattr *)((char *)a + NLA_ALIGN(a->nla_len));
}

static struct nlattr *attr_find(void *from, void *end, int type)
{
	for (struct nlattr *a = from; (void *)(a + 1) <= end && a->nla_len >= sizeof(*a);
	     a = attr_next(a))
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

/*
 * "device NAME: pd 1 qp 1 ...", as "rdma resource show" has it.  Not the
 * completion queues: the core keeps pooled ones until the device goes.
 */
static void describe(struct nlmsghdr *h, const char *device, char *line, size_t size)
{
	void *end = (char *)h + h->nlmsg_len;
	struct nlattr *dev = attr_find(NLMSG_DATA(h), end, RDMA_NLDEV_ATTR_DEV_NAME);
	struct nlattr *all = attr_find(NLMSG_DATA(h), end, RDMA_NLDEV_ATTR_RES_SUMMARY);
	int len = 0;

	if (!dev || !all || strcmp(device, (char *)(dev + 1)))
		return;
	end = (char *)all + all->nla_len;
	for (struct nlattr *e = all + 1; (void *)e < end; e = attr_next(e)) {
		void *stop = (char *)e + e->nla_len;
		struct nlattr *name, *curr;
		uint64_t value;

		name = attr_find(e + 1, stop, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
		curr = attr_find(e + 1, stop, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
		if (!name || !curr || !strcmp((char *)(name + 1), "cq"))
			continue;
		memcpy(&value, curr + 1, sizeof(value));
		len += snprintf(line + len, size - (size_t)len, " %s %llu", (char *)(name + 1),
				(unsigned long long)value);
	}
}

static int look_resources(char **device, int n)
{
	struct nlmsghdr ask = {
		.nlmsg_len = sizeof(ask),
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET),
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	char buf[16384] __attribute__((aligned(8)));
	char line[n][256];
	bool done = false;

	if (fd < 0 || send(fd, &ask, sizeof(ask), 0) != sizeof(ask))
		give_up("RDMA netlink");
	for (int i = 0; i < n; i++)
		strcpy(line[i], " none");
	while (!done) {
		struct nlmsghdr *h = (struct nlmsghdr *)buf;
		ssize_t len = recv(fd, buf, sizeof(buf), 0);

		if (len < 0)
			give_up("RDMA netlink");
		for (; !done && NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == NLMSG_ERROR)
				give_up("RDMA netlink's answer");
			done = h->nlmsg_type == NLMSG_DONE;
			for (int i = 0; !done && i < n; i++)
				describe(h, device[i], line[i], sizeof(line[i]));
		}
	}
	close(fd);
	for (int i = 0; i < n; i++)
		printf("device %s:%s\n", device[i], line[i]);
	return 0;
}

struct bytes {
	uint8_t *data;
	uint64_t len;
};

static int open_file(const char *file)
{
	int fd = open(file, O_RDONLY);

	if (fd < 0)
		give_up(file);
	return fd;
}

static struct bytes read_file(const char *file)
{
	struct bytes b = { NULL, 0 };
	int fd = open_file(file);
	size_t room = 1 << 16;
	ssize_t n;

	do {
		if (!b.data || b.len == room) {
			room *= 2;
			b.data = realloc(b.data, room);
			if (!b.data)
				give_up(file);
		}
		n = read(fd, b.data + b.len, room - b.len);
		if (n < 0)
			give_up(file);
		b.len += (uint64_t)n;
	} while (n);
	close(fd);
	return b;
}

/* A report of kmemleak's begins with this, and its other lines are indented */
static int look_leaks(const char *file, const struct rules *r)
{
	static const char begin[] = "\nunreferenced object";
	struct bytes all = read_file(file);
	char *text = strndup((char *)all.data, all.len ? all.len - 1 : 0), *next;
	int found = 0;

	if (!text)
		give_up(file);
	for (char *report = text; *report; report = next) {
		next = strstr(report, begin);
		if (next)
			*next++ = '\0';
		else
			next = report + strlen(report);
		if (r->leaks && matches(&r->leak, report))
			continue;
		if (++found <= REPORTS)
			puts(report);
	}
	free(text);
	if (found)
		printf("kmemleak: %d in all\n", found);
	return !!found;
}

/* A part of it; one that is not there whole is an error */
static struct bytes part(struct bytes b, uint64_t offset, uint64_t len, const char *file)
{
	errno = ERANGE;
	if (offset > b.len || len > b.len - offset)
		give_up(file);
	return (struct bytes) { b.data + offset, len };
}

/* The bytes of a file, a piece at a time: it may be larger than the memory there is */
struct stream {
	const char *file;
	int fd;
	uint64_t at, left;
	uint8_t buf[1 << 16];
};

/* A part of it, or with UINT64_MAX the rest; a part that is not there whole is an error */
static struct stream *open_stream(const char *file, uint64_t offset, uint64_t len)
{
	static struct stream s;

	s.file = file;
	s.fd = open_file(file);
	s.at = offset;
	s.left = len;
	return &s;
}

/* How many bytes are in the buffer now, 0 at the end */
static size_t next_piece(struct stream *s)
{
	ssize_t n = pread(s->fd, s->buf, s->left < sizeof(s->buf) ? s->left : sizeof(s->buf),
			  (off_t)s->at);

	if (n < 0)
		give_up(s->file);
	errno = ERANGE;
	if (!n && s->left && s->left != UINT64_MAX)
		give_up(s->file);
	s->at += (uint64_t)n;
	s->left -= s->left == UINT64_MAX ? 0 : (uint64_t)n;
	return (size_t)n;
}

static int print_crc(struct stream *s)
{
	uint32_t crc = 0;

	for (size_t n; (n = next_piece(s));)
		crc = crc32(crc, s->buf, n);
	printf("%u\n", crc);
	return 0;
}

/* Are they all @byte? 0 or, told, 1; they are at @offset in the file */
static int all_are(const uint8_t *b, uint64_t n, uint64_t offset, unsigned int byte,
		   const char *file)
{
	for (uint64_t i = 0; i < n; i++) {
		if (b[i] == byte)
			continue;
		printf("%s: byte %llu is 0x%02x and not 0x%02x\n", file,
		       (unsigned long long)(offset + i), b[i], byte);
		return 1;
	}
	return 0;
}

static int filled(struct stream *s, unsigned int byte)
{
	for (size_t n; (n = next_piece(s));)
		if (all_are(s->buf, n, s->at - n, byte, s->file))
			return 1;
	return 0;
}

static int holds(const char *file, uint64_t offset, uint64_t len, uint32_t crc, unsigned int byte)
{
	struct bytes all = read_file(file), b = part(all, offset, len, file);
	uint32_t got = crc32(0, b.data, b.len);

	if (got != crc) {
		printf("%s: the %llu bytes at %llu have CRC-32 %u and not %u\n", file,
		       (unsigned long long)len, (unsigned long long)offset, got, crc);
		return 1;
	}
	return all_are(all.data, offset, 0, byte, file) ||
	       all_are(b.data + len, all.len - offset - len, offset + len, byte, file);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n;

	errno = EINVAL;
	n = strtoull(text, &end, 0);
	if (*end || !*text)
		give_up(text);
	return n;
}

static int words(int fd, char **offset, int n)
{
	uint64_t word;

	for (int i = 0; i < n; i++) {
		if (pread(fd, &word, sizeof(word), (off_t)number(offset[i])) == sizeof(word))
			printf("%s%llu", i ? " " : "", (unsigned long long)word);
		else
			printf("%sgone", i ? " " : "");
	}
	putchar('\n');
	return 0;
}

/* Both are open before, so that nothing but the two system calls lies between */
static int after(const char *text, const char *store, const char *file, char **offset, int n)
{
	int to = open(store, O_WRONLY), fd = open(file, O_RDONLY);

	if (to < 0 || fd < 0)
		give_up(to < 0 ? store : file);
	if (write(to, text, strlen(text)) < 0)
		give_up(store);
	return words(fd, offset, n);
}

/*
 * What serves is told what to look at, else it is in the arguments.  @read_up_to is the marker at
 * which the last reader of @log_fd stopped.
 */
static int look(int argc, char **argv, int log_fd, const char *read_up_to, struct rules *rules)
{
	const char *what = argc > 1 ? argv[0] : "";

	if (!strcmp(what, "log") && argc >= 4) {
		if (!rules->compiled || argc > 4)
			read_rules(rules, argv[3], argc > 4 ? argv[4] : "");
		return look_log(log_fd < 0 ? open_log() : log_fd, argv[1], argv[2],
				!strcmp(argv[1], read_up_to), rules);
	}
	if (!strcmp(what, "since"))
		return look_log(open_log(), argv[1], "", false, NULL);
	if (!strcmp(what, "leaks") && argc == 3) {
		read_rules(rules, argv[2], "");
		return look_leaks(argv[1], rules);
	}
	if (!strcmp(what, "resources"))
		return look_resources(argv + 1, argc - 1);
	if (!strcmp(what, "crc") && argc == 2)
		return print_crc(open_stream(argv[1], 0, UINT64_MAX));
	if (!strcmp(what, "crc") && argc == 4)
		return print_crc(open_stream(argv[1], number(argv[2]), number(argv[3])));
	if (!strcmp(what, "filled") && argc == 5)
		return filled(open_stream(argv[1], number(argv[2]), number(argv[3])),
			      (unsigned int)number(argv[4]));
	if (!strcmp(what, "holds") && argc == 6)
		return holds(argv[1], number(argv[2]), number(argv[3]), (uint32_t)number(argv[4]),
			     (unsigned int)number(argv[5]));
	if (!strcmp(what, "words"))
		return words(open(argv[1], O_RDONLY), argv + 2, argc - 2);
	if (!strcmp(what, "after") && argc > 4)
		return after(argv[1], argv[2], argv[3], argv + 4, argc - 4);
	fputs("usage: look log|since|leaks|resources|crc|filled|holds|words|after|serve ...; see look.c\n",
	      stderr);
	return 2;
}

/* A request is a token, the number of arguments and these, each with a NUL behind it */
static char *next_word(void)
{
	char *word = NULL;
	size_t room = 0;

	return getdelim(&word, &room, '\0', stdin) < 0 ? NULL : word;
}

/*
 * Until the end of standard input: the answer is what a request prints, \1, its token
 * and its exit status.  The log is read on from where the last request ended, for the
 * children share our file's position: what was logged before us is not seen.
 */
static int serve(const char *rules_file)
{
	struct rules rules;
	int fd = open_log(), status, argc;
	char *token, *argv[32], *read_up_to = strdup("");

	read_rules(&rules, rules_file, "");
	lseek(fd, 0, SEEK_END);
	while ((token = next_word())) {
		char *nr = next_word();

		argc = nr ? atoi(nr) : 0;
		free(nr);
		if (argc < 1 || argc > 32)
			return 2;
		for (int i = 0; i < argc; i++) {
			argv[i] = next_word();
			if (!argv[i])
				return 2;
		}
		if (!fork()) {
			dup2(1, 2);
			exit(look(argc, argv, fd, read_up_to, &rules));
		}
		status = -1;
		if (wait(&status) < 0)
			return 2;
		if (argc >= 4 && !strcmp(argv[0], "log")) {
			free(read_up_to);
			read_up_to = strdup(argv[2]);
		}
		dprintf(1, "\1%s %d\n", token, WIFEXITED(status) ? WEXITSTATUS(status) : 2);
		free(token);
		while (argc)
			free(argv[--argc]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rules rules = { .compiled = false };

	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	return look(argc - 1, argv + 1, -1, "", &rules);
}
