/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_client.c: the only file that uses PMIx's types and calls. It uses only the functions of
 * pen_pmix_calls, so values and arrays are filled and freed by hand. */
#include "pmix/pmix_client.h"

#include "pmix/pmix_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libpmix.so.2"
#define END_KEY "penstock.end." /* followed by the namespace */

/* Names in the order of pen_pmix_calls. */
static const char *const library_names[] = {
    "PMIx_Init",         "PMIx_Finalize",
    "PMIx_Abort",        "PMIx_Put",
    "PMIx_Commit",       "PMIx_Fence_nb",
    "PMIx_Get",          "PMIx_Publish_nb",
    "PMIx_Lookup_nb",    "PMIx_Register_event_handler",
    "PMIx_Error_string", "PMIx_Get_version",
};
enum { LIBRARY_NAMES = sizeof(library_names) / sizeof(library_names[0]) };
_Static_assert(sizeof(pen_pmix_calls) == LIBRARY_NAMES * sizeof(void *), "a name for each field");

struct pen_pmix {
    int news;
    pen_pmix_proc self;
    uint32_t fence_tag;
    pen_pmix_proc *fence_ranks; /* PMIx reads them until the fence is over */
    /* PMIx reads these until the call is over */
    pen_pmix_info fence_info[1], notify_info[2], listen_info[2];
    char end_key[sizeof(END_KEY) + PEN_PMIX_NAME_LEN];
    char *listen_keys[2];
    pen_pmix_calls calls;
};

const char pen_pmix_key_job_size[] = PEN_PMIX_KEY_JOB_SIZE;
const char pen_pmix_key_local_peers[] = PEN_PMIX_KEY_LOCAL_PEERS;

/* ---- the library ----------------------------------------------------------------------------- */

pen_pmix *pen_pmix_open(const char **why)
{
    pen_pmix *pmix = calloc(1, sizeof(*pmix));
    *why = "out of memory";
    if (pmix == NULL)
        return NULL;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;
    for (int i = 0; complete && i < LIBRARY_NAMES; i++) {
        void *found = dlsym(library, library_names[i]);
        memcpy((char *)&pmix->calls + (size_t)i * sizeof(found), &found, sizeof(found));
        complete = found != NULL;
    }
    if (complete)
        return pmix;
    *why = dlerror();
    pen_pmix_close(pmix);
    return NULL;
}

void pen_pmix_close(pen_pmix *pmix)
{
    free(pmix->fence_ranks);
    free(pmix);
}

const char *pen_pmix_version(pen_pmix *pmix) { return pmix->calls.Get_version(); }

static const char *text_of(pen_pmix *pmix, pen_pmix_status status)
{
    return status == PEN_PMIX_SUCCESS ? NULL : pmix->calls.Error_string(status);
}

/* ---- news: functions that threads of PMIx call ----------------------------------------------- */

static void tell(const pen_pmix *pmix, pen_pmix_kind kind, uint32_t tag, int code)
{
    const pen_pmix_news news = { .kind = kind, .tag = tag, .code = code };
    if (write(pmix->news, &news, sizeof(news)) < 0) /* a pipe takes this whole or not at all */
        return;                                     /* the reader is gone */
}

static void on_fenced(pen_pmix_status status, void *ctx)
{
    const pen_pmix *pmix = ctx;
    tell(pmix, PEN_PMIX_FENCED, pmix->fence_tag, status);
}

static void on_notified(pen_pmix_status status, void *ctx)
{
    tell(ctx, PEN_PMIX_NOTIFIED, 0,
         status == PEN_PMIX_ERR_DUPLICATE_KEY ? PEN_PMIX_SUCCESS : status);
}

static void on_found(pen_pmix_status status, pen_pmix_pdata *data, size_t count, void *ctx)
{
    if (status == PEN_PMIX_SUCCESS && count == 1 && data[0].value.type == PEN_PMIX_INT32)
        tell(ctx, PEN_PMIX_TOLD, 0, data[0].value.data.int32);
    else
        tell(ctx, PEN_PMIX_DEAF, 0, status);
}

