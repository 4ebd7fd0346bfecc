/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnetex.h: the GASNet-EX interface, chapter by chapter.
 *
 * Every call is a function; the comment above its declaration documents it. "Context:" says where a
 * call may be made:
 *     Context: any         everywhere: also in a handler and while holding a handler-safe lock
 *     Context: no handler  not in a handler, not while holding a handler-safe lock, not between
 *                          gasnet_hold_interrupts and gasnet_resume_interrupts
 * A call that "polls" may run handlers on the calling thread before it returns. Every rank of the
 * team makes "collective" calls, in the same order. */
#ifndef _GASNETEX_H
#define _GASNETEX_H

#include <penstock/config.h>

#include <penstock/libc.h>

#include <penstock/types.h>

#include <penstock/error.h>

#include <penstock/am.h>
#include <penstock/am_negotiated.h>
#include <penstock/coll.h>
#include <penstock/event.h>
#include <penstock/hsl.h>
#include <penstock/init.h>
#include <penstock/poll.h>
#include <penstock/rma.h>
#include <penstock/segment.h>
#include <penstock/system.h>
#include <penstock/team.h>

#endif
