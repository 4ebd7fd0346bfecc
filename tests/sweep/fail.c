/* SPDX-License-Identifier: BSD-3-Clause */
/* fail.c: preloaded; makes the n-th allocation or system call that our code makes fail.
 *
 *   PEN_FAIL_ROLE   name of the program whose calls count (as in argv[0]'s last part)
 *   PEN_FAIL_AT     which call fails, from 1; 0 or unset: none
 *   PEN_FAIL_TOKEN  a file: the process that removes it first is the one that fails (one rank, not
 * all) PEN_FAIL_LOG    a file: one line per process, the calls it made in order, written when
 * counting stops
 *
 * Only calls made from the program itself or from libpenstock count, and only until the program
 * calls pen_fail_stop(), which it does once it has started. */
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
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { CALLS_MAX = 4096, NAME_LEN = 24, RANGES_MAX = 16 };

static struct {
    bool ready, on;
    long at, count;
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
    state.on = role != NULL && strcmp(role, program_invocation_short_name) == 0;
    state.ready = true;
}

static void write_log(void)
{
    const char *path = getenv("PEN_FAIL_LOG");
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0)
        return;
    char line[CALLS_MAX * 8];
    int used = 0;
    for (long i = 0; i < state.count && i < CALLS_MAX && used < (int)sizeof line - NAME_LEN - 2;
         i++)
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

/* True: this call has to fail, with errno set. */
static bool fails(const char *name, const void *caller, int error)
{
    if (!state.ready || !state.on)
        return false;
    bool ours = false;
    for (unsigned i = 0; i < state.range_count && !ours; i++)
        ours = (uintptr_t)caller >= state.ours[i].first && (uintptr_t)caller < state.ours[i].last;
    if (!ours)
        return false;
    if (state.count < CALLS_MAX)
        snprintf(state.names[state.count], NAME_LEN, "%s", name);
    if (++state.count != state.at)
        return false;
    const char *token = getenv("PEN_FAIL_TOKEN");
    if (token != NULL && unlink(token) != 0)
        return false;
    note_failed(token, name);
    errno = error;
    return true;
}

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define HERE       __builtin_extract_return_addr(__builtin_return_address(0))
/* One interposed function: type, name, parameters, arguments, what a failure answers and its errno.
 */
#define INTERPOSE(type, name, parameters, arguments, failure, error) \
    type name parameters                                             \
    {                                                                \
        if (fails(#name, HERE, error))                               \
            return failure;                                          \
        static __typeof__(&name) real;                               \
        if (real == NULL)                                            \
            real = REAL(name);                                       \
        return real arguments;                                       \
    }

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
INTERPOSE(int, epoll_ctl, (int e, int o, int fd, struct epoll_event *v), (e, o, fd, v), -1, ENOMEM)
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

int prctl(int option, ...)
{
    if (fails("prctl", HERE, EPERM))
        return -1;
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
    unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
    va_end(list);
    static int (*real)(int, ...);
    if (real == NULL)
        real = REAL(prctl);
    return real(option, a, b, c, d);
}
