/* SPDX-License-Identifier: BSD-3-Clause */
/* lines_test.c: a rank's output goes out in whole lines and completely, in whichever pieces it
 * arrives. */
#include "launch/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 16 };

typedef struct taken {
    char text[TEXT_MAX];
    size_t len;
} taken;

static void take(void *ctx, const char *text, size_t len)
{
    taken *to = ctx;
    assert_true(len > 0 && to->len + len < TEXT_MAX);
    memcpy(to->text + to->len, text, len);
    to->len += len;
    to->text[to->len] = '\0';
}

static void feed(pen_lines *lines, const char *text, taken *to)
{
    pen_lines_feed(lines, text, strlen(text), take, to);
}

static void unfinished_line_is_kept_until_it_ends(void **state)
{
    (void)state;
    static taken to;
    pen_lines lines;
    pen_lines_init(&lines, "");
    feed(&lines, "one\ntw", &to);
    assert_string_equal(to.text, "one\n");
    feed(&lines, "o", &to);
    assert_string_equal(to.text, "one\n");
    feed(&lines, "\nthree\nfour", &to);
    assert_string_equal(to.text, "one\ntwo\nthree\n");
    assert_true(pen_lines_pending(&lines));
    pen_lines_flush(&lines, take, &to);
    assert_string_equal(to.text, "one\ntwo\nthree\nfour");
    pen_lines_flush(&lines, take, &to);
    assert_string_equal(to.text, "one\ntwo\nthree\nfour");
    pen_lines_free(&lines);
}

static void each_line_is_tagged_once(void **state)
{
    (void)state;
    static taken to;
    pen_lines lines;
    pen_lines_init(&lines, "[7] ");
    feed(&lines, "a\n\nbc", &to);
    feed(&lines, "d\ne", &to);
    pen_lines_flush(&lines, take, &to); /* a prompt, say */
    feed(&lines, "f", &to);
    feed(&lines, "g\nh\n", &to);
    feed(&lines, "i", &to);
    pen_lines_flush(&lines, take, &to);
    feed(&lines, "j\nk\n", &to); /* nothing is kept, yet the line has begun */
    assert_string_equal(to.text, "[7] a\n[7] \n[7] bcd\n[7] efg\n[7] h\n[7] ij\n[7] k\n");
    pen_lines_free(&lines);
}

/* Every way to cut a text in pieces of random length gives the text again. */
static void every_byte_goes_out_in_order(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        static taken to;
        static char text[4096];
        size_t len = 0;
        to.len = 0;
        pen_lines lines;
        pen_lines_init(&lines, "");
        while (len < sizeof(text) / 2) {
            seed = seed * 1103515245u + 12345u;
            size_t piece_len = seed >> 16 & 127;
            for (size_t i = 0; i < piece_len; i++) {
                seed = seed * 1103515245u + 12345u;
                unsigned kind = seed >> 16 & 31;
                text[len + i] = "\n\0abcdefghijklmnopqrstuvwxyz    "[kind];
            }
            if (piece_len != 0)
                pen_lines_feed(&lines, text + len, piece_len, take, &to);
            len += piece_len;
            if (to.len != 0)
                assert_int_equal(to.text[to.len - 1], '\n');
        }
        pen_lines_flush(&lines, take, &to);
        assert_int_equal(to.len, len);
        assert_memory_equal(to.text, text, len);
        pen_lines_free(&lines);
    }
}

static size_t counted;
static void count(void *ctx, const char *text, size_t len)
{
    (void)ctx;
    (void)text;
    counted += len;
}

static void endless_line_goes_out_in_pieces(void **state)
{
    (void)state;
    char *piece = malloc(PEN_LINES_TAIL_MAX / 4 + 1);
    assert_non_null(piece);
    memset(piece, 'x', PEN_LINES_TAIL_MAX / 4 + 1);
    pen_lines lines;
    pen_lines_init(&lines, "");
    counted = 0;
    for (int i = 0; i < 3; i++)
        pen_lines_feed(&lines, piece, PEN_LINES_TAIL_MAX / 4 + 1, count, NULL);
    assert_int_equal(counted, 0);
    pen_lines_feed(&lines, piece, PEN_LINES_TAIL_MAX / 4 + 1, count, NULL);
    assert_int_equal(counted, PEN_LINES_TAIL_MAX + 4);
    pen_lines_free(&lines);
    free(piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unfinished_line_is_kept_until_it_ends),
        cmocka_unit_test(each_line_is_tagged_once),
        cmocka_unit_test(every_byte_goes_out_in_order),
        cmocka_unit_test(endless_line_goes_out_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
