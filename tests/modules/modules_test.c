/* SPDX-License-Identifier: BSD-3-Clause */
/* modules_test.c: modules that open, and the reason for each one that does not.
 * Its one argument is the folder with the modules of this test. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduit/modules.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "pen_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *folder;

static pen_module opened(const char *name)
{
    pen_module module;
    assert_true(pen_module_open(folder, name, &module));
    assert_string_equal(module.name, name);
    return module;
}

static void a_good_module_opens(void **state)
{
    (void)state;
    char wanted[PEN_MODULE_FILE_MAX];
    pen_module module = opened("relay");
    (void)snprintf(wanted, sizeof wanted, "%s/libpenstock-relay.so", folder);
    assert_string_equal(module.file, wanted);
    assert_non_null(module.conduit);
    assert_string_equal(module.conduit->name, "relay");
    const char *why_not = NULL;
    assert_true(module.conduit->score(1, &why_not) > 0);
    assert_ptr_equal(opened("relay").conduit, module.conduit); /* opened once */
}

static void each_bad_module_has_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words;
    } bad[] = {
        { "stale",
          "built for version 1 of the contract of conduits, and this Penstock has version " },
        { "nameless", "contains no pen_conduit_nameless" },
        { "liar", "a conduit of another name: relay" },
        { "greedy", "wants memory of the launcher" },
        { "smp", "is not opened: Penstock itself contains a conduit of that name" },
        { "lost", "does not open: " }, /* it needs a library that does not exist */
        { "text", "does not open: " },
        { "folder", "does not open: " },
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pen_module module = opened(bad[i].name);
        assert_null(module.conduit);
        assert_non_null(strstr(module.why_not, bad[i].words));
    }
    char both[128];
    (void)snprintf(both, sizeof both,
                   "version 1 of the contract of conduits, and this Penstock has version %u;",
                   (unsigned)PEN_CONDUIT_ABI);
    assert_non_null(strstr(opened("stale").why_not, both));
}

static void a_name_is_no_path(void **state)
{
    (void)state;
    static const char *const names[] = { "",       "../relay", "relay.so",
                                         "Relay",  "relay\n",  "none",
                                         "relay/", "./relay",  "a-name-that-is-longer-than-any" };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        pen_module module = { .name = "unchanged" };
        assert_false(pen_module_open(folder, names[i], &module));
        assert_string_equal(module.name, "unchanged");
    }
}

static void the_first_folder_wins(void **state)
{
    (void)state;
    char paths[2 * PEN_MODULE_PATHS_MAX];
    pen_module module;
    (void)snprintf(paths, sizeof paths, "/nonexistent::%s/first:%s", folder, folder);
    assert_true(pen_module_open(paths, "relay", &module));
    assert_null(module.conduit); /* that of first/ is a text */
    assert_true(pen_module_open(paths, "stale", &module));
    assert_false(pen_module_open("", "relay", &module));
    assert_false(pen_module_open(":", "relay", &module));
}

static void all_modules_are_listed_once(void **state)
{
    (void)state;
    static const char *const wanted[] = { "folder", "greedy", "liar",  "lost", "nameless",
                                          "relay",  "smp",    "stale", "text" };
    char paths[2 * PEN_MODULE_PATHS_MAX];
    pen_module modules[PEN_MODULES_MAX];
    (void)snprintf(paths, sizeof paths, "%s:%s:/nonexistent", folder, folder);
    assert_int_equal(pen_modules_open(paths, NULL, modules), 9);
    for (unsigned i = 0; i < 9; i++) {
        assert_string_equal(modules[i].name, wanted[i]);
        assert_int_equal(modules[i].conduit != NULL, strcmp(wanted[i], "relay") == 0);
    }
}

static void the_registry_finds_modules(void **state)
{
    (void)state;
    assert_null(pen_conduit_find("relay"));
    assert_true(pen_knob_to_process("PENSTOCK_CONDUIT_PATH", folder));
    const pen_conduit *relay = pen_conduit_find("relay"), *all[PEN_CONDUITS_MAX], *chosen = NULL;
    assert_non_null(relay);
    assert_null(pen_conduit_find("stale"));
    size_t count = pen_conduit_list(NULL, all), relays = 0, builtin_count = 0;
    while (pen_builtin_conduits[builtin_count] != NULL)
        builtin_count++;
    for (size_t i = 0; i < count; i++) {
        relays += all[i] == relay;
        assert_true(all[i] != relay || i >= builtin_count); /* built-in conduits come first */
    }
    assert_int_equal(relays, 1);
    pen_log log;
    pen_log_init(&log, "test");
    assert_int_equal(pen_conduit_choose(&log, "relay", 1, &chosen), PEN_OK);
    assert_ptr_equal(chosen, relay);
    assert_int_equal(pen_conduit_choose(&log, NULL, 1, &chosen), PEN_OK);
    assert_ptr_not_equal(chosen, relay); /* a module is not chosen for one host */
    assert_int_equal(pen_conduit_choose(&log, "stale", 1, &chosen), PEN_ERR_UNUSABLE);
    assert_true(pen_knob_to_process("PENSTOCK_CONDUIT_PATH", NULL));
}

static void folders_that_do_not_fit_are_left_out_whole(void **state)
{
    (void)state;
    char before[PEN_MODULE_PATHS_MAX], after[PEN_MODULE_PATHS_MAX], more[PEN_MODULE_PATHS_MAX];
    pen_module_paths(false, before);
    const size_t room = PEN_MODULE_PATHS_MAX - strlen(before) - 2; /* a colon and the end */
    for (size_t len = room - 1; len <= room + 2; len++) {
        memset(more, 'x', len);
        more[len] = '\0';
        assert_true(pen_knob_to_process("PENSTOCK_CONDUIT_PATH", more));
        pen_module_paths(false, after);
        assert_int_equal(strlen(after), strlen(before) + (len <= room ? 1 + len : 0));
        assert_memory_equal(after, before, strlen(before));
    }
    assert_true(pen_knob_to_process("PENSTOCK_CONDUIT_PATH", NULL));
}

static void the_folders_are_those_of_the_library_and_of_the_user(void **state)
{
    (void)state;
    char before[PEN_MODULE_PATHS_MAX], after[PEN_MODULE_PATHS_MAX];
    pen_module_paths(false, before);
    assert_non_null(strstr(before, "/penstock:"));
    assert_true(pen_knob_to_process("PENSTOCK_CONDUIT_PATH", "/one:/two"));
    pen_module_paths(false, after);
    assert_memory_equal(after, before, strlen(before));
    assert_string_equal(after + strlen(before), ":/one:/two");
    pen_module_paths(true, after); /* neither the user's folders nor those beside the program */
    assert_string_equal(after, PEN_LIBDIR "/penstock");
    assert_true(pen_knob_to_process("PENSTOCK_CONDUIT_PATH", NULL));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_module_opens),
        cmocka_unit_test(each_bad_module_has_a_reason),
        cmocka_unit_test(a_name_is_no_path),
        cmocka_unit_test(the_first_folder_wins),
        cmocka_unit_test(all_modules_are_listed_once),
        cmocka_unit_test(the_registry_finds_modules),
        cmocka_unit_test(folders_that_do_not_fit_are_left_out_whole),
        cmocka_unit_test(the_folders_are_those_of_the_library_and_of_the_user),
    };
    if (argc != 2)
        return 2;
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
