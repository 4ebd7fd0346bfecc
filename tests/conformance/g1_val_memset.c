/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_val_memset.c: GASNet-1 Extended, values in registers instead of memory, and remote memset.
 *
 * TESTS: gasnet_put_val gasnet_put_nb_val gasnet_put_nbi_val gasnet_get_val gasnet_get_nb_val
 * TESTS: gasnet_wait_syncnb_valget gasnet_valget_handle_t gasnet_register_value_t
 * TESTS: SIZEOF_GASNET_REGISTER_VALUE_T gasnet_memset
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

_Static_assert(sizeof(gasnet_register_value_t) == SIZEOF_GASNET_REGISTER_VALUE_T &&
                   SIZEOF_GASNET_REGISTER_VALUE_T == 8 && (gasnet_register_value_t)-1 > 0,
               "GASNet-1 Extended, values: an unsigned integer of a register's size");

enum { SLOT_LEN = 8192, VALUE_LEN = SIZEOF_GASNET_REGISTER_VALUE_T };

static const gasnet_register_value_t pattern = 0xf1e2d3c4b5a69788u;

static char *slot_at(unsigned to, unsigned thread_i)
{
    return g1_at(to, (size_t)((unsigned)check_rank * CHECK_THREADS + thread_i) * SLOT_LEN);
}

/* The low bytes of a value, the rest zero. */
static gasnet_register_value_t low_bytes(gasnet_register_value_t value, size_t len)
{
    return len == VALUE_LEN ? value : value & (((gasnet_register_value_t)1 << 8 * len) - 1);
}

/* Memory contents when the low bytes of a value are stored in native order. */
static int holds(const char *memory, gasnet_register_value_t value, size_t len)
{
    const unsigned char one_first[] = { 1, 0 };
    uint16_t one = 0;
    memcpy(&one, one_first, sizeof(one));
    const char *bytes = (const char *)&value;
    return memcmp(memory, one == 1 ? bytes : bytes + VALUE_LEN - len, len) == 0;
}

static void put_by_form(unsigned form, unsigned to, char *dest, gasnet_register_value_t value,
                        size_t len)
{
    switch (form) {
    case 0:
        gasnet_put_val(to, dest, value, len);
        break;
    case 1:
        gasnet_wait_syncnb(gasnet_put_nb_val(to, dest, value, len));
        break;
    default:
        gasnet_put_nbi_val(to, dest, value, len);
        gasnet_wait_syncnbi_puts();
        break;
    }
}

static void check_values(unsigned thread_i)
{
    char back[3 * VALUE_LEN];
    for (unsigned i = 0; i < 3 * (unsigned)check_size; i++) {
        const unsigned to = check_next(i / 3);
        char *slot = slot_at(to, thread_i);
        for (size_t len = 1; len <= VALUE_LEN; len++) {
            gasnet_memset(to, slot, 0x99, sizeof(back));
            put_by_form(i % 3, to, slot + VALUE_LEN, pattern, len);
            gasnet_get_bulk(back, to, slot, sizeof(back));
            CHECK(holds(back + VALUE_LEN, pattern, len),
                  "GASNet-1 Extended, values: the low bytes are stored, in native order");
            CHECK(check_all(back, VALUE_LEN, 0x99) &&
                      check_all(back + VALUE_LEN + len, 2 * VALUE_LEN - len, 0x99),
                  "GASNet-1 Extended, values: only so many bytes are stored");
            CHECK(gasnet_get_val(to, slot + VALUE_LEN, len) == low_bytes(pattern, len),
                  "GASNet-1 Extended, values: a value got is extended with zeros");
            gasnet_valget_handle_t get = gasnet_get_nb_val(to, slot + VALUE_LEN, len);
            CHECK(gasnet_wait_syncnb_valget(get) == low_bytes(pattern, len),
                  "GASNet-1 Extended, values: get_nb_val gives the value when waited for");
        }
    }
}

/* Several may be on their way at once, and be waited for in any order. */
static void check_values_in_flight(unsigned thread_i)
{
    enum { GETS = 16 };
    gasnet_valget_handle_t gets[GETS];
    const unsigned to = check_next(1);
    char *slot = slot_at(to, thread_i);
    for (unsigned i = 0; i < GETS; i++)
        gasnet_put_nbi_val(to, slot + 8 * i, pattern * (i + 1), 8);
    gasnet_wait_syncnbi_all();
    for (unsigned i = 0; i < GETS; i++)
        gets[i] = gasnet_get_nb_val(to, slot + 8 * i, 8);
    for (unsigned i = GETS; i-- > 0;)
        CHECK(gasnet_wait_syncnb_valget(gets[i]) == pattern * (i + 1),
              "GASNet-1 Extended, values: handles are waited for in any order");
}

static void check_memset(unsigned thread_i)
{
    static const size_t lens[] = { 0, 1, 2, 7, 8, 100, 4096, SLOT_LEN - 16 };
    static _Thread_local char back[SLOT_LEN];
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]) * (unsigned)check_size; i++) {
        const unsigned to = check_next(i);
        const size_t len = lens[i / (unsigned)check_size];
        char *slot = slot_at(to, thread_i);
        gasnet_memset(to, slot, 0, SLOT_LEN);
        gasnet_memset(to, slot + 5, 0x1ab, len);
        gasnet_get_bulk(back, to, slot, SLOT_LEN);
        CHECK(
            check_all(back, 5, 0) && check_all(back + 5, len, 0xab) &&
                check_all(back + 5 + len, SLOT_LEN - 5 - len, 0),
            "GASNet-1 Extended, memset: these bytes, no others, become the low byte of the value");
    }
}

int main(int argc, char **argv)
{
    g1_start(&argc, &argv);
    g1_attach(NULL, 0, (uintptr_t)check_size * CHECK_THREADS * SLOT_LEN);

    check_on_threads(check_values);
    check_on_threads(check_values_in_flight);
    check_on_threads(check_memset);
    return check_end();
}
