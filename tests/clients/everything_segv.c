/* SPDX-License-Identifier: BSD-3-Clause */
/* everything_segv.c: distributed shared memory in the segment mode EVERYTHING. Pages of the home
 * rank are fetched when they are touched: the program has a handler of SIGSEGV, as such systems do,
 * and gets the page inside of it. Remote memory is anything: stack, heap, static data and mappings
 * made at any time. */
#include <gasnet.h>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(GASNET_SEGMENT_EVERYTHING)
#    error compile with GASNET_SEGMENT_EVERYTHING
#endif

enum { PAGES = 16 };

static unsigned me, nodes;
static char *cache; /* pages of the next rank */
static size_t page;
static void *homes[64];
static volatile sig_atomic_t faults;
static long table[64];

static void die(const char *what)
{
    fprintf(stderr, "node %u: %s\n", me, what);
    gasnet_exit(4);
}

static void fetch(int number, siginfo_t *info, void *context)
{
    char *base = (char *)((uintptr_t)info->si_addr & ~(page - 1));
    if (base < cache || base >= cache + PAGES * page) {
        signal(number, SIG_DFL);
        return; /* an error of the program */
    }
    mprotect(base, page, PROT_READ | PROT_WRITE);
    gasnet_get_bulk(base, (me + 1) % nodes, (char *)homes[(me + 1) % nodes] + (base - cache), page);
    faults++;
    (void)context;
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void publish(void **result, void *mine)
{
    static void
        *inbox[64]; /* one address, as all ranks are the same program and `table` shows it */
    uintptr_t here = (uintptr_t)inbox;
    for (unsigned to = 0; to < nodes; to++)
        gasnet_put_val(
            to, (void *)((uintptr_t)table[to] + (here - (uintptr_t)table) + me * sizeof(void *)),
            (uintptr_t)mine, sizeof(mine));
    barrier();
    memcpy(result, inbox, nodes * sizeof(void *));
    barrier();
}

static void base_of_peer(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource(token, &from);
    table[from] = (long)(((uint64_t)(uint32_t)high << 32) | (uint32_t)low);
    (void)token;
}

static void remote_stack_and_heap(void)
{
    long on_stack[8] = { 0 }, *on_heap = calloc(8, sizeof(long));
    void *stacks[64], *heaps[64];
    publish(stacks, on_stack);
    publish(heaps, on_heap);
    unsigned to = (me + 1) % nodes, from = (me + nodes - 1) % nodes;
    for (long i = 0; i < 8; i++) {
        long value = 100 * (long)me + i;
        gasnet_put(to, (long *)stacks[to] + i, &value, sizeof(value));
        gasnet_put_nbi(to, (long *)heaps[to] + i, &value, sizeof(value));
    }
    gasnet_wait_syncnbi_all();
    barrier();
    for (long i = 0; i < 8; i++)
        if (((volatile long *)on_stack)[i] != 100 * (long)from + i ||
            on_heap[i] != 100 * (long)from + i)
            die("a put to the stack or the heap");
    barrier();
    free(on_heap);
}

int main(int argc, char **argv)
{
    struct sigaction act = { .sa_sigaction = fetch, .sa_flags = SA_SIGINFO | SA_NODEFER };
    gasnet_handlerentry_t handlers[] = { { 201, (void (*)())base_of_peer } };
    gasnet_init(&argc, &argv);
    if (gasnet_getMaxLocalSegmentSize() != (uintptr_t)-1)
        die("the largest segment is not everything");
    gasnet_attach(handlers, 1, 0, 0);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    page = (size_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGSEGV, &act, NULL);
    for (unsigned to = 0; to < nodes; to++)
        gasnet_AMRequestShort2(to, 201, (gasnet_handlerarg_t)((uint64_t)(uintptr_t)table >> 32),
                               (gasnet_handlerarg_t)(uintptr_t)table);
    for (unsigned from = 0; from < nodes; from++)
        GASNET_BLOCKUNTIL(table[from] != 0);
    barrier();
    char *home =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cache = mmap(NULL, PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < PAGES * page; i++)
        home[i] = (char)(i / page * 3 + i + me);
    publish(homes, home);
    for (int which = PAGES - 1; which >= 0; which--)
        for (size_t i = 0; i < page; i += 97) {
            size_t at = (size_t)which * page + i;
            if (cache[at] != (char)(at / page * 3 + at + (me + 1) % nodes))
                die("a byte of a page that was fetched on demand");
        }
    if (faults != PAGES)
        die("the number of faults");
    barrier();
    remote_stack_and_heap();
    printf("rank %u of %u: good\n", me, nodes);
    fflush(stdout);
    barrier();
    gasnet_exit(0);
}
