/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.c: lays out the host arena, and joins an arena that another process has laid out. */
#include "boot/arena.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/copies.h"
#include "boot/departed.h"
#include "boot/knobs.h"
#include "boot/remedy.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/os.h"
#include "trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENVIRONMENT_LEN_MAX = 64 << 20 }; /* no kernel passes that much to a program */

/* ---- layout ---------------------------------------------------------------------------------- */

size_t pen_arena_stride(uint64_t physical, uint32_t ranks, const pen_memory_limit *wish,
                        size_t page_len, bool wish_only)
{
    double wished = (double)wish->len + wish->fraction * (double)physical;
    if (wish->per_host)
        wished /= ranks;
    double share = (double)physical / ranks;
    double stride = wish_only && wished > 0 ? wished : wished > share ? wished : share;
    double most = (double)((size_t)1 << 46); /* half of a 47-bit address space */
    return pen_align_up((size_t)(stride < most ? stride : most), page_len) + page_len;
}

static size_t environment_measure(char *const *environment)
{
    size_t len = 0;
    for (char *const *entry = environment; *entry != NULL; entry++)
        len += strlen(*entry) + 1;
    return len;
}

/* Fills the page's offsets from the sizes of the parts. Returns the length of the whole arena, 0 on
 * overflow. */
static size_t arena_lay_out(pen_host_page *page, size_t environment_len, size_t conduit_len,
                            size_t stride)
{
    const size_t grain = PEN_SEGMENT_GRAIN;
    uint64_t at = sizeof(pen_host_page) + page->size * sizeof(pen_host_rank);
    page->exchange_off = pen_align_up(at, PEN_CACHE_LINE);
    page->firsts_off = page->exchange_off + 2 * (uint64_t)page->job_size * PEN_BOOT_BLOB_MAX;
    page->environment_off = page->firsts_off + page->host_count * sizeof(uint32_t);
    page->environment_len = environment_len;
    page->lines_off = pen_align_up(page->environment_off + environment_len, grain);
    page->shares_off = pen_align_up(
        page->lines_off + (uint64_t)page->size * PEN_HOST_LINES * PEN_CACHE_LINE, grain);
    page->departed_off =
        page->shares_off + (uint64_t)page->size * PEN_HOST_SHARES * PEN_HOST_SHARE_LEN;
    page->trace_off =
        pen_align_up(page->departed_off + (uint64_t)page->job_size * PEN_DEPARTED_LEN, grain);
    page->trace_stride = pen_align_up(page->trace_len, grain);
    page->conduit_off = page->trace_off + page->size * page->trace_stride;
    page->conduit_len = pen_align_up(conduit_len, grain);
    page->segment_off = pen_align_up(page->conduit_off + page->conduit_len, PEN_HUGE_PAGE_LEN);
    page->segment_stride = stride;
    uint64_t segments, len;
    if (__builtin_mul_overflow((uint64_t)stride, page->size, &segments) ||
        __builtin_add_overflow(page->segment_off, segments, &len) || len > INT64_MAX)
        return 0;
    return (size_t)len;
}

static void log_len(char *out, size_t out_len, uint64_t len)
{
    (void)snprintf(out, out_len, "%.1f GiB", (double)len / (double)(1u << 30));
}

/* A step of making the arena that failed. */
typedef struct trouble {
    const char *what, *call;
    int error;
} trouble;

