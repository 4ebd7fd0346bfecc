/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_parts.h: the supervisor's state, its operations and the parts of its loop, shared
 * by supervisor_*.c and by modules that bring operations of their own. */
#ifndef PEN_LAUNCH_SUPERVISOR_PARTS_H
#define PEN_LAUNCH_SUPERVISOR_PARTS_H

#include "base/status.h"
#include "boot/arena.h"
#include "boot/boot.h"
#include "boot/control.h"
#include "boot/end_text.h"
#include "boot/host_page.h"
#include "diag/log.h"
#include "launch/exit_rule.h"
#include "launch/lines.h"
#include "launch/output.h"
#include "launch/seen.h"
#include "launch/supervisor.h"
#include "trace/collect.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { PEN_SUPER_MESSAGES_MAX = 8 }; /* messages read from one rank in one round */
enum { PEN_STREAM_OUT, PEN_STREAM_ERR, PEN_STREAMS };

typedef struct pen_super_rank {
    pid_t pid;  /* 0: not started */
    bool alive; /* started and not reaped yet */
    int control;
    int stream[PEN_STREAMS]; /* -1: ended, or the rank inherits the supervisor's stream */
    pen_lines lines[PEN_STREAMS];
    char note[PEN_CONTROL_TEXT_MAX];     /* the rank's own message about its end */
    char waits_in[PEN_CONTROL_TEXT_MAX]; /* the call in which it waits for a rank that has left */
    uint32_t host;                       /* number of its host */
    bool stopped;                        /* at the last look, or as its agent reported */
} pen_super_rank;

struct pen_supervisor;

/* Operations of a supervisor's role. Three roles. Local: runs the ranks and decides about them
 * (supervisor_local.c). Launcher: agents on other hosts run the ranks; it decides. Agent: runs the
 * ranks of its host; the launcher decides (both in remote/). The code that starts a supervisor
 * passes the table. An operation may be NULL only if its comment describes NULL. */
struct pen_super_ops {
    const char *who; /* name of the role in messages */
    bool far;        /* ranks are on several hosts, so messages name the host */

    uint32_t (*children)(const struct pen_supervisor *s);
    pen_status (*open)(struct pen_supervisor *s); /* makes the memory that ranks share */
    /* Starts all ranks. Returns true in a self-forked child, with *child and *status filled. */
    bool (*start)(struct pen_supervisor *s, pen_boot *child, pen_status *status);
    void (*tend)(struct pen_supervisor *s);      /* called each round; NULL: nothing to do */
    void (*far_event)(struct pen_supervisor *s); /* an event of PEN_SUPER_FAR; NULL: not used */
    /* Returns true if the process that has ended was started by the operations and is not a rank.
     * NULL: they start no processes. */
    bool (*reaped)(struct pen_supervisor *s, pid_t pid, int wait_status);
    /* all ranks have ended: kills the processes they left */
    void (*quit)(struct pen_supervisor *s);
    /* whether `quit` has finished or timed out; NULL: at once */
    bool (*done)(struct pen_supervisor *s);
    void (*close)(struct pen_supervisor *s); /* frees the role's state; NULL: there is no state */

    /* Orders to ranks. */
    bool (*word)(struct pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what);
    /* the job ends */
    void (*tell)(struct pen_supervisor *s, uint32_t rank, int status, int signal);
    void (*fail)(struct pen_supervisor *s); /* makes start-up barriers fail */
    void (*kill)(struct pen_supervisor *s);
    void (*signal)(struct pen_supervisor *s, int signal, bool from_terminal);
    /* Stops or continues reading the ranks' output. NULL: not needed, since pipes hold ranks up. */
    void (*hold)(struct pen_supervisor *s, bool hold);

    /* Facts about ranks. */
    const char *(*host)(const struct pen_supervisor *s, uint32_t rank);
    void (*look)(struct pen_supervisor *s,
                 uint32_t rank); /* checks whether the rank is stopped; NULL: agents report it */
    /* Waits for deaths that came before the messages just read. NULL: the order is right
     * already. */
    void (*dying_first)(struct pen_supervisor *s);
    void (*report)(struct pen_supervisor *s); /* reports what each rank does */

