/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_abi.h: the part of the PMIx standard's C interface that pmix_client.c uses.
 *
 * Penstock carries these declarations itself, so that every build joins the jobs of PMIx launchers,
 * whether or not PMIx's headers are installed. The standard fixes the values and the layouts; they
 * hold for every libpmix.so.2. tests/unit/pmix/pmix_abi_test.c compares them with pmix.h. */
#ifndef PEN_PMIX_PMIX_ABI_H
#define PEN_PMIX_PMIX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_PMIX_NAME_LEN = 256, /* bytes of a namespace's name, with the zero at its end */
    PEN_PMIX_KEY_LEN = 512,  /* bytes of a key, with the zero at its end */
};

/* Statuses and events. */
enum {
    PEN_PMIX_SUCCESS = 0,
    PEN_PMIX_ERR_DUPLICATE_KEY = -53,
    PEN_PMIX_ERR_LOST_CONNECTION = -61,
    PEN_PMIX_ERR_PROC_TERM_WO_SYNC = -200,
    PEN_PMIX_ERR_PROC_ABORTED_BY_SIG = -402,
    PEN_PMIX_EVENT_NO_ACTION_TAKEN = -331,
};

/* Types of values. */
enum {
    PEN_PMIX_BOOL = 1,
    PEN_PMIX_STRING = 3,
    PEN_PMIX_INT = 6,
    PEN_PMIX_INT32 = 9,
    PEN_PMIX_UINT32 = 14,
    PEN_PMIX_BYTE_OBJECT = 27,
    PEN_PMIX_POINTER = 31,
    PEN_PMIX_DATA_RANGE = 33,
};

enum { PEN_PMIX_GLOBAL = 3, PEN_PMIX_RANGE_SESSION = 4 };

#define PEN_PMIX_RANK_WILDCARD           (UINT32_MAX - 1)

#define PEN_PMIX_KEY_JOB_SIZE            "pmix.job.size"
#define PEN_PMIX_KEY_LOCAL_PEERS         "pmix.lpeers"
#define PEN_PMIX_KEY_COLLECT_DATA        "pmix.collect"
#define PEN_PMIX_KEY_EVENT_RETURN_OBJECT "pmix.evobject"
#define PEN_PMIX_KEY_RANGE               "pmix.range"
#define PEN_PMIX_KEY_WAIT                "pmix.wait"

typedef int pen_pmix_status;

typedef struct pen_pmix_proc {
    char nspace[PEN_PMIX_NAME_LEN];
    uint32_t rank;
} pen_pmix_proc;

typedef struct pen_pmix_value {
    uint16_t type;
    union {
        bool flag;
        int integer;
        int32_t int32;
        uint32_t uint32;
        uint8_t range;
        char *string;
        void *ptr;
        struct {
            char *bytes;
            size_t size;
        } bo;
        /* reserves the room of the standard's union, whose further members are not used */
        uint64_t largest[3];
    } data;
} pen_pmix_value;

typedef struct pen_pmix_info {
    char key[PEN_PMIX_KEY_LEN];
    uint32_t flags;
    pen_pmix_value value;
} pen_pmix_info;

typedef struct pen_pmix_pdata {
    pen_pmix_proc proc;
    char key[PEN_PMIX_KEY_LEN];
    pen_pmix_value value;
} pen_pmix_pdata;

/* Types of functions that the library calls back. */
typedef void pen_pmix_on_op(pen_pmix_status status, void *ctx);
typedef void pen_pmix_on_lookup(pen_pmix_status status, pen_pmix_pdata data[], size_t count,
                                void *ctx);
typedef void pen_pmix_on_registered(pen_pmix_status status, size_t handler, void *ctx);
typedef void pen_pmix_event_done(pen_pmix_status status, pen_pmix_info *results,
                                 size_t result_count, pen_pmix_on_op *op, void *op_ctx, void *ctx);
typedef void pen_pmix_on_event(size_t handler, pen_pmix_status status, const pen_pmix_proc *source,
                               pen_pmix_info info[], size_t info_count, pen_pmix_info *results,
                               size_t result_count, pen_pmix_event_done *done, void *done_ctx);

/* The functions of the library, PMIx_<field> each. */
typedef struct pen_pmix_calls {
    pen_pmix_status (*Init)(pen_pmix_proc *proc, pen_pmix_info info[], size_t info_count);
    pen_pmix_status (*Finalize)(const pen_pmix_info info[], size_t info_count);
    pen_pmix_status (*Abort)(int status, const char text[], pen_pmix_proc procs[],
                             size_t proc_count);
    pen_pmix_status (*Put)(uint8_t scope, const char key[], pen_pmix_value *value);
    pen_pmix_status (*Commit)(void);
    pen_pmix_status (*Fence_nb)(const pen_pmix_proc procs[], size_t proc_count,
                                const pen_pmix_info info[], size_t info_count, pen_pmix_on_op *done,
                                void *ctx);
    pen_pmix_status (*Get)(const pen_pmix_proc *proc, const char key[], const pen_pmix_info info[],
                           size_t info_count, pen_pmix_value **value);
    pen_pmix_status (*Publish_nb)(const pen_pmix_info info[], size_t info_count,
                                  pen_pmix_on_op *done, void *ctx);
    pen_pmix_status (*Lookup_nb)(char **keys, const pen_pmix_info info[], size_t info_count,
                                 pen_pmix_on_lookup *done, void *ctx);
    pen_pmix_status (*Register_event_handler)(pen_pmix_status codes[], size_t code_count,
                                              pen_pmix_info info[], size_t info_count,
                                              pen_pmix_on_event *handler,
                                              pen_pmix_on_registered *done, void *ctx);
    const char *(*Error_string)(pen_pmix_status status);
    const char *(*Get_version)(void);
} pen_pmix_calls;

#endif
