/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_report.c: the supervisor's messages: why the job ends, and which ranks delay its
 * end. */
#include "launch/supervisor_parts.h"

#include "boot/end_text.h"
#include "boot/remedy.h"
#include "boot/signal_name.h"
#include "diag/log.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pen_rank_text pen_super_rank_text(const pen_supervisor *s, uint32_t rank)
{
    return pen_rank_text_of(s->first + rank, s->ops->host(s, rank), (int)s->ranks[rank].pid);
}

static void say(pen_supervisor *s, pen_log_level level, pen_end_text line)
{
    pen_super_say(s, level, "%s", line.text);
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
        say(s, PEN_LOG_ERROR, pen_end_resigned(who.text));
    else if (cause->code == 0)
        pen_super_say(s, PEN_LOG_ERROR,
                      "%s ended without joining the job that other ranks have joined; ending the "
                      "job",
                      who.text);
    else
        say(s, PEN_LOG_ERROR, pen_end_exited(who.text, cause->code, note));
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
        say(s, PEN_LOG_ERROR, pen_end_exited(who.text, cause->code, ""));
    else
        say(s, cause->code != 0 ? PEN_LOG_ERROR : PEN_LOG_INFO,
            pen_end_called(who.text, cause->code, s->ranks[cause->rank].note));
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

/* The ranks that have left with 0, or have not. */
static pen_rank_list ranks_that(const pen_supervisor *s, bool left)
{
    pen_rank_list out = { .count = 0 };
    for (uint32_t rank = 0; rank < s->started; rank++) {
        const pen_exit_rank *row = &s->exit_ranks[rank];
        if (left ? row->left : s->ranks[rank].alive && !row->word)
            pen_rank_list_add(&out, rank);
    }
    return out;
}

void pen_super_notice(pen_supervisor *s)
{
    pen_rank_list left = ranks_that(s, true), stay = ranks_that(s, false);
    say(s, PEN_LOG_WARN, pen_end_notice(&left, &stay, s->rule.leave_limit_ns));
}

static void explain_leave_limit(pen_supervisor *s)
{
    pen_rank_list left = ranks_that(s, true), stay = ranks_that(s, false);
    say(s, PEN_LOG_ERROR, pen_end_late(&left, &stay, s->rule.leave_limit_ns));
}

static void explain_blocked(pen_supervisor *s, const pen_exit_event *cause)
{
    pen_rank_text who = pen_super_rank_text(s, cause->rank),
                  other = pen_super_rank_text(s, (uint32_t)cause->code);
    say(s, PEN_LOG_ERROR, pen_end_blocked(who.text, s->ranks[cause->rank].waits_in, other.text));
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
