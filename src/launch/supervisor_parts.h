/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_parts.h: the supervisor's state, its operations and the parts of its loop, shared
 * by supervisor_*.c and by modules that bring operations of their own. */
#ifndef PEN_LAUNCH_SUPERVISOR_PARTS_H
#define PEN_LAUNCH_SUPERVISOR_PARTS_H

#include "boot/arena.h"
#include "boot/control.h"
#include "launch/exit_rule.h"
#include "launch/lines.h"
#include "launch/output.h"
#include "launch/supervisor.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { PEN_SUPER_MESSAGES_MAX = 8 }; /* taken from one rank in one round */
enum { PEN_STREAM_OUT, PEN_STREAM_ERR, PEN_STREAMS };

typedef struct pen_super_rank {
    pid_t pid;  /* 0: not started */
    bool alive; /* started and not yet reaped */
    int control;
    int stream[PEN_STREAMS]; /* -1: ended, or the rank writes where we do */
    pen_lines lines[PEN_STREAMS];
    char note[PEN_CONTROL_TEXT_MAX];     /* its own word on why it ends */
    char waits_in[PEN_CONTROL_TEXT_MAX]; /* and on the call that a rank has left without */
    uint32_t host;                       /* its number in a job of several */
    bool stopped;                        /* as last looked, or as its agent says */
} pen_super_rank;

struct pen_supervisor;

/* Who has the ranks, and who decides what becomes of them. On one host this process does both
 * (supervisor_local.c). An agent has ranks and its launcher decides; that launcher has ranks on
 * other hosts and decides (both in remote/). Whoever starts a supervisor passes the table. An
 * operation that may be absent says so, and is NULL then. */
struct pen_super_ops {
    const char *who; /* we are, in messages */
    bool far;        /* ranks are on hosts that messages have to name */

    uint32_t (*children)(const struct pen_supervisor *s);
    pen_status (*open)(struct pen_supervisor *s); /* what ranks share */
    /* All of them; true: in a self-forked child, with *child and *status filled. */
    bool (*start)(struct pen_supervisor *s, pen_boot *child, pen_status *status);
    void (*tend)(struct pen_supervisor *s);      /* each round; NULL: nothing to do */
    void (*far_event)(struct pen_supervisor *s); /* NULL: nothing is watched as PEN_SUPER_FAR */
    /* True: the process that has ended is none of the ranks, but one that the operations started.
     * NULL: they start no processes. */
    bool (*reaped)(struct pen_supervisor *s, pid_t pid, int wait_status);
    void (*quit)(struct pen_supervisor *s);  /* all have ended: what they left behind goes */
    bool (*done)(struct pen_supervisor *s);  /* it has, or had time to; NULL: at once */
    void (*close)(struct pen_supervisor *s); /* NULL: there is nothing of its own */

    /* To the ranks. */
    bool (*word)(struct pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what);
    void (*tell)(struct pen_supervisor *s, uint32_t rank, int status, int signal); /* it is over */
    void (*fail)(struct pen_supervisor *s); /* start-up barriers */
    void (*kill)(struct pen_supervisor *s);
    void (*signal)(struct pen_supervisor *s, int signal, bool from_terminal);
    void (*hold)(struct pen_supervisor *s,
                 bool hold); /* what they print; NULL: ranks wait for their pipes */

    /* Of the ranks. */
    const char *(*host)(const struct pen_supervisor *s, uint32_t rank);
    void (*look)(struct pen_supervisor *s,
                 uint32_t rank); /* whether it has stopped; NULL: agents say it */
    /* Deaths come before what follows from them; NULL: they arrive in that order. */
    void (*dying_first)(struct pen_supervisor *s);
    void (*report)(struct pen_supervisor *s); /* what each does, for the time limit */

    /* What becomes of them, to who decides. */
    void (*started)(struct pen_supervisor *s, uint32_t rank); /* NULL: who decides knows */
    void (*event)(struct pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code);
    void (*heard)(struct pen_supervisor *s, uint32_t rank, const pen_control *message);
    void (*printed)(struct pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len);
    void (*say)(struct pen_supervisor *s, const char *line, size_t len); /* for people */
    size_t (*queued)(const struct pen_supervisor *s); /* bytes of output that wait */
};

