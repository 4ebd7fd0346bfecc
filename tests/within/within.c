/* SPDX-License-Identifier: BSD-3-Clause */
/* within <seconds> <command> [<arguments>]: runs a test and ends it if it does not end by itself.
 *
 * The limit counts fair seconds, not seconds of the clock. A fair second is the time in which the
 * machine could have given this test one second of one core. On a quiet machine both are the same.
 * If forty other processes compete for two cores, twenty seconds of the clock make one fair second.
 * A limit therefore means the same on a quiet and on a busy machine.
 *
 * The exit status is that of the command; 128 + n if signal n ended it; 124 if the limit passed.
 * At the limit the command first gets SIGUSR2 if its name is `penstock`, whose report says what
 * each rank waits for. Then it gets SIGTERM, and a little later everything that it started gets
 * SIGKILL. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROCESSES_MAX = 1 << 16,   /* more are not looked at */
    GRACE_S = 5,               /* fair seconds from SIGTERM to SIGKILL */
    CLOCK_LIMIT_PER_FAIR = 60, /* no limit lasts longer than this many times its seconds */
};

typedef struct process {
    pid_t pid, parent;
    bool runs, mine;
} process;

static process processes[PROCESSES_MAX];

/* Reads one file of /proc into text. Returns false if the process is gone. */
static bool read_file(const char *path, char *text, size_t len)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t got = fread(text, 1, len - 1, file);
    text[got] = '\0';
    fclose(file);
    return got > 0;
}

static bool read_process(pid_t pid, process *out)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_file(path, text, sizeof text))
        return false;
    char *end = strrchr(text, ')'); /* the name before it may hold anything */
    char state = 0;
    int parent = 0;
    if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2)
        return false;
    *out = (process){ .pid = pid, .parent = parent, .runs = state == 'R' };
    return true;
}

/* Fills `processes`. Returns how many there are. */
static size_t read_processes(void)
{
    DIR *dir = opendir("/proc");
    size_t count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) && count < PROCESSES_MAX;) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && read_process((pid_t)pid, &processes[count]))
            count++;
    }
    if (dir)
        closedir(dir);
    return count;
}

static bool is_descendant(const process *it, size_t count, pid_t self)
{
    bool found = it->parent == self;
    for (size_t i = 0; i < count && !found; i++)
        found = processes[i].mine && processes[i].pid == it->parent;
    return found;
}

/* Fills `processes` and marks the descendants of this process. Returns how many there are. */
static size_t look_at_processes(void)
{
    size_t count = read_processes();
    pid_t self = getpid();
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < count; i++)
            if (!processes[i].mine && is_descendant(&processes[i], count, self)) {
                processes[i].mine = true;
                changed = true;
            }
    }
    return count;
}

/* Returns how many tasks of other programs want a core now. */
static double count_competitors(void)
{
    char text[128];
    int wanting = 1;
    if (!read_file("/proc/loadavg", text, sizeof text) ||
        sscanf(text, "%*f %*f %*f %d/", &wanting) != 1)
        return 0;
    wanting--; /* this process */
    size_t count = look_at_processes();
    for (size_t i = 0; i < count; i++)
        wanting -= processes[i].mine && processes[i].runs;
    return wanting > 0 ? wanting : 0;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Waits for the command until the fair seconds are over. Returns true if it has ended. */
static bool wait_fairly(pid_t child, double limit_s, int *status)
{
    double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double left = limit_s, before = now_s(), end = before + limit_s * CLOCK_LIMIT_PER_FAIR;
    sigset_t child_ends;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    while (left > 0 && now_s() < end) {
        for (pid_t pid; (pid = waitpid(-1, status, WNOHANG)) > 0;)
            if (pid == child)
                return true;
        sigtimedwait(&child_ends, NULL, &(struct timespec){ .tv_sec = 1 });
        double now = now_s(), passed = now - before;
        if (passed < 0.5)
            continue; /* a child ended: not yet worth a look at the machine */
        double share = cores / (count_competitors() + 1);
        left -= passed * (share < 1 ? share : 1);
        before = now;
    }
    return false;
}

static void end_everything(void)
{
    for (int round = 0; round < 10; round++) {
        size_t count = look_at_processes();
        bool some = false;
        for (size_t i = 0; i < count; i++)
            if (processes[i].mine) {
                kill(processes[i].pid, SIGKILL);
                some = true;
            }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (!some)
            return;
        usleep(20000);
    }
}

static int end_at_limit(pid_t child, const char *command, double limit_s)
{
    int status = 0;
    const char *name = strrchr(command, '/');
    fprintf(stderr, "within: %s did not end within %g fair seconds\n", command, limit_s);
    if (strcmp(name ? name + 1 : command, "penstock") == 0) {
        kill(child, SIGUSR2);
        wait_fairly(child, 1, &status);
    }
    kill(child, SIGTERM);
    wait_fairly(child, GRACE_S, &status);
    end_everything();
    return 124;
}

static pid_t start(char **command, const sigset_t *mask)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    sigprocmask(SIG_SETMASK, mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* if ctest kills `within`, the command ends as well */
    execvp(command[0], command);
    fprintf(stderr, "within: cannot run %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    double limit_s = argc > 2 ? strtod(argv[1], &end) : 0;
    if (limit_s <= 0 || *end) {
        fprintf(stderr, "usage: within <seconds> <command> [<arguments>]\n");
        return 2;
    }
    sigset_t blocked, mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &mask);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* finds processes that a test leaves behind */
    pid_t child = start(argv + 2, &mask);
    int status = 0;
    if (child < 0) {
        perror("within: fork");
        return 127;
    }
    if (!wait_fairly(child, limit_s, &status))
        return end_at_limit(child, argv[2], limit_s);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
