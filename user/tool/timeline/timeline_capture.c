// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of an interface into a file, beside whatever else goes on: a process of its own.
 *
 * The parent opens the interface, so that every packet from its return on is in the file.
 * At the end the child is told to stop, takes what is still waiting, and says how much was
 * lost.
 *
 * A packet that one device of this machine handed to another, as on a veth, may come with
 * the time it was sent at, and that is on the monotonic clock: as a date it lies in 1970.
 * It is put right before it is written.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libwire/capture.h"
#include "timeline.h"

#define FILTER_ROCE	"udp port 4791"
/* Which ports iWARP uses is not known before */
#define FILTER_IWARP	"tcp"
#define DRAIN_US	400000	/* several times what libpcap waits for a block to fill */

/* 4096 bytes of a packet and all headers; the child may not run for a while */
static const struct capture_how how = { .snaplen = 4608, .buffer = 32 << 20, .at_once = true };
/*
 * A segment that the interface cuts is whole here.  So large a packet would have a place of that
 * size for each small one, if each came at once.
 */
static const struct capture_how how_tcp = { .snaplen = 262144, .buffer = 32 << 20 };

/*
 * Of the child: where packets go to, what is added to the monotonic clock, and whether packets come
 * many together
 */
struct sink {
	pcap_dumper_t *dump;
	int64_t offset_ns;
	bool blocks;
};

/* For the signal handler of the child */
static struct capture *current;

static void stop(int sig)
{
	(void)sig;
	capture_stop(current);
}

/* libpcap calls microseconds what are nanoseconds here */
static void keep(u_char *arg, const struct pcap_pkthdr *header, const u_char *data)
{
	const struct sink *sink = (const struct sink *)arg;
	struct pcap_pkthdr h = *header;
	int64_t ns = h.ts.tv_sec * 1000000000 + h.ts.tv_usec;

	if (ns < sink->offset_ns) {
		ns += sink->offset_ns;
		h.ts.tv_sec = ns / 1000000000;
		h.ts.tv_usec = ns % 1000000000;
	}
	pcap_dump((u_char *)sink->dump, &h, data);
}

/* The child.  Its status is that of the file, what it says what the kernel dropped */
static int collect(struct capture *capture, struct sink sink, int said)
{
	struct sigaction sa = { .sa_handler = stop };
	pcap_t *p = capture_pcap(capture);
	char text[PCAP_ERRBUF_SIZE];
	uint64_t dropped;
	int n;

	current = capture;
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	do
		n = pcap_dispatch(p, -1, keep, (u_char *)&sink);
	while (n >= 0);
	if (n != PCAP_ERROR_BREAK)
		return 1;
	if (sink.blocks)
		usleep(DRAIN_US);
	pcap_setnonblock(p, 1, text);
	while (pcap_dispatch(p, -1, keep, (u_char *)&sink) > 0)
		;
	dropped = capture_dropped(capture);
	n = pcap_dump_flush(sink.dump);
	if (write(said, &dropped, sizeof(dropped)) != sizeof(dropped))
		return 1;
	return n ? 1 : 0;
}

static int start(struct tl_capture *c, struct capture *capture, const char *path,
		 struct sink sink, struct rtgt_err *err)
{
	int ret = 0, fds[2];

	sink.dump = pcap_dump_open(capture_pcap(capture), path);
	if (!sink.dump)
		return rtgt_fail(err, EIO, "%s", pcap_geterr(capture_pcap(capture)));
	if (pipe(fds)) {
		ret = rtgt_fail(err, errno, "no pipe: %s", strerror(errno));
	} else {
		/* what is in its buffer would be written by both */
		pcap_dump_flush(sink.dump);
		c->pid = fork();
		if (!c->pid)
			_exit(collect(capture, sink, fds[1]));
		if (c->pid < 0) {
			c->pid = 0;
			ret = rtgt_fail(err, errno, "no process: %s", strerror(errno));
		}
		c->said = fds[0];
		close(fds[1]);
	}
	pcap_dump_close(sink.dump);
	return ret;
}

/**
 * tl_capture_start() - write the RDMA packets of an interface to a file from now on
 * @c: filled in
 * @interface: its name
 * @transports: TL_ROCE, TL_IWARP: what the devices of the machine speak
 * @path: of the file
 * @offset_ns: from the monotonic clock to the real time
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_capture_start(struct tl_capture *c, const char *interface, unsigned int transports,
		     const char *path, int64_t offset_ns, struct rtgt_err *err)
{
	const bool tcp = transports & TL_IWARP;
	const struct sink sink = { .offset_ns = offset_ns, .blocks = tcp };
	struct capture *capture;
	int ret = capture_open_live(&capture, interface, tcp ? &how_tcp : &how, err);

	if (ret)
		return ret;
	ret = capture_filter(capture, !tcp ? FILTER_ROCE : transports & TL_ROCE ?
			     FILTER_ROCE " or " FILTER_IWARP : FILTER_IWARP, err);
	if (!ret)
		ret = start(c, capture, path, sink, err);
	capture_close(capture);
	return ret;
}

/**
 * tl_capture_end() - end it; the file is whole then
 * @c: started, or zero: then nothing happens
 * @dropped: packets that are missing in it
 * @err: filled in when not 0 is returned
 *
 * Return: 0 or a negative errno.
 */
int tl_capture_end(struct tl_capture *c, uint64_t *dropped, struct rtgt_err *err)
{
	int status = 0, ret = 0;
	ssize_t n;

	*dropped = 0;
	if (!c->pid)
		return 0;
	kill(c->pid, SIGTERM);
	do {
		n = read(c->said, dropped, sizeof(*dropped));
	} while (n < 0 && errno == EINTR);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n != sizeof(*dropped) || status)
		ret = rtgt_fail(err, EIO, "the packets could not be captured to the end");
	close(c->said);
	c->pid = 0;
	return ret;
}
