/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c: one message of the control socket, sent or received. */
#include "boot/control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* retries while the kernel is out of memory; a supervisor that tells thousands of ranks does not
 * wait */
enum {
    TRIES_MAX = 200,
    TRIES_NO_WAIT_MAX = 3,
    TRY_AGAIN_MS = 1,
};

/* Sends one message. Returns 0 or an errno. */
static int send_once(int fd, const pen_control *message, bool wait)
{
    ssize_t sent;
    do {
        sent = send(fd, message, sizeof(*message), MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0; /* a seqpacket is sent whole or not at all */
}

int pen_control_send(int fd, pen_control_kind kind, int code, const char *text, bool wait)
{
    int errno_before = errno;
    pen_control message = { .kind = kind, .code = code };
    for (unsigned i = 0; text != NULL && text[i] != '\0' && i < PEN_CONTROL_TEXT_MAX - 1; i++)
        message.text[i] = text[i];
    int error = send_once(fd, &message, wait);
    int tries_max = wait ? TRIES_MAX : TRIES_NO_WAIT_MAX;
    for (int i = 1; i < tries_max && (error == ENOBUFS || error == ENOMEM); i++) {
        (void)poll(NULL, 0, TRY_AGAIN_MS);
        error = send_once(fd, &message, wait);
    }
    errno = errno_before;
    return error;
}

pen_control_result pen_control_receive(int fd, pen_control *out)
{
    int errno_before = errno;
    pen_control message;
    ssize_t got;
    do {
        got = recv(fd, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
    } while (got < 0 && errno == EINTR);
    int why = errno;
    errno = errno_before;
    if (got < 0)
        return why == EAGAIN || why == ENOMEM || why == ENOBUFS ? PEN_CONTROL_NONE
                                                                : PEN_CONTROL_GONE;
    if (got == 0)
        return PEN_CONTROL_GONE;
    if (got != (ssize_t)sizeof(message))
        return PEN_CONTROL_BAD;
    message.text[PEN_CONTROL_TEXT_MAX - 1] = '\0';
    *out = message;
    return PEN_CONTROL_SOME;
}
