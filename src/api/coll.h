/* SPDX-License-Identifier: BSD-3-Clause */
/* api/coll.h: what the calls of both eras share: collectives are begun after their arguments were
 * checked, in every build: next to what a collective costs that is nothing, and a wrong argument
 * hangs or spoils other ranks. */
#ifndef PEN_API_COLL_H
#define PEN_API_COLL_H

#include "api/api.h"
#include "coll/coll.h"

/* The calling thread, which may begin a collective on the team. */
pen_thread *pen_api_coll_enter(const char *call, const pen_team *team);
/* That the team has such a member. */
void pen_api_coll_check_root(const char *call, const pen_team *team, uint32_t root);

/* Each with a root that has been checked, or PEN_COLL_ALL; all else is checked here. */
gex_Event_t pen_api_coll_move(const char *call, pen_thread *thread, pen_team *team,
                              const pen_coll_move *move);
void pen_api_coll_check_reduction(const char *call, pen_reduction *reduction);
gex_Event_t pen_api_coll_reduce(const char *call, pen_thread *thread, pen_team *team, uint32_t root,
                                void *dst, const void *src, pen_reduction *reduction);

#endif
