/* SPDX-License-Identifier: BSD-3-Clause */
/* fail.c: preloaded; makes the n-th allocation or system call that our code makes fail.
 *
 *   PEN_FAIL_ROLE   name of the program whose calls count (as in argv[0]'s last part)
 *   PEN_FAIL_AT     which call fails, from 1; 0 or unset: none
 *   PEN_FAIL_LASTS  set: so do all later ones of the same name, as when a limit is reached
 *   PEN_FAIL_TOKEN  a file: the process that removes it first is the one that fails (one rank, not
 *                   all); <that>.name then holds the name of the call
 *   PEN_FAIL_LOG    a file: one line per process, the calls it made in order, written when counting
 *                   stops
 *
 * Only calls made from the program itself or from libpenstock count, and only until the program
 * calls pen_fail_stop(), which it does once it has started. A call that does many things is named
 * with what it was to do: fcntl(F_SETFD). */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 4096, NAME_LEN = 32, RANGES_MAX = 16 };

static struct {
    bool ready, on, lasts;
    long at, count;
    char failed[NAME_LEN]; /* the call that goes on failing, in failed_pid */
    pid_t failed_pid;      /* 0: none */
    char names[CALLS_MAX][NAME_LEN];
    struct {
        uintptr_t first, last;
    } ours[RANGES_MAX];
    unsigned range_count;
} state;

static int remember_object(struct dl_phdr_info *info, size_t len, void *arg)
{
    (void)len;
    (void)arg;
    bool program = info->dlpi_name[0] == '\0',
         library = strstr(info->dlpi_name, "libpenstock") != NULL;
    for (int i = 0; (program || library) && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) && state.range_count < RANGES_MAX) {
            uintptr_t first = info->dlpi_addr + part->p_vaddr;
            state.ours[state.range_count].first = first;
            state.ours[state.range_count++].last = first + part->p_memsz;
        }
    }
    return 0;
}

__attribute__((constructor)) static void prepare(void)
{
    const char *role = getenv("PEN_FAIL_ROLE"), *at = getenv("PEN_FAIL_AT");
    dl_iterate_phdr(remember_object, NULL);
    state.at = at != NULL ? atol(at) : 0;
    state.lasts = getenv("PEN_FAIL_LASTS") != NULL;
    state.on = role != NULL && strcmp(role, program_invocation_short_name) == 0;
    state.ready = true;
}

static void write_log(void)
{
    const char *path = getenv("PEN_FAIL_LOG");
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0)
        return;
    static char line[CALLS_MAX * NAME_LEN];
    int used = 0;
    for (long i = 0; i < state.count && i < CALLS_MAX; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, "%s ", state.names[i]);
    line[used++] = '\n';
    if (write(fd, line, (size_t)used) < 0)
        _exit(98);
    close(fd);
}

void pen_fail_stop(void);
void pen_fail_stop(void)
{
    if (state.on) {
        state.on = false;
        write_log();
    }
}

__attribute__((destructor)) static void finish(void) { pen_fail_stop(); }

/* Processes that forked from one another count different calls: who failed says which it was. */
static void note_failed(const char *token, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.name", token != NULL ? token : "");
    int fd = token != NULL ? open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
    if (fd >= 0) {
        if (write(fd, name, strlen(name)) < 0)
            _exit(98);
        close(fd);
    }
}

static bool is_ours(const void *caller)
{
    for (unsigned i = 0; i < state.range_count; i++)
        if ((uintptr_t)caller >= state.ours[i].first && (uintptr_t)caller < state.ours[i].last)
            return true;
    return false;
}

/* This call is the one, unless another process has been: notes so. */
static bool fails_first(const char *name, int error)
{
    const char *token = getenv("PEN_FAIL_TOKEN");
    if (token != NULL && unlink(token) != 0)
        return false;
    note_failed(token, name);
    /* A call is not interrupted without end, and a process that can never write can print no
     * message. */
    if (state.lasts && error != EINTR && strcmp(name, "write") != 0) {
        snprintf(state.failed, sizeof state.failed, "%s", name);
        state.failed_pid = getpid();
    }
    return true;
}

/* True: this call has to fail, with errno set. */
static bool fails(const char *name, const void *caller, int error)
{
    if (!state.ready || !state.on || !is_ours(caller))
        return false;
    bool again = state.failed_pid == getpid() && strcmp(state.failed, name) == 0;
    if (state.count < CALLS_MAX)
        snprintf(state.names[state.count], NAME_LEN, "%s", name);
    if (!again && (++state.count != state.at || !fails_first(name, error)))
        return false;
    errno = error;
    return true;
}

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define HERE       __builtin_extract_return_addr(__builtin_return_address(0))
/* One interposed function: its name in logs, type, name, parameters, arguments, result of a failure
 * and its errno. */
#define INTERPOSE_AS(called, type, name, parameters, arguments, failure, error) \
    type name parameters                                                        \
    {                                                                           \
        static __typeof__(&name) real;                                          \
        if (fails(called, HERE, error))                                         \
            return failure;                                                     \
        if (real == NULL)                                                       \
            real = REAL(name);                                                  \
        return real arguments;                                                  \
    }
