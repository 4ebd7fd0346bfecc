/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_report.c: the supervisor's messages: why the job ends, and which ranks delay its
 * end. */
#include "launch/supervisor_parts.h"

#include "boot/remedy.h"
#include "boot/signal_name.h"
#include "diag/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS_NAMED_MAX = 8 };

pen_rank_text pen_super_rank_text(const pen_supervisor *s, uint32_t rank)
{
    pen_rank_text out;
    (void)snprintf(out.text, sizeof(out.text), "rank %u (host %.60s, pid %d)", s->first + rank,
                   s->ops->host(s, rank), (int)s->ranks[rank].pid);
    return out;
}

static void explain_ended(pen_supervisor *s, const pen_exit_event *cause)
{
    const pen_exit_rank *rank = &s->exit_ranks[cause->rank];
    pen_rank_text who = pen_super_rank_text(s, cause->rank);
    const char *note = s->ranks[cause->rank].note;
    const char *colon = note[0] != '\0' ? ": " : "";
    if (rank->joined && !rank->word)
        pen_super_say(s, PEN_LOG_ERROR,
                      "%s left with status %d without the exit handshake%s%s%s; ending the job",
                      who.text, cause->code, cause->code == 0 ? ", which counts as 1" : "", colon,
                      note);
    else if (cause->code == 0 && rank->resigned != 0)
        pen_super_say(s, PEN_LOG_ERROR,
                      "%s ended after pen_finalize, but other ranks have joined the job again; "
                      "ending the job",
                      who.text);
    else if (cause->code == 0)
        pen_super_say(s, PEN_LOG_ERROR,
                      "%s ended without joining the job that other ranks have joined; ending the "
                      "job",
                      who.text);
    else
        pen_super_say(s, PEN_LOG_ERROR, "%s exited with status %d%s%s; ending the job", who.text,
                      cause->code, colon, note);
}

static void explain_died(pen_supervisor *s, const pen_exit_event *cause)
{
    const char *note = s->ranks[cause->rank].note;
    pen_super_say(s, PEN_LOG_ERROR, "%s killed by %s%s%s; ending the job",
                  pen_super_rank_text(s, cause->rank).text, pen_signal_name(cause->code).name,
                  note[0] != '\0' ? ": " : "", note);
}

static void explain_word(pen_supervisor *s, const pen_exit_event *cause)
{
    pen_rank_text who = pen_super_rank_text(s, cause->rank);
    if (cause->kind == PEN_EXIT_LEFT)
        pen_super_say(s, PEN_LOG_ERROR, "%s exited with status %d; ending the job", who.text,
                      cause->code);
    else
        pen_super_say(s, cause->code != 0 ? PEN_LOG_ERROR : PEN_LOG_INFO,
                      "%s called gasnet_exit(%d); ending the job", who.text, cause->code);
}

/* Advice for a program that exec refuses. */
static const char *program_hint(const char *program, int why)
{
    struct stat file;
    if (*program == '\0')
        return "the program's name is empty";
    if (why == EACCES)
        return stat(program, &file) == 0 && S_ISDIR(file.st_mode)
                   ? "it is a folder; name a program in it"
                   : "is it a program, and executable (chmod +x)?";
    if (why == ENOENT && strchr(program, '/') == NULL && access(program, X_OK) == 0)
        return "it is in this folder: write ./ before it";
    if (why == ENOENT)
        return access(program, F_OK) == 0
                   ? "the file is there, but not the interpreter or loader it names"
                   : "check the name and PATH";
    return why == ENOEXEC ? "it is not a program for this machine"
           : why == E2BIG ? "arguments and environment are too long"
                          : pen_boot_remedy(why);
}

/* Reports a rank that was not started. Its note names the call that failed. */
static void explain_not_started(pen_supervisor *s, const pen_exit_event *cause)
{
    const char *program = s->options->argv[0], *call = s->ranks[cause->rank].note;
    int why = cause->code;
    if (strncmp(call, "exec", strlen("exec")) != 0) {
        pen_super_say(s, PEN_LOG_ERROR, "cannot start rank %u: %s: %s; %s", cause->rank, call,
                      strerror(why), pen_boot_remedy(why));
        return;
    }
    bool far = s->ops->far;
    pen_super_say(s, PEN_LOG_ERROR, "cannot start %s%s%s: %s: %s; %s", program,
                  far ? " on host " : "", far ? s->ops->host(s, cause->rank) : "", call,
                  strerror(why), program_hint(program, why));
}

