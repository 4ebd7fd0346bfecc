/* SPDX-License-Identifier: BSD-3-Clause */
/* help.c: `penstock help`, and the table of subcommands that it prints. */
#include "command/command.h"

#include "base/nearest.h"
#include "command/paint.h"
#include "diag/log.h"

#include <stdbool.h>
#include <string.h>

static const char run_text[] =
    "  -n N, -np N           ranks to start\n"
    "  --hosts A,B:2         run on these hosts, over ssh; a number after a colon is how many "
    "ranks "
    "one\n"
    "                        may have (default: its cores)\n"
    "  --hostfile FILE       the same, a host in each line: NAME, NAME:N or NAME slots=N\n"
    "  --local               run on this host, even in a Slurm allocation of several\n"
    "  --timeout T           end the job after T (seconds; 500ms, 10m, 2h), with status 124 and a\n"
    "                        report of what each rank was doing\n"
    "  --tag                 begin each line of output with the rank that printed it\n"
    "  --bind                bind each rank to a core, neighbours side by side; more ranks than "
    "cores\n"
    "                        share them\n"
    "  --env NAME=VALUE      set a variable for the ranks; may be repeated\n"
    "  --env NAME            hand a variable on (on one host all are; to others GASNET_...,\n"
    "                        PENSTOCK_... and LD_LIBRARY_PATH)\n"
    "  --conduit C           use this conduit; `penstock info` lists them. A+B: messages\n"
    "                        by A, puts and gets by B\n"
    "  --trace FILE          write a trace of what the ranks do, for `penstock trace`\n"
    "  --checked             use the checked build of the library: argument checks and assertions\n"
    "  --stats               each rank prints its counters at the end\n"
    "  --verbose, -v         show settings, and more of what happens\n"
    "  --                    end of options\n"
    "\n"
    "Standard input goes to rank 0. The exit status is that of the first rank that failed (128 + "
    "the\n"
    "signal that killed it), 1 if the job failed in another way, 124 for the time limit, 126 or "
    "127 "
    "if\n"
    "the program cannot be started, 2 for a wrong command line, else 0.\n";

static const char sim_text[] =
    "  -n N                  ranks to start, up to 4096; they run one at a time\n"
    "  --machine M           costs of network and software: extoll-r1 (default), "
    "extoll-tourmalet,\n"
    "                        seastar2, qdr-ib, ideal, or the path of a file\n"
    "  --topology T          crossbar (default), mesh:AxBxC, torus:AxBxC, fat-tree:DOWNxUP\n"
    "  --per-node K          ranks on each node, which share its card (default 1)\n"
    "  --placement P         block (default), cyclic, or a file with the node of each rank, one a\n"
    "                        line\n"
    "  --json                print the figures at the end as one JSON object\n"
    "  --timeout T, --tag, --env NAME=VALUE, --checked, --stats, --verbose\n"
    "                        as for `penstock run`\n"
    "\n"
    "The program needs no change: it is linked with the shared library and uses the extoll "
    "conduit.\n"
    "Its output comes first, then virtual and real time, events, stalls and the busiest links. A\n"
    "run with the same arguments gives the same times to the last digit. Time passes in calls of "
    "the\n"
    "library, in waits and in sleeps; the program's own computing takes none.\n";

static const char perf_text[] =
    "  am                    active messages: round trip and one way, between ranks 0 and 1\n"
    "  put, get              blocking, from and to rank 1's segment, beside what memcpy needs\n"
    "  vis                   strided puts and gets of 64 pieces\n"
    "  barrier               barriers of all ranks\n"
    "  coll                  broadcast, reductions, gathers and exchanges of all ranks\n"
    "\n"
    "  -n N                  ranks to start; each stays on a core, in turn\n"
    "  --max BYTES           longest message or part, 64K for one\n"
    "  --mode seq|par        the thread mode of the program that measures (default seq)\n"
    "  --json                print one JSON object for each line of the table\n"
    "  --quick               fewer and shorter measurements\n"
    "  --hosts A,B, --hostfile FILE, --conduit C, --timeout T\n"
    "                        as for `penstock run`; with -n 2 --hosts A,B ranks 0 and 1 are on "
    "different\n"
    "                        hosts\n"
    "\n"
    "A figure is the median of several blocks of operations. Measure on an idle machine.\n";

static const char info_text[] =
    "  WORD                  only the sections and variables whose names contain the word, such "
    "as\n"
    "                        udp, conduits, host or SEGSIZE\n"
    "  --all                 variables that serve tests, too\n"
    "  --json                print one JSON object, with every variable\n"
    "  -n N                  judge conduits for N ranks (default 2)\n"
    "\n"
    "Terminals get colour unless NO_COLOR is set.\n";

static const char jobs_text[] =
    "  --json                print one JSON array, with an object for each job\n"
    "\n"
    "A job's number is the process id of its launcher or, on a host of a job of several hosts, of "
    "the\n"
    "agent there. Only your own jobs are listed.\n";

