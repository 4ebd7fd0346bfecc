/* SPDX-License-Identifier: BSD-3-Clause */
/* exit_codes.c: the ways in which clients end. The first argument says which one; the status of the
 * job is checked outside. */
#include <gasnet.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static gasnet_node_t me, nodes;

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void exit_handler(gasnet_token_t token, gasnet_handlerarg_t code)
{
    (void)token;
    gasnet_exit(code);
}

static void on_quit(int number)
{
    static const char text[] = "cleaned up\n";
    (void)number;
    (void)!write(1, text, sizeof(text) - 1);
    gasnet_exit(99); /* not the job's status: another rank has decided it */
}

static void after_main(void)
{
    int value = 0;
    gasnet_seginfo_t info[64];
    gasnet_getSegmentInfo(info, (int)nodes);
    gasnet_put_val((me + 1) % nodes, info[(me + 1) % nodes].addr, me + 50, sizeof(int));
    barrier();
    memcpy(&value, info[me].addr, sizeof(value));
    if (value != (int)((me + nodes - 1) % nodes) + 50)
        _exit(66);
    printf("rank %u communicated in atexit\n", me);
    barrier();
}

static void *from_a_thread(void *unused)
{
    gasnet_exit(6);
    return unused;
}

static void wait_for_ever(void)
{
    for (;;)
        gasnet_AMPoll();
}

static void end_more(int way)
{
    pthread_t thread;
    switch (way) {
    case 6: /* another thread of one rank; the first ones compute */
        if (me == 1)
            pthread_create(&thread, NULL, from_a_thread, NULL);
        for (volatile unsigned long i = 0;; i++)
            ;
    case 7: /* a rank with a handler of SIGQUIT */
        if (me == 1)
            signal(SIGQUIT, on_quit);
        barrier();
        if (me == 0)
            gasnet_exit(7);
        wait_for_ever();
        break;
    case 8: /* communication at exit */
        atexit(after_main);
        exit(0);
    case 9: /* abort */
        if (me == 0)
            abort();
        wait_for_ever();
        break;
    case 10: /* _exit, which no library sees */
        if (me == 1)
            _exit(10);
        wait_for_ever();
        break;
    default:
        printf("no such way: %d\n", way);
    }
}

static void end(int way)
{
    gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
    switch (way) {
    case 1: /* all, at once */
        gasnet_exit(1);
    case 2: /* one, while others wait in a barrier */
        if (me == nodes - 1)
            gasnet_exit(2);
        barrier();
        break;
    case 3: /* return of a status, by one */
        if (me == 1)
            exit(3);
        wait_for_ever();
        break;
    case 4: /* from a handler */
        if (me == 0)
            gasnet_AMRequestShort1(nodes - 1, 128, 4);
        wait_for_ever();
        break;
    case 5: /* with a lock held */
        gasnet_hsl_lock(&lock);
        if (me == 0)
            gasnet_exit(5);
        gasnet_hsl_unlock(&lock);
        wait_for_ever();
        break;
    default:
        end_more(way);
    }
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = { { 128, (void (*)())exit_handler } };
    gasnet_init(&argc, &argv);
    if (argc != 2)
        gasnet_exit(90); /* between init and attach */
    gasnet_attach(table, 1, GASNET_PAGESIZE, 0);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    barrier();
    end(atoi(argv[1]));
    return 0;
}