/* Names of the ranks that have left with 0, or have not: "rank 1" or "ranks 0, 2 and more". */
typedef struct ranks_text {
    char text[RANKS_NAMED_MAX * 12 + 32];
    unsigned count;
} ranks_text;

static ranks_text ranks_that(const pen_supervisor *s, bool left)
{
    ranks_text out = { .text = "" };
    char numbers[RANKS_NAMED_MAX * 12 + 1] = "";
    size_t len = 0;
    for (uint32_t rank = 0; rank < s->started; rank++) {
        const pen_exit_rank *row = &s->exit_ranks[rank];
        bool named = left ? row->left : s->ranks[rank].alive && !row->word;
        if (named && out.count++ < RANKS_NAMED_MAX)
            len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%u",
                                    out.count > 1 ? ", " : "", rank);
    }
    (void)snprintf(out.text, sizeof(out.text), "%s %s%s", out.count == 1 ? "rank" : "ranks",
                   numbers, out.count > RANKS_NAMED_MAX ? " and more" : "");
    return out;
}

void pen_super_notice(pen_supervisor *s)
{
    ranks_text left = ranks_that(s, true), stay = ranks_that(s, false);
    char limit[48] = "without a limit";
    if (s->rule.leave_limit_ns != 0)
        (void)snprintf(limit, sizeof(limit), "for up to %g s",
                       (double)s->rule.leave_limit_ns / 1e9);
    pen_super_say(s, PEN_LOG_WARN,
                  "%s %s left with 0, %s %s not; the job waits %s (PENSTOCK_LEAVE_TIMEOUT)",
                  left.text, left.count == 1 ? "has" : "have", stay.text,
                  stay.count == 1 ? "has" : "have", limit);
}

static void explain_leave_limit(pen_supervisor *s)
{
    ranks_text left = ranks_that(s, true), stay = ranks_that(s, false);
    pen_super_say(s, PEN_LOG_ERROR,
                  "%s left with 0 and %s had not %g s later: ended by force (meet in a barrier "
                  "before the end, or raise PENSTOCK_LEAVE_TIMEOUT)",
                  left.text, stay.text, (double)s->rule.leave_limit_ns / 1e9);
}

static void explain_blocked(pen_supervisor *s, const pen_exit_event *cause)
{
    pen_rank_text who = pen_super_rank_text(s, cause->rank),
                  other = pen_super_rank_text(s, (uint32_t)cause->code);
    pen_super_say(s, PEN_LOG_ERROR,
                  "%s waits in %s for %s, which has left with 0 and will not take part; ending the "
                  "job",
                  who.text, s->ranks[cause->rank].waits_in, other.text);
}

void pen_super_explain(pen_supervisor *s)
{
    const pen_exit_event *cause = &s->rule.verdict.cause;
    switch (cause->kind) {
    case PEN_EXIT_DIED:
        explain_died(s, cause);
        break;
    case PEN_EXIT_ENDED:
        explain_ended(s, cause);
        break;
    case PEN_EXIT_CALLED:
    case PEN_EXIT_LEFT:
        explain_word(s, cause);
        break;
    case PEN_EXIT_NOT_STARTED:
        explain_not_started(s, cause);
        break;
    case PEN_EXIT_BLOCKED:
        explain_blocked(s, cause);
        break;
    case PEN_EXIT_LEAVE_LIMIT:
        explain_leave_limit(s);
        break;
    case PEN_EXIT_SIGNALLED:
        pen_super_say(s, PEN_LOG_ERROR, "%s received (host %s, pid %d); ending the job",
                      pen_signal_name(cause->code).name, s->log.host, (int)s->pid);
        break;
    case PEN_EXIT_TIME_LIMIT:
        pen_super_say(s, PEN_LOG_ERROR,
                      "time limit of %g s reached; what each rank does follows, then the job ends",
                      s->options->timeout_s);
        s->ops->report(s);
        break;
    case PEN_EXIT_OUTPUT:
        pen_super_say(s, PEN_LOG_ERROR, "cannot write standard %s: %s: %s; ending the job",
                      cause->rank == PEN_STREAM_OUT ? "output" : "error",
                      s->outputs[cause->rank].call, strerror(cause->code));
        break;
    default: /* the reason has been printed already */
        break;
    }
}
