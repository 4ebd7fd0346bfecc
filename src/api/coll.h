/* SPDX-License-Identifier: BSD-3-Clause */
/* api/coll.h: shared by the collectives of both eras. Collectives check their arguments in every
 * build: compared with a collective the cost is small, and a wrong argument hangs other ranks or
 * spoils their data. */
#ifndef PEN_API_COLL_H
#define PEN_API_COLL_H

#include "api/api.h"
#include "coll/coll.h"
#include "job/team.h"
#include "job/thread.h"

#include <gasnetex.h>
#include <stdint.h>

/* Returns the calling thread, after checking that it may begin a collective on the team. */
pen_thread *pen_api_coll_enter(const char *call, const pen_team *team);
/* Checks that the team has this member. */
void pen_api_coll_check_root(const char *call, const pen_team *team, uint32_t root);

/* Begin a collective. The root has been checked, or is PEN_COLL_ALL; these calls check all further
 * arguments. */
gex_Event_t pen_api_coll_move(const char *call, pen_thread *thread, pen_team *team,
                              const pen_coll_move *move);
void pen_api_coll_check_reduction(const char *call, pen_reduction *reduction);
gex_Event_t pen_api_coll_reduce(const char *call, pen_thread *thread, pen_team *team, uint32_t root,
                                void *dst, const void *src, pen_reduction *reduction);

#endif
