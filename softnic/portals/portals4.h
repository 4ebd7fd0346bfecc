/* SPDX-License-Identifier: BSD-3-Clause */
/* portals4.h: the Portals 4 interface, level 4.3, of the software card. A program written for
 * Portals 4.3 compiles and runs with it unchanged; the numbers are those of the common header, but
 * programs use the names only.
 *
 * Purpose: processes of one host exchange data in real time as if each had a Portals 4 card. The
 * calls are thread-safe. Messages of one process to another are matched in the order of the calls.
 *
 * Differences that a program may notice: PtlTriggeredMEAppend and PtlTriggeredMEUnlink are left
 * out; see docs/conduits/portals-device.md. */
#ifndef PEN_SOFTNIC_PORTALS_PORTALS4_H
#define PEN_SOFTNIC_PORTALS_PORTALS4_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTL_MAJOR_VERSION 4
#define PTL_MINOR_VERSION 3

/* ---- types ------------------------------------------------------------------------------ */

typedef uint64_t ptl_size_t;
typedef uint32_t ptl_pt_index_t;
typedef uint64_t ptl_match_bits_t;
typedef uint64_t ptl_hdr_data_t;
typedef unsigned int ptl_time_t; /* milliseconds */
typedef unsigned int ptl_interface_t;
typedef uint32_t ptl_nid_t;
typedef uint32_t ptl_pid_t;
typedef uint32_t ptl_rank_t;
typedef uint32_t ptl_uid_t;
typedef enum {
    PTL_SR_DROP_COUNT,
    PTL_SR_PERMISSION_VIOLATIONS,
    PTL_SR_OPERATION_VIOLATIONS,
    PTL_SR_LAST
} ptl_sr_index_t;
typedef int ptl_sr_value_t;

typedef uint32_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_eq_t;
typedef ptl_handle_any_t ptl_handle_ct_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_le_t;
typedef ptl_handle_any_t ptl_handle_me_t;

typedef unsigned char ptl_ni_fail_t;
typedef unsigned char ptl_event_kind_t;
typedef unsigned char ptl_list_t;
typedef unsigned char ptl_search_op_t;
typedef unsigned char ptl_ack_req_t;
typedef unsigned char ptl_op_t;
typedef unsigned char ptl_datatype_t;
typedef enum { PTL_CT_OPERATION, PTL_CT_BYTE } ptl_ct_type_t;

/* ---- return codes ----------------------------------------------------------------------- */

enum ptl_retvals {
    PTL_OK = 0,
    PTL_ARG_INVALID,
    PTL_CT_NONE_REACHED,
    PTL_EQ_DROPPED,
    PTL_EQ_EMPTY,
    PTL_FAIL,
    PTL_IGNORED,
    PTL_IN_USE,
    PTL_LIST_TOO_LONG,
    PTL_NO_INIT,
    PTL_NO_SPACE,
    PTL_PID_IN_USE,
    PTL_PT_FULL,
    PTL_PT_EQ_NEEDED,
    PTL_PT_IN_USE,
    PTL_ABORTED,
    PTL_STATUS_LAST = PTL_PT_IN_USE + 1,
    PTL_INTERRUPTED = 0x200 /* never returned; older programs name it */
};

/* ---- special values --------------------------------------------------------------------- */

#define PTL_EQ_NONE        ((ptl_handle_eq_t)0x3fffffff)
#define PTL_CT_NONE        ((ptl_handle_ct_t)0x5fffffff)
#define PTL_INVALID_HANDLE ((ptl_handle_any_t)0xffffffff)
#define PTL_IFACE_DEFAULT  ((ptl_interface_t)0xffffffff)
#define PTL_PID_ANY        ((ptl_pid_t)0xffff)
#define PTL_PID_MAX        ((ptl_pid_t)1024)
#define PTL_NID_ANY        ((ptl_nid_t)0xffff)
#define PTL_UID_ANY        ((ptl_uid_t)0xffffffff)
#define PTL_PT_ANY         ((ptl_pt_index_t)0xffffffff)
#define PTL_RANK_ANY       ((ptl_rank_t)0xffffffff)
#define PTL_TIME_FOREVER   ((ptl_time_t)0xffffffff)
#define PTL_SIZE_MAX       ((ptl_size_t)0xffffffffffffffff)

/* ---- options ---------------------------------------------------------------------------- */

#define PTL_IOVEC 0x1u

enum ni_types {
    PTL_NI_MATCHING = 1,
    PTL_NI_NO_MATCHING = 2,
    PTL_NI_LOGICAL = 4,
    PTL_NI_PHYSICAL = 8,
    PTL_NI_INIT_OPTIONS_MASK = 15
};

