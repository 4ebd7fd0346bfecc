/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_selfstart.c: an OpenSHMEM library with its test in one file. Its launcher starts `./program
 * 2 arguments` over udp; the program itself knows nothing of ranks in its arguments. It takes its
 * heap's size from the console's environment, waits for words that puts change, and finalises in
 * atexit, after main has returned. */
#include <gasnet.h>

static gasnet_seginfo_t *heaps;
static int pes, my_pe;
static char *next_free;

/* ---- the library -------------------------------------------------------------------------------
 */

static void shmem_barrier_all(void)
{
    gasnet_wait_syncnbi_puts();
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void finalize(void)
{
    long flag = 0;
    shmem_barrier_all();
    gasnet_get(&flag, (gasnet_node_t)((my_pe + 1) % pes), heaps[(my_pe + 1) % pes].addr,
               sizeof(flag));
    if (flag != 1234)
        fprintf(stderr, "PE %d: the heap of the next PE is gone\n", my_pe);
    shmem_barrier_all();
    free(heaps);
}

static void shmem_init(int *argc, char ***argv)
{
    gasnet_init(argc, argv);
    const char *text = gasnet_getenv("SHMEM_SYMMETRIC_HEAP_SIZE");
    uintptr_t size = text == NULL ? 1 << 20 : (uintptr_t)gasnett_parse_int(text, 1);
    size = (size + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    if (size > gasnet_getMaxGlobalSegmentSize())
        abort();
    gasnet_attach(NULL, 0, size, 0);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    my_pe = (int)gasnet_mynode();
    pes = (int)gasnet_nodes();
    heaps = malloc((size_t)pes * sizeof(*heaps));
    gasnet_getSegmentInfo(heaps, pes);
    next_free = (char *)heaps[my_pe].addr + 64;
    *(long *)heaps[my_pe].addr = 1234;
    atexit(finalize);
    shmem_barrier_all();
}

static void *shmem_malloc(size_t size)
{
    char *block = next_free;
    next_free += (size + 63) / 64 * 64;
    if (next_free > (char *)heaps[my_pe].addr + heaps[my_pe].size)
        abort();
    return block;
}

static void *translate(void *address, int pe)
{
    return (char *)heaps[pe].addr + ((char *)address - (char *)heaps[my_pe].addr);
}

static void shmem_long_p(long *dest, long value, int pe)
{
    gasnet_put_val((gasnet_node_t)pe, translate(dest, pe), (gasnet_register_value_t)value,
                   sizeof(value));
}

static void shmem_putmem_nbi(void *dest, void *source, size_t len, int pe)
{
    gasnet_put_nbi_bulk((gasnet_node_t)pe, translate(dest, pe), source, len);
}

static void shmem_long_wait_until(volatile long *word, long value)
{
    GASNET_BLOCKUNTIL(*word == value);
}

/* ---- the test ----------------------------------------------------------------------------------
 */

int main(int argc, char **argv)
{
    shmem_init(&argc, &argv);
    if (argc != 3 || strcmp(argv[1], "first") != 0 || strcmp(argv[2], "se cond") != 0) {
        fprintf(stderr, "PE %d: %d arguments, the second is %s\n", my_pe, argc,
                argc > 1 ? argv[1] : "missing");
        return 2;
    }
    if (heaps[my_pe].size < 3 << 20) {
        fprintf(stderr, "PE %d: a heap of %lu bytes\n", my_pe, (unsigned long)heaps[my_pe].size);
        return 2;
    }
    long *flag = shmem_malloc(sizeof(long)), *data = shmem_malloc(1000 * sizeof(long)),
         *source = malloc(1000 * sizeof(long));
    *flag = 0;
    shmem_barrier_all();
    for (int lap = 1; lap <= 20; lap++) { /* a token goes round */
        if (my_pe != 0)
            shmem_long_wait_until(flag, lap);
        for (int i = 0; i < 1000; i++)
            source[i] = lap * 1000 + i + my_pe;
        shmem_putmem_nbi(data, source, 1000 * sizeof(long), (my_pe + 1) % pes);
        gasnet_wait_syncnbi_puts(); /* shmem_quiet */
        shmem_long_p(flag, lap, (my_pe + 1) % pes);
        if (my_pe == 0)
            shmem_long_wait_until(flag, lap);
        for (int i = 0; i < 1000; i++)
            if (data[i] != lap * 1000 + i + (my_pe + pes - 1) % pes)
                abort();
        shmem_barrier_all();
    }
    free(source);
    printf("rank %d of %d: good\n", my_pe, pes);
    return 0;
}
