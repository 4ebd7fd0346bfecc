/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_abi_test.c: our declarations of PMIx are those of its header. The compiler compares them
 * where the header is installed; elsewhere the test is reported as skipped. */
#include "pmix/pmix_abi.h"

#include <stdio.h>

#if __has_include(<pmix.h>)
#    include <pmix.h>

/* Sizes and offsets. */
#    define SAME_SIZE(name)                                                                   \
        _Static_assert(sizeof(pen_pmix_##name) == sizeof(pmix_##name##_t), "size of " #name); \
        _Static_assert(_Alignof(pen_pmix_##name) == _Alignof(pmix_##name##_t),                \
                       "alignment of " #name)
#    define SAME_FIELD(name, field)                                                            \
        _Static_assert(offsetof(pen_pmix_##name, field) == offsetof(pmix_##name##_t, field) && \
                           sizeof(((pen_pmix_##name *)0)->field) ==                            \
                               sizeof(((pmix_##name##_t *)0)->field),                          \
                       #name "." #field)

SAME_SIZE(status);
SAME_SIZE(proc);
SAME_FIELD(proc, nspace);
SAME_FIELD(proc, rank);
SAME_SIZE(value);
SAME_FIELD(value, type);
SAME_FIELD(value, data);
SAME_FIELD(value, data.flag);
SAME_FIELD(value, data.integer);
SAME_FIELD(value, data.int32);
SAME_FIELD(value, data.uint32);
SAME_FIELD(value, data.range);
SAME_FIELD(value, data.string);
SAME_FIELD(value, data.ptr);
SAME_FIELD(value, data.bo);
SAME_FIELD(value, data.bo.bytes);
SAME_FIELD(value, data.bo.size);
SAME_SIZE(info);
SAME_FIELD(info, key);
SAME_FIELD(info, flags);
SAME_FIELD(info, value);
SAME_SIZE(pdata);
SAME_FIELD(pdata, proc);
SAME_FIELD(pdata, key);
SAME_FIELD(pdata, value);
_Static_assert(sizeof(uint8_t) == sizeof(pmix_scope_t), "size of a scope");

/* Constants. */
#    define SAME_NUMBER(name) _Static_assert(PEN_##name == name, #name)
#    define SAME_TEXT(name) \
        _Static_assert(__builtin_strcmp(PEN_PMIX_KEY_##name, PMIX_##name) == 0, #name)

SAME_NUMBER(PMIX_SUCCESS);
SAME_NUMBER(PMIX_ERR_DUPLICATE_KEY);
SAME_NUMBER(PMIX_ERR_LOST_CONNECTION);
SAME_NUMBER(PMIX_ERR_PROC_TERM_WO_SYNC);
SAME_NUMBER(PMIX_ERR_PROC_ABORTED_BY_SIG);
SAME_NUMBER(PMIX_EVENT_NO_ACTION_TAKEN);
SAME_NUMBER(PMIX_BOOL);
SAME_NUMBER(PMIX_STRING);
SAME_NUMBER(PMIX_INT);
SAME_NUMBER(PMIX_INT32);
SAME_NUMBER(PMIX_UINT32);
SAME_NUMBER(PMIX_BYTE_OBJECT);
SAME_NUMBER(PMIX_POINTER);
SAME_NUMBER(PMIX_DATA_RANGE);
SAME_NUMBER(PMIX_GLOBAL);
SAME_NUMBER(PMIX_RANGE_SESSION);
SAME_NUMBER(PMIX_RANK_WILDCARD);
SAME_TEXT(JOB_SIZE);
SAME_TEXT(LOCAL_PEERS);
SAME_TEXT(COLLECT_DATA);
SAME_TEXT(EVENT_RETURN_OBJECT);
SAME_TEXT(RANGE);
SAME_TEXT(WAIT);

/* Functions: the shape is written down once, here, and holds for both with their own types. */
typedef pmix_op_cbfunc_t pmix_on_op_t;
typedef pmix_lookup_cbfunc_t pmix_on_lookup_t;
typedef pmix_hdlr_reg_cbfunc_t pmix_on_registered_t;
typedef pmix_event_notification_cbfunc_fn_t pmix_event_done_t;
typedef pmix_notification_fn_t pmix_on_event_t;
typedef pen_pmix_on_op *own_on_op;
typedef pen_pmix_on_lookup *own_on_lookup;
typedef pen_pmix_on_registered *own_on_registered;
typedef pen_pmix_event_done *own_event_done;
typedef pen_pmix_on_event *own_on_event;

#    define OWN(name)        pen_pmix_##name
#    define HEADERS(name)    pmix_##name##_t
#    define ON_OWN(name)     own_##name
#    define ON_HEADERS(name) pmix_##name##_t

#    define SHAPES(ROW, T, F)                                                                      \
        ROW(Init, T(status), (T(proc) *, T(info) *, size_t))                                       \
        ROW(Finalize, T(status), (const T(info) *, size_t))                                        \
        ROW(Abort, T(status), (int, const char *, T(proc) *, size_t))                              \
        ROW(Put, T(status), (uint8_t, const char *, T(value) *))                                   \
        ROW(Commit, T(status), (void))                                                             \
        ROW(Fence_nb, T(status),                                                                   \
            (const T(proc) *, size_t, const T(info) *, size_t, F(on_op), void *))                  \
        ROW(Get, T(status), (const T(proc) *, const char *, const T(info) *, size_t, T(value) **)) \
        ROW(Publish_nb, T(status), (const T(info) *, size_t, F(on_op), void *))                    \
        ROW(Lookup_nb, T(status), (char **, const T(info) *, size_t, F(on_lookup), void *))        \
        ROW(Register_event_handler, T(status),                                                     \
            (T(status) *, size_t, T(info) *, size_t, F(on_event), F(on_registered), void *))       \
        ROW(Error_string, const char *, (T(status)))                                               \
        ROW(Get_version, const char *, (void))

#    define OWN_CALL(name, result, arguments)                                                \
        _Static_assert(__builtin_types_compatible_p(__typeof__(((pen_pmix_calls *)0)->name), \
                                                    result(*) arguments),                    \
                       "pen_pmix_calls." #name);
#    define HEADERS_CALL(name, result, arguments)                                               \
        _Static_assert(__builtin_types_compatible_p(__typeof__(PMIx_##name), result arguments), \
                       "PMIx_" #name);

SHAPES(OWN_CALL, OWN, ON_OWN)
SHAPES(HEADERS_CALL, HEADERS, ON_HEADERS)

/* Functions that the library calls back, checked in the same way. */
#    define BACK_SHAPES(ROW, T, F)                                                          \
        ROW(F(on_op), (T(status), void *))                                                  \
        ROW(F(on_lookup), (T(status), T(pdata) *, size_t, void *))                          \
        ROW(F(on_registered), (T(status), size_t, void *))                                  \
        ROW(F(event_done), (T(status), T(info) *, size_t, F(on_op), void *, void *))        \
        ROW(F(on_event), (size_t, T(status), const T(proc) *, T(info) *, size_t, T(info) *, \
                          size_t, F(event_done), void *))
#    define BACK(type, arguments) \
        _Static_assert(__builtin_types_compatible_p(type, void(*) arguments), "a call back");

BACK_SHAPES(BACK, OWN, ON_OWN)
BACK_SHAPES(BACK, HEADERS, ON_HEADERS)

int main(void)
{
    (void)puts("the compiler found our declarations of PMIx to be those of pmix.h");
    return 0;
}
#else
int main(void)
{
    (void)puts("skipped: pmix.h is not installed (Debian: libpmix-dev)");
    return 77;
}
#endif
