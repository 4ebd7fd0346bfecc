/* SPDX-License-Identifier: BSD-3-Clause */
/* post.h: the arguments of all calls that move data, checked in one place. */
#ifndef PEN_SOFTNIC_PORTALS_POST_H
#define PEN_SOFTNIC_PORTALS_POST_H

#include "softnic/portals/portals4.h"
#include "softnic/portals/wire.h"

typedef struct p4_call {
    p4_kind kind;
    ptl_handle_md_t put_md, get_md; /* the kind says which are used */
    ptl_size_t put_offset, get_offset, length;
    ptl_ack_req_t ack;
    ptl_process_t to;
    ptl_pt_index_t pt_index;
    ptl_match_bits_t match_bits;
    ptl_size_t remote_offset;
    void *user_ptr;
    ptl_hdr_data_t hdr_data;
    const void *operand;
    ptl_op_t operation;
    ptl_datatype_t datatype;
    bool is_triggered;
    ptl_handle_ct_t counter;
    ptl_size_t threshold;
} p4_call;

/* Checks the arguments, then starts the operation or lets it wait for its counter. Waits if too
 * many operations are under way. Returns the result of the Ptl call. */
int p4_post(const p4_call *call);

#endif
