/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h: what launcher and agents say to each other: records on a byte stream, each a head,
 * pen_record, and a body whose length stands there. Pure. What arrives is believed within bounds
 * only: a length beyond them ends the stream, and a body is read through pen_unpack_..., which
 * never leaves it. Numbers travel as the machine has them; launcher and agents are of one build. */
#ifndef PEN_REMOTE_RECORD_H
#define PEN_REMOTE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_RECORD_BODY_MAX ((size_t)64 << 20) /* environments are long */
#define PEN_RECORD_ALL      UINT32_MAX         /* all hosts, or all ranks of a host */

/* An agent's first bytes: what a login shell prints before them is skipped. */
#define PEN_RECORD_MAGIC     "\nPENSTOCK-AGENT-1\n"
#define PEN_RECORD_MAGIC_LEN (sizeof(PEN_RECORD_MAGIC) - 1)
#define PEN_RECORD_NOISE_MAX ((size_t)64 << 10)

typedef enum pen_record_kind {
    /* the launcher's, down the tree */
    PEN_RECORD_TREE = 1, /* to one host: the hosts it starts agents on, and how */
    PEN_RECORD_START,    /* to all: who runs what; see start_order.h */
    PEN_RECORD_WORD,     /* rank, code: a pen_control_kind for it, or for all of the host */
    PEN_RECORD_TELL,     /* rank, code: status; body: signal: the job ends */
    PEN_RECORD_SIGNAL,   /* to all ranks of the host: code */
    PEN_RECORD_FAIL,     /* start-up barriers give up */
    PEN_RECORD_KILL,     /* all ranks */
    PEN_RECORD_MET,      /* code as of MEET; body: what all ranks exchange */
    PEN_RECORD_HOLD,     /* code 1: read no more of what ranks print; 0: go on */
    PEN_RECORD_INPUT,    /* body: standard input of rank 0; empty: its end */
    PEN_RECORD_REPORT,   /* say what each rank does */
    PEN_RECORD_GONE,     /* rank has left; body: its pen_departed, as far as it reaches */
    PEN_RECORD_QUIT,     /* all is over: send what is left and end */
    /* an agent's, up the tree; host: whose */
    PEN_RECORD_HELLO = 32, /* see pen_hello */
    PEN_RECORD_STARTED,    /* rank, code: its pid */
    PEN_RECORD_HEARD,      /* rank, code; body: kind and text: the rank's own word */
    PEN_RECORD_EVENT,      /* rank, code; body: a pen_exit_kind */
    PEN_RECORD_OUTPUT,     /* rank, code: stream; body: what it printed; empty: closed */
    PEN_RECORD_STOPPED,    /* rank, code 1: it has stopped (a debugger, say); 0: it runs again */
    PEN_RECORD_MEET,       /* code: length and area; body: what the host's ranks exchange */
    PEN_RECORD_TAKEN,      /* INPUT has been passed on: more, please */
    PEN_RECORD_SAY,        /* code: level; body: a line for people */
    PEN_RECORD_LOST,       /* the host's agent is no more; body: why */
    PEN_RECORD_BEAT,       /* still there */
    PEN_RECORD_DEPARTED,   /* rank has left; body as of GONE */
    PEN_RECORD_BARRIERS,   /* answers REPORT; body: a pen_entered of each rank of the host */
} pen_record_kind;

typedef struct pen_record {
    uint32_t body_len;
    uint16_t kind, reserved;
    uint32_t host; /* number in the launcher's table */
    uint32_t rank; /* job rank */
    int32_t code;
    uint32_t check; /* what the head's other words come to: streams out of step are noticed */
} pen_record;

uint32_t pen_record_check(const pen_record *record);

/* The first record of so many bytes: answers its whole length and where its body is; 0: more bytes
 * are needed; SIZE_MAX: these are no records. */
size_t pen_record_take(const char *bytes, size_t len, pen_record *out, const char **body);

/* Where the bytes behind the magic begin; 0: not there yet; SIZE_MAX: only noise. */
size_t pen_record_begin(const char *bytes, size_t len);

#endif
