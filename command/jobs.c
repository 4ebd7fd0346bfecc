/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c: `penstock jobs`: lists the user's jobs on this host. */
#include "boot/host_page.h"
#include "command/command.h"
#include "command/json.h"
#include "command/paint.h"
#include "command/watch.h"
#include "command/watch_options.h"
#include "os/os.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const jobs_options[] = { "--json", "--help", NULL };

static double age_s(const watch_job *job)
{
    return (double)(pen_now_ns() - job->page->begun_ns) / 1e9;
}

static uint32_t waiting(const watch_job *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->page->size; i++) {
        watch_rank rank = watch_rank_read(job, i);
        count += rank.waits;
    }
    return count;
}

static void print_table(const watch_job *jobs, size_t count)
{
    const char *on = paint_on(stdout, PAINT_HEADING), *off = paint_off(stdout);
    if (count == 0) {
        printf("no job of yours runs on this host\n");
        return;
    }
    printf("%s%7s  %-13s  %-7s  %8s  %7s  %s%s\n", on, "JOB", "RANKS", "HOST", "SECONDS", "WAITING",
           "PROGRAM", off);
    for (size_t i = 0; i < count; i++) {
        const pen_host_page *page = jobs[i].page;
        char ranks[48], host[32], program[WATCH_COMMAND_LEN];
        if (page->size == page->job_size)
            (void)snprintf(ranks, sizeof(ranks), "%u", page->size);
        else
            (void)snprintf(ranks, sizeof(ranks), "%u-%u of %u", page->first,
                           page->first + page->size - 1, page->job_size);
        (void)snprintf(host, sizeof(host), "%u of %u", page->host_i + 1, page->host_count);
        watch_program(&jobs[i], program, sizeof(program));
        printf("%7d  %-13s  %-7s  %8.0f  %7u  %s\n", (int)jobs[i].id, ranks, host, age_s(&jobs[i]),
               waiting(&jobs[i]), program);
    }
}

static void print_json(const watch_job *jobs, size_t count)
{
    printf("[");
    for (size_t i = 0; i < count; i++) {
        const pen_host_page *page = jobs[i].page;
        char program[WATCH_COMMAND_LEN];
        watch_program(&jobs[i], program, sizeof(program));
        printf("%s\n  {\"job\": %d, \"ranks\": %u, \"first_rank\": %u, \"job_ranks\": %u, "
               "\"host\": %u, \"hosts\": %u, \"age_s\": %.3f, \"waiting\": %u, \"program\": ",
               i == 0 ? "" : ",", (int)jobs[i].id, page->size, page->first, page->job_size,
               page->host_i, page->host_count, age_s(&jobs[i]), waiting(&jobs[i]));
        json_text(stdout, program);
        printf("}");
    }
    printf("\n]\n");
}

int command_jobs(char **arguments)
{
    static watch_job jobs[WATCH_JOBS_MAX];
    bool json = false;
    for (char **at = arguments; *at != NULL; at++) {
        if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0)
            return command_help((char *[]){ "jobs", NULL });
        if (strcmp(*at, "--json") != 0)
            return command_unknown_word("jobs", *at, jobs_options);
        json = true;
    }
    size_t count = watch_find(jobs, WATCH_JOBS_MAX);
    if (json)
        print_json(jobs, count);
    else
        print_table(jobs, count);
    watch_close(jobs, count);
    return command_written("jobs");
}
