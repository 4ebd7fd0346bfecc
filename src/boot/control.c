/* SPDX-License-Identifier: BSD-3-Clause */
/* control.c: one message of the control socket, sent or received. */
#include "boot/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool pen_control_send(int fd, pen_control_kind kind, int code, const char *text, bool wait)
{
    int errno_before = errno;
    pen_control message = { .kind = kind, .code = code };
    for (unsigned i = 0; text != NULL && text[i] != '\0' && i < PEN_CONTROL_TEXT_MAX - 1; i++)
        message.text[i] = text[i];
    ssize_t sent;
    do {
        sent = send(fd, &message, sizeof(message), MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    } while (sent < 0 && errno == EINTR);
    errno = errno_before;
    return sent == (ssize_t)sizeof(message);
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
        return why == EAGAIN || why == EWOULDBLOCK ? PEN_CONTROL_NONE : PEN_CONTROL_GONE;
    if (got == 0)
        return PEN_CONTROL_GONE;
    if (got != (ssize_t)sizeof(message))
        return PEN_CONTROL_BAD;
    message.text[PEN_CONTROL_TEXT_MAX - 1] = '\0';
    *out = message;
    return PEN_CONTROL_SOME;
}
