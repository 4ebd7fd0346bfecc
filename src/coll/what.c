/* SPDX-License-Identifier: BSD-3-Clause */
/* what.c: the description of a collective, in words. */
#include "coll/engine.h"

#include <inttypes.h>
#include <stdio.h>

/* Indexed by the bit of GEX_DT_... and of GEX_OP_... */
static const char *const types[] = { "I32", "U32", "I64", "U64", "FLT", "DBL", "USER" };
static const char *const operations[32] = {
    [0] = "AND", [1] = "OR",  [2] = "XOR",   [3] = "ADD",      [5] = "MULT",
    [6] = "MIN", [7] = "MAX", [30] = "USER", [31] = "USER_NC",
};
static const char *const names[16] = {
    [PEN_COLL_BARRIER] = "a barrier",      [PEN_COLL_BROADCAST] = "a broadcast",
    [PEN_COLL_REDUCE] = "a reduction",     [PEN_COLL_SCAN] = "a scan",
    [PEN_COLL_GATHER] = "a gather",        [PEN_COLL_SCATTER] = "a scatter",
    [PEN_COLL_EXCHANGE] = "an all-to-all",
};

static const char *const together[] = { "", ", all-sync at its beginning", ", all-sync at its end",
                                        ", all-sync at both ends" };

static const char *word(const char *const *words, uint32_t count, uint32_t i)
{
    return i < count && words[i] != NULL ? words[i] : "unknown";
}

/* "to all", "to rank 3", "from rank 3", or nothing. */
static void text_root(const pen_coll_what *what, uint32_t kind, char *text, size_t len)
{
    text[0] = 0;
    if (kind == PEN_COLL_REDUCE || kind == PEN_COLL_GATHER) {
        if (what->root == PEN_COLL_ALL)
            (void)snprintf(text, len, " to all");
        else
            (void)snprintf(text, len, " to rank %" PRIu32, what->root);
    } else if (kind == PEN_COLL_BROADCAST || kind == PEN_COLL_SCATTER) {
        (void)snprintf(text, len, " from rank %" PRIu32, what->root);
    }
}

void pen_coll_what_text(const pen_coll_what *what, char *text)
{
    uint32_t kind = what->kind & 15;
    char root[32], how[32] = "";
    text_root(what, kind, root, sizeof root);
    if (kind == PEN_COLL_REDUCE || kind == PEN_COLL_SCAN)
        (void)snprintf(how, sizeof how, " (%s, %s%s)",
                       word(types, sizeof types / sizeof *types, what->kind >> 8 & 15),
                       word(operations, 32, what->kind >> 16 & 31),
                       what->kind & PEN_COLL_EXCLUSIVE ? ", exclusive" : "");
    if (kind == PEN_COLL_BARRIER)
        (void)snprintf(text, PEN_COLL_WHAT_TEXT_MAX, "%s", names[kind]);
    else
        (void)snprintf(text, PEN_COLL_WHAT_TEXT_MAX, "%s of %" PRIu64 " bytes%s%s%s",
                       word(names, 16, kind), what->len, how, root,
                       together[what->kind >> PEN_COLL_TOGETHER_SHIFT & 3]);
}
