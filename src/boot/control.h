/* SPDX-License-Identifier: BSD-3-Clause */
/* control.h: the messages between a rank and its supervisor on the control socket. Each is one
 * seqpacket of fixed length, so that nothing has to be parsed. */
#ifndef PEN_BOOT_CONTROL_H
#define PEN_BOOT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

enum { PEN_CONTROL_TEXT_MAX = 120 };

typedef enum pen_control_kind {
    /* from a rank */
    PEN_CONTROL_JOINED = 1, /* the rank is a member of the job and owes an exit handshake */
    PEN_CONTROL_EXIT,       /* gasnet_exit(code) */
    PEN_CONTROL_LEAVE,      /* exit(code) or return from main */
    PEN_CONTROL_NOTE,       /* text: why the rank is about to end abnormally */
    PEN_CONTROL_RESIGNED,   /* the rank is not a member until it joins again */
    /* all ranks of this host are in the start-up barrier; code: see boot.c */
    PEN_CONTROL_MEET,
    PEN_CONTROL_START_FAILED, /* text: the call that failed, up to exec; code: its errno */
    /* the rank waits for rank `code`, which has left; text: in which call */
    PEN_CONTROL_BLOCKED,
    /* from the supervisor */
    PEN_CONTROL_GO = 16, /* all ranks have left: go on with your exit */
    PEN_CONTROL_NOTED,   /* confirms that the rank has resigned */
    PEN_CONTROL_END,     /* the job ends now; code: its status */
} pen_control_kind;

typedef struct pen_control {
    uint32_t kind;
    int32_t code;
    char text[PEN_CONTROL_TEXT_MAX]; /* NUL-terminated once received */
} pen_control;

/* Both functions are async-signal-safe and keep errno. Returns 0, or the errno of send: the
 * receiver is gone, the receiver has not read for long (wait false), or the kernel has been out of
 * memory for long. */
int pen_control_send(int fd, pen_control_kind kind, int code, const char *text, bool wait);

typedef enum pen_control_result {
    PEN_CONTROL_NONE, /* no message is there */
    PEN_CONTROL_SOME, /* *out holds a well-formed message, of a kind that may be unknown */
    PEN_CONTROL_BAD,  /* a message of another length: read and dropped */
    PEN_CONTROL_GONE, /* the sender has closed its end */
} pen_control_result;

pen_control_result pen_control_receive(int fd, pen_control *out); /* never blocks */

#endif
