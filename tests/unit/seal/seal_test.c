/* SPDX-License-Identifier: BSD-3-Clause */
/* seal_test.c: a sealed datagram is opened by its receiver, once, and by no other rank; every
 * change is noticed; keys are nowhere they should not be. */
#include "seal/seal.h"

#include "seal/aead.h"

#include "pen_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 40, HEADER = 24, PAYLOAD_SHORT = 104, PAYLOAD_LONG = 4200, PAYLOAD_MAX = 65000 };
enum { WHOLE_MAX = HEADER + PAYLOAD_MAX + PEN_SEAL_TAG_LEN };
#define PAYLOAD payload_len
#define WHOLE   (HEADER + payload_len + PEN_SEAL_TAG_LEN)

static size_t payload_len = PAYLOAD_SHORT;
static pen_seal_library library = PEN_SEAL_LIBRARY_AUTO;

static uint8_t job_key[PEN_SEAL_KEY_LEN];
static uint8_t salts[RANKS][PEN_SEAL_SALT_LEN];

static uint64_t clock_ns(void *ctx)
{
    struct timespec now;
    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static pen_seal_params params_of(uint32_t self, pen_seal_mode mode, pen_seal_cipher cipher)
{
    return (pen_seal_params){ .job_key = job_key,
                              .purpose = "test",
                              .mode = mode,
                              .cipher = cipher,
                              .library = library,
                              .now_ns = clock_ns,
                              .self = self,
                              .peers = RANKS };
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

/* The memory in which a seal keeps its keys; the expanded key with which it sends comes first. */
static const void *secret_of(const pen_seal *seal)
{
    const void *secret;
    memcpy(&secret, seal, sizeof secret);
    return secret;
}

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

static bool has_libcrypto(void)
{
    pen_libcrypto *found = pen_libcrypto_open();
    pen_libcrypto_close(found);
    return found != NULL;
}

/* Every mode and cipher that this processor has, with every library that this machine has, on a
 * short and on a long message. */
static void for_each(void (*check)(pen_seal_mode mode, pen_seal_cipher cipher))
{
    static const size_t lens[] = { PAYLOAD_SHORT, PAYLOAD_LONG };
    bool has_aes;
    assert_true(pen_seal_start(&has_aes));
    for (unsigned i = 0; i < 2 * 3; i++) {
        payload_len = lens[i / 3];
        library = (pen_seal_library)(i % 3);
        if (library == PEN_SEAL_LIBRARY_LIBCRYPTO && !has_libcrypto())
            continue;
        for (unsigned mode = PEN_SEAL_AUTH; mode <= PEN_SEAL_ENCRYPT; mode++) {
            check((pen_seal_mode)mode, PEN_SEAL_CHACHA20_POLY1305);
            if (has_aes)
                check((pen_seal_mode)mode, PEN_SEAL_AES256_GCM);
        }
    }
    payload_len = PAYLOAD_SHORT;
    library = PEN_SEAL_LIBRARY_AUTO;
}

static void check_round_trip(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pair p = pair_open(mode, cipher);
    uint8_t sent[WHOLE_MAX], clear[WHOLE_MAX];
    message_fill(clear);
    for (unsigned i = 0; i < 3; i++) {
        memcpy(sent, clear, WHOLE);
        assert_true(pen_seal_protect(p.from, 1, sent, HEADER, PAYLOAD));
        assert_memory_equal(sent, clear, HEADER - PEN_SEAL_COUNTER_LEN);
        bool is_clear = memcmp(sent + HEADER, clear + HEADER, PAYLOAD) == 0;
        assert_int_equal(is_clear, mode == PEN_SEAL_AUTH);
        uint8_t again[WHOLE_MAX];
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

/* A message that one library has protected is opened by the other, at every length. */
static void libraries_understand_each_other(void **state)
{
    (void)state;
    static const size_t lens[] = { 8, 800, 1024 - HEADER, 1024, 2048, 4096, 16384, PAYLOAD_MAX };
    if (!has_libcrypto())
        skip();
    for (unsigned i = 0; i < 8 * sizeof lens / sizeof lens[0]; i++) {
        bool has_aes, by_libcrypto = i % 2 != 0;
        pen_seal_cipher cipher = (pen_seal_cipher)(i / 2 % 2);
        pen_seal_mode mode = i / 4 % 2 != 0 ? PEN_SEAL_ENCRYPT : PEN_SEAL_AUTH;
        static uint8_t sent[WHOLE_MAX], clear[WHOLE_MAX];
        payload_len = lens[i / 8];
        if (cipher == PEN_SEAL_AES256_GCM && (!pen_seal_start(&has_aes) || !has_aes))
            continue;
        pen_seal_params from_params = params_of(0, mode, cipher), to_params = from_params;
        from_params.library =
            by_libcrypto ? PEN_SEAL_LIBRARY_LIBCRYPTO : PEN_SEAL_LIBRARY_LIBSODIUM;
        to_params.library = by_libcrypto ? PEN_SEAL_LIBRARY_LIBSODIUM : PEN_SEAL_LIBRARY_LIBCRYPTO;
        to_params.self = 1;
        pair p = { open_one(&from_params), open_one(&to_params) };
        message_fill(clear);
        memcpy(sent, clear, WHOLE);
        assert_true(pen_seal_protect(p.from, 1, sent, HEADER, PAYLOAD));
        assert_int_equal(pen_seal_unprotect(p.to, 0, sent, HEADER, PAYLOAD), PEN_SEAL_GENUINE);
        assert_memory_equal(sent + HEADER, clear + HEADER, PAYLOAD);
        bool is_long = HEADER + payload_len >= 1024;
        assert_int_equal(pen_seal_by_libcrypto(p.from), is_long && by_libcrypto);
        assert_int_equal(pen_seal_by_libcrypto(p.to), is_long && !by_libcrypto);
        pair_close(&p);
    }
    payload_len = PAYLOAD_SHORT;
}

static void check_every_bit(pen_seal_mode mode, pen_seal_cipher cipher)
{
    pair p = pair_open(mode, cipher);
    uint8_t sent[WHOLE_MAX], changed[WHOLE_MAX];
    message_fill(sent);
    assert_true(pen_seal_protect(p.from, 1, sent, HEADER, PAYLOAD));
    /* a long message takes long: every bit of its first and last bytes, and each byte between */
    for (size_t bit = 0; bit < WHOLE * 8; bit += bit > 1600 && bit < (WHOLE - 40) * 8 ? 9 : 1) {
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
    uint8_t sent[WHOLE_MAX], copy[WHOLE_MAX];
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
    uint8_t sent[WHOLE_MAX];
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
    uint8_t message[WHOLE_MAX];
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
    uint8_t message[WHOLE_MAX];
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
    pen_seal_library found = PEN_SEAL_LIBRARY_AUTO;
    assert_true(pen_seal_library_parse("libcrypto", &found));
    assert_int_equal(found, PEN_SEAL_LIBRARY_LIBCRYPTO);
    assert_false(pen_seal_library_parse("openssl", &found));
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
    assert_true(has_flag(secret_of(p.from), " dd"));
    if (!has_flag(secret_of(p.from), " wf")) {
        pair_close(&p);
        skip();
    }
    pid_t child = fork();
    if (child == 0)
        _exit(*(const uint64_t *)secret_of(p.from) == 0 ? 0 : 1);
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
    uint8_t message[WHOLE_MAX], words[ROUND_KEYS + 2][WORD];
    pair p = pair_open(mode, cipher);
    memcpy(words, job_key, 2 * WORD);
    if (cipher == PEN_SEAL_AES256_GCM)
        memcpy(words + 2, secret_of(p.from), ROUND_KEYS * WORD);
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

/* How often these bytes, each changed by MASK, lie in memory that a core file would hold. */
enum { MASK = 0x5a };

static __attribute__((no_sanitize("address"))) unsigned count_in(const volatile uint8_t *at,
                                                                 size_t len, const uint8_t *masked)
{
    unsigned found = 0;
    for (size_t off = 0; off + PEN_SEAL_KEY_LEN <= len; off += 8) {
        unsigned same = 0;
        while (same < PEN_SEAL_KEY_LEN && (at[off + same] ^ MASK) == masked[same])
            same++;
        found += same == PEN_SEAL_KEY_LEN;
    }
    return found;
}

static unsigned count_in_heap(const uint8_t *masked)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned found = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (strstr(line, "[heap]") != NULL && sscanf(line, "%lx-%lx rw", &begin, &end) == 2)
            found += count_in((const uint8_t *)begin, end - begin, masked);
    }
    assert_int_equal(fclose(maps), 0);
    return found;
}

/* libcrypto keeps what it is given in the heap, which a core file holds and a child inherits. */
static void no_key_stays_in_the_heap(void **state)
{
    (void)state;
    uint8_t masked[PEN_SEAL_KEY_LEN], text[PEN_SEAL_TAG_LEN] = { 0 };
    if (PEN_ASAN || PEN_TSAN || !has_libcrypto())
        skip(); /* their heaps are elsewhere */
    uint8_t *key = malloc(PEN_SEAL_KEY_LEN);
    assert_non_null(key);
    for (unsigned i = 0; i < PEN_SEAL_KEY_LEN; i++) {
        key[i] = (uint8_t)(i * 7 + 3);
        masked[i] = key[i] ^ MASK;
    }
    pen_libcrypto *opened = pen_libcrypto_open();
    assert_non_null(opened);
    assert_int_equal(count_in_heap(masked), 1); /* our own: the search finds keys */
    for (unsigned i = 0; i < 2 * PEN_SEAL_CIPHERS; i++) {
        pen_aead message = { .cipher = (pen_seal_cipher)(i / 2),
                             .key = key,
                             .open = text,
                             .open_len = sizeof text,
                             .hidden = text,
                             .tag = text };
        if (i % 2 == 0)
            assert_true(pen_libcrypto_protect(opened, &message));
        else
            assert_false(pen_libcrypto_unprotect(opened, &message)); /* it is forged */
        assert_int_equal(count_in_heap(masked), 1);
    }
    pen_libcrypto_close(opened);
    free(key);
}

/* Tries to use the keys in a child's memory. Returns an exit status: 0 if it has no effect. */
static int try_empty(pen_seal *seal)
{
    static uint8_t forged[WHOLE_MAX]; /* with the tag of a message that has no protection */
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
        if (!has_flag(secret_of(p.from), " wf")) {
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
        cmocka_unit_test(libraries_understand_each_other),
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
        cmocka_unit_test(no_key_stays_in_the_heap),
        cmocka_unit_test(a_forked_child_can_neither_send_nor_be_told_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
