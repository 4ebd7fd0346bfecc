/* SPDX-License-Identifier: BSD-3-Clause */
/* control.h: the words that a rank and its supervisor say to each other on the control socket: one
 * seqpacket message each, of one fixed length, so that nothing has to be parsed. */
#ifndef PEN_BOOT_CONTROL_H
#define PEN_BOOT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

enum { PEN_CONTROL_TEXT_MAX = 120 };

typedef enum pen_control_kind {
    /* a rank's */
    PEN_CONTROL_JOINED = 1,   /* it is a member of the job now and owes an exit handshake */
    PEN_CONTROL_EXIT,         /* gasnet_exit(code) */
    PEN_CONTROL_LEAVE,        /* exit(code) or return from main */
    PEN_CONTROL_NOTE,         /* text: why it is about to end abnormally */
    PEN_CONTROL_RESIGNED,     /* it is no member any more, until it joins again */
    PEN_CONTROL_MEET,         /* all of this host are in the start-up barrier; code: see boot.c */
    PEN_CONTROL_START_FAILED, /* text: the call that failed, up to exec; code: its errno */
    PEN_CONTROL_BLOCKED,      /* it waits for rank `code`, which has left; text: in which call */
    /* the supervisor's */
    PEN_CONTROL_GO = 16, /* all ranks have left: go on with your exit */
    PEN_CONTROL_NOTED,   /* the rank is known to have resigned */
    PEN_CONTROL_END,     /* the job ends now; code: its status */
} pen_control_kind;

typedef struct pen_control {
    uint32_t kind;
    int32_t code;
    char text[PEN_CONTROL_TEXT_MAX]; /* NUL-terminated once received */
} pen_control;

/* Both are async-signal-safe and keep errno. Answers 0, or the errno of send: the other side is
 * gone, or (wait false) has not read for long, or the kernel has been out of memory for a while. */
int pen_control_send(int fd, pen_control_kind kind, int code, const char *text, bool wait);

typedef enum pen_control_result {
    PEN_CONTROL_NONE, /* nothing there */
    PEN_CONTROL_SOME, /* *out holds a well-formed message, of a kind that may be unknown */
    PEN_CONTROL_BAD,  /* a message of another length: read and dropped */
    PEN_CONTROL_GONE, /* the other side has closed its end */
} pen_control_result;

pen_control_result pen_control_receive(int fd, pen_control *out); /* never blocks */

#endif
