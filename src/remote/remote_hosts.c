/* SPDX-License-Identifier: BSD-3-Clause */
/* remote_hosts.c: reads lists and files of hosts, and spreads ranks over hosts. */
#include "remote/hosts_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pen_hosts_complain(pen_hosts_problem *problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    va_end(arguments);
    return false;
}

void pen_hosts_free(pen_hosts *hosts)
{
    free(hosts->entries);
    *hosts = (pen_hosts){ .entries = NULL };
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || c == '.' || c == '_' || c == '-' || c == '@' || c == ':' || c == '%';
}

/* True for a name that ssh cannot take for an option, nor a shell for anything but a word. */
static bool is_name(const char *name, size_t len)
{
    if (len == 0 || len > PEN_HOST_NAME_MAX || name[0] == '-' || name[0] == '@' ||
        name[len - 1] == '@')
        return false;
    const char *at = memchr(name, '@', len);
    if (at != NULL && at[1] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_name_char(name[i]))
            return false;
    }
    return true;
}

static pen_hosts_entry *find(const pen_hosts *hosts, const char *name, size_t len)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        pen_hosts_entry *entry = &hosts->entries[i];
        if (strncmp(entry->name, name, len) == 0 && entry->name[len] == '\0')
            return entry;
    }
    return NULL;
}

static pen_hosts_entry *append(pen_hosts *out)
{
    if (out->count == out->room) {
        uint32_t room = out->room == 0 ? 8 : 2 * out->room;
        pen_hosts_entry *grown = realloc(out->entries, room * sizeof(*grown));
        if (grown == NULL)
            return NULL;
        out->entries = grown;
        out->room = room;
    }
    pen_hosts_entry *entry = &out->entries[out->count++];
    memset(entry, 0, sizeof(*entry));
    return entry;
}

/* Adds slots. Batch systems name a host once for each slot, so each mention without a number counts
 * as one slot. */
static bool slots_add(pen_hosts_entry *entry, uint32_t slots)
{
    uint32_t before = entry->slots;
    if (entry->mentions != 0 && before == 0)
        before = entry->mentions;
    entry->mentions++;
    if (entry->mentions > 1 && slots == 0)
        slots = 1;
    entry->slots = entry->mentions > 1 ? before + slots : slots;
    return entry->slots <= PEN_HOST_SLOTS_MAX;
}

bool pen_hosts_add(pen_hosts *out, const pen_hosts_word *word, pen_hosts_problem *problem)
{
    int shown = word->len < 80 ? (int)word->len : 80;
    if (!is_name(word->name, word->len))
        return pen_hosts_complain(
            problem, "%s: \"%.*s\" is no name of a host: give letters, digits and . _ - @ : %%",
            word->where, shown, word->name);
    pen_hosts_entry *entry = find(out, word->name, word->len);
    if (entry == NULL && out->count == PEN_HOSTS_MAX)
        return pen_hosts_complain(problem, "%s: more than %d hosts: name fewer", word->where,
                                  PEN_HOSTS_MAX);
    if (entry == NULL) {
        entry = append(out);
        if (entry == NULL)
            return pen_hosts_complain(problem, "%s: realloc: out of memory: free some",
                                      word->where);
        memcpy(entry->name, word->name, word->len);
    }
    if (!slots_add(entry, word->slots))
        return pen_hosts_complain(problem, "%s: host %s has more than %d slots: give it fewer",
                                  word->where, entry->name, PEN_HOST_SLOTS_MAX);
    return true;
}

bool pen_hosts_number(const char *text, size_t len, uint32_t most, uint32_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || number > most)
            return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    *out = (uint32_t)number;
    return len != 0 && number <= most;
}

static bool slots_of(const char *text, size_t len, pen_hosts_word *word, pen_hosts_problem *problem)
{
    if (pen_hosts_number(text, len, PEN_HOST_SLOTS_MAX, &word->slots) && word->slots != 0)
        return true;
    return pen_hosts_complain(problem, "%s: \"%.*s\" is no number of slots: give 1 to %d",
                              word->where, len < 80 ? (int)len : 80, text, PEN_HOST_SLOTS_MAX);
}

/* Adds "name", "name:4", "[fd00::1]" or "[fd00::1]:4". A word with more than one colon is an IPv6
 * address. */
static bool word_add(const char *text, size_t len, pen_hosts_word *word, pen_hosts *out,
                     pen_hosts_problem *problem)
{
    const char *end = text + len, *colon = memchr(text, ':', len);
    word->name = text;
    word->len = len;
    word->slots = 0;
    if (text[0] == '[') {
        const char *close = memchr(text, ']', len);
        if (close == NULL || (close + 1 != end && close[1] != ':'))
            return pen_hosts_complain(problem,
                                      "%s: \"%.*s\": write an address as [fd00::1] or "
                                      "[fd00::1]:4",
                                      word->where, len < 80 ? (int)len : 80, text);
        word->name = text + 1;
        word->len = (size_t)(close - text) - 1;
        colon = close + 1 != end ? close + 1 : NULL;
    } else if (colon != NULL && memchr(colon + 1, ':', (size_t)(end - colon) - 1) == NULL) {
        word->len = (size_t)(colon - text);
    } else {
        colon = NULL;
    }
    if (colon != NULL && !slots_of(colon + 1, (size_t)(end - colon) - 1, word, problem))
        return false;
    return pen_hosts_add(out, word, problem);
}

