/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_arena.c: the arena of a block: its first rank makes it and hands it to the others. */
#include "base/status.h"
#include "boot/arena.h"
#include "boot/host_page.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "pmix/pmix_address.h"
#include "pmix/pmix_door.h"
#include "pmix/pmix_join_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the arena. The console's environment is that of this process, with the address for the
 * network added. */
static bool arena_make(joining *j)
{
    pen_steward *s = j->s;
    char address[128] = "PENSTOCK_UDP_ADDRESS=";
    size_t count = 0, name_len = strlen(address);
    char *const none[] = { NULL };
    char *const *from = environ != NULL ? environ : none;
    while (from[count] != NULL)
        count++;
    char **variables = calloc(count + 2, sizeof(*variables));
    if (variables == NULL)
        return pen_join_refuse(j, "calloc", "out of memory");
    if (!pen_pmix_address(&s->log, j->hellos, s->firsts, s->block_count, s->block_i,
                          address + name_len, sizeof(address) - name_len)) {
        free(variables);
        return false;
    }
    memcpy(variables, from, count * sizeof(*variables));
    variables[count] = address[name_len] != '\0' ? address : NULL;
    const pen_arena_part part = { .ranks = s->count,
                                  .job_size = s->size,
                                  .host_i = s->block_i,
                                  .host_count = s->block_count,
                                  .firsts = s->firsts,
                                  .job_key = s->block_count > 1 ? j->hellos[0].job_key : NULL };
    pen_status status = pen_arena_create_part(&s->log, &part, &s->needs, variables, 0, &j->arena);
    free(variables);
    if (status != PEN_OK)
        return false;
    pen_host_page *page = (pen_host_page *)(void *)j->arena.base;
    pen_arena_trace_off(&s->log, &j->arena);
    page->cores = pen_pmix_cores(&j->hellos[s->first], s->count);
    s->page_len = page->environment_off;
    return true;
}

static bool lines_make(joining *j)
{
    pen_steward *s = j->s;
    s->line_count = pen_steward_is_first(s) ? s->count - 1 : 1;
    s->lines = calloc(s->line_count + 1u, sizeof(*s->lines));
    for (uint32_t i = 0; s->lines != NULL && i < s->line_count; i++)
        s->lines[i].fd = -1;
    return s->lines != NULL || pen_join_refuse(j, "calloc", "out of memory");
}

/* Called by the first rank of a block: hands the arena to all ranks of the block. */
static bool hand_out(joining *j)
{
    pen_steward *s = j->s;
    const pen_pmix_gift gift = { j->arena.fd, s->page_len };
    for (uint32_t i = 0; i < s->line_count; i++) {
        pen_steward_line *line = &s->lines[i];
        line->joined = true; /* assumed, so that an early end counts as disorderly */
        line->fd = pen_pmix_door_serve(j->listener, j->mine.ticket, s->first, s->count, &gift,
                                       s->until_ns, &line->rank);
        if (line->fd >= 0)
            continue;
        pen_log_error(&s->log,
                      "cannot hand out the job's memory: %u of %u ranks of this host have not come "
                      "for it: %m",
                      s->line_count - i, s->line_count);
        return false;
    }
    return true;
}

static bool fetch(joining *j)
{
    pen_steward *s = j->s;
    const pen_pmix_hello *first = &j->hellos[s->first];
    pen_pmix_gift gift = { .arena_fd = -1 };
    struct stat file;
    s->lines[0] = (pen_steward_line){ .rank = s->first, .joined = true };
    s->lines[0].fd = pen_pmix_door_enter(first->door, first->ticket, s->rank, s->until_ns, &gift);
    if (s->lines[0].fd < 0) {
        pen_log_error(&s->log,
                      "cannot join the job: rank %u of this host does not hand out its memory: %m; "
                      "see its message, and are both in one container and of one user?",
                      s->first);
        return false;
    }
    j->arena.fd = gift.arena_fd;
    s->page_len = gift.head_len;
    size_t least = sizeof(pen_host_page) + s->count * sizeof(pen_host_rank);
    if (fstat(gift.arena_fd, &file) == 0 && gift.head_len >= least &&
        gift.head_len <= (uint64_t)file.st_size)
        return true;
    return pen_join_refuse(j, "the memory that ranks share", "it has another layout");
}

bool pen_join_arena_get(joining *j)
{
    pen_steward *s = j->s;
    pen_join_doing(s, "sharing memory with the ranks of this host");
    bool first = pen_steward_is_first(s);
    if (!lines_make(j) || !(first ? arena_make(j) && hand_out(j) : fetch(j)))
        return false;
    void *head = mmap(NULL, s->page_len, PROT_READ | PROT_WRITE, MAP_SHARED, j->arena.fd, 0);
    if (head == MAP_FAILED) {
        pen_log_error(&s->log, "cannot map the memory that ranks share: mmap: %m; %s",
                      pen_boot_remedy(errno));
        return false;
    }
    (void)madvise(head, s->page_len, MADV_DONTDUMP); /* the head may hold a key */
    s->page = head;
    return true;
}
