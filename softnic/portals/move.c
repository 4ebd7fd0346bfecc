/* SPDX-License-Identifier: BSD-3-Clause */
/* move.c: the calls that move data, at once or when a counter reaches a threshold. */
#include "softnic/portals/post.h"

/* The arguments of the calls below, by the names that the specification gives them. A call takes
 * some of these groups; its triggered form takes WHEN_REACHED in addition. */
#define AT_TARGET                                                                      \
    .length = length, .to = target_id, .pt_index = pt_index, .match_bits = match_bits, \
    .remote_offset = remote_offset, .user_ptr = user_ptr
#define SENT    .put_md = md_handle, .put_offset = local_offset, .ack = ack_req, .hdr_data = hdr_data
#define FETCHED .get_md = md_handle, .get_offset = local_offset
#define SENT_FETCHED                                                                  \
    .put_md = put_md_handle, .put_offset = local_put_offset, .get_md = get_md_handle, \
    .get_offset = local_get_offset, .hdr_data = hdr_data
#define OPERATION    .operation = operation, .datatype = datatype
#define WHEN_REACHED .counter = trig_ct_handle, .threshold = threshold, .is_triggered = true

int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
           ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
           ptl_hdr_data_t hdr_data)
{
    const p4_call call = { .kind = P4_PUT, SENT, AT_TARGET };
    return p4_post(&call);
}

int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
           ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
           ptl_size_t remote_offset, void *user_ptr)
{
    const p4_call call = { .kind = P4_GET, FETCHED, AT_TARGET };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
              ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
              ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
              ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype)
{
    const p4_call call = { .kind = P4_ATOMIC, SENT, AT_TARGET, OPERATION };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                   ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
                   ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                   ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
                   ptl_op_t operation, ptl_datatype_t datatype)
{
    const p4_call call = { .kind = P4_FETCH, SENT_FETCHED, AT_TARGET, OPERATION };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
            ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
            ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
            ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, const void *operand,
            ptl_op_t operation, ptl_datatype_t datatype)
{
    const p4_call call = {
        .kind = P4_SWAP, SENT_FETCHED, AT_TARGET, OPERATION, .operand = operand
    };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
                    ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
                    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                    ptl_hdr_data_t hdr_data, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold)
{
    const p4_call call = { .kind = P4_PUT, SENT, AT_TARGET, WHEN_REACHED };
    return p4_post(&call);
}

int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
                    ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                    ptl_size_t remote_offset, void *user_ptr, ptl_handle_ct_t trig_ct_handle,
                    ptl_size_t threshold)
{
    const p4_call call = { .kind = P4_GET, FETCHED, AT_TARGET, WHEN_REACHED };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length,
                       ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index,
                       ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                       ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype,
                       ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold)
{
    const p4_call call = { .kind = P4_ATOMIC, SENT, AT_TARGET, OPERATION, WHEN_REACHED };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                            ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                            ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                            ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                            ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype,
                            ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold)
{
    const p4_call call = { .kind = P4_FETCH, SENT_FETCHED, AT_TARGET, OPERATION, WHEN_REACHED };
    return p4_post(&call);
}

/* NOLINTNEXTLINE(readability-function-size): the specification's arguments */
int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                     ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
                     ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                     ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
                     const void *operand, ptl_op_t operation, ptl_datatype_t datatype,
                     ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold)
{
    const p4_call call = {
        .kind = P4_SWAP, SENT_FETCHED, AT_TARGET, OPERATION, .operand = operand, WHEN_REACHED
    };
    return p4_post(&call);
}