#define INTERPOSE(type, name, parameters, arguments, failure, error) \
    INTERPOSE_AS(#name, type, name, parameters, arguments, failure, error)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) { return fails("malloc", HERE, ENOMEM) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m)
{
    return fails("calloc", HERE, ENOMEM) ? NULL : __libc_calloc(n, m);
}
void *realloc(void *p, size_t n)
{
    return fails("realloc", HERE, ENOMEM) ? NULL : __libc_realloc(p, n);
}
void *aligned_alloc(size_t a, size_t n)
{
    return fails("aligned_alloc", HERE, ENOMEM) ? NULL : __libc_memalign(a, n);
}
int posix_memalign(void **out, size_t a, size_t n)
{
    if (fails("posix_memalign", HERE, ENOMEM))
        return ENOMEM;
    *out = __libc_memalign(a, n);
    return *out != NULL ? 0 : ENOMEM;
}

INTERPOSE(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o),
          MAP_FAILED, ENOMEM)
INTERPOSE(int, memfd_create, (const char *n, unsigned f), (n, f), -1, EMFILE)
INTERPOSE(int, ftruncate, (int fd, off_t n), (fd, n), -1, EFBIG)
INTERPOSE(int, socketpair, (int d, int t, int p, int v[2]), (d, t, p, v), -1, EMFILE)
INTERPOSE(int, pipe2, (int v[2], int f), (v, f), -1, EMFILE)
INTERPOSE(int, pipe, (int v[2]), (v), -1, EMFILE)
INTERPOSE(pid_t, fork, (void), (), -1, EAGAIN)
INTERPOSE(int, dup2, (int a, int b), (a, b), -1, EBADF)
INTERPOSE(int, dup3, (int a, int b, int f), (a, b, f), -1, EBADF)
INTERPOSE(int, epoll_create1, (int f), (f), -1, EMFILE)
INTERPOSE_AS(o == EPOLL_CTL_ADD ? "epoll_ctl(EPOLL_CTL_ADD)" : "epoll_ctl(EPOLL_CTL_DEL)", int,
             epoll_ctl, (int e, int o, int fd, struct epoll_event *v), (e, o, fd, v), -1, ENOMEM)
INTERPOSE(int, signalfd, (int fd, const sigset_t *m, int f), (fd, m, f), -1, EMFILE)
INTERPOSE(ssize_t, send, (int fd, const void *b, size_t n, int f), (fd, b, n, f), -1, ENOBUFS)
INTERPOSE(int, sigaction, (int n, const struct sigaction *a, struct sigaction *o), (n, a, o), -1,
          EINVAL)
INTERPOSE(int, execvp, (const char *f, char *const v[]), (f, v), -1, ENOMEM)
INTERPOSE(int, execve, (const char *f, char *const v[], char *const e[]), (f, v, e), -1, ENOMEM)
INTERPOSE(int, execv, (const char *f, char *const v[]), (f, v), -1, ENOMEM)
INTERPOSE(int, pthread_create,
          (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *arg), (t, a, f, arg),
          EAGAIN, EAGAIN)
INTERPOSE(int, pthread_key_create, (pthread_key_t * k, void (*d)(void *)), (k, d), EAGAIN, EAGAIN)
INTERPOSE(int, pthread_setspecific, (pthread_key_t k, const void *v), (k, v), ENOMEM, ENOMEM)
INTERPOSE(int, execvpe, (const char *f, char *const v[], char *const e[]), (f, v, e), -1, ENOMEM)
INTERPOSE(FILE *, fopen, (const char *p, const char *m), (p, m), NULL, EMFILE)
INTERPOSE(DIR *, opendir, (const char *p), (p), NULL, EMFILE)
INTERPOSE(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n), -1, EINTR)
INTERPOSE(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), -1, EIO)
INTERPOSE(ssize_t, readlink, (const char *p, char *b, size_t n), (p, b, n), -1, EACCES)
INTERPOSE(ssize_t, recv, (int fd, void *b, size_t n, int f), (fd, b, n, f), -1, EINTR)
INTERPOSE(int, poll, (struct pollfd * v, nfds_t n, int ms), (v, n, ms), -1, EINTR)
INTERPOSE(int, ppoll, (struct pollfd * v, nfds_t n, const struct timespec *t, const sigset_t *m),
          (v, n, t, m), -1, EINTR)
