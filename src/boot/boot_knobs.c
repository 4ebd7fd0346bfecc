/* SPDX-License-Identifier: BSD-3-Clause */
/* boot_knobs.c: table and readers of the variables that decide how a job is made. */
#include "boot/knobs.h"

#include "base/status.h"
#include "boot/copies.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "trace/event.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const pen_knob pen_boot_knobs[] = {
    { "GASNET_PSHM_NODES", PEN_KNOB_INT, NULL, offsetof(pen_boot_config, ranks),
      "Ranks that a program started without a launcher makes of itself; unset or 1: it runs "
      "alone." },
    { "GASNET_SPAWNFN", PEN_KNOB_STRING, "L", offsetof(pen_boot_config, spawn),
      "How a program for udp that is started as `./program N` makes its ranks: L, on this host; "
      "amudprun takes S as well, over ssh." },
    { "PENSTOCK_ALONE", PEN_KNOB_BOOL, "0", offsetof(pen_boot_config, alone),
      "Run as a job of one even under another launcher." },
    { "GASNET_SUPERNODE_MAXSIZE", PEN_KNOB_INT, "0", offsetof(pen_boot_config, block_most),
      "Ranks of a host that share memory at most, under a PMIx launcher; 0: all of them." },
    { "PENSTOCK_LEAVE_TIMEOUT", PEN_KNOB_SECONDS, "60", offsetof(pen_boot_config, leave_timeout),
      "How long a job waits for the other ranks once one has exited or returned from main with 0; "
      "then they are ended by force and the job fails. 0: without a limit." },
    { "PENSTOCK_COPIES", PEN_KNOB_STRING, PEN_COPIES_MEASURED, offsetof(pen_boot_config, copies),
      "How memory of 2 KiB to 1 MiB is copied: measured, in the ways that were the fastest when "
      "the "
      "job's host was measured at its start; or always by one of libc, moves32, moves64, string." },
    { "PENSTOCK_TRACE", PEN_KNOB_STRING, "", offsetof(pen_boot_config, trace),
      "File for a trace of the job, which `penstock trace` reads; the same as `penstock run "
      "--trace`." },
    { "GASNET_TRACEFILE", PEN_KNOB_STRING, "", offsetof(pen_boot_config, trace_file),
      "The same if PENSTOCK_TRACE is not set; % in the name becomes the host's number." },
    { "GASNET_TRACEMASK", PEN_KNOB_STRING, "", offsetof(pen_boot_config, trace_mask),
      "Events of a trace, by letters: G gets, P puts, R remote atomics and puts and gets in "
      "pieces, A "
      "messages, B and W barriers and collectives, S waits, C resends and gaps, U the program's "
      "own; "
      "^ before them: all others. Unset: all." },
    { "PENSTOCK_TRACE_SIZE", PEN_KNOB_BYTES, "1M", offsetof(pen_boot_config, trace_len),
      "Memory of each rank for events of a trace that the launcher has not read yet; if it is "
      "full, the oldest are dropped." },
    { NULL, PEN_KNOB_BOOL, NULL, 0, NULL },
};

const pen_knob pen_launch_knobs[] = {
    { "GASNET_SSH_CMD", PEN_KNOB_STRING, "ssh", offsetof(pen_launch_config, ssh),
      "Command that reaches other hosts: words before the host's name." },
    { "GASNET_SSH_OPTIONS", PEN_KNOB_STRING, "", offsetof(pen_launch_config, ssh_options),
      "More words before the host's name, such as -p 2222." },
    { "GASNET_SSH_REMOTE_PATH", PEN_KNOB_STRING, NULL, offsetof(pen_launch_config, remote_folder),
      "Folder of the command penstock on other hosts; unset: the same as here." },
    { "GASNET_SSH_OUT_DEGREE", PEN_KNOB_INT, "32", offsetof(pen_launch_config, fan_out),
      "Hosts that the launcher reaches itself, and each of these in turn." },
    { "PENSTOCK_LAUNCH_TIMEOUT", PEN_KNOB_SECONDS, "30", offsetof(pen_launch_config, timeout),
      "Time for all hosts to answer when a job starts." },
    { "PENSTOCK_LAUNCH_BEAT", PEN_KNOB_SECONDS, "10", offsetof(pen_launch_config, beat),
      "How often launcher and agents ask whether the other's host is still there: it has vanished "
      "after three times for the launcher, six for an agent." },
    { NULL, PEN_KNOB_BOOL, NULL, 0, NULL },
};

