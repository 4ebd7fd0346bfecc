/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.h: the launcher of a job on several hosts: a supervisor whose ranks are children of agents
 * elsewhere. What happens to a rank comes as a record and goes to the same exit rule; what the rule
 * wants goes out as records. No rank is started before an agent runs on every host. */
#ifndef PEN_BOOT_SPREAD_H
#define PEN_BOOT_SPREAD_H

#include "boot/supervisor_internal.h"

struct pen_spread *pen_spread_new(const pen_spread_options *options);
void pen_spread_close(pen_supervisor *s); /* ends what of ssh still runs */

pen_status pen_spread_start(pen_supervisor *s); /* the agents; ranks follow when all have spoken */
void pen_spread_tend(pen_supervisor *s);        /* each round: start-up, its time limit, stdin */

const char *pen_spread_host(const pen_supervisor *s, uint32_t rank); /* its name, as given */

/* What the exit rule wants, done by the agents. */
void pen_spread_word(pen_supervisor *s, uint32_t rank, pen_control_kind kind);
void pen_spread_tell(pen_supervisor *s, uint32_t rank, int status, int signal);
void pen_spread_signal(pen_supervisor *s, int signal);
void pen_spread_fail(pen_supervisor *s); /* start-up barriers */
void pen_spread_kill(pen_supervisor *s);
void pen_spread_report(pen_supervisor *s);
void pen_spread_hold(pen_supervisor *s, bool hold); /* ranks' output */

/* All ranks have ended: the agents send what is left and end; whether they have, or had time to. */
void pen_spread_quit(pen_supervisor *s);
bool pen_spread_done(pen_supervisor *s);

#endif
