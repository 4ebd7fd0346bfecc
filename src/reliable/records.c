/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c: frames that are kept until they are acknowledged. */
#include "reliable/protocol_internal.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <string.h>

enum { SMALL_LEN = 512, SPARE_MAX = 256, LARGE_SPARE_MAX = 16, LARGE_LEAST = 16384 };

/* Bytes of the memory for copies that lanes up to this one may use together. */
static size_t memory_part(const pen_rel_core *core, pen_lane lane)
{
    return core->config.memory_max / 4 *
           (lane == PEN_LANE_REQUEST ? 2
            : lane == PEN_LANE_REPLY ? 3
                                     : 4);
}

/* Copies of long bodies are all of one size, so that any of them serves again: what the heap gives
 * back to the system it has to clear again. */
static uint32_t large_size(const pen_rel_core *core)
{
    return (uint32_t)pen_align_up(sizeof(pen_rel_record) + PEN_FRAME_HEAD_MAX + REL_ALIGN +
                                      core->config.frame_max,
                                  REL_ALIGN);
}

static pen_rel_spare *spare_of(pen_rel_core *core, uint32_t size)
{
    return size == SMALL_LEN ? &core->spare : size == large_size(core) ? &core->large_spare : NULL;
}

static pen_rel_record *take_memory(pen_rel_core *core, uint32_t size)
{
    pen_rel_spare *spare = spare_of(core, size);
    if (spare != NULL && spare->first != NULL) {
        pen_rel_record *record = spare->first;
        spare->first = (pen_rel_record *)(void *)record->op;
        spare->count--;
        return record;
    }
    return (pen_rel_record *)core->out.alloc(core->out.ctx, size, REL_ALIGN);
}

static bool may_borrow(const pen_rel_core *core, const pen_frame *frame, const pen_op *op)
{
    return op != NULL && frame->body_len > pen_rel_copy_max(&core->config) &&
           frame->head_len <= REL_BORROW_HEAD_MAX;
}

pen_rel_record *rel_record_make(pen_rel_core *core, pen_lane lane, const pen_frame *frame,
                                pen_op *op)
{
    bool borrow = may_borrow(core, frame, op);
    uint32_t body_off = (uint32_t)pen_align_up(frame->head_len, REL_ALIGN);
    uint32_t len = (uint32_t)sizeof(pen_rel_record) + body_off + (borrow ? 0 : frame->body_len);
    uint32_t size = len <= SMALL_LEN ? SMALL_LEN : len > LARGE_LEAST ? large_size(core) : len;
    if (core->record_bytes + size > memory_part(core, lane))
        return NULL;
    pen_rel_record *record = take_memory(core, size);
    if (record == NULL)
        return NULL;
    memset(record, 0, sizeof *record);
    core->record_bytes += size;
    record->size = size;
    record->reading.shared = core->config.shared;
    record->lane = lane;
    record->head_len = frame->head_len;
    record->body_len = frame->body_len;
    record->charge = rel_charge(&core->config, frame->head_len, frame->body_len);
    record->op = borrow ? op : NULL;
    record->body = borrow ? frame->body : record->bytes + body_off;
    rel_chain_init(&record->by_sequence);
    rel_chain_init(&record->by_transmission);
    memset(record->bytes, 0, body_off);
    memcpy(record->bytes, frame->head, frame->head_len);
    if (!borrow && frame->body_len != 0)
        memcpy(record->bytes + body_off, frame->body, frame->body_len);
    return record;
}

void rel_record_free(pen_rel_core *core, pen_rel_record *record)
{
    core->record_bytes -= record->size;
    pen_rel_spare *spare = spare_of(core, record->size);
    uint32_t most = record->size == SMALL_LEN ? SPARE_MAX : LARGE_SPARE_MAX;
    if (spare != NULL && spare->count < most) {
        record->op = (pen_op *)(void *)spare->first;
        spare->first = record;
        spare->count++;
    } else {
        core->out.release(core->out.ctx, record);
    }
}

static void spare_release(pen_rel_core *core, pen_rel_spare *spare)
{
    while (spare->first != NULL) {
        pen_rel_record *record = spare->first;
        spare->first = (pen_rel_record *)(void *)record->op;
        core->out.release(core->out.ctx, record);
    }
    spare->count = 0;
}

void rel_records_close(pen_rel_core *core)
{
    spare_release(core, &core->spare);
    spare_release(core, &core->large_spare);
}

bool rel_record_is_read(pen_rel_record *record)
{
    /* acquire: pairs with the drop by the completing thread, whose reads of the body are over */
    return atomic_load_explicit(&record->reading.incomplete, memory_order_acquire) != 0;
}

/* Frees an acknowledged record. If the body is borrowed, its owner is told. */
static void finish(pen_rel_core *core, pen_rel_record *record)
{
    if (record->op != NULL)
        rel_chain_append(&core->finished, &record->by_sequence);
    else
        rel_record_free(core, record);
}

pen_op *pen_rel_take_finished(pen_rel_core *core)
{
    if (rel_chain_is_empty(&core->finished))
        return NULL;
    pen_rel_record *record = pen_container_of(core->finished.behind, pen_rel_record, by_sequence);
    pen_op *op = record->op;
    rel_chain_remove(&record->by_sequence);
    rel_record_free(core, record);
    return op;
}

void rel_record_retire(pen_rel_core *core, pen_rel_record *record)
{
    rel_chain_remove(&record->by_sequence);
    rel_chain_remove(&record->by_transmission);
    if (rel_record_is_read(record)) {
        rel_chain_append(&core->reading, &record->by_sequence);
        return;
    }
    finish(core, record);
}

void rel_records_reap(pen_rel_core *core)
{
    for (pen_rel_chain *at = core->reading.behind; at != &core->reading;) {
        pen_rel_record *record = pen_container_of(at, pen_rel_record, by_sequence);
        at = at->behind;
        if (rel_record_is_read(record))
            continue;
        rel_chain_remove(&record->by_sequence);
        finish(core, record);
    }
}
