/* SPDX-License-Identifier: BSD-3-Clause */
/* choice_test.c: the choice of cipher and library follows what a clock says they cost. */
#include "seal/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The order in which a class is measured. */
enum { CHACHA_SODIUM, CHACHA_LIBCRYPTO, AES_SODIUM, AES_LIBCRYPTO, COMBINATIONS };
enum { TIMES = 3, CALLS_EACH = 2 * TIMES };

/* A clock that moves as if each combination took so long. */
typedef struct script {
    uint64_t cost_ns[COMBINATIONS];
    unsigned combinations; /* measured in each class */
    uint64_t calls, now_ns;
} script;

static uint64_t scripted_ns(void *ctx)
{
    script *s = ctx;
    if (s->calls % 2 != 0)
        s->now_ns += s->cost_ns[s->calls / CALLS_EACH % s->combinations];
    s->calls++;
    return s->now_ns;
}

static pen_choice choose(script *s, pen_seal_cipher own)
{
    pen_choice choice;
    pen_libcrypto *library = pen_libcrypto_open();
    bool has_aes = false;
    if (library == NULL || !pen_seal_start(&has_aes) || !has_aes)
        skip();
    pen_choice_make(&choice, library, own, scripted_ns, s);
    pen_libcrypto_close(library);
    assert_int_equal(s->calls, (uint64_t)CALLS_EACH * s->combinations * PEN_CHOICE_CLASSES);
    return choice;
}

static void expect(const pen_choice *choice, pen_seal_cipher cipher, bool chacha_by_libcrypto,
                   bool aes_by_libcrypto)
{
    for (unsigned i = 0; i < PEN_CHOICE_CLASSES; i++) {
        assert_int_equal(choice->cipher[i], cipher);
        assert_int_equal(choice->by_libcrypto[PEN_SEAL_CHACHA20_POLY1305][i], chacha_by_libcrypto);
        assert_int_equal(choice->by_libcrypto[PEN_SEAL_AES256_GCM][i], aes_by_libcrypto);
    }
}

static void the_faster_one_is_chosen(void **state)
{
    (void)state;
    static const struct {
        uint64_t cost_ns[COMBINATIONS];
        pen_seal_cipher cipher;
        bool chacha_by_libcrypto, aes_by_libcrypto;
    } rows[] = {
        { { 100, 100, 100, 100 }, PEN_SEAL_AES256_GCM, false, false },
        { { 100, 96, 100, 96 }, PEN_SEAL_AES256_GCM, false, false }, /* too small a gain */
        { { 100, 90, 100, 80 }, PEN_SEAL_AES256_GCM, true, true },
        { { 100, 60, 100, 80 }, PEN_SEAL_CHACHA20_POLY1305, true, true },
        { { 60, 100, 100, 80 }, PEN_SEAL_CHACHA20_POLY1305, false, true },
        { { 100, 60, 61, 80 }, PEN_SEAL_AES256_GCM, true, false },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        script s = { .combinations = COMBINATIONS };
        for (unsigned k = 0; k < COMBINATIONS; k++)
            s.cost_ns[k] = rows[i].cost_ns[k];
        pen_choice choice = choose(&s, PEN_SEAL_AES256_GCM);
        expect(&choice, rows[i].cipher, rows[i].chacha_by_libcrypto, rows[i].aes_by_libcrypto);
    }
}

static void a_job_without_aes_never_uses_it(void **state)
{
    (void)state;
    script s = { .cost_ns = { 100, 50 }, .combinations = 2 };
    pen_choice choice = choose(&s, PEN_SEAL_CHACHA20_POLY1305);
    expect(&choice, PEN_SEAL_CHACHA20_POLY1305, true, false);
}

static void a_clock_that_stands_still_changes_nothing(void **state)
{
    (void)state;
    script s = { .combinations = COMBINATIONS };
    pen_choice choice = choose(&s, PEN_SEAL_AES256_GCM);
    expect(&choice, PEN_SEAL_AES256_GCM, false, false);
}

static void without_libcrypto_nothing_is_measured(void **state)
{
    (void)state;
    script s = { .combinations = COMBINATIONS };
    pen_choice choice;
    pen_choice_make(&choice, NULL, PEN_SEAL_AES256_GCM, scripted_ns, &s);
    assert_int_equal(s.calls, 0);
    expect(&choice, PEN_SEAL_AES256_GCM, false, false);
}

static void classes_are_powers_of_two(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PEN_CHOICE_CLASSES; i++) {
        size_t first = (size_t)PEN_CHOICE_LEAST << i;
        assert_int_equal(pen_choice_class(first), i);
        assert_int_equal(pen_choice_class(2 * first - 1), i);
    }
    assert_int_equal(pen_choice_class(SIZE_MAX), PEN_CHOICE_CLASSES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_one_is_chosen),
        cmocka_unit_test(a_job_without_aes_never_uses_it),
        cmocka_unit_test(a_clock_that_stands_still_changes_nothing),
        cmocka_unit_test(without_libcrypto_nothing_is_measured),
        cmocka_unit_test(classes_are_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
