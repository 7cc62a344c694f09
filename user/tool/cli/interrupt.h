/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SIGINT and SIGTERM: somebody wants the command to end.  See interrupt.c.
 */
#ifndef RTGT_INTERRUPT_H
#define RTGT_INTERRUPT_H

#include <stdatomic.h>

/* One of the two has come, after interrupt_catch() */
extern atomic_bool interrupted;

void interrupt_catch(int flags, void (*then)(void));
int interrupt_event(int flags);
void interrupt_release(void);
int interrupt_fd(int also, int flags);

#endif /* RTGT_INTERRUPT_H */
