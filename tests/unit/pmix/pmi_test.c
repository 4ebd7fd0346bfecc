/* SPDX-License-Identifier: BSD-3-Clause */
/* pmi_test.c: PMI-1: the ranks of a host, and calls to a launcher that this file plays. */
#include "pmix/pmi.h"

#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECOND_NS = 1000000000 };

static int ends[2];

static int open_socket(void **state)
{
    (void)state;
    char text[16];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    (void)snprintf(text, sizeof text, "%d", ends[0]);
    assert_int_equal(
        setenv("PMI_FD", text, 1) | setenv("PMI_RANK", "1", 1) | setenv("PMI_SIZE", "3", 1), 0);
    return 0;
}

static int close_socket(void **state)
{
    (void)state;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}

static void answer(const char *text)
{
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
}

/* Everything that the client has said since the last call. */
static const char *heard(void)
{
    static char text[65536];
    const ssize_t len = recv(ends[1], text, sizeof text - 1, MSG_DONTWAIT);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static pen_pmi begun(void)
{
    pen_pmi pmi;
    answer(
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=my_kvsname kvsname=kvs_7\n");
    assert_null(pen_pmi_begin(&pmi, pen_now_ns() + SECOND_NS));
    assert_string_equal(heard(), "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n");
    assert_int_equal(pmi.rank, 1);
    assert_int_equal(pmi.size, 3);
    assert_string_equal(pmi.space, "kvs_7");
    return pmi;
}

static void it_is_there_if_all_variables_are(void **state)
{
    (void)state;
    assert_true(pen_pmi_is_there());
    static const char *const names[] = { "PMI_FD", "PMI_RANK", "PMI_SIZE" };
    for (unsigned i = 0; i < 3; i++) {
        char before[16];
        (void)snprintf(before, sizeof before, "%s", getenv(names[i]));
        (void)unsetenv(names[i]);
        assert_false(pen_pmi_is_there());
        (void)setenv(names[i], before, 1);
    }
    (void)setenv("SLURM_STEP_ID", "0", 1);
    assert_false(pen_pmi_is_there());
    (void)unsetenv("SLURM_STEP_ID");
}

static void ranks_of_a_node_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *mapping;
        uint32_t rank, size;
        const char *peers; /* NULL: it is refused */
    } cases[] = {
        { "(vector,(0,1,4))", 2, 4, "0,1,2,3" },
        { "(vector,(0,1,1))", 1, 3, "0,1,2" }, /* parts repeat */
        { "(vector,(0,2,2))", 1, 4, "0,1" },
        { "(vector,(0,2,2))", 2, 4, "2,3" },
        { "(vector,(0,2,1))", 2, 5, "0,2,4" },
        { "(vector,(0,1,1),(1,1,2))", 2, 3, "1,2" },
        { "(vector,(0,1,1),(1,1,2))", 0, 3, "0" },
        { "(vector,(0,1,1)", 0, 3, NULL },
        { "(vector)", 0, 3, NULL },
        { "(vector,(0,0,1))", 0, 3, NULL },
        { "(vector,(0,1,0))", 0, 3, NULL },
        { "(vector,(0,9999999,1))", 0, 3, NULL },
        { "(matrix,(0,1,1))", 0, 3, NULL },
        { "", 0, 3, NULL },
        { "(vector,(0,1,4))", 4, 4, NULL },
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[32];
        const bool is_found =
            pen_pmi_peers_in(cases[i].mapping, cases[i].rank, cases[i].size, out, sizeof out);
        assert_int_equal(is_found, cases[i].peers != NULL);
        if (is_found)
            assert_string_equal(out, cases[i].peers);
    }
    char out[7];
    assert_false(pen_pmi_peers_in("(vector,(0,1,4))", 0, 4, out, sizeof out)); /* one too short */
}