/* Prints one line that names the limit that was reached, as far as the kernel tells. */
static void arena_complain(pen_log *log, const trouble *t, size_t len)
{
    int why = t->error;
    char wanted[32], allowed[32];
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    log_len(wanted, sizeof(wanted), len);
    if (why == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        log_len(allowed, sizeof(allowed), limit.rlim_cur);
        pen_log_error(log,
                      "cannot %s (%s, not yet used): %s: the file size limit (RLIMIT_FSIZE) is %s; "
                      "raise it with `ulimit -f unlimited`",
                      t->what, wanted, t->call, allowed);
    } else if (why == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 &&
               limit.rlim_cur != RLIM_INFINITY) {
        log_len(allowed, sizeof(allowed), limit.rlim_cur);
        pen_log_error(
            log,
            "cannot %s (%s, not yet used): %s: the address space limit (RLIMIT_AS) is %s; "
            "raise it with `ulimit -v unlimited`, or set GASNET_MAX_SEGSIZE to less",
            t->what, wanted, t->call, allowed);
    } else {
        bool is_size = why == ENOMEM || why == EFBIG || why == ENOSPC || why == EINVAL;
        pen_log_error(log, "cannot %s (%s, not yet used): %s: %s; %s", t->what, wanted, t->call,
                      strerror(why),
                      is_size ? "use fewer ranks or set GASNET_MAX_SEGSIZE to less"
                              : pen_boot_remedy(why));
    }
}

/* Maps the whole file. Returns NULL with errno on failure. The file is sparse and nothing is
 * reserved, so only touched pages cost memory. */
static char *arena_map(int fd, size_t len)
{
    void *base = pen_map_grain(len, MAP_SHARED | MAP_NORESERVE, fd);
    if (base == MAP_FAILED)
        return NULL;
    (void)madvise(base, len, MADV_DONTDUMP); /* or a core file would hold every rank's segment */
    return base;
}

/* Makes and maps an arena of this length. On failure fills *t and returns false. */
static bool arena_try(pen_arena *out, size_t len, trouble *t)
{
    *t = (trouble){ "make the memory that ranks share", "ftruncate", EFBIG };
    /* The kernel answers a write beyond the file size limit with a signal. Checked here, so that
     * the user reads an error instead. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < len)
        return false;
    int fd = pen_memfd("penstock", len, &t->call);
    if (fd < 0) {
        t->error = errno;
        return false;
    }
    char *base = arena_map(fd, len);
    if (base == NULL) {
        *t = (trouble){ "map the memory that ranks share", "mmap", errno };
        close(fd);
        return false;
    }
    *out = (pen_arena){ .fd = fd, .base = base, .len = len };
    return true;
}

static void arena_fill(pen_arena *arena, const pen_host_page *layout, const uint32_t *firsts,
                       char *const *environment)
{
    pen_host_page *page = (pen_host_page *)(void *)arena->base;
    memcpy(page, layout, offsetof(pen_host_page, polling_total)); /* the rest is zero: a new file */
    memcpy(arena->base + layout->firsts_off, firsts, layout->host_count * sizeof(*firsts));
    char *at = arena->base + layout->environment_off;
    for (char *const *entry = environment; *entry != NULL; entry++) {
        size_t len = strlen(*entry) + 1;
        memcpy(at, *entry, len);
        at += len;
    }
}

pen_status pen_arena_create(pen_log *log, uint32_t ranks, const pen_boot_needs *needs,
                            char *const *environment, uint32_t flags, pen_arena *out)
{
    const uint32_t first = 0;
    const pen_arena_part whole = {
        .ranks = ranks, .job_size = ranks, .host_count = 1, .firsts = &first
    };
    return pen_arena_create_part(log, &whole, needs, environment, flags, out);
}