    /* Reports about ranks, to the process that decides the exit status. */
    void (*started)(struct pen_supervisor *s, uint32_t rank); /* NULL: this process decides */
    void (*event)(struct pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code);
    void (*heard)(struct pen_supervisor *s, uint32_t rank, const pen_control *message);
    void (*printed)(struct pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len);
    void (*say)(struct pen_supervisor *s, const char *line, size_t len); /* a line for people */
    size_t (*queued)(const struct pen_supervisor *s); /* bytes of output in queues */
};

typedef struct pen_supervisor {
    const pen_super_ops *ops;
    void *ops_state;
    uint32_t first; /* job rank of this process's first rank */
    pen_log log;    /* its lines go through words[1], so that they do not break the ranks' lines */
    pen_log *outer;
    const pen_supervisor_options *options;
    pen_arena arena;
    pen_host_page *page;
    pen_super_rank *ranks;
    uint32_t started;
    pid_t pid;

    pen_exit_rule rule;
    pen_exit_rank *exit_ranks;
    pen_exit_event *events; /* events of this round */
    size_t event_count, events_max;

    int fd_base; /* the supervisor's own descriptors are at or above this number */
    int epoll, streams_epoll, signal_fd, null_fd;
    int input_fd; /* standard input of the first rank; -1: inherited */
    int words[2];
    bool streams_on;            /* streams_epoll is in epoll, so the ranks' output is read */
    bool writable[PEN_STREAMS]; /* the output is in epoll, since its reader is slow */
    pen_output outputs[PEN_STREAMS];
    pen_output *to[PEN_STREAMS]; /* both point to the first if stdout and stderr are one file */
    bool inherit[PEN_STREAMS];   /* a single rank inherits the terminal */
    bool terminal;               /* stdout is a terminal */
    bool output_reported, output_dropped;

    uint64_t limit_ns;        /* when --timeout passes; 0: never */
    uint64_t prompt_ns;       /* when to show an unfinished line of rank 0; 0: never */
    uint64_t kill_ns;         /* when all ranks were killed */
    uint64_t far_ns;          /* when the far operations have something to do; 0: never */
    pen_collector *collector; /* NULL: the job is not traced */
    int trace_fd;             /* -1: none */
    uint64_t trace_ns;        /* when to drain the ranks' rings; 0: never */
    uint64_t drain_ns;        /* time limit for writing output; 0: no limit */
    bool from_terminal;       /* the signal that ends the job reached the ranks as well */
    bool swept;

    bool limit_known;   /* files_before is valid and has to be restored */
    bool signals_taken; /* mask_before and child_before have to be restored */
    sigset_t mask_before;
    struct sigaction child_before;
    struct rlimit files_before;
    char **environment; /* the ranks' environment; the last rows before NULL differ per rank */
    size_t environment_count;
    char rank_rows[4][48];
    pid_t *spared; /* children that existed before; 0 ends the list */
} pen_supervisor;

/* source of an epoll event */
typedef enum pen_super_source {
    PEN_SUPER_SIGNALS,
    PEN_SUPER_STREAMS,
    PEN_SUPER_OUTPUT,
    PEN_SUPER_CONTROL,
    PEN_SUPER_FAR,    /* other hosts, which have an epoll of their own */
    PEN_SUPER_STREAM, /* + stream number */
} pen_super_source;
#define PEN_SUPER_DATA(source, i) ((uint64_t)(source) << 32 | (i))

/* supervisor.c: sleeps until something happens, and reads it. */
void pen_super_wait(pen_supervisor *s);

/* supervisor_open.c */
pen_status pen_super_open(pen_supervisor *s, pen_log *log, const pen_supervisor_options *options);
void pen_super_close(pen_supervisor *s, bool forked); /* forked: leaves descriptors to the caller */

/* Functions below that return a string return the name of the system call that failed, with errno
 * set, or NULL on success. */

/* Moves fd, the result of `call`, above the numbers that ranks inherit, into *out. fd -1: `call`
 * has failed. */