enum ni_features {
    PTL_TARGET_BIND_INACCESSIBLE = 1,
    PTL_TOTAL_DATA_ORDERING = 2,
    PTL_COHERENT_ATOMICS = 4
};

enum pt_options {
    PTL_PT_ONLY_USE_ONCE = 1,
    PTL_PT_FLOWCTRL = 2,
    PTL_PT_ONLY_TRUNCATE = 4,
    PTL_PT_MATCH_UNORDERED = 8,
    PTL_PT_ALLOC_DISABLED = 16,
    PTL_PT_ALLOC_OPTIONS_MASK = 31
};

enum md_options {
    PTL_MD_EVENT_CT_SEND = 0x2,
    PTL_MD_EVENT_CT_REPLY = 0x4,
    PTL_MD_EVENT_CT_ACK = 0x8,
    PTL_MD_UNORDERED = 0x10,
    PTL_MD_EVENT_SUCCESS_DISABLE = 0x20,
    PTL_MD_VOLATILE = 0x40,
    PTL_MD_EVENT_SEND_DISABLE = 0x80,
    PTL_MD_UNRELIABLE = 0x100,
    PTL_MD_EVENT_CT_BYTES = 0x4000,
    PTL_MD_OPTIONS_MASK = 0x41ff
};

enum mele_options {
    PTL_LE_OP_PUT = 0x2,
    PTL_LE_OP_GET = 0x4,
    PTL_LE_USE_ONCE = 0x8,
    PTL_LE_UNEXPECTED_HDR_DISABLE = 0x10,
    PTL_LE_IS_ACCESSIBLE = 0x20,
    PTL_LE_EVENT_LINK_DISABLE = 0x40,
    PTL_LE_EVENT_COMM_DISABLE = 0x80,
    PTL_LE_EVENT_FLOWCTRL_DISABLE = 0x100,
    PTL_LE_EVENT_SUCCESS_DISABLE = 0x200,
    PTL_LE_EVENT_OVER_DISABLE = 0x400,
    PTL_LE_EVENT_UNLINK_DISABLE = 0x800,
    PTL_LE_EVENT_CT_COMM = 0x1000,
    PTL_LE_EVENT_CT_OVERFLOW = 0x2000,
    PTL_LE_EVENT_CT_BYTES = 0x4000,
    PTL_LE_APPEND_OPTIONS_MASK = 0x7fff
};

enum me_options {
    PTL_ME_OP_PUT = PTL_LE_OP_PUT,
    PTL_ME_OP_GET = PTL_LE_OP_GET,
    PTL_ME_USE_ONCE = PTL_LE_USE_ONCE,
    PTL_ME_UNEXPECTED_HDR_DISABLE = PTL_LE_UNEXPECTED_HDR_DISABLE,
    PTL_ME_IS_ACCESSIBLE = PTL_LE_IS_ACCESSIBLE,
    PTL_ME_EVENT_LINK_DISABLE = PTL_LE_EVENT_LINK_DISABLE,
    PTL_ME_EVENT_COMM_DISABLE = PTL_LE_EVENT_COMM_DISABLE,
    PTL_ME_EVENT_FLOWCTRL_DISABLE = PTL_LE_EVENT_FLOWCTRL_DISABLE,
    PTL_ME_EVENT_SUCCESS_DISABLE = PTL_LE_EVENT_SUCCESS_DISABLE,
    PTL_ME_EVENT_OVER_DISABLE = PTL_LE_EVENT_OVER_DISABLE,
    PTL_ME_EVENT_UNLINK_DISABLE = PTL_LE_EVENT_UNLINK_DISABLE,
    PTL_ME_EVENT_CT_COMM = PTL_LE_EVENT_CT_COMM,
    PTL_ME_EVENT_CT_OVERFLOW = PTL_LE_EVENT_CT_OVERFLOW,
    PTL_ME_EVENT_CT_BYTES = PTL_LE_EVENT_CT_BYTES,
    PTL_ME_MANAGE_LOCAL = 0x8000,
    PTL_ME_NO_TRUNCATE = 0x10000,
    PTL_ME_MAY_ALIGN = 0x20000,
    PTL_ME_LOCAL_INC_UH_RLENGTH = 0x40000,
    PTL_ME_APPEND_OPTIONS_MASK = 0x7ffff
};

/* Options of older levels. They have no effect. */
#define PTL_LE_ACK_DISABLE 0u
#define PTL_ME_ACK_DISABLE 0u

