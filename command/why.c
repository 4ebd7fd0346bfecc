/* SPDX-License-Identifier: BSD-3-Clause */
/* why.c: `penstock why`: explains why the ranks of a job do not go on. It looks at them from
 * outside, as `penstock top` does, and prints the stack of ranks that do not poll if a program for
 * that is installed. */
#include "boot/host_page.h"
#include "command/command.h"
#include "command/watch.h"
#include "command/watch_options.h"
#include "diag/log.h"
#include "launch/diagnosis.h"
#include "launch/seen.h"
#include "os/proc.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const why_options[] = { "--no-stack", "--help", NULL };

#define QUIET_NS UINT64_C(1000000000)
enum { STACKS_MAX = 4, STACK_SECONDS = 10, PID_LEN = 16 };

static pen_seen *look(const watch_job *job)
{
    const pen_host_page *page = job->page;
    pen_seen *ranks = calloc(page->job_size, sizeof(*ranks));
    for (uint32_t i = 0; ranks != NULL && i < page->size && page->first + i < page->job_size; i++) {
        pen_seen *seen = &ranks[page->first + i];
        /* relaxed: shown to people */
        pid_t pid = (pid_t)atomic_load_explicit(&page->ranks[i].pid, memory_order_relaxed);
        if (pid != 0 && pen_process_is_own(pid))
            pen_seen_read(&page->ranks[i], pid, seen);
        else
            *seen = (pen_seen){ .known = true, .alive = pid == 0 };
        seen->host = page->host_i;
    }
    return ranks;
}

static void say(void *ctx, const char *sentence)
{
    (void)ctx;
    printf("%s\n", sentence);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Runs in the child: becomes the first program that is installed. */
static _Noreturn void become_tool(const char *pid)
{
    const char *const eu_stack[] = { "eu-stack", "-p", pid, NULL };
    const char *const gdb[] = { "gdb", "-nx",   "-batch", "-ex", "set pagination off",
                                "-ex", "where", "-p",     pid,   NULL };
    (void)alarm(STACK_SECONDS); /* it stays across exec, and its signal ends the program */
    (void)dup2(STDOUT_FILENO, STDERR_FILENO);
    (void)execvp(eu_stack[0], (char *const *)(uintptr_t)eu_stack);
    (void)execvp(gdb[0], (char *const *)(uintptr_t)gdb);
    _exit(127);
}

/* Returns false if no program for it is installed. */
static bool print_stack(uint32_t rank, const pen_seen *seen)
{
    char pid[PID_LEN];
    int status = 0;
    (void)snprintf(pid, sizeof(pid), "%d", seen->pid);
    printf("\nstack of rank %u (pid %s):\n", rank, pid);
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        become_tool(pid);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    bool installed = !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    if (!installed)
        printf("neither eu-stack nor gdb is installed\n");
    return installed;
}

static void print_stacks(const pen_seen *ranks, uint32_t count)
{
    unsigned printed = 0;
    for (uint32_t i = 0; i < count && printed < STACKS_MAX; i++) {
        const pen_seen *rank = &ranks[i];
        if (!rank->known || !rank->joined || rank->waits || rank->quiet_ns < QUIET_NS)
            continue;
        if (!print_stack(i, rank))
            return;
        printed++;
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static int explain(pen_log *log, const watch_job *job, bool stacks)
{
    const pen_host_page *page = job->page;
    pen_seen *ranks = look(job);
    if (ranks == NULL) {
        pen_log_error(log, "cannot look at %u ranks: calloc: out of memory; free some",
                      page->job_size);
        return 1;
    }
    if (page->size < page->job_size)
        printf("ranks %u-%u of %u run on this host; nothing is known here of the ranks on other "
               "hosts\n",
               page->first, page->first + page->size - 1, page->job_size);
    if (pen_diagnose(ranks, page->job_size, say, NULL) == 0)
        printf("nothing holds up job %d: no rank has waited for longer than a second for a reason "
               "that can be seen\n",
               (int)job->id);
    else if (stacks)
        print_stacks(ranks, page->job_size);
    free(ranks);
    return command_written("why");
}

int command_why(char **arguments)
{
    pen_log log;
    watch_job job;
    const char *word = NULL;
    bool stacks = true;
    pen_log_init(&log, "why");
    for (char **at = arguments; *at != NULL; at++) {
        if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0)
            return command_help((char *[]){ "why", NULL });
        if (strcmp(*at, "--no-stack") == 0)
            stacks = false;
        else if (**at == '-' || word != NULL)
            return command_unknown_word("why", *at, why_options);
        else
            word = *at;
    }
    if (!watch_choose(&log, word, &job))
        return 1;
    int status = explain(&log, &job, stacks);
    watch_close(&job, 1);
    return status;
}
