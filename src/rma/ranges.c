/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c: a treap of ranges. Priorities are a counter's hash, so the tree is balanced for any
 * order of the client's addresses. */
#include "rma/ranges.h"

#include "base/compiler.h"

#include <stddef.h>

/* Ranges may begin at the same address: then the node's own address decides. */
static bool stands_before(const pen_range *a, const pen_range *b)
{
    return a->first != b->first ? a->first < b->first : (uintptr_t)a < (uintptr_t)b;
}

static void sum_up(pen_range *range)
{
    range->last_max = range->last;
    range->write_last_max = range->writes ? range->last : 0;
    pen_range *const children[] = { range->before, range->after };
    for (unsigned i = 0; i < 2; i++) {
        if (children[i] == NULL)
            continue;
        if (children[i]->last_max > range->last_max)
            range->last_max = children[i]->last_max;
        if (children[i]->write_last_max > range->write_last_max)
            range->write_last_max = children[i]->write_last_max;
    }
}

/* Splits a tree into the part before the range and the part after it. */
static void split(pen_range *tree, const pen_range *at, pen_range **before, pen_range **after)
{
    if (tree == NULL) {
        *before = *after = NULL;
    } else if (stands_before(tree, at)) {
        *before = tree;
        split(tree->after, at, &tree->after, after);
        sum_up(tree);
    } else {
        *after = tree;
        split(tree->before, at, before, &tree->before);
        sum_up(tree);
    }
}

/* Joins two trees; all of the first is before the second. */
static pen_range *join(pen_range *before, pen_range *after)
{
    if (before == NULL || after == NULL)
        return before == NULL ? after : before;
    if (before->priority >= after->priority) {
        before->after = join(before->after, after);
        sum_up(before);
        return before;
    }
    after->before = join(before, after->before);
    sum_up(after);
    return after;
}

static pen_range *insert(pen_range *tree, pen_range *range)
{
    if (tree == NULL || range->priority > tree->priority) {
        split(tree, range, &range->before, &range->after);
        sum_up(range);
        return range;
    }
    pen_range **side = stands_before(range, tree) ? &tree->before : &tree->after;
    *side = insert(*side, range);
    sum_up(tree);
    return tree;
}

static pen_range *drop(pen_range *tree, pen_range *range)
{
    PEN_INVARIANT(tree != NULL); /* the range was added, and not removed since */
    if (tree == range)
        return join(tree->before, tree->after);
    pen_range **side = stands_before(range, tree) ? &tree->before : &tree->after;
    *side = drop(*side, range);
    sum_up(tree);
    return tree;
}

void pen_ranges_add(pen_ranges *ranges, pen_range *range)
{
    /* a full-period generator, whose high bits are good enough */
    ranges->seed = ranges->seed * UINT32_C(1664525) + UINT32_C(1013904223);
    range->priority = ranges->seed ^ ranges->seed >> 15;
    range->before = range->after = NULL;
    ranges->top = insert(ranges->top, range);
}

void pen_ranges_remove(pen_ranges *ranges, pen_range *range)
{
    ranges->top = drop(ranges->top, range);
}

pen_range *pen_ranges_find(const pen_ranges *ranges, uintptr_t first, uintptr_t last,
                           bool only_writes)
{
    pen_range *range = ranges->top;
    while (range != NULL) {
        const pen_range *before = range->before;
        uintptr_t reach = before == NULL ? 0
                          : only_writes  ? before->write_last_max
                                         : before->last_max;
        /* If a range on the left reaches `first`, then it overlaps, or all ranges on the right are
         * too far. */
        if (before != NULL && reach >= first)
            range = range->before;
        else if ((range->writes || !only_writes) && range->first <= last && range->last >= first)
            return range;
        else
            range = range->after;
    }
    return NULL;
}
