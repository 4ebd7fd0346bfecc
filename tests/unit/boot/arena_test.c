/* SPDX-License-Identifier: BSD-3-Clause */
/* arena_test.c: the arena's layout, joining it with ranks as threads, and refusing one that lies.
 */
#include "boot/arena.h"

#include "os/os.h"
#include "pmix/foreign.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 5, ROUNDS = 50, BLOB_LEN = 24 };

static size_t conduit_len(uint32_t ranks) { return 1000 * ranks; }

static const pen_boot_needs needs = { .conduit_len = conduit_len };
static char *const environment[] = { "A=1", "EMPTY=", "B=x=y", NULL };

static pen_log quiet(void) { return (pen_log){ .fd = -1, .rank = -1 }; }

static void stride_is_the_larger_of_share_and_wish(void **state)
{
    (void)state;
    const uint64_t gib = 1u << 30;
    pen_memory_limit none = { 0 }, large = { .len = 4 * gib };
    pen_memory_limit host = { .fraction = 0.5, .per_host = true }, each = { .fraction = 0.5 };
    assert_int_equal(pen_arena_stride(8 * gib, 4, &none, 4096, false), 2 * gib + 4096);
    assert_int_equal(pen_arena_stride(8 * gib, 4, &large, 4096, false), 4 * gib + 4096);
    assert_int_equal(pen_arena_stride(8 * gib, 4, &host, 4096, false), 2 * gib + 4096);
    assert_int_equal(pen_arena_stride(8 * gib, 4, &host, 4096, true), gib + 4096);
    assert_int_equal(pen_arena_stride(8 * gib, 4, &each, 4096, false), 4 * gib + 4096);
    assert_int_equal(pen_arena_stride(8 * gib, 3, &none, 4096, true) % 4096, 0);
    large.len = UINT64_MAX;
    assert_true(pen_arena_stride(8 * gib, 4, &large, 4096, false) <= ((size_t)1 << 46) + 8192);
}

static void every_arena_has_a_key_of_its_own(void **state)
{
    (void)state;
    static const uint8_t zero[PEN_HOST_KEY_LEN];
    uint8_t keys[2][PEN_HOST_KEY_LEN];
    for (unsigned i = 0; i < 2; i++) {
        pen_log log = quiet();
        pen_arena arena;
        assert_int_equal(pen_arena_create(&log, 2, NULL, environment, 0, &arena), PEN_OK);
        const pen_host_page *page = (const pen_host_page *)(const void *)arena.base;
        memcpy(keys[i], page->job_key, sizeof keys[i]);
        pen_arena_destroy(&arena);
    }
    assert_memory_not_equal(keys[0], keys[1], PEN_HOST_KEY_LEN);
    assert_memory_not_equal(keys[0], zero, PEN_HOST_KEY_LEN);
}

static void parts_do_not_overlap(void **state)
{
    (void)state;
    pen_log log = quiet();
    pen_arena arena;
    assert_int_equal(pen_arena_create(&log, RANKS, &needs, environment, 0, &arena), PEN_OK);
    const pen_host_page *page = (const pen_host_page *)(const void *)arena.base;
    assert_true(page->exchange_off >= sizeof(*page) + RANKS * sizeof(pen_host_rank));
    assert_true(page->environment_off >= page->exchange_off + 2 * RANKS * PEN_BOOT_BLOB_MAX);
    assert_true(page->lines_off >= page->environment_off + page->environment_len);
    assert_true(page->conduit_off >= page->lines_off + RANKS * PEN_HOST_LINES * PEN_CACHE_LINE);
    assert_true(page->conduit_len >= 1000 * RANKS);
    assert_true(page->segment_off >= page->conduit_off + page->conduit_len);
    assert_true(page->segment_off + RANKS * page->segment_stride <= arena.len);
    assert_int_equal(page->lines_off % PEN_CACHE_LINE, 0);
    assert_int_equal(page->segment_off % 4096, 0);
    pen_arena_destroy(&arena);
}

