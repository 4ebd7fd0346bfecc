/* SPDX-License-Identifier: BSD-3-Clause */
/* parsync_pipeline.c: PARSYNC: several threads call, one at a time, with a mutex of the client's. A
 * pipeline of ranks: a receiver thread polls, a sender thread sends, the main thread computes and
 * synchronises operations that it began. */
#include <gasnet.h>

#include <pthread.h>
#include <unistd.h>

enum { ITEM = 131, ITEMS = 300, LEN = 700 };

static pthread_mutex_t gasnet_lock = PTHREAD_MUTEX_INITIALIZER; /* held round every call */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static uint32_t queue[ITEMS][LEN / 4];
static int head, tail, stop;
static gasnet_node_t me, nodes;

static void item(gasnet_token_t token, void *data, size_t len, gasnet_handlerarg_t number)
{
    (void)token;
    pthread_mutex_lock(&queue_lock);
    if (len != LEN || number >= ITEMS)
        abort();
    memcpy(queue[tail++], data, len);
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&queue_lock);
}

static void *receiver(void *unused)
{
    for (int over = 0; !over;) {
        pthread_mutex_lock(&gasnet_lock);
        gasnet_AMPoll();
        pthread_mutex_unlock(&gasnet_lock);
        pthread_mutex_lock(&queue_lock);
        over = stop;
        pthread_mutex_unlock(&queue_lock);
        usleep(50);
    }
    return unused;
}

static void send(int number, const uint32_t *words)
{
    pthread_mutex_lock(&gasnet_lock);
    gasnet_AMRequestMedium1((me + 1) % nodes, ITEM, (void *)words, LEN, number);
    pthread_mutex_unlock(&gasnet_lock);
}

static void *source(void *unused)
{
    uint32_t words[LEN / 4];
    for (int number = 0; number < ITEMS; number++) {
        for (int i = 0; i < LEN / 4; i++)
            words[i] = (uint32_t)(number * 1000 + i);
        send(number, words);
    }
    return unused;
}

static const uint32_t *receive(void)
{
    pthread_mutex_lock(&queue_lock);
    while (head == tail)
        pthread_cond_wait(&arrived, &queue_lock);
    const uint32_t *words = queue[head++];
    pthread_mutex_unlock(&queue_lock);
    return words;
}

/* A stage adds 7 to all words; the last one, rank 0, checks. No order of items is promised. */
static void stage(void)
{
    uint32_t words[LEN / 4];
    unsigned char seen[ITEMS] = { 0 };
    for (int count = 0; count < ITEMS; count++) {
        const uint32_t *in = receive();
        int number = (int)((in[0] - 7 * (me == 0 ? nodes - 1 : me - 1)) / 1000);
        if (number < 0 || number >= ITEMS || seen[number]++) {
            fprintf(stderr, "rank %u: item %d is wrong\n", me, number);
            abort();
        }
        for (int i = 0; i < LEN / 4; i++) {
            if (in[i] != in[0] + (unsigned)i)
                abort();
            words[i] = in[i] + 7;
        }
        if (me != 0)
            send(number, words);
    }
}

int main(int argc, char **argv)
{
    pthread_t receiving, sending;
    gasnet_handlerentry_t table[] = { { ITEM, (void (*)())item } };
    gasnet_init(&argc, &argv);
    gasnet_attach(table, 1, GASNET_PAGESIZE, 0);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    pthread_create(&receiving, NULL, receiver, NULL);
    if (me == 0)
        pthread_create(&sending, NULL, source, NULL);
    stage();
    if (me == 0)
        pthread_join(sending, NULL);
    pthread_mutex_lock(&gasnet_lock);
    gasnet_barrier_notify(1, 0);
    pthread_mutex_unlock(&gasnet_lock);
    int status;
    do { /* a barrier that this thread does not wait in, since others have to call */
        pthread_mutex_lock(&gasnet_lock);
        status = gasnet_barrier_try(1, 0);
        pthread_mutex_unlock(&gasnet_lock);
    } while (status == GASNET_ERR_NOT_READY);
    pthread_mutex_lock(&queue_lock);
    stop = 1;
    pthread_mutex_unlock(&queue_lock);
    pthread_join(receiving, NULL);
    printf("rank %u of %u: good\n", me, nodes);
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(status == GASNET_OK ? 0 : 5);
}
