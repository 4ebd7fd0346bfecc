/* SPDX-License-Identifier: BSD-3-Clause */
/* passing_test.c: frames that an impairing link passes on, its promises, and its messages. */
#include "impair_bench.h"

/* ---- what is passed on ----------------------------------------------------------------------- */

static uint32_t flags_with(pen_impair_config config)
{
    bench b;
    bench_open(&b, 1, &config);
    uint32_t flags = b.link->caps.flags;
    bench_close(&b);
    return flags;
}

static void only_promises_that_hold_are_passed_on(void **state)
{
    (void)state;
    uint32_t rest = PEN_CAP_SAME_HOST;
    assert_int_equal(flags_with((pen_impair_config){ .drop = 0.1 }), rest);
    assert_int_equal(flags_with((pen_impair_config){ .corrupt = 0.1 }), rest);
    assert_int_equal(flags_with((pen_impair_config){ .reorder = 0.1 }), rest | PEN_CAP_RELIABLE);
    assert_int_equal(flags_with((pen_impair_config){ .delay = 0.1 }), rest | PEN_CAP_RELIABLE);
    assert_int_equal(flags_with((pen_impair_config){ .duplicate = 0.1 }), rest);
    bench b;
    pen_impair_config config = { .duplicate = 0.1 };
    bench_open(&b, 1, &config);
    assert_int_equal(b.link->caps.inbox_len, b.inner.base.caps.inbox_len / 2);
    assert_int_equal(b.link->caps.frame_max, INNER_BODY_MAX);
    assert_int_equal(b.link->self, 1);
    assert_ptr_equal(b.link->host, &b.inner.host);
    bench_close(&b);
}

static void introductions_and_waiting_reach_the_wrapped_link(void **state)
{
    (void)state;
    bench b;
    unsigned char blob = 0;
    pen_impair_config config = { .delay = 1, .delay_s = 1 };
    bench_open(&b, 1, &config);
    assert_int_equal(b.link->ops->address(b.link, &blob), PEN_OK);
    assert_int_equal(blob, 7);
    assert_int_equal(b.link->ops->connect(b.link, &blob, 3), PEN_OK);
    assert_int_equal(b.link->ops->connect(b.link, &blob, 2), PEN_ERR_ARGUMENT);
    assert_int_equal(b.link->wait->fd(b.link), 42);
    assert_true(b.link->wait->arm(b.link));
    assert_int_equal(b.inner.arms, 1);
    assert_true(b.link->due->due_ns(b.link) == UINT64_MAX);
    assert_int_equal(send(&b, 1, 4, 0), PEN_POST_DONE);
    /* Nothing rings when it is due. */
    assert_int_equal(b.link->due->due_ns(b.link), inner_now(&b.inner) + 1000000000);
    bench_close(&b);
}

static void families_that_the_wrapped_link_lacks_stay_absent(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .drop = 1 };
    inner_init(&b.inner, 0);
    b.inner.base.zcopy = NULL;
    b.inner.base.wait = NULL;
    assert_int_equal(pen_impair_open(&b.inner.base, &config, PEN_ALONE, &b.link), PEN_OK);
    assert_null(b.link->rma);
    assert_null(b.link->zcopy);
    assert_null(b.link->wait);
    bench_close(&b);
}

static pen_post inner_put(pen_link *link, pen_peer to, uint64_t offset, pen_rkey key,
                          const void *local, pen_region *region, size_t len, pen_op *op)
{
    (void)link;
    assert_non_null(region);
    assert_true(to == 2 && offset == 16 && key == 5 && *(const int *)local == 9 &&
                len == sizeof(int) && op != NULL);
    return PEN_POST_PENDING;
}

static pen_post inner_get(pen_link *link, pen_peer from, uint64_t offset, pen_rkey key, void *local,
                          pen_region *region, size_t len, pen_op *op)
{
    (void)link;
    assert_null(region);
    assert_true(from == 1 && offset == 24 && key == 6 && len == sizeof(int) && op != NULL);
    *(int *)local = 77;
    return PEN_POST_AGAIN;
}

static pen_status inner_register(pen_link *link, void *addr, size_t len, pen_region **out)
{
    (void)link;
    assert_true(len == 4096);
    *out = (pen_region *)addr;
    return PEN_OK;
}

static void inner_deregister(pen_link *link, pen_region *region)
{
    (void)region;
    inner_of(link)->cancels += 10;
}

static pen_status inner_export(pen_link *link, const pen_region *region, void *blob)
{
    (void)link, (void)region;
    *(int *)blob = 8;
    return PEN_ERR_RESOURCE;
}

static pen_status inner_import(pen_link *link, pen_peer peer, const void *blob, pen_rkey *out)
{
    (void)link;
    *out = peer + (pen_rkey) * (const int *)blob;
    return PEN_OK;
}

static void inner_release_region(pen_link *link, pen_peer peer, pen_rkey key)
{
    inner_of(link)->cancels += peer * 100 + (unsigned)key * 1000;
}

