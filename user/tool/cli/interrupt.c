// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SIGINT and SIGTERM.
 *
 * A command that runs from its beginning to its end catches them: a flag is set, and the system
 * call that it waits in ends with EINTR.  A server reads them from a file descriptor, beside what
 * else it waits for.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "interrupt.h"

atomic_bool interrupted;

static void (*also_do)(void);
static int event;

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&interrupted, true);
	if (also_do)
		also_do();
}

static void set(int flags, void (*handler)(int))
{
	const struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

/**
 * interrupt_catch() - set the flag from now on
 * @flags: of sigaction(): SA_RESETHAND lets a second signal end the process
 * @then: called by the handler; NULL for nothing
 */
void interrupt_catch(int flags, void (*then)(void))
{
	also_do = then;
	set(flags, on_signal);
}

static void tell(void)
{
	eventfd_write(event, 1);
}

/**
 * interrupt_event() - set the flag, and end waits that no signal interrupts
 * @flags: as for interrupt_catch()
 *
 * Return: a file descriptor above 0, for librtgt's cancel_fd.  It stays readable after a signal.
 * The caller closes it, after interrupt_catch() or interrupt_release().  -1 with errno.
 */
int interrupt_event(int flags)
{
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* librtgt takes 0, which it may be where standard input is closed, for none */
	if (!event) {
		event = fcntl(0, F_DUPFD_CLOEXEC, 3);
		close(0);
	}
	if (event > 0)
		interrupt_catch(flags, tell);
	return event;
}

/**
 * interrupt_release() - let the signals end the process again
 */
void interrupt_release(void)
{
	set(0, SIG_DFL);
}

/**
 * interrupt_fd() - read the signals from a file descriptor
 * @also: another signal that is read there; 0 for none
 * @flags: of signalfd()
 *
 * They are blocked in this thread and in those that it starts afterwards.
 *
 * Return: the file descriptor, or -1 with errno.
 */
int interrupt_fd(int also, int flags)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (also)
		sigaddset(&set, also);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, flags);
}
