/* SPDX-License-Identifier: BSD-3-Clause */
/* seal_test.c: a sealed datagram is opened by its receiver, once, and by no other rank; every
 * change is noticed; keys are nowhere they should not be. */
#include "seal/seal.h"

#include "pen_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 40, HEADER = 24, PAYLOAD = 104, WHOLE = HEADER + PAYLOAD + PEN_SEAL_TAG_LEN };

static uint8_t job_key[PEN_SEAL_KEY_LEN];
static uint8_t salts[RANKS][PEN_SEAL_SALT_LEN];

static pen_seal_params params_of(uint32_t self, pen_seal_mode mode, pen_seal_cipher cipher)
{
    return (pen_seal_params){ job_key, "test", mode, cipher, self, RANKS };
}

static pen_seal *open_one(const pen_seal_params *params)
{
    pen_seal *seal = NULL;
    assert_int_equal(pen_seal_open(params, salts, sizeof salts[0], &seal), PEN_OK);
    return seal;
}

typedef struct pair {
    pen_seal *from, *to; /* ranks 0 and 1 */
} pair;

static pair pair_open(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pen_seal_params from = params_of(0, mode, cipher), to = params_of(1, mode, cipher);
    return (pair){ open_one(&from), open_one(&to) };
}

static void pair_close(pair *p)
{
    pen_seal_close(p->from);
    pen_seal_close(p->to);
}

static void message_fill(uint8_t *message)
{
    for (unsigned i = 0; i < WHOLE; i++)
        message[i] = (uint8_t)(i * 3);
}

/* Every mode and cipher that this processor has. */
static void for_each(void (*check)(pen_seal_mode mode, pen_seal_cipher cipher))
{
    bool has_aes;
    assert_true(pen_seal_start(&has_aes));
    for (unsigned mode = PEN_SEAL_AUTH; mode <= PEN_SEAL_ENCRYPT; mode++) {
        check((pen_seal_mode)mode, PEN_SEAL_CHACHA20_POLY1305);
        if (has_aes)
            check((pen_seal_mode)mode, PEN_SEAL_AES256_GCM);
    }
}