pen_status pen_arena_create_part(pen_log *log, const pen_arena_part *part,
                                 const pen_boot_needs *needs, char *const *environment,
                                 uint32_t flags, pen_arena *out)
{
    const uint32_t ranks = part->ranks;
    pen_boot_config config;
    pen_status status = pen_boot_config_read(log, &config);
    if (status != PEN_OK)
        return status;
    pen_host_page page = { .magic = PEN_HOST_PAGE_MAGIC,
                           .size = ranks,
                           .job_size = part->job_size,
                           .first = part->firsts[part->host_i],
                           .host_i = part->host_i,
                           .host_count = part->host_count,
                           .cores = pen_cores_allowed(NULL),
                           .flags = flags,
                           .maker = (uint32_t)getpid(),
                           .begun_ns = pen_now_ns(),
                           .memory_physical = pen_memory_physical(),
                           .memory_available = pen_memory_available() };
    pen_copies_choose(config.copies, ranks, &page.copies);
    if (*config.trace != '\0')
        page.trace_len = pen_trace_ring_len(config.trace_len);
    page.trace_kinds = config.trace_kinds;
    size_t environment_len = environment_measure(environment);
    size_t conduit_len =
        needs != NULL && needs->conduit_len != NULL ? needs->conduit_len(ranks) : 0;
    if (part->job_key != NULL)
        memcpy(page.job_key, part->job_key, sizeof page.job_key);
    else
        pen_random(page.job_key, sizeof page.job_key);
    trouble t = { "make the memory that ranks share", "ftruncate", EFBIG };
    size_t len = 0;
    status = PEN_ERR_RESOURCE;
    for (int wish_only = 0; status != PEN_OK && wish_only < 2; wish_only++) {
        /* First try: room for every length that a client may ask for. If a limit forbids that,
         * second try: the length that the user set. */
        size_t stride = pen_arena_stride(page.memory_physical, ranks, &config.segment_max,
                                         PEN_HUGE_PAGE_LEN, wish_only != 0);
        len = arena_lay_out(&page, environment_len, conduit_len, stride);
        if (len != 0 && arena_try(out, len, &t)) {
            arena_fill(out, &page, part->firsts, environment);
            status = PEN_OK;
        }
    }
    explicit_bzero(page.job_key, sizeof page.job_key); /* the key stays in the arena only */
    if (status != PEN_OK)
        arena_complain(log, &t, len);
    return status;
}

void pen_arena_trace_off(pen_log *log, const pen_arena *arena)
{
    pen_host_page *page = (pen_host_page *)(void *)arena->base;
    if (page->trace_len != 0)
        pen_log_warn(log,
                     "PENSTOCK_TRACE: no trace is written, because no launcher of Penstock reads "
                     "the events; start with `penstock run`");
    page->trace_len = 0;
}

void pen_arena_destroy(pen_arena *arena)
{
    if (arena->base != NULL)
        munmap(arena->base, arena->len);
    if (arena->fd >= 0)
        close(arena->fd);
    *arena = (pen_arena){ .fd = -1 };
}

/* ---- joining ------------------------------------------------------------------------------- */

static bool within(uint64_t off, uint64_t part, uint64_t whole)
{
    return off <= whole && part <= whole - off;
}

/* True if the page's numbers of hosts and ranks are consistent and `rank` is on this host. */
static bool numbers_valid(const pen_host_page *page, uint32_t rank)
{
    return page->size != 0 && page->host_i < page->host_count && rank >= page->first &&
           within(page->first, page->size, page->job_size) && rank - page->first < page->size;
}

static bool common_valid(const pen_host_page *page, size_t len)
{
    return within(page->exchange_off, 2 * (uint64_t)page->job_size * PEN_BOOT_BLOB_MAX, len) &&
           within(page->firsts_off, page->host_count * sizeof(uint32_t), len) &&
           page->environment_len <= ENVIRONMENT_LEN_MAX &&
           within(page->environment_off, page->environment_len, len);
}

static bool trace_valid(const pen_host_page *page, size_t len)
{
    uint64_t rings;
    return page->trace_len == 0 ||
           (pen_trace_ring_events(page->trace_len) != 0 && page->trace_len <= page->trace_stride &&
            !__builtin_mul_overflow(page->trace_stride, page->size, &rings) &&
            within(page->trace_off, rings, len));
}

