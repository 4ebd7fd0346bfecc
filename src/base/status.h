/* SPDX-License-Identifier: BSD-3-Clause */
/* status.h: the return values of internal functions. One list gives the name, the text and the
 * user's remedy. The function that decides an error logs it once; callers pass it on. */
#ifndef PEN_BASE_STATUS_H
#define PEN_BASE_STATUS_H

#define PEN_STATUS_LIST(X)                                                              \
    X(OK, "success", "")                                                                \
    X(ERR_AGAIN, "not ready yet", "poll, then try again")                               \
    X(ERR_ARGUMENT, "bad argument", "see the call's documentation")                     \
    X(ERR_MEMORY, "out of memory", "use fewer ranks or smaller segments")               \
    X(ERR_SYSTEM, "a system call failed", "see the message above")                      \
    X(ERR_RESOURCE, "a limit was reached", "see the message above")                     \
    X(ERR_UNUSABLE, "not usable on this machine", "run `penstock info` for the reason") \
    X(ERR_PROTOCOL, "a peer sent malformed data", "are all ranks the same build?")      \
    X(ERR_PEER_LOST, "a peer is gone", "see the message of the rank that ended first")  \
    X(ERR_LIMIT_TIME, "time limit exceeded", "raise the limit")

typedef enum pen_status {
#define PEN_STATUS_ENUM(name, text, remedy) PEN_##name,
    PEN_STATUS_LIST(PEN_STATUS_ENUM)
#undef PEN_STATUS_ENUM
} pen_status;

const char *pen_status_text(pen_status status);   /* never NULL; accepts any int */
const char *pen_status_remedy(pen_status status); /* the user's remedy, or "" */

#endif
