/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi.c: see pmi.h. A value is text of limited length, so bytes travel as digits, in pieces. */
#include "pmix/pmi.h"

#include "boot/boot.h"
#include "boot/knobs.h"
#include "knob/knob.h"
#include "os/os.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum {
    PIECE_LEN = 256,       /* bytes in one value: 512 digits */
    BYTES_MAX = 64 * 1024, /* in a value of a rank */
    PEER_DIGITS = 6,
};

static const char too_late[] = "the launcher does not answer in time (PENSTOCK_LAUNCH_TIMEOUT)";

bool pen_pmi_is_there(void)
{
    long number;
    return pen_boot_number("PMI_FD", INT_MAX, &number) &&
           pen_boot_number("PMI_RANK", PEN_BOOT_RANKS_MAX, &number) &&
           pen_boot_number("PMI_SIZE", PEN_BOOT_RANKS_MAX, &number) &&
           pen_knob_from_process(NULL, "SLURM_STEP_ID") == NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Reads one line, without its end. Reads byte by byte, so that nothing of an MPI's lines is taken.
 */
static const char *line_read(pen_pmi *pmi)
{
    for (size_t len = 0; len < sizeof pmi->answer; len++) {
        struct pollfd told = { .fd = pmi->fd, .events = POLLIN };
        const uint64_t now_ns = pen_now_ns();
        if (now_ns >= pmi->until_ns)
            return too_late;
        const uint64_t left_ms = (pmi->until_ns - now_ns) / 1000000 + 1;
        if (poll(&told, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) <= 0) {
            len--;
            continue;
        }
        if (recv(pmi->fd, &pmi->answer[len], 1, 0) != 1)
            return "the launcher has closed PMI_FD";
        if (pmi->answer[len] == '\n') {
            pmi->answer[len] = '\0';
            return NULL;
        }
    }
    return "the launcher's answer is too long";
}

/* Finds the value of a key in the answer, up to the next blank. */
static const char *answer_of(const pen_pmi *pmi, const char *key)
{
    const char *at = pmi->answer;
    const size_t len = strlen(key);
    while (strncmp(at, key, len) != 0 || at[len] != '=') {
        at = strchr(at, ' ');
        if (at == NULL)
            return "";
        at++;
    }
    return at + len + 1;
}

/* Sends a line and reads the answer. Returns an error if that is not `wanted`, or tells a failure.
 */
static __attribute__((format(printf, 3, 4))) const char *ask(pen_pmi *pmi, const char *wanted,
                                                             const char *format, ...)
{
    char line[PEN_PMI_LINE_MAX];
    va_list list;
    va_start(list, format);
    const int len = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (len < 0 || (size_t)len >= sizeof line)
        return "a line for the launcher is too long";
    if (send(pmi->fd, line, (size_t)len, MSG_NOSIGNAL) != len)
        return "PMI_FD is not the launcher's socket; a wrapper must leave descriptors open";
    const char *error = line_read(pmi);
    if (error != NULL)
        return error;
    const char *rc = answer_of(pmi, "rc");
    const size_t wanted_len = strlen(wanted);
    if (strncmp(answer_of(pmi, "cmd"), wanted, wanted_len) != 0 || (*rc != '\0' && *rc != '0'))
        return "the launcher refuses";
    return NULL;
}

static const char *copy_answer(const pen_pmi *pmi, const char *key, char *out, size_t out_len)
{
    const char *value = answer_of(pmi, key);
    const size_t len = strcspn(value, " ");
    if (len == 0 || len >= out_len)
        return "the launcher's answer has not the value that was asked for";
    memcpy(out, value, len);
    out[len] = '\0';
    return NULL;
}

static const char *get(pen_pmi *pmi, const char *key, char *out, size_t out_len)
{
    const char *error = ask(pmi, "get_result", "cmd=get kvsname=%s key=%s\n", pmi->space, key);
    return error != NULL ? error : copy_answer(pmi, "value", out, out_len);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Returns the inode number of a socket; 0 if the descriptor is no socket. */
static uint64_t socket_of(int fd)
{
    struct stat is;
    return fstat(fd, &is) == 0 && S_ISSOCK(is.st_mode) ? is.st_ino : 0;
}

const char *pen_pmi_begin(pen_pmi *pmi, uint64_t until_ns)
{
    long fd = -1, rank = 0, size = 0;
    (void)pen_boot_number("PMI_FD", INT_MAX, &fd);
    (void)pen_boot_number("PMI_RANK", PEN_BOOT_RANKS_MAX, &rank);
    (void)pen_boot_number("PMI_SIZE", PEN_BOOT_RANKS_MAX, &size);
    *pmi = (pen_pmi){
        .fd = (int)fd, .rank = (uint32_t)rank, .size = (uint32_t)size, .until_ns = until_ns
    };
    pmi->socket = socket_of(pmi->fd);
    const char *error = ask(pmi, "response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (error == NULL)
        error = ask(pmi, "my_kvsname", "cmd=get_my_kvsname\n");
    return error != NULL ? error : copy_answer(pmi, "kvsname", pmi->space, sizeof pmi->space);
}

void pen_pmi_finish(pen_pmi *pmi, uint64_t until_ns)
{
    pmi->until_ns = until_ns;
    if (pmi->socket != 0 && socket_of(pmi->fd) == pmi->socket)
        (void)ask(pmi, "finalize_ack", "cmd=finalize\n"); /* nobody is left to hear an error */
}

/* ---- who is where ---------------------------------------------------------------------------- */

typedef struct part { /* `nodes` nodes from `first` on, with `ranks` ranks each */
    unsigned first, nodes, ranks;
} part;

/* Reads the next part and moves *at behind it. Returns false at the end, or if it is malformed. */
static bool part_read(const char **at, part *out)
{
    int len = 0;
    if (sscanf(*at, ",(%u,%u,%u)%n", &out->first, &out->nodes, &out->ranks, &len) != 3 ||
        len == 0 || out->nodes == 0 || out->ranks == 0 || out->nodes > PEN_BOOT_RANKS_MAX ||
        out->ranks > PEN_BOOT_RANKS_MAX)
        return false;
    *at += len;
    return true;
}

/* Fills the node of each rank. The parts repeat until all ranks have a node. */
static bool nodes_read(const char *mapping, uint32_t size, unsigned *nodes)
{
    static const char begin[] = "(vector";
    part now;
    uint32_t rank = 0;
    if (strncmp(mapping, begin, strlen(begin)) != 0)
        return false;
    while (rank < size) {
        const uint32_t before = rank;
        const char *at = mapping + strlen(begin);
        while (part_read(&at, &now))
            for (unsigned i = 0; i < now.nodes * now.ranks && rank < size; i++)
                nodes[rank++] = now.first + i / now.ranks;
        if (strcmp(at, ")") != 0 || rank == before)
            return false;
    }
    return true;
}

bool pen_pmi_peers_in(const char *mapping, uint32_t rank, uint32_t size, char *out, size_t out_len)
{
    unsigned nodes[PEN_BOOT_RANKS_MAX];
    size_t len = 0;
    if (size > PEN_BOOT_RANKS_MAX || rank >= size || !nodes_read(mapping, size, nodes))
        return false;
    for (uint32_t i = 0; i < size; i++) {
        if (nodes[i] != nodes[rank])
            continue;
        const int more = snprintf(out + len, out_len - len, "%s%u", len > 0 ? "," : "", i);
        if (more < 0 || (size_t)more >= out_len - len)
            return false;
        len += (size_t)more;
    }
    return true;
}

const char *pen_pmi_local_peers(pen_pmi *pmi, char **out)
{
    char mapping[PEN_PMI_LINE_MAX];
    const size_t len = (size_t)pmi->size * PEER_DIGITS + 1;
    const char *error = get(pmi, "PMI_process_mapping", mapping, sizeof mapping);
    if (error != NULL)
        return error;
    *out = malloc(len);
    if (*out == NULL)
        return "out of memory";
    if (pen_pmi_peers_in(mapping, pmi->rank, pmi->size, *out, len))
        return NULL;
    free(*out);
    return "PMI_process_mapping is not understood";
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *put(pen_pmi *pmi, const char *name, unsigned piece, const char *value)
{
    return ask(pmi, "put_result", "cmd=put kvsname=%s key=penstock-%s-%u-%u value=%s\n", pmi->space,
               name, pmi->rank, piece, value);
}

const char *pen_pmi_put_bytes(pen_pmi *pmi, const void *bytes, size_t len)
{
    char text[2 * PIECE_LEN + 1];
    (void)snprintf(text, sizeof text, "%zu", len);
    const char *error = len <= BYTES_MAX ? put(pmi, "len", 0, text) : "a greeting is too long";
    for (size_t at = 0; at < len && error == NULL; at += PIECE_LEN) {
        for (size_t i = 0; i < PIECE_LEN && at + i < len; i++)
            (void)snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[at + i]);
        error = put(pmi, "part", (unsigned)(at / PIECE_LEN), text);
    }
    return error;
}

static bool piece_read(const char *text, char *out, size_t len)
{
    if (strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned value;
        if (sscanf(text + 2 * i, "%2x", &value) != 1)
            return false;
        out[i] = (char)value;
    }
    return true;
}

/* Reads the pieces of a value into *out. */
static const char *pieces_get(pen_pmi *pmi, uint32_t rank, char *out, size_t len)
{
    char text[2 * PIECE_LEN + 1], key[64];
    for (size_t at = 0; at < len; at += PIECE_LEN) {
        (void)snprintf(key, sizeof key, "penstock-part-%u-%zu", rank, at / PIECE_LEN);
        const char *error = get(pmi, key, text, sizeof text);
        if (error != NULL)
            return error;
        if (!piece_read(text, out + at, len - at < PIECE_LEN ? len - at : PIECE_LEN))
            return "a greeting is malformed";
    }
    return NULL;
}

const char *pen_pmi_get_bytes(pen_pmi *pmi, uint32_t rank, char **out, size_t *len_out)
{
    char text[32], key[64];
    (void)snprintf(key, sizeof key, "penstock-len-%u-0", rank);
    const char *error = get(pmi, key, text, sizeof text);
    const size_t len = error == NULL ? strtoul(text, NULL, 10) : 0;
    if (error != NULL)
        return error;
    if (len == 0 || len > BYTES_MAX)
        return "a greeting has no length";
    char *bytes = malloc(len);
    error = bytes != NULL ? pieces_get(pmi, rank, bytes, len) : "out of memory";
    if (error != NULL) {
        free(bytes);
        return error;
    }
    *out = bytes;
    *len_out = len;
    return NULL;
}

const char *pen_pmi_fence(pen_pmi *pmi) { return ask(pmi, "barrier_out", "cmd=barrier_in\n"); }