/* ---- lists and files ------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool pen_hosts_from_list(const char *text, const char *where, pen_hosts *out,
                         pen_hosts_problem *problem)
{
    pen_hosts_word word = { .where = where };
    uint32_t before = out->count;
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, ", \t\r\n");
        if (len != 0 && !word_add(at, len, &word, out, problem))
            return false;
        at += len + (at[len] != '\0' ? 1 : 0);
    }
    if (out->count == before)
        return pen_hosts_complain(problem, "%s: it names no host: give some, such as a,b:4", where);
    return true;
}

/* Reads the text behind the name: nothing, or "slots=4". */
static bool rest_take(const char *at, const char *end, pen_hosts_word *word, bool *given,
                      pen_hosts_problem *problem)
{
    static const char key[] = "slots=";
    *given = false;
    if (at == end)
        return true;
    size_t len = (size_t)(end - at);
    if (len > sizeof(key) - 1 && strncmp(at, key, sizeof(key) - 1) == 0) {
        *given = true;
        return slots_of(at + sizeof(key) - 1, len - (sizeof(key) - 1), word, problem);
    }
    return pen_hosts_complain(problem,
                              "%s: \"%.*s\" is not understood: write NAME, NAME:N or NAME "
                              "slots=N in a line",
                              word->where, len < 80 ? (int)len : 80, at);
}

static const char *blanks_skip(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Trims blanks and the comment from a line. Returns NULL if the line is empty. */
static const char *line_trim(const char *at, const char **end)
{
    const char *comment = memchr(at, '#', (size_t)(*end - at));
    *end = comment != NULL ? comment : *end;
    at = blanks_skip(at, *end);
    while (*end > at && is_blank((*end)[-1]))
        --*end;
    return at == *end ? NULL : at;
}

static bool line_take(const char *at, const char *end, pen_hosts_word *word, pen_hosts *out,
                      pen_hosts_problem *problem)
{
    at = line_trim(at, &end);
    if (at == NULL)
        return true;
    const char *name_end = at;
    while (name_end < end && !is_blank(*name_end))
        name_end++;
    bool given;
    if (!rest_take(blanks_skip(name_end, end), end, word, &given, problem))
        return false;
    if (!given)
        return word_add(at, (size_t)(name_end - at), word, out, problem);
    bool bracketed = name_end - at > 2 && at[0] == '[' && name_end[-1] == ']';
    word->name = bracketed ? at + 1 : at;
    word->len = (size_t)(name_end - at) - (bracketed ? 2 : 0);
    return pen_hosts_add(out, word, problem);
}

bool pen_hosts_from_file(const char *text, size_t len, const char *path, pen_hosts *out,
                         pen_hosts_problem *problem)
{
    char where[256];
    uint32_t before = out->count;
    unsigned line = 1;
    pen_hosts_word word = { .where = where };
    for (const char *at = text, *end = text + len; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        (void)snprintf(where, sizeof(where), "%.200s:%u", path, line);
        word.slots = 0;
        if (!line_take(at, line_end, &word, out, problem))
            return false;
        at = newline != NULL ? newline + 1 : end;
    }
    if (out->count == before)
        return pen_hosts_complain(problem, "%s: it names no host: write one in each line", path);
    return true;
}

/* ---- placing --------------------------------------------------------------------------------- */

/* Gives each host one more rank in turn, as long as it has slots. Returns the number of ranks
 * left. */
static uint32_t deal(const pen_hosts *hosts, const uint32_t *slots, uint32_t ranks,
                     uint32_t *counts)
{
    bool any = true;
    while (ranks != 0 && any) {
        any = false;
        for (uint32_t i = 0; i < hosts->count && ranks != 0; i++) {
            if (counts[i] < slots[i]) {
                counts[i]++;
                ranks--;
                any = true;
            }
        }
    }
    return ranks;
}

bool pen_hosts_place(const pen_hosts *hosts, const uint32_t *cores, uint32_t ranks,
                     uint32_t *counts_out, pen_hosts_problem *problem)
{
    uint32_t slots[PEN_HOSTS_MAX] = { 0 };
    uint64_t total = 0;
    bool all_given = true;
    for (uint32_t i = 0; i < hosts->count; i++) {
        uint32_t given = hosts->entries[i].slots;
        all_given = all_given && given != 0;
        slots[i] = given != 0 ? given : cores != NULL && cores[i] != 0 ? cores[i] : 1;
        total += slots[i];
        counts_out[i] = 0;
    }
    uint32_t left = deal(hosts, slots, ranks, counts_out);
    if (left == 0)
        return true;
    if (all_given)
        return pen_hosts_complain(problem,
                                  "%u ranks, but the hosts have %llu slots: give them more slots, "
                                  "or start fewer ranks",
                                  ranks, (unsigned long long)total);
    /* hosts without given slots share their cores among more ranks */
    for (uint32_t i = 0; i < hosts->count; i++)
        slots[i] = hosts->entries[i].slots != 0 ? counts_out[i] : UINT32_MAX;
    (void)deal(hosts, slots, left, counts_out);
    return true;
}
