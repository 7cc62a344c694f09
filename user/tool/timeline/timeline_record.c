// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rtgt timeline record: traces and captures while a command runs.
 *
 * Signals end the command, and with it this in good order: whatever happens, what was
 * made in tracefs is removed.  A queue pair is destroyed some time after its program has
 * ended, so the end is when all that were made are gone, or after a second.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timeline.h"

#define SETTLE_TRIES	50
#define SETTLE_US	20000
#define NOT_FOUND	127	/* status of a command that could not be run, as a shell has it */
#define BY_SIGNAL	128	/* added to the number of what ended it */

/* For the signal handler, which may use what is atomic; 0 while there is none */
static _Atomic int command;

/* A terminal tells all of us, kill(1) only one */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (command && info->si_code != SI_KERNEL)
		kill(command, sig);
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static int run(const struct tl_tracefs *f, char **cmd)
{
	const int pid = fork();
	char path[256];
	int status = 0;

	if (!pid) {
		snprintf(path, sizeof(path), "%s/trace_marker", f->tracefs.instance);
		setenv(RTGT_TRACE_MARKER, path, 1);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		execvp(cmd[0], cmd);
		failed("timeline: %s: %s", cmd[0], strerror(errno));
		_exit(NOT_FOUND);
	}
	if (pid < 0)
		return failed("timeline: no process: %s", strerror(errno));
	command = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	command = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

/* More queue pairs made than destroyed? */
static bool unsettled(const struct tl_tracefs *f, const char *path)
{
	struct rtgt_err err = {};
	struct tl_trace t;
	int alive = 0;

	if (tl_tracefs_save(f, path, &err))
		return false;
	if (!tl_trace_read(&t, path, &err))
		for (unsigned int i = 0; i < t.lines; i++)
			alive += !strncmp(t.line[i].event, "rtgt_qp_create", 14) -
				 !strcmp(t.line[i].event, "rtgt_qp_destroy");
	tl_trace_free(&t);
	return alive > 0;
}

/* The end of it, in good order; @c and @f as far as they came */
static int finish(struct tl_tracefs *f, struct tl_capture *c, const char *trace,
		  struct rtgt_err *err)
{
	uint64_t dropped;
	int ret;

	for (unsigned int i = 0; i < SETTLE_TRIES && unsettled(f, trace); i++)
		usleep(SETTLE_US);
	ret = tl_capture_end(c, &dropped, err);
	if (dropped)
		fprintf(f->marker, TL_MARK "dropped=%" PRIu64 "\n", dropped);
	tl_tracefs_clock(f);
	return ret ? ret : tl_tracefs_save(f, trace, err);
}

static int start(struct tl_tracefs *f, struct tl_capture *c, const char *interface,
		 const char *path, struct rtgt_err *err)
{
	const unsigned int transports = tl_transports();
	int ret = tl_tracefs_open(f, transports, err), interfaces;
	char only[IF_NAMESIZE];

	if (ret)
		return ret;
	interfaces = tl_devices(f->marker, only, sizeof(only));
	if (!interface && !interfaces)
		return rtgt_fail(err, ENODEV,
				 "no network interface has an RDMA device: rdma link add rxe0 type rxe netdev NETDEV");
	if (!interface && interfaces != 1)
		return rtgt_fail(err, EINVAL,
				 "%d network interfaces have RDMA devices: -i IF says which (rdma link)",
				 interfaces);
	return tl_capture_start(c, interface ? interface : only, transports, path, f->offset_ns,
				err);
}

/**
 * tl_record() - trace and capture while a command runs
 * @dir: where the files go; made if it is not there
 * @interface: where the packets are; NULL: of the only device
 * @cmd: words of the command
 * @recorded: set to whether the files are there
 *
 * Return: an exit status: the command's, if all else went well.
 */
int tl_record(const char *dir, const char *interface, char **cmd, bool *recorded)
{
	char trace[4096], capture[4096];
	struct tl_capture c = {};
	struct rtgt_err err = {};
	struct tl_tracefs f;
	int rc = EXIT_FAILED;

	*recorded = false;
	snprintf(trace, sizeof(trace), "%s/" TL_TRACE, dir);
	snprintf(capture, sizeof(capture), "%s/" TL_CAPTURE, dir);
	if (mkdir(dir, 0777) && errno != EEXIST)
		return failed("timeline: %s: %s", dir, strerror(errno));
	catch_signals();
	if (start(&f, &c, interface, capture, &err)) {
		failed("timeline: %s", err.text);
	} else {
		rc = run(&f, cmd);
		*recorded = !finish(&f, &c, trace, &err);
		if (!*recorded) {
			failed("timeline: %s", err.text);
			/* that of the command, if that failed */
			rc = rc ? rc : EXIT_FAILED;
		}
	}
	if (tl_tracefs_close(&f, &err)) {
		failed("timeline: %s", err.text);
		rc = rc ? rc : EXIT_FAILED;
	}
	return rc;
}