#define PTL_PRIORITY_LIST  ((ptl_list_t)0)
#define PTL_OVERFLOW_LIST  ((ptl_list_t)1)
#define PTL_SEARCH_ONLY    ((ptl_search_op_t)0)
#define PTL_SEARCH_DELETE  ((ptl_search_op_t)1)
#define PTL_NO_ACK_REQ     ((ptl_ack_req_t)0)
#define PTL_ACK_REQ        ((ptl_ack_req_t)1)
#define PTL_CT_ACK_REQ     ((ptl_ack_req_t)2)
#define PTL_OC_ACK_REQ     ((ptl_ack_req_t)3)

/* ---- events ----------------------------------------------------------------------------- */

enum {
    PTL_EVENT_GET,
    PTL_EVENT_GET_OVERFLOW,
    PTL_EVENT_PUT,
    PTL_EVENT_PUT_OVERFLOW,
    PTL_EVENT_ATOMIC,
    PTL_EVENT_ATOMIC_OVERFLOW,
    PTL_EVENT_FETCH_ATOMIC,
    PTL_EVENT_FETCH_ATOMIC_OVERFLOW,
    PTL_EVENT_REPLY,
    PTL_EVENT_SEND,
    PTL_EVENT_ACK,
    PTL_EVENT_PT_DISABLED,
    PTL_EVENT_LINK,
    PTL_EVENT_AUTO_UNLINK,
    PTL_EVENT_AUTO_FREE,
    PTL_EVENT_SEARCH
};

enum {
    PTL_NI_OK,
    PTL_NI_UNDELIVERABLE,
    PTL_NI_DROPPED,
    PTL_NI_PT_DISABLED,
    PTL_NI_PERM_VIOLATION,
    PTL_NI_OP_VIOLATION,
    PTL_NI_NO_MATCH,
    PTL_NI_SEGV
};

/* ---- atomics ---------------------------------------------------------------------------- */

#define PTL_MIN                 ((ptl_op_t)0)
#define PTL_MAX                 ((ptl_op_t)1)
#define PTL_SUM                 ((ptl_op_t)2)
#define PTL_PROD                ((ptl_op_t)3)
#define PTL_LOR                 ((ptl_op_t)4)
#define PTL_LAND                ((ptl_op_t)5)
#define PTL_BOR                 ((ptl_op_t)6)
#define PTL_BAND                ((ptl_op_t)7)
#define PTL_LXOR                ((ptl_op_t)8)
#define PTL_BXOR                ((ptl_op_t)9)
#define PTL_SWAP                ((ptl_op_t)10)
#define PTL_CSWAP               ((ptl_op_t)11)
#define PTL_CSWAP_NE            ((ptl_op_t)12)
#define PTL_CSWAP_LE            ((ptl_op_t)13)
#define PTL_CSWAP_LT            ((ptl_op_t)14)
#define PTL_CSWAP_GE            ((ptl_op_t)15)
#define PTL_CSWAP_GT            ((ptl_op_t)16)
#define PTL_MSWAP               ((ptl_op_t)17)
#define PTL_OP_LAST             ((ptl_op_t)18)

#define PTL_INT8_T              ((ptl_datatype_t)0)
#define PTL_UINT8_T             ((ptl_datatype_t)1)
#define PTL_INT16_T             ((ptl_datatype_t)2)
#define PTL_UINT16_T            ((ptl_datatype_t)3)
#define PTL_INT32_T             ((ptl_datatype_t)4)
#define PTL_UINT32_T            ((ptl_datatype_t)5)
#define PTL_FLOAT               ((ptl_datatype_t)6)
#define PTL_INT64_T             ((ptl_datatype_t)7)
#define PTL_UINT64_T            ((ptl_datatype_t)8)
#define PTL_DOUBLE              ((ptl_datatype_t)9)
#define PTL_FLOAT_COMPLEX       ((ptl_datatype_t)10)
#define PTL_DOUBLE_COMPLEX      ((ptl_datatype_t)11)
#define PTL_LONG_DOUBLE         ((ptl_datatype_t)12)
#define PTL_LONG_DOUBLE_COMPLEX ((ptl_datatype_t)13)
#define PTL_DATATYPE_LAST       ((ptl_datatype_t)14)

/* ---- structures ------------------------------------------------------------------------- */

typedef union {
    ptl_rank_t rank;
    struct {
        ptl_nid_t nid;
        ptl_pid_t pid;
    } phys;
} ptl_process_t;

typedef struct {
    void *iov_base;
    ptl_size_t iov_len;
} ptl_iovec_t;

typedef struct {
    void *start;
    ptl_size_t length;
    unsigned int options;
    ptl_handle_eq_t eq_handle;
    ptl_handle_ct_t ct_handle;
} ptl_md_t;

