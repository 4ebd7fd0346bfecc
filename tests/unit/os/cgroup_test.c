/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup_test.c: limits are found in both versions, at every level, and nothing odd is taken for
 * one. */
#include "os/cgroup.h"
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static int make_root(void **state)
{
    static char root[64];
    (void)snprintf(root, sizeof root, "/tmp/pen_cgroup_XXXXXX");
    *state = mkdtemp(root);
    return *state == NULL;
}

static int remove_root(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    return system(command);
}

/* Writes root/path, with the folders it needs. */
static void put_file(const char *root, const char *path, const char *text)
{
    char full[PATH_MAX];
    (void)snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(full, 0700);
        *at = '/';
    }
    FILE *out = fopen(full, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void an_empty_hierarchy_limits_nothing(void **state)
{
    assert_true(pen_cgroup_cores(*state) == 0);
    assert_true(pen_cgroup_memory_limit(*state) == UINT64_MAX);
    assert_true(pen_cgroup_memory_left(*state) == UINT64_MAX);
    assert_true(pen_cores_allowed(*state) >= 1);
}

static void a_quota_of_version_2_caps_the_cores_rounded_up(void **state)
{
    put_file(*state, "cpu.max", "50000 100000\n");
    assert_true(pen_cgroup_cores(*state) == 0.5);
    assert_int_equal(pen_cores_allowed(*state), 1);
    put_file(*state, "cpu.max", "100001 100000\n");
    unsigned cores = pen_cores_allowed(*state);
    assert_int_equal(cores, pen_cores_allowed(NULL) >= 2 ? 2 : 1);
}

static void max_and_nonsense_are_no_limit(void **state)
{
    put_file(*state, "cpu.max", "max 100000\n");
    put_file(*state, "memory.max", "max\n");
    assert_true(pen_cgroup_cores(*state) == 0);
    assert_true(pen_cgroup_memory_limit(*state) == UINT64_MAX);
    put_file(*state, "cpu.max", "100000 0\n");
    put_file(*state, "memory.max", "99999999999999999999999\n");
    assert_true(pen_cgroup_cores(*state) == 0);
    assert_true(pen_cgroup_memory_limit(*state) == UINT64_MAX);
    put_file(*state, "cpu.max", "");
    put_file(*state, "memory.max", "12monkeys\n");
    assert_true(pen_cgroup_cores(*state) == 0);
    assert_true(pen_cgroup_memory_limit(*state) == UINT64_MAX);
}

static void the_tightest_group_on_the_way_up_counts(void **state)
{
    put_file(*state, "self", "0::/outer/inner\n");
    put_file(*state, "outer/cpu.max", "150000 100000\n");
    put_file(*state, "outer/inner/cpu.max", "400000 100000\n");
    put_file(*state, "outer/memory.max", "2000\n");
    put_file(*state, "outer/inner/memory.max", "3000\n");
    put_file(*state, "other/memory.max", "1\n");
    assert_true(pen_cgroup_cores(*state) == 1.5);
    assert_int_equal(pen_cgroup_memory_limit(*state), 2000);
}

static void what_is_left_counts_droppable_cache_as_free(void **state)
{
    put_file(*state, "memory.max", "1000\n");
    put_file(*state, "memory.current", "700\n");
    assert_int_equal(pen_cgroup_memory_left(*state), 300);
    put_file(*state, "memory.stat", "anon 5\ninactive_filex 9\ninactive_file 100\n");
    assert_int_equal(pen_cgroup_memory_left(*state), 400);
    put_file(*state, "memory.current", "5000\n");
    assert_int_equal(pen_cgroup_memory_left(*state), 0);
}

static void version_1_is_read_too(void **state)
{
    put_file(*state, "self", "7:cpu,cpuacct:/job\n3:memory:/job\n2:cpuset:/job\n");
    put_file(*state, "cpu/job/cpu.cfs_quota_us", "250000\n");
    put_file(*state, "cpu/job/cpu.cfs_period_us", "100000\n");
    put_file(*state, "cpu/cpu.cfs_quota_us", "-1\n");
    put_file(*state, "memory/job/memory.limit_in_bytes", "1000\n");
    put_file(*state, "memory/job/memory.usage_in_bytes", "400\n");
    put_file(*state, "memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n");
    assert_true(pen_cgroup_cores(*state) == 2.5);
    assert_int_equal(pen_cgroup_memory_limit(*state), 1000);
    assert_int_equal(pen_cgroup_memory_left(*state), 700);
}

static void a_container_that_shows_only_its_own_group_is_understood(void **state)
{
    put_file(*state, "self", "4:memory:/docker/0123\n0::/../../elsewhere\n");
    put_file(*state, "memory/memory.limit_in_bytes", "500\n");
    put_file(*state, "memory.max", "600\n");
    assert_int_equal(pen_cgroup_memory_limit(*state), 500);
    put_file(*state, "shown/self", "0::/../elsewhere\n"); /* outside of the part that is shown */
    put_file(*state, "shown/memory.max", "600\n");
    put_file(*state, "elsewhere/memory.max", "1\n");
    char shown[PATH_MAX];
    (void)snprintf(shown, sizeof shown, "%s/shown", (const char *)*state);
    assert_int_equal(pen_cgroup_memory_limit(shown), 600);
}

int main(void)
{
#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        IN_ROOT(an_empty_hierarchy_limits_nothing),
        IN_ROOT(a_quota_of_version_2_caps_the_cores_rounded_up),
        IN_ROOT(max_and_nonsense_are_no_limit),
        IN_ROOT(the_tightest_group_on_the_way_up_counts),
        IN_ROOT(what_is_left_counts_droppable_cache_as_free),
        IN_ROOT(version_1_is_read_too),
        IN_ROOT(a_container_that_shows_only_its_own_group_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
