/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric.h: code that the tests of the EXTOLL card share: fabrics in plain and in shared memory,
 * bytes
 * that can be checked. */
#ifndef PEN_TESTS_UNIT_SOFTNIC_FABRIC_H
#define PEN_TESTS_UNIT_SOFTNIC_FABRIC_H

#include <card.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static inline pen_card_config small_config(uint16_t nodes)
{
    pen_card_config config;
    pen_card_config_default(&config);
    config.node_count = nodes;
    config.mailbox_slots = 8;
    config.notifications = 8;
    config.commit_period = 1;
    return config;
}

/* Exactly as long as asked for, so that the address sanitizer sees what lies outside. */
static inline void *make_fabric(const pen_card_config *config)
{
    void *memory = aligned_alloc(64, (pen_card_len(config) + 63) & ~(size_t)63);
    assert_non_null(memory);
    memset(memory, 0, pen_card_len(config));
    return memory;
}

static inline void *share_fabric(const pen_card_config *config)
{
    void *memory =
        mmap(NULL, pen_card_len(config), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static inline pen_card *plug_in(void *memory, const pen_card_config *config, uint16_t node)
{
    pen_card *card = NULL;
    assert_int_equal(pen_card_open(memory, pen_card_len(config), config, node, &card), PEN_OK);
    pen_card_use(card);
    return card;
}

/* A byte that depends on everything. */
static inline unsigned char byte_of(uint32_t from, uint32_t number, size_t i)
{
    return (unsigned char)(from * 101 + number * 31 + i * 7 + (number >> 8));
}

static inline void fill(unsigned char *bytes, size_t len, uint32_t from, uint32_t number)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_of(from, number, i);
}

static inline bool is_filled(const unsigned char *bytes, size_t len, uint32_t from, uint32_t number)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != byte_of(from, number, i))
            return false;
    return true;
}

static inline void expect_success(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