/* The page comes from another process, so every part has to lie within the file. */
static bool page_valid(const pen_host_page *page, size_t len, uint32_t rank)
{
    uint64_t size = page->size, segments;
    return page->magic == PEN_HOST_PAGE_MAGIC && numbers_valid(page, rank) &&
           within(sizeof(*page), size * sizeof(pen_host_rank), len) && common_valid(page, len) &&
           within(page->lines_off, size * PEN_HOST_LINES * PEN_CACHE_LINE, len) &&
           within(page->shares_off, size * PEN_HOST_SHARES * PEN_HOST_SHARE_LEN, len) &&
           within(page->departed_off, (uint64_t)page->job_size * PEN_DEPARTED_LEN, len) &&
           within(page->conduit_off, page->conduit_len, len) && trace_valid(page, len) &&
           !__builtin_mul_overflow(page->segment_stride, size, &segments) &&
           within(page->segment_off, segments, len);
}

/* Pointers to the strings of the environment area, NULL-terminated. */
static char **environment_index(char *area, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += area[i] == '\0';
    char **index = calloc(count + 1, sizeof(*index));
    if (index == NULL)
        return NULL;
    char *at = area;
    for (size_t i = 0; i < count; i++) {
        index[i] = at;
        at = memchr(at, '\0', len - (size_t)(at - area));
        at++; /* found: there are count terminators */
    }
    return index;
}

pen_status pen_boot_attach(pen_log *log, int arena_fd, char *mapped, int control_fd, uint32_t rank,
                           const char *launcher, pen_boot *out)
{
    struct stat file;
    int error = fstat(arena_fd, &file) != 0 ? errno : 0;
    if (error != 0 || file.st_size < (off_t)sizeof(pen_host_page)) {
        pen_log_error(
            log,
            "cannot join the job: descriptor %d is not its shared memory: fstat: %s; a wrapper "
            "between launcher and program must leave descriptors open",
            arena_fd, error != 0 ? strerror(error) : "too short");
        return PEN_ERR_PROTOCOL;
    }
    size_t len = (size_t)file.st_size;
    char *base = mapped != NULL ? mapped : arena_map(arena_fd, len);
    if (base == NULL) {
        arena_complain(log, &(trouble){ "map the memory that ranks share", "mmap", errno }, len);
        return PEN_ERR_RESOURCE;
    }
    pen_host_page *page = (pen_host_page *)(void *)base;
    char **environment = NULL;
    pen_status status = PEN_OK;
    if (!page_valid(page, len, rank)) {
        pen_log_error(log,
                      "cannot join the job: its shared memory has another layout; launcher and "
                      "library must be the same build");
        status = PEN_ERR_PROTOCOL;
    } else if ((environment = environment_index(base + page->environment_off,
                                                page->environment_len)) == NULL) {
        pen_log_error(log, "cannot join the job: its environment: calloc: %m; free some memory");
        status = PEN_ERR_MEMORY;
    }
    if (status != PEN_OK) {
        if (mapped == NULL)
            munmap(base, len);
        return status;
    }
    *out = (pen_boot){ .log = log,
                       .rank = rank,
                       .size = page->job_size,
                       .control_fd = control_fd,
                       .world_fd = -1,
                       .arena_fd = arena_fd,
                       .arena = base,
                       .arena_len = len,
                       .page = page,
                       .environment = environment,
                       .launcher = launcher };
    return PEN_OK;
}

void pen_boot_orphan(pen_boot *boot)
{
    if (boot->control_fd >= 0)
        (void)close(boot->control_fd);
    boot->control_fd = -1;
    if (boot->arena == NULL)
        return;
    size_t len = boot->page->segment_off;
    void *own = mmap(boot->arena, len, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, boot->arena_fd, 0);
    if (own != MAP_FAILED)
        (void)madvise(own, len, MADV_DONTDUMP);
}

void pen_boot_close(pen_boot *boot)
{
    free(boot->environment);
    boot->environment = NULL;
    if (boot->arena != NULL)
        munmap(boot->arena, boot->arena_len);
    boot->arena = NULL;
    boot->page = NULL;
    if (boot->arena_fd >= 0)
        close(boot->arena_fd);
    if (boot->control_fd >= 0)
        close(boot->control_fd);
    boot->arena_fd = boot->control_fd = -1;
}