static void bytes_travel_in_pieces(void **state)
{
    (void)state;
    pen_pmi pmi = begun();
    unsigned char bytes[600];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (unsigned i = 0; i < 4; i++)
        answer("cmd=put_result rc=0 msg=success\n");
    assert_null(pen_pmi_put_bytes(&pmi, bytes, sizeof bytes));
    char said[65536];
    (void)snprintf(said, sizeof said, "%s", heard());
    assert_ptr_equal(strstr(said, "cmd=put kvsname=kvs_7 key=penstock-len-1-0 value=600\n"), said);
    char *saved = NULL, reply[2048];
    (void)strtok_r(said, "\n", &saved);
    answer("cmd=get_result rc=0 msg=success value=600\n");
    for (const char *line; (line = strtok_r(NULL, "\n", &saved)) != NULL;) {
        (void)snprintf(reply, sizeof reply, "cmd=get_result rc=0 msg=success %s\n",
                       strstr(line, "value="));
        answer(reply);
    }
    char *back = NULL;
    size_t len = 0;
    assert_null(pen_pmi_get_bytes(&pmi, 1, &back, &len));
    assert_int_equal(len, sizeof bytes);
    assert_memory_equal(back, bytes, sizeof bytes);
    free(back);
}

static void what_a_launcher_should_not_say_is_an_error(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
        "cmd=put_result rc=0\n",
        "cmd=get_result rc=0 msg=success\n",
        "cmd=get_result rc=0 msg=success value=0\n",
        "cmd=get_result rc=0 msg=success value=99999999\n",
        "cmd=get_result rc=0 value=2\ncmd=get_result rc=0 value=abcde\n",
        "cmd=get_result rc=0 value=2\ncmd=get_result rc=0 value=zzzz\n",
        "\n",
    };
    for (unsigned i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        pen_pmi pmi = begun();
        char *back = NULL;
        size_t len = 0;
        answer(answers[i]);
        assert_non_null(pen_pmi_get_bytes(&pmi, 0, &back, &len));
        assert_null(back);
        (void)heard();
    }
}

static void only_one_line_is_read(void **state)
{
    (void)state;
    pen_pmi pmi = begun();
    char rest[16] = "";
    answer("cmd=barrier_out\nfor MPI");
    assert_null(pen_pmi_fence(&pmi));
    assert_int_equal(recv(ends[0], rest, sizeof rest - 1, MSG_DONTWAIT), 7);
    assert_string_equal(rest, "for MPI");
}

static void the_end_is_announced_unless_mpi_has_done_so(void **state)
{
    (void)state;
    pen_pmi pmi = begun();
    answer("cmd=finalize_ack\n");
    pen_pmi_finish(&pmi, pen_now_ns() + SECOND_NS);
    assert_string_equal(heard(), "cmd=finalize\n");
    int more[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, more), 0);
    assert_int_equal(dup2(more[0], ends[0]), ends[0]); /* the number now means another socket */
    pen_pmi_finish(&pmi, pen_now_ns() + SECOND_NS);
    char text[64];
    assert_int_equal(recv(more[1], text, sizeof text, MSG_DONTWAIT), -1);
    (void)close(more[0]);
    (void)close(more[1]);
}

static void silence_and_the_end_of_the_launcher_are_errors(void **state)
{
    (void)state;
    pen_pmi pmi = begun();
    pmi.until_ns = pen_now_ns() + SECOND_NS / 50;
    assert_non_null(strstr(pen_pmi_fence(&pmi), "in time"));
    pmi.until_ns = pen_now_ns() + (uint64_t)60 * SECOND_NS;
    (void)shutdown(ends[1], SHUT_RDWR);
    assert_non_null(pen_pmi_fence(&pmi));
    pmi.fd = -1;
    assert_non_null(strstr(pen_pmi_fence(&pmi), "descriptors open"));
}

int main(void)
{
#define PMI_TEST(name) cmocka_unit_test_setup_teardown(name, open_socket, close_socket)
    const struct CMUnitTest tests[] = {
        PMI_TEST(it_is_there_if_all_variables_are),
        PMI_TEST(ranks_of_a_node_are_found),
        PMI_TEST(bytes_travel_in_pieces),
        PMI_TEST(what_a_launcher_should_not_say_is_an_error),
        PMI_TEST(only_one_line_is_read),
        PMI_TEST(the_end_is_announced_unless_mpi_has_done_so),
        PMI_TEST(silence_and_the_end_of_the_launcher_are_errors),
    };
#undef PMI_TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