typedef struct {
    void *start;
    ptl_size_t length;
    ptl_handle_ct_t ct_handle;
    ptl_uid_t uid;
    unsigned int options;
} ptl_le_t;

typedef struct {
    void *start;
    ptl_size_t length;
    ptl_handle_ct_t ct_handle;
    ptl_uid_t uid;
    unsigned int options;
    ptl_process_t match_id;
    ptl_match_bits_t match_bits;
    ptl_match_bits_t ignore_bits;
    ptl_size_t min_free;
} ptl_me_t;

typedef struct {
    ptl_size_t success;
    ptl_size_t failure;
} ptl_ct_event_t;

typedef struct {
    void *start;
    void *user_ptr;
    ptl_hdr_data_t hdr_data;
    ptl_match_bits_t match_bits;
    ptl_size_t rlength;
    ptl_size_t mlength;
    ptl_size_t remote_offset;
    ptl_process_t initiator;
    ptl_uid_t uid;
    ptl_pt_index_t pt_index;
    ptl_event_kind_t type;
    ptl_list_t ptl_list;
    ptl_ni_fail_t ni_fail_type;
    ptl_op_t atomic_operation;
    ptl_datatype_t atomic_type;
} ptl_event_t;

typedef struct {
    int max_entries;
    int max_unexpected_headers;
    int max_mds;
    int max_cts;
    int max_eqs;
    int max_pt_index;
    int max_iovecs;
    int max_list_size;
    int max_triggered_ops;
    ptl_size_t max_msg_size;
    ptl_size_t max_atomic_size;
    ptl_size_t max_fetch_atomic_size;
    ptl_size_t max_waw_ordered_size;
    ptl_size_t max_war_ordered_size;
    ptl_size_t max_volatile_size;
    unsigned int features;
} ptl_ni_limits_t;

/* ---- start, interfaces, identity -------------------------------------------------------- */

int PtlInit(void);
void PtlFini(void);
void PtlAbort(void);
int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid,
              const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual, ptl_handle_ni_t *ni_handle);
int PtlNIFini(ptl_handle_ni_t ni_handle);
int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t *status);
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);
int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping);
int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping,
              ptl_size_t *actual_map_size);
int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);
int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2);
int PtlStartBundle(ptl_handle_ni_t ni_handle);
int PtlEndBundle(ptl_handle_ni_t ni_handle);

/* ---- portal table, descriptors, entries ------------------------------------------------- */

int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
               ptl_pt_index_t pt_index_req, ptl_pt_index_t *pt_index);
int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle);
int PtlMDRelease(ptl_handle_md_t md_handle);
int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le,
                ptl_list_t ptl_list, void *user_ptr, ptl_handle_le_t *le_handle);
int PtlLEUnlink(ptl_handle_le_t le_handle);
int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le,
                ptl_search_op_t ptl_search_op, void *user_ptr);
int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me,
                ptl_list_t ptl_list, void *user_ptr, ptl_handle_me_t *me_handle);
int PtlMEUnlink(ptl_handle_me_t me_handle);
int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me,
                ptl_search_op_t ptl_search_op, void *user_ptr);

/* ---- counters and event queues ---------------------------------------------------------- */

int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle);
int PtlCTFree(ptl_handle_ct_t ct_handle);
int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle);
int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event);
int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event);
int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size,
              ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which);
int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct);
int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment);
int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle);
int PtlEQFree(ptl_handle_eq_t eq_handle);
int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event);
int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event);
int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout,
              ptl_event_t *event, unsigned int *which);

/* ---- data movement ---------------------------------------------------------------------- */

int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
           ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
           ptl_hdr_data_t hdr_data);
int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
           ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
           ptl_size_t remote_offset, void *user_ptr);
int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
              ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
              ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
              ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);
int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                   ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
                   ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                   ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
                   ptl_op_t operation, ptl_datatype_t datatype);
int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
            ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
            ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
            ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, const void *operand,
            ptl_op_t operation, ptl_datatype_t datatype);
int PtlAtomicSync(void);

/* ---- triggered operations --------------------------------------------------------------- */

int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
                    ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
                    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                    ptl_hdr_data_t hdr_data, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
                    ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                    ptl_size_t remote_offset, void *user_ptr, ptl_handle_ct_t trig_ct_handle,
                    ptl_size_t threshold);
int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
                       ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
                       ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                       ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype,
                       ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                            ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                            ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                            ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                            ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype,
                            ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                     ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
                     ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                     ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
                     const void *operand, ptl_op_t operation, ptl_datatype_t datatype,
                     ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment,
                      ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct,
                      ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

#ifdef __cplusplus
}
#endif

#endif
