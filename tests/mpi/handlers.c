/* SPDX-License-Identifier: BSD-3-Clause */
/* handlers.c: starting MPI leaves the process's handlers of signals as they were, and takes no
 * signal that is sent to the process. Started by mpirun.
 *
 *     mpi.handlers [untamed]   untamed: starts MPI without the conduit; then some handlers change
 */
#include "conduits/mpi/mpi_link.h"
#include "support/guest.h"

#include <pthread.h>
#include <string.h>

/* Whether a signal to the process stays for this thread while it is blocked here. A thread of MPI
 * that takes it would run its handler. */
static volatile sig_atomic_t taken;

static void take(int signal_i)
{
    (void)signal_i;
    taken = 1;
}

static bool keeps_its_signals(void)
{
    sigset_t one, waiting;
    (void)signal(SIGUSR1, take);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &one, NULL);
    (void)kill(getpid(), SIGUSR1);
    (void)usleep(20000);
    return taken == 0 && sigpending(&waiting) == 0 && sigismember(&waiting, SIGUSR1) == 1;
}

int main(int argc, char **argv)
{
    const bool is_untamed = argc > 1 && strcmp(argv[1], "untamed") == 0;
    guest_process before;
    mpi_library mpi;
    int level;
    guest_note(&before);
    if (mpi_library_open(&guest_host, NULL, &mpi) != PEN_OK)
        return 1;
    if (is_untamed)
        (void)mpi.init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    else if (mpi_library_start(&guest_host, &mpi, true) != PEN_OK)
        return 1;
    before.variables = guest_variables(); /* an MPI may set variables of its own */
    const unsigned changed = guest_changes(&before);
    if (is_untamed) {
        (void)mpi.finalize();
        return changed > 0 ? 0 : 1;
    }
    if (changed == 0 && keeps_its_signals())
        return 0;
    (void)printf("%u handlers changed, signal taken: %d\n", changed, (int)taken);
    return 1;
}