/* Rows that the job's table lists with the same defaults. */
static const pen_knob supervisor_knobs[] = {
    { "GASNET_MAX_SEGSIZE", PEN_KNOB_MEMORY, NULL, offsetof(pen_boot_config, segment_max),
      "Largest segment a rank may ask for." },
    { "GASNET_EXITTIMEOUT", PEN_KNOB_SECONDS, NULL, offsetof(pen_boot_config, exit_timeout),
      "Time for an orderly end." },
    { "GASNET_EXITTIMEOUT_MAX", PEN_KNOB_SECONDS, "5", offsetof(pen_boot_config, exit_timeout_max),
      "Upper bound of the time for an orderly end." },
    { "GASNET_EXITTIMEOUT_MIN", PEN_KNOB_SECONDS, "1", offsetof(pen_boot_config, exit_timeout_min),
      "Time for an orderly end apart from what each rank adds." },
    { "GASNET_EXITTIMEOUT_FACTOR", PEN_KNOB_SECONDS, "0.1",
      offsetof(pen_boot_config, exit_timeout_factor), "Time that each rank adds to it." },
    { NULL, PEN_KNOB_BOOL, NULL, 0, NULL },
};

/* Events that a letter of GASNET_TRACEMASK stands for. Other letters of the GASNet documents have
 * no events here. */
static const struct letter {
    char letter;
    uint32_t kinds;
} letters[] = {
    { 'G', 1u << PEN_TRACE_GET | 1u << PEN_TRACE_DONE },
    { 'P', 1u << PEN_TRACE_PUT | 1u << PEN_TRACE_SET | 1u << PEN_TRACE_DONE },
    { 'R', 1u << PEN_TRACE_CALL },
    { 'A', 1u << PEN_TRACE_SENT | 1u << PEN_TRACE_HANDLED | 1u << PEN_TRACE_STALL },
    { 'B', 1u << PEN_TRACE_ENTER },
    { 'W', 1u << PEN_TRACE_ENTER },
    { 'S', 1u << PEN_TRACE_WAIT },
    { 'C', 1u << PEN_TRACE_RESENT | 1u << PEN_TRACE_GAP },
    { 'U',
      1u << PEN_TRACE_BEGIN | 1u << PEN_TRACE_END | 1u << PEN_TRACE_MARK | 1u << PEN_TRACE_VALUE },
    { 'L', 0 },
    { 'X', 0 },
    { 'I', 0 },
    { 'O', 0 },
    { 'D', 0 },
    { 'N', 0 },
    { 'H', 0 },
};

static const struct letter *letter_of(char c)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (letters[i].letter == c)
            return &letters[i];
    return NULL;
}

static pen_status read_mask(pen_log *log, pen_boot_config *config)
{
    const bool is_complement = config->trace_mask[0] == '^';
    config->trace_kinds = 0;
    for (const char *at = config->trace_mask + is_complement; *at != '\0'; at++) {
        const struct letter *found = letter_of(*at);
        if (found == NULL) {
            pen_log_error(
                log,
                "GASNET_TRACEMASK=%s: no events have the letter %c; give letters such as GPA, "
                "with ^ before them for all others",
                config->trace_mask, *at);
            return PEN_ERR_ARGUMENT;
        }
        config->trace_kinds |= found->kinds;
    }
    if (is_complement || config->trace_mask[0] == '\0')
        config->trace_kinds = ~config->trace_kinds;
    return PEN_OK;
}

static pen_status read_trace(pen_log *log, pen_boot_config *config)
{
    static const char *const streams[] = { "-", "stdout", "stderr" };
    if (*config->trace != '\0')
        return read_mask(log, config);
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        if (strcmp(config->trace_file, streams[i]) == 0) {
            pen_log_error(
                log,
                "GASNET_TRACEFILE=%s: a trace is no text; give the name of a file, and let "
                "`penstock trace --csv` print it",
                config->trace_file);
            return PEN_ERR_ARGUMENT;
        }
    }
    config->trace = config->trace_file;
    return read_mask(log, config);
}

pen_status pen_boot_config_read(pen_log *log, pen_boot_config *out)
{
    *out = (pen_boot_config){ .ranks = 0 };
    pen_status status = pen_knob_read(log, pen_boot_knobs, out, NULL, NULL);
    if (status == PEN_OK)
        status = pen_knob_read(log, supervisor_knobs, out, NULL, NULL);
    if (status == PEN_OK)
        status = read_trace(log, out);
    if (status == PEN_OK && !pen_copies_known(out->copies)) {
        pen_log_error(log,
                      "PENSTOCK_COPIES=%s: this processor has no such way; give measured, libc, or "
                      "a way that `penstock info copies` lists",
                      out->copies);
        status = PEN_ERR_ARGUMENT;
    }
    return status;
}

bool pen_boot_number(const char *name, long most, long *out)
{
    const char *text = pen_knob_from_process(NULL, name);
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && *out <= most;
}

uint64_t pen_boot_leave_limit_ns(const pen_boot_config *config)
{
    const double most = 1e9; /* seconds; keeps the nanoseconds from overflowing */
    double seconds = config->leave_timeout < most ? config->leave_timeout : most;
    return (uint64_t)(1e9 * seconds);
}

double pen_boot_exit_timeout(const pen_boot_config *config, uint32_t ranks)
{
    if (config->exit_timeout > 0)
        return config->exit_timeout;
    double timeout = config->exit_timeout_min + config->exit_timeout_factor * ranks;
    return timeout < config->exit_timeout_max ? timeout : config->exit_timeout_max;
}