static void put_and_get_are_passed_on_as_they_are(void **state)
{
    (void)state;
    static const pen_rma_ops rma = { inner_register, inner_deregister,     inner_export,
                                     inner_import,   inner_release_region, inner_put,
                                     inner_get };
    bench b;
    pen_op op = { 0 };
    pen_impair_config config = { .drop = 1 };
    int word = 9, got = 0;
    pen_region *region = NULL;
    pen_rkey key = 0;
    inner_init(&b.inner, 0);
    b.inner.base.rma = &rma;
    assert_int_equal(pen_impair_open(&b.inner.base, &config, PEN_ALONE, &b.link), PEN_OK);
    const pen_rma_ops *ops = b.link->rma;
    assert_int_equal(ops->put(b.link, 2, 16, 5, &word, (pen_region *)(void *)&b, sizeof word, &op),
                     PEN_POST_PENDING);
    assert_int_equal(ops->get(b.link, 1, 24, 6, &got, NULL, sizeof got, &op), PEN_POST_AGAIN);
    assert_int_equal(got, 77);
    assert_int_equal(ops->register_region(b.link, &b, 4096, &region), PEN_OK);
    assert_ptr_equal(region, &b);
    assert_int_equal(ops->export_region(b.link, region, &got), PEN_ERR_RESOURCE);
    assert_int_equal(ops->import_region(b.link, 2, &got, &key), PEN_OK);
    assert_int_equal(key, 10);
    ops->release_region(b.link, 1, 2);
    ops->deregister_region(b.link, region);
    assert_int_equal(b.inner.cancels, 2110);
    bench_close(&b);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void rank_0_warns_once_and_every_rank_reports_at_the_end(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .drop = 0.25, .seed = 12 };
    assert_true(pen_impair_is_on(&config));
    bench_open(&b, 0, &config);
    assert_int_equal(b.inner.line_count, 1);
    assert_int_equal(b.inner.levels[0], PEN_LOG_WARN);
    assert_non_null(strstr(b.inner.lines[0], "drop 0.25"));
    assert_non_null(strstr(b.inner.lines[0], "seed 12"));
    bench_close(&b);
    assert_int_equal(b.inner.line_count, 2);
    assert_int_equal(b.inner.levels[1], PEN_LOG_INFO);
    bench_open(&b, 1, &config);
    assert_int_equal(b.inner.line_count, 0);
    bench_close(&b);
    assert_int_equal(b.inner.line_count, 1);
}

static void what_is_no_probability_is_refused(void **state)
{
    (void)state;
    static const pen_impair_config bad[] = { { .drop = 1.01 },
                                             { .duplicate = -0.1 },
                                             { .reorder = 2 },
                                             { .delay = -1 },
                                             { .corrupt = 1e300 } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        inner_link inner;
        pen_link *link = NULL;
        inner_init(&inner, 0);
        assert_true(pen_impair_is_on(&bad[i]));
        assert_int_equal(pen_impair_open(&inner.base, &bad[i], PEN_ALONE, &link), PEN_ERR_ARGUMENT);
        assert_null(link);
        assert_int_equal(inner.line_count, 1);
        assert_int_equal(inner.levels[0], PEN_LOG_ERROR);
        assert_int_equal(inner.closes + inner.blocks, 0);
    }
}

static void without_memory_for_the_link_that_is_said(void **state)
{
    (void)state;
    inner_link inner;
    pen_link *link = NULL;
    pen_impair_config config = { .drop = 1 };
    inner_init(&inner, 0);
    inner.has_no_memory = true;
    assert_int_equal(pen_impair_open(&inner.base, &config, PEN_ALONE, &link), PEN_ERR_MEMORY);
    assert_null(link);
    assert_int_equal(inner.line_count, 1);
    assert_int_equal(inner.closes, 0);
}

static const char *lookup(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "PENSTOCK_IMPAIR_DROP") == 0 ? "1e-5" : NULL;
}

static void the_variables_fill_the_config(void **state)
{
    (void)state;
    pen_log log;
    pen_impair_config config;
    memset(&config, 0xff, sizeof config);
    pen_log_init(&log, "test");
    assert_int_equal(pen_knob_read(&log, pen_impair_knobs, &config, lookup, NULL), PEN_OK);
    assert_true(config.drop == 1e-5 && config.duplicate == 0 && config.reorder == 0);
    assert_true(config.delay == 0 && config.corrupt == 0 && config.delay_s == 1e-3);
    assert_int_equal(config.seed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_promises_that_hold_are_passed_on),
        cmocka_unit_test(introductions_and_waiting_reach_the_wrapped_link),
        cmocka_unit_test(families_that_the_wrapped_link_lacks_stay_absent),
        cmocka_unit_test(put_and_get_are_passed_on_as_they_are),
        cmocka_unit_test(rank_0_warns_once_and_every_rank_reports_at_the_end),
        cmocka_unit_test(what_is_no_probability_is_refused),
        cmocka_unit_test(without_memory_for_the_link_that_is_said),
        cmocka_unit_test(the_variables_fill_the_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