const char *pen_super_keep(const pen_supervisor *s, const char *call, int fd, int *out);
const char *pen_super_restore(const pen_supervisor *s); /* restores limits and signals */

/* supervisor_start.c. True in a self-forked child, with *child and *status filled. */
bool pen_super_start(pen_supervisor *s, pen_boot *child, pen_status *status);

/* supervisor_streams.c */
const char *pen_super_watch(int epoll, int fd, uint64_t data);
void pen_super_event(pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code);
void pen_super_note(pen_supervisor *s, pen_exit_kind kind, uint32_t rank,
                    int code);           /* stores an event for the rule */
void pen_super_words(pen_supervisor *s); /* queues the lines just logged */
/* Reads the ranks' output while there is room. Returns the number of reads. */
unsigned pen_super_pump(pen_supervisor *s);
void pen_super_prompt(pen_supervisor *s, uint64_t now_ns);
void pen_super_write(pen_supervisor *s); /* writes without waiting; a failure becomes an event */
size_t pen_super_queued(const pen_supervisor *s);
bool pen_super_output_waits(const pen_supervisor *s);

/* Takes the output of a rank, in the process that decides. len 0: the rank has closed the
 * stream. */
void pen_super_printed(pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len);
/* a line of the supervisor's own, to stderr */
void pen_super_line(pen_supervisor *s, const char *line, size_t len);

/* supervisor_local.c: ranks that are children of this process */
void pen_super_rouse(pen_supervisor *s, uint32_t rank);
bool pen_super_word_to(pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what);
void pen_super_barriers_fail(pen_supervisor *s);
void pen_super_tell(pen_supervisor *s, uint32_t rank, int status, int signal); /* the job ends */
void pen_super_look(pen_supervisor *s, uint32_t rank);
void pen_super_dying_first(pen_supervisor *s);
void pen_super_kill_ours(pen_supervisor *s);
void pen_super_signal_ours(pen_supervisor *s, int signal, bool from_terminal);
const char *pen_super_host(const pen_supervisor *s, uint32_t rank);
uint32_t pen_super_children(const pen_supervisor *s);

/* supervisor_end.c */
void pen_super_word(pen_supervisor *s, uint32_t rank, const pen_control *message);
void pen_super_kill(pen_supervisor *s);
/* turns the rank's messages into events */
void pen_super_control(pen_supervisor *s, uint32_t rank);
void pen_super_reap(pen_supervisor *s); /* turns deaths into events */
void pen_super_settle(pen_supervisor *s,
                      uint64_t now_ns); /* passes events to the rule and acts on the result */
void pen_super_tick(pen_supervisor *s, uint64_t now_ns);
void pen_super_sweep(pen_supervisor *s); /* kills what ranks left behind */

/* supervisor_trace.c: the trace of a job whose ranks are on this host. Opening: after the arena.
 * Closing: when the ranks have ended; does nothing if there is no trace, or in a forked child. */
pen_status pen_super_trace_open(pen_supervisor *s, const char *path);
void pen_super_trace_tend(pen_supervisor *s, uint64_t now_ns);
void pen_super_trace_close(pen_supervisor *s, bool forked);

/* supervisor_report.c */
void pen_super_explain(pen_supervisor *s);
/* prints which ranks have left, and for which the job waits */
void pen_super_notice(pen_supervisor *s);
/* "rank 3 (host n17, pid 4711)" */
pen_rank_text pen_super_rank_text(const pen_supervisor *s, uint32_t rank);

/* supervisor_doing.c: reports what each rank of this host does, and why they do
 * not go on. */
void pen_super_report(pen_supervisor *s);
void pen_super_report_ours(pen_supervisor *s); /* the ranks' lines only */
/* Looks at the ranks of this host; NULL without memory. The caller frees. */
pen_seen *pen_super_seen(const pen_supervisor *s);
/* Says why they do not go on; see diagnosis.h. */
void pen_super_diagnose(pen_supervisor *s, const pen_seen *ranks, uint32_t count);

#define pen_super_say(s, level, ...)                   \
    do {                                               \
        pen_log_line(&(s)->log, (level), __VA_ARGS__); \
        pen_super_words(s);                            \
    } while (0)

#endif