INTERPOSE(int, epoll_wait, (int e, struct epoll_event *v, int n, int ms), (e, v, n, ms), -1, EINTR)
INTERPOSE(pid_t, waitpid, (pid_t p, int *s, int o), (p, s, o), -1, EINTR)
INTERPOSE(int, waitid, (idtype_t t, id_t i, siginfo_t *s, int o), (t, i, s, o), -1, EINTR)
INTERPOSE(int, sched_getaffinity, (pid_t p, size_t n, cpu_set_t *m), (p, n, m), -1, EPERM)
INTERPOSE(int, madvise, (void *a, size_t n, int w), (a, n, w), -1, ENOMEM)
INTERPOSE(int, mprotect, (void *a, size_t n, int p), (a, n, p), -1, ENOMEM)
INTERPOSE(ssize_t, getrandom, (void *b, size_t n, unsigned f), (b, n, f), -1, EINTR)
INTERPOSE(int, sigprocmask, (int h, const sigset_t *s, sigset_t *o), (h, s, o), -1, EINVAL)
INTERPOSE(int, pthread_sigmask, (int h, const sigset_t *s, sigset_t *o), (h, s, o), EINVAL, EINVAL)
INTERPOSE(int, sigaltstack, (const stack_t *s, stack_t *o), (s, o), -1, ENOMEM)
INTERPOSE(int, fstat, (int fd, struct stat *s), (fd, s), -1, EOVERFLOW)
INTERPOSE(int, gethostname, (char *b, size_t n), (b, n), -1, EPERM)
INTERPOSE(int, getsockopt, (int fd, int l, int o, void *v, socklen_t *n), (fd, l, o, v, n), -1,
          ENOBUFS)
INTERPOSE(int, on_exit, (void (*f)(int, void *), void *a), (f, a), -1, ENOMEM)
INTERPOSE(int, eventfd, (unsigned n, int f), (n, f), -1, EMFILE)

INTERPOSE(int, getrlimit, (__rlimit_resource_t r, struct rlimit *l), (r, l), -1, EPERM)
INTERPOSE(int, setrlimit, (__rlimit_resource_t r, const struct rlimit *l), (r, l), -1, EPERM)

/* The child of vfork returns into our caller while we are gone: this must end in a jump, which it
 * does when it is optimised. */
/* NOLINTNEXTLINE(bugprone-unsafe-functions,cert-msc24-c,cert-msc33-c) */
INTERPOSE(pid_t, vfork, (void), (), -1, EAGAIN)

/* Variadic ones: their callers pass what fits a register. */
#define LONGS(last, count)                                \
    long v[count];                                        \
    va_list list;                                         \
    va_start(list, last);                                 \
    for (int i = 0; i < (int)(sizeof v / sizeof *v); i++) \
        v[i] = va_arg(list, long);                        \
    va_end(list)

int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    LONGS(flags, 1);
    if (fails("open", HERE, EMFILE))
        return -1;
    if (real == NULL)
        real = REAL(open);
    return real(path, flags, v[0]);
}

int openat(int folder, const char *path, int flags, ...)
{
    static int (*real)(int, const char *, int, ...);
    LONGS(flags, 1);
    if (fails("openat", HERE, EMFILE))
        return -1;
    if (real == NULL)
        real = REAL(openat);
    return real(folder, path, flags, v[0]);
}

typedef struct part {
    long number;
    const char *name;
} part;

static const char *part_of(const part *parts, size_t count, long number, const char *other)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].number == number)
            return parts[i].name;
    return other;
}
#define PART_OF(parts, number, other) part_of(parts, sizeof(parts) / sizeof *(parts), number, other)

int fcntl(int fd, int what, ...)
{
    static const part parts[] = {
        { F_GETFD, "fcntl(F_GETFD)" },         { F_SETFD, "fcntl(F_SETFD)" },
        { F_GETFL, "fcntl(F_GETFL)" },         { F_SETFL, "fcntl(F_SETFL)" },
        { F_ADD_SEALS, "fcntl(F_ADD_SEALS)" }, { F_DUPFD_CLOEXEC, "fcntl(F_DUPFD_CLOEXEC)" },
    };
    static int (*real)(int, int, ...);
    LONGS(what, 1);
    if (fails(PART_OF(parts, what, "fcntl"), HERE, what == F_DUPFD_CLOEXEC ? EMFILE : EINVAL))
        return -1;
    if (real == NULL)
        real = REAL(fcntl);
    return real(fd, what, v[0]);
}

long syscall(long number, ...)
{
    static const part parts[] = {
        { SYS_futex, "syscall(futex)" },
        { SYS_membarrier, "syscall(membarrier)" },
        { SYS_close_range, "syscall(close_range)" },
        { SYS_pidfd_open, "syscall(pidfd_open)" },
        { SYS_clone, "syscall(clone)" },
    };
    static long (*real)(long, ...);
    LONGS(number, 6);
    if (fails(PART_OF(parts, number, "syscall"), HERE, number == SYS_futex ? EINTR : ENOSYS))
        return -1;
    if (real == NULL)
        real = REAL(syscall);
    return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

int prctl(int option, ...)
{
    static const part parts[] = {
        { PR_SET_PDEATHSIG, "prctl(PR_SET_PDEATHSIG)" },
        { PR_SET_CHILD_SUBREAPER, "prctl(PR_SET_CHILD_SUBREAPER)" },
    };
    static int (*real)(int, ...);
    LONGS(option, 4);
    if (fails(PART_OF(parts, option, "prctl"), HERE, EPERM))
        return -1;
    if (real == NULL)
        real = REAL(prctl);
    return real(option, v[0], v[1], v[2], v[3]);
}
