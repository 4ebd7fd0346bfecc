/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence_test.c: network cards are found in the files that the kernel would show. */
#include "link/evidence.h"

#include "knob/knob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_LEN = 256 };

static char root[] = "/tmp/penstock-evidence-XXXXXX";

static const char *below_root(const char *name)
{
    static char path[2 * PATH_LEN];
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    return path;
}

static void make_folders(const char *name)
{
    char path[2 * PATH_LEN];
    (void)snprintf(path, sizeof path, "%s", below_root(name));
    for (char *at = path + strlen(root) + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    (void)mkdir(path, 0700);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(below_root(name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Makes a card with verbs: its driver, and the state of a port; NULL for no device, no port. */
static void make_card(const char *card, const char *driver, const char *state)
{
    char name[PATH_LEN], target[PATH_LEN];
    (void)snprintf(name, sizeof name, "/sys/class/infiniband/%s/device", card);
    make_folders(name);
    if (driver != NULL) {
        (void)snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s", driver);
        (void)snprintf(name, sizeof name, "/sys/class/infiniband/%s/device/driver", card);
        assert_int_equal(symlink(target, below_root(name)), 0);
    }
    if (state != NULL) {
        (void)snprintf(name, sizeof name, "/sys/class/infiniband/%s/ports/2", card);
        make_folders(name);
        (void)snprintf(name, sizeof name, "/sys/class/infiniband/%s/ports/2/state", card);
        write_file(name, state);
    }
}

static int remove_root(void **state)
{
    (void)state;
    char command[PATH_LEN];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command); // NOLINT: the folder is this test's
}

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/penstock-evidence-XXXXXX");
    return mkdtemp(root) == NULL || !pen_knob_to_process("PENSTOCK_DEVICE_ROOT", root);
}

static void expect(uint32_t networks) { assert_int_equal(pen_evidence_look(), networks); }

static void an_empty_machine_has_no_network(void **state)
{
    (void)state;
    expect(0);
    make_folders("/sys/class/infiniband");
    make_folders("/sys/class/cxi");
    make_folders("/dev");
    expect(0);
}

static void each_card_is_found(void **state)
{
    (void)state;
    make_folders("/dev");
    write_file("/dev/hfi1", ""); /* not a card's file */
    expect(0);
    write_file("/dev/hfi1_0", "");
    expect(1U << PEN_NETWORK_OMNIPATH);
    make_folders("/sys/class/cxi/cxi0");
    expect(1U << PEN_NETWORK_OMNIPATH | 1U << PEN_NETWORK_SLINGSHOT);
}

static void cards_with_verbs_are_told_apart_by_their_driver(void **state)
{
    (void)state;
    static const struct {
        const char *driver;
        uint32_t networks;
    } rows[] = {
        { "efa", 1U << PEN_NETWORK_EFA },
        { "mlx5_core", 1U << PEN_NETWORK_MELLANOX },
        { "irdma", 1U << PEN_NETWORK_VERBS },
        { "mlx4_core", 1U << PEN_NETWORK_MELLANOX },
        { "hfi1", 1U << PEN_NETWORK_OMNIPATH },
        { "rdma_rxe", 0 },
        { "siw", 0 },
        { NULL, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_card("card0", rows[i].driver, "4: ACTIVE\n");
        expect(rows[i].networks);
        assert_int_equal(remove_root(NULL), 0);
        assert_int_equal(make_root(NULL), 0);
    }
}

static void a_port_that_is_down_is_no_network(void **state)
{
    (void)state;
    make_card("mlx5_0", "mlx5_core", "1: DOWN\n");
    make_card("mlx5_1", "mlx5_core", NULL);
    make_card("irdma0", "irdma", "2: INIT\n");
    expect(0);
    make_card("mlx5_2", "mlx5_core", "4: ACTIVE\n");
    expect(1U << PEN_NETWORK_MELLANOX);
}

static void the_first_row_with_a_card_wins(void **state)
{
    (void)state;
    static const pen_evidence rows[] = { { PEN_NETWORK_EFA, 75, "efa" },
                                         { PEN_NETWORK_VERBS, 40, "verbs" } };
    assert_null(pen_evidence_first(rows, 2, 0));
    assert_null(pen_evidence_first(rows, 2, 1U << PEN_NETWORK_SLINGSHOT));
    assert_ptr_equal(pen_evidence_first(rows, 2, 1U << PEN_NETWORK_VERBS), &rows[1]);
    assert_ptr_equal(pen_evidence_first(rows, 2, ~0U), &rows[0]);
    for (unsigned network = 0; network < PEN_NETWORKS; network++)
        assert_non_null(strstr(pen_evidence_words((pen_network)network), "this machine has a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_machine_has_no_network, make_root, remove_root),
        cmocka_unit_test_setup_teardown(each_card_is_found, make_root, remove_root),
        cmocka_unit_test_setup_teardown(cards_with_verbs_are_told_apart_by_their_driver, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(a_port_that_is_down_is_no_network, make_root, remove_root),
        cmocka_unit_test(the_first_row_with_a_card_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
