/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_legacy.c: collectives of the GASNet-1 era. */
#include "api/api.h"
#include "api/coll.h"
#include "api/coll_images.h"
#include "coll/coll.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"
#include "team/team.h"

#include <errno.h>
#include <gasnet_coll.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN_FLAGS = GASNET_COLL_IN_NOSYNC | GASNET_COLL_IN_MYSYNC | GASNET_COLL_IN_ALLSYNC,
    OUT_FLAGS = GASNET_COLL_OUT_NOSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_OUT_ALLSYNC,
    LIST_FLAGS = GASNET_COLL_SINGLE | GASNET_COLL_LOCAL,
};

static bool one_bit(int flags) { return flags != 0 && (flags & (flags - 1)) == 0; }

/* Translates the flags about when data may move: PEN_COLL_..._TOGETHER. Without these flags neither
 * side waits. */
static unsigned together_of(const char *call, int flags)
{
    if (pen_api_checks(PEN_CHECK_ARGUMENT) &&
        (!one_bit(flags & IN_FLAGS) || !one_bit(flags & OUT_FLAGS)))
        pen_api_misuse(call,
                       "flags 0x%x: exactly one GASNET_COLL_IN_... and one "
                       "GASNET_COLL_OUT_... are needed",
                       flags);
    return (flags & GASNET_COLL_IN_ALLSYNC ? PEN_COLL_ENTER_TOGETHER : 0) |
           (flags & GASNET_COLL_OUT_ALLSYNC ? PEN_COLL_LEAVE_TOGETHER : 0);
}

/* root: a rank of the team or an image. */
static void check_root(const char *call, const pen_team *team, uint32_t root, int flags)
{
    if (!pen_api_images_call(team, flags))
        pen_api_coll_check_root(call, team, root);
    else if (root >= pen_api_images_total())
        pen_api_misuse(call, "there is no image %u to be the root among %u", root,
                       pen_api_images_total());
}

static gex_Event_t begin(const char *call, pen_team *team, pen_coll_move *move, int flags)
{
    pen_thread *thread = pen_api_coll_enter(call, team);
    move->together = together_of(call, flags);
    return pen_api_images_call(team, flags) ? pen_api_images_begin(call, thread, move, NULL)
                                            : pen_api_coll_move(call, thread, team, move);
}

static gex_Event_t begin_rooted(const char *call, pen_team *team, pen_coll_move *move, int flags)
{
    (void)pen_api_coll_enter(call, team);
    check_root(call, team, move->root, flags);
    return begin(call, team, move, flags);
}

/* Returns the caller's address in a list of addresses. */
static void *own(const char *call, const pen_team *team, void *const list[], int flags)
{
    (void)pen_api_coll_enter(call, team);
    if (!one_bit(flags & LIST_FLAGS))
        pen_api_misuse(call,
                       "flags 0x%x: GASNET_COLL_SINGLE or GASNET_COLL_LOCAL is needed, to tell "
                       "lists of the addresses of all ranks from lists of this rank's",
                       flags);
    if (list == NULL)
        pen_api_misuse(call, "a list of addresses is NULL");
    const bool single = (flags & GASNET_COLL_SINGLE) != 0;
    if (pen_api_images_call(team, flags))
        return list[single ? pen_api_image(call) : pen_api_image_place(call)];
    return list[single ? team->view.rank : 0];
}

/* ---- moving: begun --------------------------------------------------------------------------- */

gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                              gasnet_image_t srcimage, void *src, size_t nbytes,
                                              int flags)
{
    pen_coll_move move = { PEN_COLL_BROADCAST, srcimage, dst, src, nbytes, 0 };
    return begin_rooted("gasnet_coll_broadcast", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                            gasnet_image_t srcimage, void *src, size_t nbytes,
                                            int flags)
{
    pen_coll_move move = { PEN_COLL_SCATTER, srcimage, dst, src, nbytes, 0 };
    return begin_rooted("gasnet_coll_scatter", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t dstimage,
                                           void *dst, void *src, size_t nbytes, int flags)
{
    pen_coll_move move = { PEN_COLL_GATHER, dstimage, dst, src, nbytes, 0 };
    return begin_rooted("gasnet_coll_gather", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src,
                                               size_t nbytes, int flags)
{
    pen_coll_move move = { PEN_COLL_GATHER, PEN_COLL_ALL, dst, src, nbytes, 0 };
    return begin("gasnet_coll_gather_all", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src,
                                             size_t nbytes, int flags)
{
    pen_coll_move move = { PEN_COLL_EXCHANGE, PEN_COLL_ALL, dst, src, nbytes, 0 };
    return begin("gasnet_coll_exchange", team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                               gasnet_image_t srcimage, void *src, size_t nbytes,
                                               int flags)
{
    static const char call[] = "gasnet_coll_broadcastM";
    pen_coll_move move = {
        PEN_COLL_BROADCAST, srcimage, own(call, team, dstlist, flags), src, nbytes, 0
    };
    return begin_rooted(call, team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                             gasnet_image_t srcimage, void *src, size_t nbytes,
                                             int flags)
{
    static const char call[] = "gasnet_coll_scatterM";
    pen_coll_move move = { PEN_COLL_SCATTER, srcimage, own(call, team, dstlist, flags), src,
                           nbytes,           0 };
    return begin_rooted(call, team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage,
                                            void *dst, void *const srclist[], size_t nbytes,
                                            int flags)
{
    static const char call[] = "gasnet_coll_gatherM";
    pen_coll_move move = { PEN_COLL_GATHER, dstimage, dst, own(call, team, srclist, flags),
                           nbytes,          0 };
    return begin_rooted(call, team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                                void *const srclist[], size_t nbytes, int flags)
{
    static const char call[] = "gasnet_coll_gather_allM";
    pen_coll_move move = { PEN_COLL_GATHER,
                           PEN_COLL_ALL,
                           own(call, team, dstlist, flags),
                           own(call, team, srclist, flags),
                           nbytes,
                           0 };
    return begin(call, team, &move, flags);
}

gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team, void *const dstlist[],
                                              void *const srclist[], size_t nbytes, int flags)
{
    static const char call[] = "gasnet_coll_exchangeM";
    pen_coll_move move = { PEN_COLL_EXCHANGE,
                           PEN_COLL_ALL,
                           own(call, team, dstlist, flags),
                           own(call, team, srclist, flags),
                           nbytes,
                           0 };
    return begin(call, team, &move, flags);
}

/* ---- moving: waited for ---------------------------------------------------------------------- */

void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src,
                           size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_broadcast_nb(team, dst, srcimage, src, nbytes, flags));
}

void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src,
                         size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_scatter_nb(team, dst, srcimage, src, nbytes, flags));
}

void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src,
                        size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_gather_nb(team, dstimage, dst, src, nbytes, flags));
}

void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                            int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_gather_all_nb(team, dst, src, nbytes, flags));
}

void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_exchange_nb(team, dst, src, nbytes, flags));
}

void gasnet_coll_broadcastM(gasnet_team_handle_t team, void *const dstlist[],
                            gasnet_image_t srcimage, void *src, size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_broadcastM_nb(team, dstlist, srcimage, src, nbytes, flags));
}

void gasnet_coll_scatterM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage,
                          void *src, size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_scatterM_nb(team, dstlist, srcimage, src, nbytes, flags));
}

void gasnet_coll_gatherM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                         void *const srclist[], size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_gatherM_nb(team, dstimage, dst, srclist, nbytes, flags));
}

void gasnet_coll_gather_allM(gasnet_team_handle_t team, void *const dstlist[],
                             void *const srclist[], size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_gather_allM_nb(team, dstlist, srclist, nbytes, flags));
}

void gasnet_coll_exchangeM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
                           size_t nbytes, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_exchangeM_nb(team, dstlist, srclist, nbytes, flags));
}

/* ---- start and teams ------------------------------------------------------------------------- */

/* The functions for reductions, by number. */
struct pen_coll_functions {
    size_t count;
    gasnet_coll_fn_entry_t entries[];
};

static pen_coll_functions *functions_copy(const char *call, const gasnet_coll_fn_entry_t *table,
                                          size_t count)
{
    if (table == NULL && count != 0)
        pen_api_misuse(call, "fn_tbl is NULL, for %zu functions", count);
    for (size_t i = 0; i < count; i++)
        if (table[i].fnptr == NULL)
            pen_api_misuse(call, "fn_tbl[%zu].fnptr is NULL", i);
    pen_coll_functions *functions = NULL;
    if (count <= (SIZE_MAX - sizeof *functions) / sizeof *table)
        functions = malloc(sizeof *functions + count * sizeof *table);
    if (functions == NULL)
        pen_api_misuse(call, "a table of %zu functions: malloc: %s; register fewer", count,
                       strerror(ENOMEM));
    functions->count = count;
    if (count != 0)
        memcpy(functions->entries, table, count * sizeof *table);
    return functions;
}

