/* SPDX-License-Identifier: BSD-3-Clause */
/* child.h: a job of one in a child process, as many as a test program likes: its output and its
 * end. */
#ifndef PEN_TESTS_UNIT_API_CHILD_H
#define PEN_TESTS_UNIT_API_CHILD_H

#include <gasnet.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct child_end {
    int status; /* as a shell has it: 128 + signal */
    char said[4096];
} child_end;

/* The test program's own handlers are not the child's. */
static inline void child_reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
}

static inline child_end child_run(void (*play)(void))
{
    child_end end = { .status = -1 };
    int ends[2];
    if (pipe(ends) != 0)
        return end;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        child_reset_signals();
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        play();
        exit(0);
    }
    (void)close(ends[1]);
    size_t len = 0;
    ssize_t got;
    while (len < sizeof(end.said) - 1 &&
           (got = read(ends[0], end.said + len, sizeof(end.said) - 1 - len)) > 0)
        len += (size_t)got;
    (void)close(ends[0]);
    int status;
    if (pid > 0 && waitpid(pid, &status, 0) == pid)
        end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return end;
}

/* A checked build aborts where another one exits with 1. */
static inline int child_was_refused(const child_end *end, const char *reason)
{
    int refused = (end->status == 1 || end->status == 128 + SIGABRT) &&
                  strstr(end->said, "penstock[") != NULL && strstr(end->said, reason) != NULL;
    if (!refused)
        (void)fprintf(stderr, "status %d, wanted a refusal with \"%s\", got:\n%s\n", end->status,
                      reason, end->said);
    return refused;
}

/* ---- the job in the child ------------------------------------------------------------------- */

typedef struct child_job {
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
} child_job;

static inline child_job child_join(void)
{
    child_job job = { NULL, NULL, NULL, NULL };
    if (gex_Client_Init(&job.client, &job.endpoint, &job.team, "CHILD", NULL, NULL,
                        GEX_FLAG_USES_GASNET1) != GASNET_OK)
        exit(70);
    return job;
}

static inline child_job child_attach(void)
{
    child_job job = child_join();
    if (gex_Segment_Attach(&job.segment, job.team, GASNET_PAGESIZE) != GASNET_OK)
        exit(71);
    return job;
}

#endif
