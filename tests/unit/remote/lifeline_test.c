/* SPDX-License-Identifier: BSD-3-Clause */
/* lifeline_test.c: names of a connection, and a connection whose other end answers. tests/hosts has
 * the case of a host that has vanished. */
#include "remote/lifeline.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void connections_are_taken_apart(void **state)
{
    (void)state;
    pen_lifeline line = pen_lifeline_of("10.0.0.1 4711 10.0.0.2 22");
    assert_true(line.known);
    assert_int_equal(line.family, AF_INET);
    assert_int_equal(line.their_ip[0], htonl(0x0a000001));
    assert_int_equal(line.own_ip[0], htonl(0x0a000002));
    assert_int_equal(line.their_port, htons(4711));
    assert_int_equal(line.own_port, htons(22));
    line = pen_lifeline_of("fd00::1 4711 fd00::2 22");
    assert_true(line.known);
    assert_int_equal(line.family, AF_INET6);
    assert_int_equal(line.own_ip[3], htonl(2));
}

static void what_is_no_connection_is_not_known(void **state)
{
    (void)state;
    static const char *const texts[] = { "",
                                         "10.0.0.1 4711 10.0.0.2",
                                         "a 1 b 2",
                                         "10.0.0.1 0 10.0.0.2 22",
                                         "10.0.0.1 70000 10.0.0.2 22",
                                         "fe80::1%eth0 4711 fe80::2%eth0 22" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pen_lifeline line = pen_lifeline_of(texts[i]);
        assert_false(line.known);
        assert_int_equal(pen_lifeline_silent_ns(&line), 0);
    }
    assert_false(pen_lifeline_of(NULL).known);
}

/* Makes a connection within this host, one end of which reads nothing. */
static void who_is_there_is_not_silent(void **state)
{
    (void)state;
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in from;
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(near, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(near, (struct sockaddr *)&from, &len), 0);
    char text[64];
    (void)snprintf(text, sizeof(text), "127.0.0.1 %d 127.0.0.1 %d", ntohs(at.sin_port),
                   ntohs(from.sin_port));
    pen_lifeline line = pen_lifeline_of(text);
    static const char bytes[65536];
    while (send(near, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
    usleep(50000);
    assert_true(line.known);
    assert_int_equal(pen_lifeline_silent_ns(&line), 0);
    close(near);
    close(listener);
    assert_int_equal(pen_lifeline_silent_ns(&line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_are_taken_apart),
        cmocka_unit_test(what_is_no_connection_is_not_known),
        cmocka_unit_test(who_is_there_is_not_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