static bool has_several(const pen_job *job, const gasnet_image_t images[])
{
    for (uint32_t rank = 0; images != NULL && rank < job->size; rank++)
        if (images[rank] > 1)
            return true;
    return false;
}

static void check_images(const char *call, const pen_job *job, const gasnet_image_t images[],
                         gasnet_image_t my_image)
{
    for (uint32_t rank = 0; rank < job->size; rank++)
        if (images[rank] == 0)
            pen_api_misuse(call, "images[%u] is 0: each rank has at least one image", rank);
    if (!has_several(job, images) && my_image != job->rank)
        pen_api_misuse(call,
                       "my_image is %u, but each rank has one image, and this is rank %u; pass its "
                       "rank, or NULL for images",
                       my_image, job->rank);
}

/* Stores the functions; each image of a rank passes the same. */
static void keep_functions(const char *call, const gasnet_coll_fn_entry_t *table, size_t count,
                           bool several)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    const pen_coll_functions *kept = pen_api_root.coll_functions;
    if (kept != NULL && !several)
        pen_api_misuse(call, "called again; once for each rank is enough");
    if (kept != NULL && kept->count != count)
        pen_api_misuse(call, "%zu functions, and another image of this rank has %zu", count,
                       kept->count);
    if (kept == NULL)
        pen_api_root.coll_functions = functions_copy(call, table, count);
    (void)pthread_mutex_unlock(&lock);
}

void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                      gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags)
{
    static const char call[] = "gasnet_coll_init";
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    (void)init_flags;
    if (images != NULL)
        check_images(call, job, images, my_image);
    const bool several = has_several(job, images);
    keep_functions(call, fn_tbl, fn_count, several);
    if (several)
        pen_api_images_init(call, job, images, my_image);
}

gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_image_t mycolor,
                                            gasnet_image_t myrelrank, void *clientdata)
{
    static const char call[] = "gasnet_coll_team_split";
    pen_thread *thread = pen_api_coll_enter(call, parent);
    if (mycolor > INT_MAX || myrelrank > INT_MAX)
        pen_api_misuse(call, "mycolor %u, myrelrank %u: at most %d", mycolor, myrelrank, INT_MAX);
    pen_team *team = pen_team_split(thread, parent, true, (int)mycolor, (int)myrelrank, call);
    team->flags = GEX_FLAG_TM_NO_SCRATCH;
    team->cdata = clientdata;
    return team;
}

gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, gasnet_image_t rank)
{
    return gex_TM_TranslateRankToJobrank(team, rank);
}

gasnet_image_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node)
{
    return gex_TM_TranslateJobrankToRank(team, node);
}

gasnet_image_t gasnet_coll_team_size(gasnet_team_handle_t team) { return gex_TM_QuerySize(team); }

/* ---- reducing -------------------------------------------------------------------------------- */

/* Adapts the client's function to the contract of pen_reduction.function. */
static void call_entry(const void *left, void *right_and_result, size_t count, const void *self)
{
    const pen_reduction *reduction = self;
    const gasnet_coll_fn_entry_t *entry = reduction->context;
    if (count == 0) /* further steps keep the ranks together */
        return;
    entry->fnptr(right_and_result, count, left, count, right_and_result, reduction->element_len,
                 (int)entry->flags, reduction->argument);
}

static const gasnet_coll_fn_entry_t *entry_of(const char *call, gasnet_coll_fn_handle_t func)
{
    const pen_coll_functions *functions = pen_api_root.coll_functions;
    if (functions == NULL)
        pen_api_misuse(call, "called before gasnet_coll_init, which registers func");
    if (func >= functions->count)
        pen_api_misuse(call, "there is no function %u: gasnet_coll_init registered %zu", func,
                       functions->count);
    return &functions->entries[func];
}

/* Elements of a type that the library does not know. */
static pen_reduction reduction_of(const char *call, gasnet_coll_fn_handle_t func, int func_arg,
                                  size_t elem_size, size_t elem_count)
{
    const gasnet_coll_fn_entry_t *entry = entry_of(call, func);
    if (elem_size == 0 && elem_count != 0)
        pen_api_misuse(call, "elem_size is 0, for %zu elements", elem_count);
    return (pen_reduction){
        .type = GEX_DT_USER,
        .operation = entry->flags & GASNET_COLL_NONCOMM ? GEX_OP_USER_NC : GEX_OP_USER,
        .element_len = elem_size != 0 ? elem_size : 1,
        .count = elem_count,
        .function = call_entry,
        .context = entry,
        .takes_itself = true,
        .argument = func_arg,
    };
}