static const char top_text[] =
    "  JOB                   a number that `penstock jobs` prints (default: your only job)\n"
    "  --once                print one table and end\n"
    "  --json                print one JSON object for each table, with all counters\n"
    "  --sort COLUMN         sort by a column, such as since, quiet, shm/s or memory (default "
    "rank)\n"
    "  --interval T          time between tables, over which rates are taken (default 1s)\n"
    "\n"
    "CALL is the call in which a rank has waited for SINCE seconds. INLINE/S, SHM/S and NET/S are\n"
    "messages, puts, gets and atomics per second: done by inline code of the program, by the "
    "library\n"
    "in shared memory, and over a network. STALLS/S counts waits for room or credit at a peer, "
    "RESENT/S\n"
    "frames that the network had lost. QUIET is the time since the rank last polled, as far as it "
    "has\n"
    "shown. A job of several hosts is shown on each host for its ranks there.\n";

static const char why_text[] =
    "  JOB                   a number that `penstock jobs` prints (default: your only job)\n"
    "  --no-stack            print no stacks\n"
    "\n"
    "Says which ranks wait for whom, which barriers and collectives were not entered by whom, and "
    "which\n"
    "ranks do not poll, are stopped or have ended. If eu-stack (of elfutils) or gdb is installed, "
    "prints\n"
    "the stack of up to four ranks that do not poll. The launcher's report at --timeout and "
    "SIGUSR2\n"
    "says the same. A rank that has not polled for a second counts as not polling.\n";

static const char trace_text[] =
    "  FILE ...              a trace that `penstock run --trace=FILE` has written: of a job on "
    "several\n"
    "                        hosts FILE.0, FILE.1 and so on\n"
    "  --html                print a page with plots, for a browser\n"
    "  --perfetto            print a file that Perfetto's viewer opens (ui.perfetto.dev)\n"
    "  --csv                 print a line for each event\n"
    "  --between T1 T2       only what happened between two times since the trace began\n"
    "  --rank LIST           only these ranks, such as 3 or 0,4-7\n"
    "\n"
    "Without an option for the form, prints a summary: where the time went by call and by cause, "
    "what\n"
    "each rank did, who talked with whom, and who came late to barriers and collectives.\n";

static const char help_text[] = "  penstock help run     the options of `penstock run`\n";

const command command_table[] = {
    { "run", command_run, "run -n N [options] [--] program [arguments]", "start a job", run_text },
    { "sim", command_sim, "sim -n N [options] [--] program [arguments]",
      "start a job on a simulated machine, in virtual time", sim_text },
    { "perf", command_perf, "perf am|put|get|vis|barrier|coll -n N [options]",
      "measure an operation over lengths, and print a table", perf_text },
    { "info", command_info, "info [WORD] [--all] [--json] [-n N]",
      "show version, conduits, this machine and every variable", info_text },
    { "jobs", command_jobs, "jobs [--json]", "list your jobs on this host", jobs_text },
    { "top", command_top, "top [JOB] [--once] [--json] [--sort COLUMN] [--interval T]",
      "show what each rank of a job does, again and again", top_text },
    { "why", command_why, "why [JOB] [--no-stack]", "explain why a job does not go on", why_text },
    { "trace", command_trace,
      "trace FILE ... [--html|--perfetto|--csv] [--between T1 T2] [--rank LIST]",
      "show what a job did that was started with --trace", trace_text },
    { "agent", command_agent, NULL, NULL, NULL }, /* `penstock run` starts it on other hosts */
    { "words", command_words, NULL, NULL, NULL }, /* for completions of shells */
    { "help", command_help, "help [command]", "explain a command", help_text },
    { NULL, NULL, NULL, NULL, NULL },
};

const command *command_find(const char *name)
{
    for (const command *row = command_table; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

void command_print_help(FILE *out, const command *about)
{
    if (about != NULL) {
        fprintf(out, "usage: penstock %s\n\n%s", about->usage, about->text);
        return;
    }
    const char *on = paint_on(out, PAINT_HEADING), *off = paint_off(out);
    fprintf(out, "%susage%s: penstock <command> [arguments]\n\n", on, off);
    for (const command *row = command_table; row->name != NULL; row++)
        if (row->usage != NULL)
            fprintf(out, "  %s%-6s%s  %s\n", on, row->name, off, row->summary);
    fprintf(out, "\n  penstock help <command>   its options\n"
                 "  penstock --version        the version\n"
                 "\nMore: man penstock\n");
}

int command_written(const char *who)
{
    /* A buffer that could not be written is gone, and only the stream remembers: all that is left
     * may go out well. */
    bool all_went = fflush(stdout) == 0;
    if (all_went && ferror(stdout) == 0)
        return 0;
    pen_log log;
    pen_log_init(&log, who);
    pen_log_error(&log, "cannot write to the standard output: it is cut short; see whether the "
                        "disk is full");
    return 1;
}

int command_help(char **arguments)
{
    const command *about = NULL;
    if (arguments[0] != NULL) {
        about = command_find(arguments[0]);
        if (about == NULL || about->usage == NULL) {
            const char *words[] = { "run", "sim", "perf",  "info", "jobs",
                                    "top", "why", "trace", "help", NULL };
            return command_unknown("penstock", "command", arguments[0],
                                   pen_nearest(arguments[0], words));
        }
    }
    command_print_help(stdout, about);
    return command_written("help");
}
