/* SPDX-License-Identifier: BSD-3-Clause */
/* rank.c: a rank that uses boot and nothing above it, so that starting and ending can be tested by
 * themselves. Its arguments are steps, done in order; "3:step" is done by rank 3 only, "!3:step" by
 * all but rank 3. As its own launcher (GASNET_PSHM_NODES) it works as well. */
#include "boot/boot.h"
#include "launch/supervisor.h"
#include "pmix/pmix.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pen_log log_of_rank;
static pen_boot boot;
static int leave_code;

static void nap(double seconds)
{
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static void on_exit_leave(int code, void *unused)
{
    (void)unused;
    pen_boot_leave(&boot, code, NULL, NULL);
}

static void quietly(int signal) /* does the same as the library's SIGQUIT handler */
{
    pen_boot_exit_job(&boot, 128 + signal); /* NOLINT(cert-msc54-cpp): it says it is safe here */
    _exit(1);
}

static void step_exchange(void)
{
    uint32_t *all = calloc(boot.size, sizeof(*all));
    uint32_t mine = boot.rank * 3 + 1;
    if (all == NULL || pen_boot_exchange(&boot, &mine, sizeof(mine), all) != PEN_OK)
        exit(90);
    for (uint32_t rank = 0; rank < boot.size; rank++) {
        if (all[rank] != rank * 3 + 1)
            exit(91);
    }
    free(all);
}

/* len lines of varying length, each saying who and which. */
static void step_lines(int count, FILE *out)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "rank %u line %d %.*s\n", boot.rank, i, i % 61,
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    fflush(out);
}

/* Prints the descriptors of this rank beyond its own three and boot's two. */
static void step_descriptors(void)
{
    struct stat file;
    for (int fd = 3; fd < 4096; fd++) {
        if (fstat(fd, &file) == 0 && fd != boot.control_fd && fd != boot.arena_fd)
            printf("rank %u fd %d\n", boot.rank, fd);
    }
}

static void step_stdin(void)
{
    char line[256];
    while (fgets(line, sizeof(line), stdin) != NULL)
        printf("rank %u read %s", boot.rank, line);
    fflush(stdout);
}

static void step_orphan(void) /* leaves a grandchild behind that ignores all signals it can */
{
    if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        nap(600);
        _exit(0);
    }
}

static void step_hang(void)
{
    atomic_store(&boot.page->ranks[boot.rank].phase, PEN_HOST_RUNNING);
    atomic_store(&boot.page->ranks[boot.rank].progress, 4711);
    nap(600);
}

static void step_number(const char *step)
{
    const char *equals = strchr(step, '=');
    double value = equals != NULL ? strtod(equals + 1, NULL) : 0;
    if (strncmp(step, "exit=", 5) == 0)
        exit((int)value);
    if (strncmp(step, "_exit=", 6) == 0)
        _exit((int)value);
    if (strncmp(step, "return=", 7) == 0)
        leave_code = (int)value;
    if (strncmp(step, "gasnet_exit=", 12) == 0) {
        pen_boot_exit_job(&boot, (int)value);
        _exit((int)value & 0xff);
    }
    if (strncmp(step, "kill=", 5) == 0)
        raise((int)value);
    if (strncmp(step, "sleep=", 6) == 0)
        nap(value);
    if (strncmp(step, "lines=", 6) == 0)
        step_lines((int)value, stdout);
    if (strncmp(step, "errlines=", 9) == 0)
        step_lines((int)value, stderr);
}

static void step_join(void)
{
    static const pen_boot_ways ways = { pen_foreign_join, pen_supervise_self };
    if (pen_boot_open(&log_of_rank, &ways, NULL, &boot) != PEN_OK)
        exit(1);
    on_exit(on_exit_leave, NULL);
}

static void step_handler(void) { signal(SIGQUIT, quietly); }

static void step_deaf(void)
{
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static void step_barrier(void)
{
    if (pen_boot_barrier(&boot) != PEN_OK)
        exit(92);
}

static void step_hello(void)
{
    printf("hello from %u of %u by %s\n", boot.rank, boot.size, boot.launcher);
}

static void step_pid(void) { printf("rank %u pid %d\n", boot.rank, (int)getpid()); }

static void step_key(void)
{
    printf("rank %u key ", boot.rank);
    for (unsigned i = 0; i < sizeof(boot.page->job_key); i++)
        printf("%02x", boot.page->job_key[i]);
    printf("\n");
}

static void step_flush(void) { fflush(stdout); }

static void step_note(void) { pen_boot_abort_note(&boot, "a word of mine"); }

static void step_spin(void)
{
    for (volatile int forever = 1; forever != 0;) {
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} steps[] = {
    { "join", step_join },       { "handler", step_handler },   { "deaf", step_deaf },
    { "barrier", step_barrier }, { "exchange", step_exchange }, { "hello", step_hello },
    { "pid", step_pid },         { "flush", step_flush },       { "fds", step_descriptors },
    { "stdin", step_stdin },     { "orphan", step_orphan },     { "note", step_note },
    { "key", step_key },         { "hang", step_hang },         { "spin", step_spin },
};

static void step_word(const char *step)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (strcmp(step, steps[i].name) == 0)
            steps[i].run();
    }
}

static void step_text(const char *step)
{
    if (strncmp(step, "env=", 4) == 0) {
        const char *value = pen_boot_getenv(&boot, step + 4);
        printf("%s=%s\n", step + 4, value != NULL ? value : "(unset)");
    }
    if (strncmp(step, "text=", 5) == 0) /* without a newline */
        fputs(step + 5, stdout);
    if (strncmp(step, "setenv=", 7) == 0) {
        char name[64] = "";
        strncat(name, step + 7, strcspn(step + 7, "=") % sizeof(name));
        setenv(name, strchr(step + 7, '=') + 1, 1);
    }
}

int main(int argc, char **argv)
{
    pen_log_init(&log_of_rank, "test");
    boot.control_fd = -1;
    const char *rank = getenv("PENSTOCK_RANK"); /* for steps before joining */
    boot.rank = rank != NULL ? (uint32_t)strtoul(rank, NULL, 10) : 0;
    for (int i = 1; i < argc; i++) {
        const char *step = argv[i];
        const char *colon = strchr(step, ':');
        if (colon != NULL) {
            bool but = *step == '!';
            bool ours = (uint32_t)strtoul(step + but, NULL, 10) == boot.rank;
            step = colon + 1;
            if (ours == but)
                continue;
        }
        step_word(step);
        step_number(step);
        step_text(step);
    }
    return leave_code;
}