static const pen_pmix_value *value_in(const pen_pmix_info *info, size_t count, const char *key,
                                      uint16_t type)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(info[i].key, key) == 0 && info[i].value.type == type)
            return &info[i].value;
    return NULL;
}

static void on_event(size_t handler, pen_pmix_status status, const pen_pmix_proc *source,
                     pen_pmix_info *info, size_t info_count, pen_pmix_info *results,
                     size_t result_count, pen_pmix_event_done *done, void *done_ctx)
{
    (void)handler, (void)results, (void)result_count;
    const pen_pmix_value *object =
        value_in(info, info_count, PEN_PMIX_KEY_EVENT_RETURN_OBJECT, PEN_PMIX_POINTER);
    const pen_pmix *pmix = object != NULL ? object->data.ptr : NULL;
    if (pmix != NULL && status == PEN_PMIX_ERR_LOST_CONNECTION)
        tell(pmix, PEN_PMIX_SERVER_LOST, 0, 0);
    else if (pmix != NULL && source != NULL &&
             strncmp(source->nspace, pmix->self.nspace, sizeof(source->nspace)) == 0)
        tell(pmix, PEN_PMIX_PEER_LOST, 0, (int)source->rank);
    if (done != NULL) /* lets this process's further handlers run */
        done(PEN_PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, done_ctx);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void info_set(pen_pmix_info *info, const char *key, uint16_t type)
{
    memset(info, 0, sizeof(*info));
    strncpy(info->key, key, sizeof(info->key) - 1);
    info->value.type = type;
}

const char *pen_pmix_begin(pen_pmix *pmix, int news, uint32_t *rank)
{
    pen_pmix_status events[] = { PEN_PMIX_ERR_LOST_CONNECTION, PEN_PMIX_ERR_PROC_ABORTED_BY_SIG,
                                 PEN_PMIX_ERR_PROC_TERM_WO_SYNC };
    pen_pmix_info info[1];
    pmix->news = news;
    pen_pmix_status status = pmix->calls.Init(&pmix->self, NULL, 0);
    if (status != PEN_PMIX_SUCCESS)
        return text_of(pmix, status);
    *rank = pmix->self.rank;
    info_set(&info[0], PEN_PMIX_KEY_EVENT_RETURN_OBJECT, PEN_PMIX_POINTER);
    info[0].value.data.ptr = pmix;
    status = pmix->calls.Register_event_handler(events, sizeof(events) / sizeof(events[0]), info, 1,
                                                on_event, NULL, NULL);
    /* a status that is not negative is the handler's number */
    return status < 0 ? text_of(pmix, status) : NULL;
}

const char *pen_pmix_finish(pen_pmix *pmix) { return text_of(pmix, pmix->calls.Finalize(NULL, 0)); }

/* ---- values ---------------------------------------------------------------------------------- */

static pen_pmix_proc proc_of(const pen_pmix *pmix, uint32_t rank)
{
    pen_pmix_proc proc = pmix->self;
    proc.rank = rank == PEN_PMIX_WHOLE_JOB ? PEN_PMIX_RANK_WILDCARD : rank;
    return proc;
}

/* Gets a value of the launcher. The caller frees *out and the memory that it points to. */
static const char *get(pen_pmix *pmix, uint32_t rank, const char *key, uint16_t type,
                       pen_pmix_value **out)
{
    const pen_pmix_proc proc = proc_of(pmix, rank);
    pen_pmix_status status = pmix->calls.Get(&proc, key, NULL, 0, out);
    if (status != PEN_PMIX_SUCCESS)
        return text_of(pmix, status);
    if ((*out)->type == type)
        return NULL;
    free(*out); /* not freed deeply, since the type is unexpected: leaks a few bytes, once */
    return "a value of another type than it should have";
}

const char *pen_pmix_get_u32(pen_pmix *pmix, uint32_t rank, const char *key, uint32_t *out)
{
    pen_pmix_value *value;
    const char *error = get(pmix, rank, key, PEN_PMIX_UINT32, &value);
    if (error != NULL)
        return error;
    *out = value->data.uint32;
    free(value);
    return NULL;
}

const char *pen_pmix_get_text(pen_pmix *pmix, uint32_t rank, const char *key, char **out)
{
    pen_pmix_value *value;
    const char *error = get(pmix, rank, key, PEN_PMIX_STRING, &value);
    if (error != NULL)
        return error;
    *out = value->data.string;
    free(value);
    return *out == NULL ? "an empty value" : NULL;
}

const char *pen_pmix_get_bytes(pen_pmix *pmix, uint32_t rank, const char *key, char **out,
                               size_t *len_out)
{
    pen_pmix_value *value;
    const char *error = get(pmix, rank, key, PEN_PMIX_BYTE_OBJECT, &value);
    if (error != NULL)
        return error;
    *out = value->data.bo.bytes;
    *len_out = value->data.bo.size;
    free(value);
    return NULL;
}

const char *pen_pmix_put_bytes(pen_pmix *pmix, const char *key, const void *bytes, size_t len)
{
    pen_pmix_value value = { .type = PEN_PMIX_BYTE_OBJECT };
    value.data.bo.bytes = (char *)(uintptr_t)bytes; /* PMIx copies them */
    value.data.bo.size = len;
    pen_pmix_status status = pmix->calls.Put(PEN_PMIX_GLOBAL, key, &value);
    if (status == PEN_PMIX_SUCCESS)
        status = pmix->calls.Commit();
    return text_of(pmix, status);
}

/* ---- fence, notify, abort -------------------------------------------------------------------- */

const char *pen_pmix_fence(pen_pmix *pmix, const uint32_t *ranks, uint32_t count, uint32_t tag)
{
    pen_pmix_proc *procs = calloc(count + 1u, sizeof(*procs));
    if (procs == NULL)
        return "out of memory";
    for (uint32_t i = 0; i < count; i++)
        procs[i] = proc_of(pmix, ranks[i]);
    if (count == 0)
        procs[0] = proc_of(pmix, PEN_PMIX_WHOLE_JOB);
    free(pmix->fence_ranks);
    pmix->fence_ranks = procs;
    pmix->fence_tag = tag;
    info_set(&pmix->fence_info[0], PEN_PMIX_KEY_COLLECT_DATA, PEN_PMIX_BOOL);
    pmix->fence_info[0].value.data.flag = true;
    return text_of(pmix, pmix->calls.Fence_nb(procs, count == 0 ? 1 : count, pmix->fence_info, 1,
                                              on_fenced, pmix));
}

/* Makes the key that announces the end. All jobs that use the same store see it, so it names the
 * namespace; Open MPI does not find values published for a namespace only. */
static void end_key_set(pen_pmix *pmix, pen_pmix_info *range)
{
    (void)snprintf(pmix->end_key, sizeof(pmix->end_key), END_KEY "%s", pmix->self.nspace);
    info_set(range, PEN_PMIX_KEY_RANGE, PEN_PMIX_DATA_RANGE);
    range->value.data.range = PEN_PMIX_RANGE_SESSION;
}

const char *pen_pmix_notify(pen_pmix *pmix, int code)
{
    end_key_set(pmix, &pmix->notify_info[1]);
    info_set(&pmix->notify_info[0], pmix->end_key, PEN_PMIX_INT32);
    pmix->notify_info[0].value.data.int32 = code;
    return text_of(pmix, pmix->calls.Publish_nb(pmix->notify_info, 2, on_notified, pmix));
}

const char *pen_pmix_listen(pen_pmix *pmix)
{
    end_key_set(pmix, &pmix->listen_info[1]);
    info_set(&pmix->listen_info[0], PEN_PMIX_KEY_WAIT, PEN_PMIX_INT);
    pmix->listen_info[0].value.data.integer = 1; /* wait until one value is there */
    pmix->listen_keys[0] = pmix->end_key;
    return text_of(pmix,
                   pmix->calls.Lookup_nb(pmix->listen_keys, pmix->listen_info, 2, on_found, pmix));
}

void pen_pmix_abort(pen_pmix *pmix, int code, const char *text)
{
    (void)pmix->calls.Abort(code, text, NULL, 0);
}