static void ranks_find_what_the_host_has(void **state)
{
    (void)state;
    pen_log log = quiet();
    pen_arena arena;
    assert_int_equal(pen_arena_create(&log, RANKS, NULL, environment, 0, &arena), PEN_OK);
    const pen_host_page *page = (const pen_host_page *)(const void *)arena.base;
    assert_int_equal(page->memory_physical, pen_memory_physical());
    assert_in_range(page->memory_available, 1, page->memory_physical);
    assert_int_equal(page->cores, pen_cores_allowed(NULL));
    pen_arena_destroy(&arena);
}

static void environment_comes_through(void **state)
{
    (void)state;
    pen_log log = quiet();
    pen_arena arena;
    pen_boot boot;
    assert_int_equal(pen_arena_create(&log, 1, NULL, environment, 0, &arena), PEN_OK);
    assert_int_equal(pen_boot_attach(&log, arena.fd, arena.base, -1, 0, "test", &boot), PEN_OK);
    assert_string_equal(pen_boot_getenv(&boot, "A"), "1");
    assert_string_equal(pen_boot_getenv(&boot, "EMPTY"), "");
    assert_string_equal(pen_boot_getenv(&boot, "B"), "x=y");
    assert_null(pen_boot_getenv(&boot, "EMPT"));
    assert_null(boot.environment[3]);
    pen_boot_forget_variable(&boot, "EMPTY");
    pen_boot_forget_variable(&boot, "EMPT");
    assert_null(pen_boot_getenv(&boot, "EMPTY"));
    assert_string_equal(pen_boot_getenv(&boot, "A"), "1");
    assert_string_equal(pen_boot_getenv(&boot, "B"), "x=y");
    assert_null(boot.environment[2]);
    pen_boot_close(&boot);
}

typedef struct rank_thread {
    pthread_t thread;
    pen_boot boot;
    int failures;
} rank_thread;

static void *rank_main(void *ctx)
{
    rank_thread *me = ctx;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        char mine[BLOB_LEN], all[RANKS * BLOB_LEN];
        memset(mine, (int)(me->boot.rank + round), sizeof(mine));
        if (pen_boot_exchange(&me->boot, mine, sizeof(mine), all) != PEN_OK)
            me->failures++;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            if ((unsigned char)all[rank * BLOB_LEN + BLOB_LEN - 1] != rank + round)
                me->failures++;
        }
    }
    return NULL;
}

static void ranks_as_threads_exchange_blobs(void **state)
{
    (void)state;
    pen_log log = quiet();
    pen_arena arena;
    static rank_thread ranks[RANKS];
    assert_int_equal(pen_arena_create(&log, RANKS, &needs, environment, 0, &arena), PEN_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        ranks[rank].failures = 0;
        assert_int_equal(pen_boot_attach(&log, fcntl(arena.fd, F_DUPFD_CLOEXEC, 0), NULL, -1, rank,
                                         "test", &ranks[rank].boot),
                         PEN_OK);
        assert_int_equal(pthread_create(&ranks[rank].thread, NULL, rank_main, &ranks[rank]), 0);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(pthread_join(ranks[rank].thread, NULL), 0);
        assert_int_equal(ranks[rank].failures, 0);
        pen_boot_close(&ranks[rank].boot);
    }
    pen_arena_destroy(&arena);
}

static void barrier_gives_up_when_a_rank_has_ended(void **state)
{
    (void)state;
    pen_log log = quiet();
    pen_arena arena;
    pen_boot boot;
    assert_int_equal(pen_arena_create(&log, 2, NULL, environment, 0, &arena), PEN_OK);
    assert_int_equal(pen_boot_attach(&log, arena.fd, arena.base, -1, 0, "test", &boot), PEN_OK);
    atomic_store(&boot.page->boot_failed, 1);
    assert_int_equal(pen_boot_barrier(&boot), PEN_ERR_PEER_LOST);
    pen_boot_close(&boot);
}

