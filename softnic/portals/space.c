/* SPDX-License-Identifier: BSD-3-Clause */
/* space.c: memory of descriptors and entries, in one piece or in several. Offsets count bytes of
 * the pieces in a row. */
#include "base/compiler.h"
#include "os/os.h"
#include "softnic/portals/inner.h"

#include <string.h>

bool p4_space_make(p4_space *space, void *start, ptl_size_t length, unsigned options,
                   int max_pieces)
{
    if ((options & PTL_IOVEC) == 0) {
        *space = (p4_space){ .start = start, .len = length };
        return true;
    }
    if (length > (ptl_size_t)max_pieces || (start == NULL && length > 0))
        return false;
    const ptl_iovec_t *pieces = start;
    ptl_size_t sum = 0;
    for (ptl_size_t i = 0; i < length; i++) {
        if (__builtin_add_overflow(sum, pieces[i].iov_len, &sum))
            return false;
    }
    *space = (p4_space){ .len = sum, .pieces = pieces, .piece_count = length };
    /* Without pieces the space is empty, and its address is NULL. */
    if (length == 0)
        space->pieces = NULL;
    return true;
}

/* Finds the piece in which an offset lies, and the offset in it. An offset at the end of all
 * pieces lies at the end of the last one. */
static ptl_size_t piece_of(const p4_space *space, ptl_size_t *offset)
{
    ptl_size_t piece_i = 0;
    while (piece_i + 1 < space->piece_count && *offset >= space->pieces[piece_i].iov_len)
        *offset -= space->pieces[piece_i++].iov_len;
    return piece_i;
}

/* Passes over the parts of a range that lie in one piece each. Returns the part at *done. */
static unsigned char *next_part(const p4_space *space, ptl_size_t offset, size_t len, size_t done,
                                size_t *part_len)
{
    offset += done;
    *part_len = len - done;
    if (space->pieces == NULL) /* with integers, since NULL may be the start of all memory */
        return (unsigned char *)((uintptr_t)space->start + offset);
    ptl_size_t piece_i = piece_of(space, &offset);
    const ptl_iovec_t *piece = &space->pieces[piece_i];
    if (*part_len > piece->iov_len - offset)
        *part_len = piece->iov_len - offset;
    return (unsigned char *)piece->iov_base + offset;
}

void p4_space_read(const p4_space *space, ptl_size_t offset, void *to, size_t len)
{
    size_t part_len;
    for (size_t done = 0; done < len; done += part_len) {
        const unsigned char *part = next_part(space, offset, len, done, &part_len);
        if (part_len == 0)
            return;
        memcpy((char *)to + done, part, part_len);
    }
}

void p4_space_write(const p4_space *space, ptl_size_t offset, const void *from, size_t len)
{
    size_t part_len;
    for (size_t done = 0; done < len; done += part_len) {
        unsigned char *part = next_part(space, offset, len, done, &part_len);
        if (part_len == 0)
            return;
        memcpy(part, (const char *)from + done, part_len);
    }
}

unsigned char *p4_space_at(const p4_space *space, ptl_size_t offset)
{
    size_t part_len;
    return next_part(space, offset, 1, 0, &part_len);
}

unsigned char *p4_space_whole(const p4_space *space, ptl_size_t offset, size_t len)
{
    size_t part_len;
    unsigned char *part = next_part(space, offset, len, 0, &part_len);
    return part_len == len ? part : NULL;
}

void p4_space_register(pen_portals *card, ptl_size_t length)
{
    const pen_portals_model *model = &card->config.model;
    if (model->register_ns == 0 && model->register_ns_a_page == 0)
        return;
    uint64_t ns = model->register_ns;
    /* Memory beyond a mapping's possible length stands for all memory, which has no pages. */
    if (length < UINT64_C(1) << 47)
        ns += (length + pen_page_len() - 1) / pen_page_len() * model->register_ns_a_page;
    uint64_t end = pen_now_ns() + ns;
    while (pen_now_ns() < end)
        pen_cpu_relax();
}
