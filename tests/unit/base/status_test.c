/* SPDX-License-Identifier: BSD-3-Clause */
/* status_test.c: texts of the status list. */
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_status_has_a_text_and_every_error_a_remedy(void **state)
{
    (void)state;
    for (int i = PEN_OK; i <= PEN_ERR_LIMIT_TIME; i++) {
        assert_true(pen_status_text((pen_status)i)[0] != '\0');
        assert_int_equal(pen_status_remedy((pen_status)i)[0] == '\0', i == PEN_OK);
    }
    assert_string_equal(pen_status_text(PEN_ERR_PEER_LOST), "a peer is gone");
}

static void any_integer_is_accepted(void **state)
{
    (void)state;
    assert_string_equal(pen_status_text((pen_status)-1), "unknown status");
    assert_string_equal(pen_status_text((pen_status)1000), "unknown status");
    assert_string_equal(pen_status_remedy((pen_status)1000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text_and_every_error_a_remedy),
        cmocka_unit_test(any_integer_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