typedef struct pen_supervisor {
    const pen_super_ops *ops;
    void *ops_state;
    uint32_t first; /* job rank of our first rank */
    pen_log
        log; /* its lines go through words[1], so that they mix with the ranks' lines as lines */
    pen_log *outer;
    const pen_supervisor_options *options;
    pen_arena arena;
    pen_host_page *page;
    pen_super_rank *ranks;
    uint32_t started;
    pid_t pid;

    pen_exit_rule rule;
    pen_exit_rank *exit_ranks;
    pen_exit_event *events; /* seen in this round */
    size_t event_count, events_max;

    int fd_base; /* descriptors from here on are ours alone */
    int epoll, streams_epoll, signal_fd, null_fd;
    int input_fd; /* standard input of our first rank; -1: ours */
    int words[2];
    bool streams_on;            /* streams_epoll is in epoll: we read what ranks print */
    bool writable[PEN_STREAMS]; /* the output is in epoll: its reader is slow */
    pen_output outputs[PEN_STREAMS];
    pen_output *to[PEN_STREAMS]; /* both the first where stdout and stderr are one file */
    bool inherit[PEN_STREAMS];   /* a single rank keeps the terminal */
    bool terminal;               /* stdout is one */
    bool output_reported, output_dropped;

    uint64_t limit_ns;  /* when --timeout passes; 0: never */
    uint64_t prompt_ns; /* when to show an unfinished line of rank 0; 0: none */
    uint64_t kill_ns;   /* when all were killed */
    uint64_t far_ns;   /* when agents, or those who wait for them, have something to do; 0: never */
    uint64_t drain_ns; /* until when output may still be written; 0: no bound */
    bool from_terminal; /* the signal that ends us reached the ranks as well */
    bool swept;

    bool limit_known;   /* files_before is; to be restored */
    bool signals_taken; /* mask_before and child_before are to be restored */
    sigset_t mask_before;
    struct sigaction child_before;
    struct rlimit files_before;
    char **environment; /* of the ranks; the last rows before NULL are written for each */
    size_t environment_count;
    char rank_rows[4][48];
    pid_t *spared; /* children that the process had before; 0 ends the list */
} pen_supervisor;

/* what an epoll event belongs to */
typedef enum pen_super_source {
    PEN_SUPER_SIGNALS,
    PEN_SUPER_STREAMS,
    PEN_SUPER_OUTPUT,
    PEN_SUPER_CONTROL,
    PEN_SUPER_FAR,    /* other hosts: an epoll of its own */
    PEN_SUPER_STREAM, /* + stream number */
} pen_super_source;
#define PEN_SUPER_DATA(source, i) ((uint64_t)(source) << 32 | (i))

/* supervisor.c: sleeps until something happens, and takes it in. */
void pen_super_wait(pen_supervisor *s);

/* supervisor_open.c */
pen_status pen_super_open(pen_supervisor *s, pen_log *log, const pen_supervisor_options *options);
void pen_super_close(pen_supervisor *s, bool forked); /* forked: descriptors are closed otherwise */

/* Most of what follows answers the name of the system call that failed, with errno set; NULL: all
 * went well. */

/* *out: fd, which call has just answered, moved out of the ranks' way; -1: that failed. */
const char *pen_super_keep(const pen_supervisor *s, const char *call, int fd, int *out);
const char *pen_super_restore(const pen_supervisor *s); /* limits and signals, as they were */

/* supervisor_start.c. True in a self-forked child, with *child and *status filled. */
bool pen_super_start(pen_supervisor *s, pen_boot *child, pen_status *status);

/* supervisor_streams.c */
const char *pen_super_watch(int epoll, int fd, uint64_t data);
void pen_super_event(pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code);
void pen_super_note(pen_supervisor *s, pen_exit_kind kind, uint32_t rank,
                    int code);           /* for the rule */
void pen_super_words(pen_supervisor *s); /* queues what was just logged */
unsigned
pen_super_pump(pen_supervisor *s); /* reads what ranks print while there is room; reads done */
void pen_super_prompt(pen_supervisor *s, uint64_t now_ns);
void pen_super_write(pen_supervisor *s); /* writes what goes; a failure becomes an event */
size_t pen_super_queued(const pen_supervisor *s);
bool pen_super_output_waits(const pen_supervisor *s);

/* Where we decide. What a rank printed; nothing: it has closed the stream. */
void pen_super_printed(pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len);
void pen_super_line(pen_supervisor *s, const char *line, size_t len); /* of nobody's, to stderr */

/* supervisor_local.c: our children */
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
void pen_super_control(pen_supervisor *s, uint32_t rank); /* its messages become events */
void pen_super_reap(pen_supervisor *s);                   /* deaths become events */
void pen_super_settle(pen_supervisor *s,
                      uint64_t now_ns); /* events go to the rule; does what it says */
void pen_super_tick(pen_supervisor *s, uint64_t now_ns);
void pen_super_sweep(pen_supervisor *s); /* kills what ranks left behind */

/* supervisor_report.c */
void pen_super_explain(pen_supervisor *s);
void pen_super_notice(pen_supervisor *s); /* who has left, and for whom the job waits */
/* "rank 3 (host n17, pid 4711)" */
typedef struct pen_rank_text {
    char text[112];
} pen_rank_text;
pen_rank_text pen_super_rank_text(const pen_supervisor *s, uint32_t rank);

/* supervisor_doing.c: what each rank of this host does, and which barriers keep ranks waiting. */
void pen_super_report(pen_supervisor *s);
void pen_super_report_ours(pen_supervisor *s); /* the ranks' lines only */
/* What the ranks of this host show of their barriers; NULL: no memory. The caller frees. */
pen_entered *pen_super_entered(const pen_supervisor *s);
void pen_super_say_barriers(pen_supervisor *s, const pen_entered *ranks, uint32_t count);

#define pen_super_say(s, level, ...)                   \
    do {                                               \
        pen_log_line(&(s)->log, (level), __VA_ARGS__); \
        pen_super_words(s);                            \
    } while (0)

#endif