/* Returns the first byte of src to combine. */
static void *part_of(const char *call, void *src, size_t block, size_t offset,
                     const pen_reduction *reduction)
{
    if (block != 0 && (offset > block || reduction->count > block - offset))
        pen_api_misuse(call, "%zu elements from number %zu on are not in a block of %zu",
                       reduction->count, offset, block);
    if (offset > SIZE_MAX / reduction->element_len)
        pen_api_misuse(call, "src_offset %zu is more than there can be", offset);
    return src == NULL ? NULL : (char *)src + offset * reduction->element_len;
}

static gex_Event_t reduce(const char *call, pen_team *team, gasnet_image_t root, void *dst,
                          const void *src, pen_reduction *reduction, int flags)
{
    pen_thread *thread = pen_api_coll_enter(call, team);
    check_root(call, team, root, flags);
    reduction->together = together_of(call, flags);
    if (!pen_api_images_call(team, flags))
        return pen_api_coll_reduce(call, thread, team, root, dst, src, reduction);
    pen_api_coll_check_reduction(call, reduction);
    const pen_coll_move move = {
        .kind = PEN_COLL_REDUCE,
        .root = root,
        .dest = dst,
        .source = src,
        .len = reduction->count * reduction->element_len,
        .together = reduction->together,
    };
    return pen_api_images_begin(call, thread, &move, reduction);
}

gasnet_coll_handle_t gasnet_coll_reduce_nb(gasnet_team_handle_t team, gasnet_image_t dstimage,
                                           void *dst, void *src, size_t src_blksz,
                                           size_t src_offset, size_t elem_size, size_t elem_count,
                                           gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    static const char call[] = "gasnet_coll_reduce";
    pen_reduction reduction = reduction_of(call, func, func_arg, elem_size, elem_count);
    const void *from = part_of(call, src, src_blksz, src_offset, &reduction);
    return reduce(call, team, dstimage, dst, from, &reduction, flags);
}

gasnet_coll_handle_t gasnet_coll_reduceM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage,
                                            void *dst, void *const srclist[], size_t src_blksz,
                                            size_t src_offset, size_t elem_size, size_t elem_count,
                                            gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    static const char call[] = "gasnet_coll_reduceM";
    void *src = own(call, team, srclist, flags);
    pen_reduction reduction = reduction_of(call, func, func_arg, elem_size, elem_count);
    const void *from = part_of(call, src, src_blksz, src_offset, &reduction);
    return reduce(call, team, dstimage, dst, from, &reduction, flags);
}

void gasnet_coll_reduce(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src,
                        size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
                        gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_reduce_nb(team, dstimage, dst, src, src_blksz, src_offset,
                                                elem_size, elem_count, func, func_arg, flags));
}

void gasnet_coll_reduceM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                         void *const srclist[], size_t src_blksz, size_t src_offset,
                         size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
                         int func_arg, int flags)
{
    gasnet_coll_wait_sync(gasnet_coll_reduceM_nb(team, dstimage, dst, srclist, src_blksz,
                                                 src_offset, elem_size, elem_count, func, func_arg,
                                                 flags));
}

/* ---- handles --------------------------------------------------------------------------------- */

void gasnet_coll_wait_sync(gasnet_coll_handle_t handle)
{
    if (pen_api_root.images == NULL)
        gex_Event_Wait(handle);
    else
        while (gex_Event_Test(handle) != 0)
            (void)pen_api_images_step();
}

void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t count)
{
    if (pen_api_root.images == NULL)
        gex_Event_WaitSome(handles, count, 0);
    else
        while (gex_Event_TestSome(handles, count, 0) != 0)
            (void)pen_api_images_step();
}

void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t count)
{
    if (pen_api_root.images == NULL)
        gex_Event_WaitAll(handles, count, 0);
    else
        while (gex_Event_TestAll(handles, count, 0) != 0)
            (void)pen_api_images_step();
}

static void poll(void)
{
    if (!pen_api_images_step())
        (void)gasnet_AMPoll();
}

int gasnet_coll_try_sync(gasnet_coll_handle_t handle)
{
    poll();
    return gex_Event_Test(handle) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t count)
{
    poll();
    return gex_Event_TestSome(handles, count, 0) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t count)
{
    poll();
    return gex_Event_TestAll(handles, count, 0) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}

/* ---- tuning ---------------------------------------------------------------------------------- */

void gasnet_coll_loadTuningState(const char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    (void)team;
}

void gasnet_coll_dumpTuningState(const char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    (void)team;
}

void gasnet_coll_dumpProfile(const char *filename, gasnet_team_handle_t team)
{
    (void)filename;
    (void)team;
}
