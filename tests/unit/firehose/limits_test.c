/* SPDX-License-Identifier: BSD-3-Clause */
/* limits_test.c: the limits follow the variables, but no more than the device allows. */
#include "firehose/firehose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((size_t)1 << 20)

static void check(pen_firehose_config config, size_t device_memory, size_t device_region,
                  uint32_t device_regions, pen_firehose_limits wanted)
{
    pen_firehose_limits got =
        pen_firehose_limits_make(&config, device_memory, device_region, device_regions);
    assert_int_equal(got.memory_len, wanted.memory_len);
    assert_int_equal(got.region_len, wanted.region_len);
    assert_int_equal(got.regions, wanted.regions);
}

static void limits_follow_user_and_device(void **state)
{
    (void)state;
    check((pen_firehose_config){ 0 }, 0, 0, 0, (pen_firehose_limits){ 1024 * MIB, MIB, 1024 });
    check((pen_firehose_config){ 0 }, 256 * MIB, 0, 64,
          (pen_firehose_limits){ 256 * MIB, 4 * MIB, 64 });
    check(
        (pen_firehose_config){
            .memory = 48 * MIB, .victim_memory = 16 * MIB, .regions = 30, .victim_regions = 34 },
        0, 0, 0, (pen_firehose_limits){ 64 * MIB, MIB, 64 });
    /* at least what makes sense */
    check((pen_firehose_config){ .memory = 1, .victim_regions = 1, .region_len = 1 }, 0, 0, 0,
          (pen_firehose_limits){ 16 * MIB, MIB / 8, 32 });
    /* but never more than the device has */
    check((pen_firehose_config){ .memory = 64 * MIB, .regions = 100, .region_len = MIB }, 2 * MIB,
          MIB / 16, 8, (pen_firehose_limits){ 2 * MIB, MIB / 16, 8 });
    check((pen_firehose_config){ .regions = -5 }, 0, 0, 0,
          (pen_firehose_limits){ 1024 * MIB, MIB, 1024 });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(limits_follow_user_and_device) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