static void check_round_trip(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pair p = pair_open(mode, cipher);
    uint8_t sent[WHOLE], clear[WHOLE];
    message_fill(clear);
    for (unsigned i = 0; i < 3; i++) {
        memcpy(sent, clear, WHOLE);
        assert_true(pen_seal_protect(p.from, 1, sent, HEADER, PAYLOAD));
        assert_memory_equal(sent, clear, HEADER - PEN_SEAL_COUNTER_LEN);
        bool is_clear = memcmp(sent + HEADER, clear + HEADER, PAYLOAD) == 0;
        assert_int_equal(is_clear, mode == PEN_SEAL_AUTH);
        uint8_t again[WHOLE];
        memcpy(again, sent, WHOLE);
        assert_int_equal(pen_seal_unprotect(p.to, 0, sent, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
        assert_memory_equal(sent + HEADER, clear + HEADER, PAYLOAD);
        assert_int_equal(pen_seal_unprotect(p.to, 0, again, HEADER, PAYLOAD), PEN_SEAL_REPLAYED);
    }
    pair_close(&p);
}

static void what_is_sealed_can_be_opened_once(void **state)
{
    (void)state;
    for_each(check_round_trip);
}

static void check_every_bit(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pair p = pair_open(mode, cipher);
    uint8_t sent[WHOLE], changed[WHOLE];
    message_fill(sent);
    assert_true(pen_seal_protect(p.from, 1, sent, HEADER, PAYLOAD));
    for (unsigned bit = 0; bit < WHOLE * 8; bit++) {
        memcpy(changed, sent, WHOLE);
        changed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(pen_seal_unprotect(p.to, 0, changed, HEADER, PAYLOAD), PEN_SEAL_FORGED);
    }
    /* a shorter one, and one whose header ends elsewhere */
    memcpy(changed, sent, WHOLE);
    assert_int_equal(pen_seal_unprotect(p.to, 0, changed, HEADER, PAYLOAD - 8), PEN_SEAL_FORGED);
    assert_int_equal(pen_seal_unprotect(p.to, 0, sent, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
    pair_close(&p);
}

static void every_changed_bit_is_noticed(void **state)
{
    (void)state;
    for_each(check_every_bit);
}

static void check_others(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pair p = pair_open(mode, cipher);
    pen_seal_params third_params = params_of(2, mode, cipher);
    pen_seal *third = open_one(&third_params);
    uint8_t sent[WHOLE], copy[WHOLE];
    message_fill(sent);
    assert_true(pen_seal_protect(p.from, 1, sent, HEADER, PAYLOAD));
    memcpy(copy, sent, WHOLE); /* for rank 1, shown to rank 2 */
    assert_int_equal(pen_seal_unprotect(third, 0, copy, HEADER, PAYLOAD), PEN_SEAL_FORGED);
    memcpy(copy, sent, WHOLE); /* datagrams of rank 0, passed off as another's; one with the same
                                * place */
    assert_int_equal(pen_seal_unprotect(p.to, 2, copy, HEADER, PAYLOAD), PEN_SEAL_FORGED);
    memcpy(copy, sent, WHOLE);
    assert_int_equal(pen_seal_unprotect(p.to, 16, copy, HEADER, PAYLOAD), PEN_SEAL_FORGED);
    memcpy(copy, sent, WHOLE); /* sent back to where it came from */
    assert_int_equal(pen_seal_unprotect(p.from, 1, copy, HEADER, PAYLOAD), PEN_SEAL_FORGED);
    assert_int_equal(pen_seal_unprotect(p.to, 0, sent, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
    pen_seal_close(third);
    pair_close(&p);
}

static void a_message_is_its_receivers_and_its_senders_only(void **state)
{
    (void)state;
    for_each(check_others);
}

static void check_stranger(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pair p = pair_open(mode, cipher);
    uint8_t sent[WHOLE];
    for (unsigned which = 0; which < 4; which++) {
        uint8_t *secret = which == 0 ? &job_key[31] : &salts[0][15];
        pen_seal_params params = params_of(0, mode, cipher);
        *secret ^= which < 2;
        params.purpose = which == 2 ? "tesu" : "test";
        params.mode = which == 3 ? PEN_SEAL_AUTH + PEN_SEAL_ENCRYPT - mode : mode;
        pen_seal *other = open_one(&params);
        *secret ^= which < 2;
        message_fill(sent);
        assert_true(pen_seal_protect(other, 1, sent, HEADER, PAYLOAD));
        assert_int_equal(pen_seal_unprotect(p.to, 0, sent, HEADER, PAYLOAD), PEN_SEAL_FORGED);
        pen_seal_close(other);
    }
    pair_close(&p);
}

static void another_key_salt_purpose_or_mode_is_a_strangers(void **state)
{
    (void)state;
    for_each(check_stranger);
}

static void counters_of_a_receiver_go_up_by_one(void **state)
{
    (void)state;
    pair p = pair_open(PEN_SEAL_AUTH, PEN_SEAL_CHACHA20_POLY1305);
    uint8_t message[WHOLE];
    for (uint64_t i = 1; i <= 5; i++) {
        for (uint32_t to = 0; to < 3; to++) {
            uint64_t counter;
            assert_true(pen_seal_protect(p.from, to, message, HEADER, PAYLOAD));
            memcpy(&counter, message + HEADER - PEN_SEAL_COUNTER_LEN, sizeof counter);
            assert_int_equal(counter, i);
        }
    }
    pair_close(&p);
}

static void without_protection_nothing_is_checked_and_the_tag_is_zero(void **state)
{
    (void)state;
    static const uint8_t zero[PEN_SEAL_TAG_LEN];
    pair p = pair_open(PEN_SEAL_NONE, PEN_SEAL_CHACHA20_POLY1305);
    uint8_t message[WHOLE];
    message_fill(message);
    assert_true(pen_seal_protect(p.from, 1, message, HEADER, PAYLOAD));
    assert_memory_equal(message + HEADER + PAYLOAD, zero, sizeof zero);
    assert_int_equal(pen_seal_unprotect(p.to, 0, message, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
    assert_int_equal(pen_seal_unprotect(p.to, 0, message, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
    pair_close(&p);
}

static void modes_have_names(void **state)
{
    (void)state;
    pen_seal_mode mode;
    assert_true(pen_seal_mode_parse("encrypt", &mode));
    assert_int_equal(mode, PEN_SEAL_ENCRYPT);
    assert_true(pen_seal_mode_parse("none", &mode) && mode == PEN_SEAL_NONE);
    assert_false(pen_seal_mode_parse("Auth", &mode));
    assert_string_equal(pen_seal_mode_name(PEN_SEAL_AUTH), "auth");
    assert_string_equal(pen_seal_mode_name((pen_seal_mode)77), "unknown");
    assert_string_equal(pen_seal_mode_name(PEN_SEAL_EMPTY), "unknown");
}

static void the_epoch_follows_from_the_key(void **state)
{
    (void)state;
    uint32_t epoch = pen_seal_epoch(job_key), first;
    memcpy(&first, job_key, sizeof first);
    assert_int_equal(pen_seal_epoch(job_key), epoch);
    assert_int_not_equal(epoch, first); /* it is sent in clear */
    job_key[0] ^= 1;
    assert_int_not_equal(pen_seal_epoch(job_key), epoch);
    job_key[0] ^= 1;
}

static void zero_is_no_mode(void **state)
{
    (void)state;
    pen_seal_params params = params_of(0, (pen_seal_mode)0, PEN_SEAL_CHACHA20_POLY1305);
    pen_seal *seal = NULL;
    assert_int_equal(pen_seal_open(&params, salts, sizeof salts[0], &seal), PEN_ERR_ARGUMENT);
    assert_null(seal);
}

static void a_rank_outside_the_job_gets_no_seal(void **state)
{
    (void)state;
    pen_seal_params params = params_of(RANKS, PEN_SEAL_AUTH, PEN_SEAL_CHACHA20_POLY1305);
    pen_seal *seal = NULL;
    assert_int_equal(pen_seal_open(&params, salts, sizeof salts[0], &seal), PEN_ERR_ARGUMENT);
    assert_null(seal);
}

/* The flags of the mapping that holds this address, as the kernel tells them: "dd" no core file,
 * "wf" empty in a child. */
static bool has_flag(const void *address, const char *flag)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, found = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, flag) != NULL;
    }
    assert_int_equal(fclose(file), 0);
    return found;
}

static void keys_are_in_no_core_file_and_in_no_child(void **state)
{
    (void)state;
    pair p = pair_open(PEN_SEAL_AUTH, PEN_SEAL_CHACHA20_POLY1305);
    assert_true(has_flag(p.from, " dd"));
    if (!has_flag(p.from, " wf")) {
        pair_close(&p);
        skip();
    }
    pid_t child = fork();
    if (child == 0)
        _exit(*(const uint64_t *)(const void *)p.from == 0 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    pair_close(&p);
}

/* ---- the stack ---- */

enum { STACK_LEN = 48 * 1024, WORD = 16, ROUND_KEYS = 15 };

/* How many of these 16-byte words lie anywhere on the stack below the caller. */
static __attribute__((noinline, no_sanitize("address"))) unsigned
count_below(const uint8_t (*words)[WORD], unsigned count)
{
    volatile uint8_t here[1];
    uintptr_t below = (uintptr_t)here - STACK_LEN;
    __asm__ volatile(""
                     : "+r"(below)); /* the compiler cannot know that this is outside the array */
    const volatile uint8_t *at = (const volatile uint8_t *)below;
    unsigned found = 0;
    here[0] = 0;
    for (size_t off = 0; off + WORD < STACK_LEN; off++)
        for (unsigned i = 0; i < count; i++) {
            unsigned same = 0;
            while (same < WORD && at[off + same] == words[i][same])
                same++;
            found += same == WORD;
        }
    return found;
}

static void check_stack(pen_seal_mode mode, pen_seal_cipher cipher)
{
    uint8_t message[WHOLE], words[ROUND_KEYS + 2][WORD];
    pair p = pair_open(mode, cipher);
    memcpy(words, job_key, 2 * WORD);
    if (cipher == PEN_SEAL_AES256_GCM)
        memcpy(words + 2, p.from, ROUND_KEYS * WORD); /* its expanded key comes first */
    unsigned count = cipher == PEN_SEAL_AES256_GCM ? 2 + ROUND_KEYS : 2;
    assert_int_equal(count_below((const uint8_t(*)[WORD])words, count), 0);
    (void)pen_seal_epoch(job_key);
    assert_int_equal(count_below((const uint8_t(*)[WORD])words, count), 0);
    message_fill(message);
    assert_true(pen_seal_protect(p.from, 1, message, HEADER, PAYLOAD));
    assert_int_equal(count_below((const uint8_t(*)[WORD])words, count), 0);
    assert_int_equal(pen_seal_unprotect(p.to, 0, message, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
    assert_int_equal(count_below((const uint8_t(*)[WORD])words, count), 0);
    pair_close(&p);
}

static void no_key_stays_on_the_stack(void **state)
{
    if (PEN_ASAN || PEN_TSAN)
        skip(); /* their run-time libraries leave copies of arguments on the stack */
    (void)state;
    for_each(check_stack);
}

/* Tries to use the keys in a child's memory. Returns an exit status: 0 if it has no effect. */
static int try_empty(pen_seal *seal)
{
    uint8_t forged[WHOLE] = { 0 }; /* with the tag of a message that has no protection */
    if (pen_seal_is_whole(seal))
        return 1;
    if (pen_seal_protect(seal, 1, forged, HEADER, PAYLOAD))
        return 2;
    return pen_seal_unprotect(seal, 1, forged, HEADER, PAYLOAD) == PEN_SEAL_FORGED ? 0 : 3;
}

static void a_forked_child_can_neither_send_nor_be_told_anything(void **state)
{
    (void)state;
    for (unsigned mode = PEN_SEAL_NONE; mode <= PEN_SEAL_ENCRYPT; mode++) {
        pair p = pair_open((pen_seal_mode)mode, PEN_SEAL_CHACHA20_POLY1305);
        if (!has_flag(p.from, " wf")) {
            pair_close(&p);
            skip();
        }
        assert_true(pen_seal_is_whole(p.from));
        pid_t child = fork();
        if (child == 0)
            _exit(try_empty(p.from));
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        pair_close(&p);
    }
}

int main(void)
{
    for (unsigned i = 0; i < sizeof job_key; i++)
        job_key[i] = (uint8_t)(200 - i);
    for (unsigned i = 0; i < RANKS; i++)
        memset(salts[i], (int)i, sizeof salts[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sealed_can_be_opened_once),
        cmocka_unit_test(every_changed_bit_is_noticed),
        cmocka_unit_test(a_message_is_its_receivers_and_its_senders_only),
        cmocka_unit_test(another_key_salt_purpose_or_mode_is_a_strangers),
        cmocka_unit_test(counters_of_a_receiver_go_up_by_one),
        cmocka_unit_test(without_protection_nothing_is_checked_and_the_tag_is_zero),
        cmocka_unit_test(modes_have_names),
        cmocka_unit_test(the_epoch_follows_from_the_key),
        cmocka_unit_test(zero_is_no_mode),
        cmocka_unit_test(a_rank_outside_the_job_gets_no_seal),
        cmocka_unit_test(keys_are_in_no_core_file_and_in_no_child),
        cmocka_unit_test(no_key_stays_on_the_stack),
        cmocka_unit_test(a_forked_child_can_neither_send_nor_be_told_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
