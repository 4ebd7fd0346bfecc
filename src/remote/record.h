/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h: the records that launcher and agents exchange on a byte stream. Each record is a head,
 * pen_record, and a body whose length stands in the head. Pure. Received bytes are checked: a
 * length beyond the bounds ends the stream, and bodies are read through pen_unpack_..., which stays
 * within the body. Numbers are in the machine's byte order; launcher and agents are of the same
 * build. */
#ifndef PEN_REMOTE_RECORD_H
#define PEN_REMOTE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_RECORD_BODY_MAX ((size_t)64 << 20) /* large, since environments are long */
#define PEN_RECORD_ALL      UINT32_MAX         /* all hosts, or all ranks of a host */

/* First bytes of an agent. Text that a login shell prints before them is skipped. */
#define PEN_RECORD_MAGIC     "\nPENSTOCK-AGENT-1\n"
#define PEN_RECORD_MAGIC_LEN (sizeof(PEN_RECORD_MAGIC) - 1)
#define PEN_RECORD_NOISE_MAX ((size_t)64 << 10)

typedef enum pen_record_kind {
    /* from the launcher, down the tree */
    PEN_RECORD_TREE = 1, /* to one host: the hosts on which it starts agents, and how */
    PEN_RECORD_START,    /* to all: the ranks of each host and their program; see start_order.h */
    PEN_RECORD_WORD,     /* rank, code: a pen_control_kind for it, or for all of the host */
    PEN_RECORD_TELL,     /* rank, code: status; body: signal: the job ends */
    PEN_RECORD_SIGNAL,   /* to all ranks of the host: code */
    PEN_RECORD_FAIL,     /* start-up barriers fail */
    PEN_RECORD_KILL,     /* kill all ranks */
    PEN_RECORD_MET,      /* code: as in MEET; body: the blobs of all ranks */
    PEN_RECORD_HOLD,     /* code 1: stop reading the ranks' output; 0: continue */
    PEN_RECORD_INPUT,    /* body: standard input of rank 0; empty: its end */
    PEN_RECORD_REPORT,   /* report what each rank does */
    PEN_RECORD_GONE,     /* rank has left; body: its pen_departed, or the first part of it */
    PEN_RECORD_QUIT,     /* the job is over: send queued records and end */
    /* from an agent, up the tree; host: the agent's */
    PEN_RECORD_HELLO = 32, /* see pen_hello */
    PEN_RECORD_STARTED,    /* rank, code: its pid */
    PEN_RECORD_HEARD,      /* rank, code; body: kind and text of a message of the rank */
    PEN_RECORD_EVENT,      /* rank, code; body: a pen_exit_kind */
    PEN_RECORD_OUTPUT,     /* rank, code: stream; body: its output; empty: closed */
    /* rank, code 1: the rank is stopped (a debugger, for example); 0: it runs again */
    PEN_RECORD_STOPPED,
    PEN_RECORD_MEET,     /* code: length and area; body: the blobs of the host's ranks */
    PEN_RECORD_TAKEN,    /* INPUT has been passed on; send more */
    PEN_RECORD_SAY,      /* code: level; body: a line for people */
    PEN_RECORD_LOST,     /* the host's agent has ended; body: why */
    PEN_RECORD_BEAT,     /* the agent is still there */
    PEN_RECORD_DEPARTED, /* rank has left; body: as in GONE */
    PEN_RECORD_SEEN,     /* answers REPORT; body: a pen_seen of each rank of the host */
} pen_record_kind;

typedef struct pen_record {
    uint32_t body_len;
    uint16_t kind, reserved;
    uint32_t host; /* number in the launcher's table */
    uint32_t rank; /* job rank */
    int32_t code;
    /* checksum of the head's remaining words, by which shifted streams are noticed */
    uint32_t check;
} pen_record;

uint32_t pen_record_check(const pen_record *record);

/* Finds the first record in the bytes. Returns its whole length, with *body set; 0 if more bytes
 * are needed; SIZE_MAX if these are no records. */
size_t pen_record_take(const char *bytes, size_t len, pen_record *out, const char **body);

/* Offset of the bytes behind the magic; 0: the magic has not come yet; SIZE_MAX: too many bytes
 * without it. */
size_t pen_record_begin(const char *bytes, size_t len);

#endif