static void too_long_a_blob_is_refused(void **state)
{
    (void)state;
    pen_log log = quiet();
    pen_arena arena;
    pen_boot boot;
    char blob[PEN_BOOT_BLOB_MAX + 1] = { 0 };
    assert_int_equal(pen_arena_create(&log, 1, NULL, environment, 0, &arena), PEN_OK);
    assert_int_equal(pen_boot_attach(&log, arena.fd, arena.base, -1, 0, "test", &boot), PEN_OK);
    assert_int_equal(pen_boot_exchange(&boot, blob, sizeof(blob), blob), PEN_ERR_ARGUMENT);
    assert_int_equal(pen_boot_exchange(&boot, blob, PEN_BOOT_BLOB_MAX, blob), PEN_OK);
    pen_boot_close(&boot);
}

/* Each field of the page, made to point out of the arena. */
static void layout_that_leaves_the_arena_is_refused(void **state)
{
    (void)state;
    static const size_t fields[] = {
        offsetof(pen_host_page, exchange_off),    offsetof(pen_host_page, environment_off),
        offsetof(pen_host_page, environment_len), offsetof(pen_host_page, lines_off),
        offsetof(pen_host_page, conduit_off),     offsetof(pen_host_page, conduit_len),
        offsetof(pen_host_page, segment_off),     offsetof(pen_host_page, segment_stride),
    };
    pen_log log = quiet();
    pen_arena arena;
    assert_int_equal(pen_arena_create(&log, 2, &needs, environment, 0, &arena), PEN_OK);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        uint64_t *field = (uint64_t *)(void *)(arena.base + fields[i]);
        uint64_t before = *field;
        const uint64_t lies[] = { arena.len, UINT64_MAX, UINT64_MAX / 2 + 1 };
        for (size_t lie_i = 0; lie_i < 3; lie_i++) {
            pen_boot boot;
            *field = lies[lie_i];
            assert_int_equal(pen_boot_attach(&log, arena.fd, NULL, -1, 0, "test", &boot),
                             PEN_ERR_PROTOCOL);
        }
        *field = before;
    }
    pen_boot boot;
    assert_int_equal(pen_boot_attach(&log, arena.fd, NULL, -1, 2, "test", &boot), PEN_ERR_PROTOCOL);
    assert_int_equal(pen_boot_attach(&log, STDIN_FILENO, NULL, -1, 0, "test", &boot),
                     PEN_ERR_PROTOCOL);
    pen_arena_destroy(&arena);
}

static const char *lookup(void *ctx, const char *name)
{
    for (char *const *pair = ctx; pair[0] != NULL; pair += 2) {
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    }
    return NULL;
}

static void foreign_launchers_are_known_by_their_marks(void **state)
{
    (void)state;
    char *none[] = { "SLURM_JOB_ID", "7", "PMIX_RANK", "0", "SLURM_PROCID", "0", NULL };
    char *single[] = { "PMI_RANK", "0", "PMI_SIZE", "1", NULL };
    char *several[] = { "SLURM_PROCID", "3", "SLURM_STEP_ID", "0", "SLURM_NTASKS", "8", NULL };
    char *untold[] = { "PMIX_RANK", "0", "PMIX_NAMESPACE", "x", NULL };
    assert_null(pen_foreign_find(lookup, none).launcher);
    assert_true(pen_foreign_find(lookup, single).single);
    pen_foreign slurm = pen_foreign_find(lookup, several);
    assert_string_equal(slurm.launcher, "Slurm");
    assert_string_equal(slurm.size, "8");
    assert_false(slurm.single);
    pen_foreign pmix = pen_foreign_find(lookup, untold);
    assert_string_equal(pmix.launcher, "PMIx");
    assert_null(pmix.size_name);
    assert_false(pmix.single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stride_is_the_larger_of_share_and_wish),
        cmocka_unit_test(every_arena_has_a_key_of_its_own),
        cmocka_unit_test(parts_do_not_overlap),
        cmocka_unit_test(ranks_find_what_the_host_has),
        cmocka_unit_test(environment_comes_through),
        cmocka_unit_test(ranks_as_threads_exchange_blobs),
        cmocka_unit_test(barrier_gives_up_when_a_rank_has_ended),
        cmocka_unit_test(too_long_a_blob_is_refused),
        cmocka_unit_test(layout_that_leaves_the_arena_is_refused),
        cmocka_unit_test(foreign_launchers_are_known_by_their_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
