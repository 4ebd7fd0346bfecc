/* SPDX-License-Identifier: BSD-3-Clause */
/* played.c: an MPI that a test plays, a library with the names of Open MPI. All ranks are links of
 * one process, which are opened and connected in the order of their ranks. Their number is in
 * PLAYED_MPI_RANKS.
 *
 * It does what an MPI may do and a real one seldom does. Messages of several senders overtake each
 * other, those of one sender do not. A matched receive completes late, after those that were
 * started after it. Long messages stay with their sender until then, short ones complete late as
 * well. PLAYED_MPI_SEED chooses. It aborts where a caller breaks a rule: two calls of one rank at a
 * time, a receive that is started twice or freed while it is active, a buffer that was changed. */
#include <mpi.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = 3,
    EAGER_MAX = 4096,
    LATE_MAX = 6, /* tests until a message or a completion is seen */
    LINKS_MAX = 64,
};

/* ---- objects --------------------------------------------------------------------------------- */

struct ompi_predefined_communicator_t {
    char unused[64];
} ompi_mpi_comm_world, ompi_mpi_comm_self;
struct ompi_predefined_datatype_t {
    char unused[8];
} ompi_mpi_byte;
struct ompi_predefined_errhandler_t {
    char unused[8];
} ompi_mpi_errors_return;
struct ompi_predefined_request_t {
    char unused[128];
} ompi_request_null;

typedef struct message {
    struct message *next;
    int from, len;
    unsigned late;
    MPI_Request sender; /* NULL: the sender's request is over */
    const void *at;     /* the sender's buffer, or the copy */
    uint64_t sum;       /* sum of the bytes when they were sent */
    unsigned char copy[];
} message;

struct ompi_request_t {
    struct ompi_request_t *next; /* in the list of receives that are posted */
    struct ompi_communicator_t *comm;
    bool is_send, is_active, is_done, is_cancelled;
    unsigned late;
    void *buffer;
    int room, len, source, error;
    message *matched; /* not yet received */
};

typedef struct inbox { /* one for each rank and lane */
    message *first, **last_next;
    MPI_Request posted, *last_posted;
} inbox;

typedef struct played_job {
    int size, opened, closed;
    bool *is_busy; /* by rank: a call is under way */
    inbox *boxes;  /* by rank and lane */
} played_job;

struct ompi_communicator_t {
    played_job *job;
    int rank, lane;
};

static struct {
    pthread_mutex_t lock;
    bool is_started, is_over;
    uint64_t seed;
    int told, dups, fail_to;
    bool holds; /* the next receive that is matched stays so, until played_hold(0) */
    MPI_Request held;
    played_job *job; /* the one that is connected next */
    struct {
        MPI_Comm_delete_attr_function *gone;
        void *attribute;
        bool is_set;
    } keys[LINKS_MAX];
    long requests; /* that are not freed */
} played = { .lock = PTHREAD_MUTEX_INITIALIZER, .fail_to = -1 };

static void broken(const char *rule)
{
    (void)fprintf(stderr, "played MPI: the caller breaks a rule: %s\n", rule);
    abort();
}

static unsigned draw(unsigned below)
{
    if (played.seed == 0) {
        const char *text = getenv("PLAYED_MPI_SEED");
        played.seed = 2 * (text != NULL ? strtoull(text, NULL, 10) : 1) + 1;
    }
    played.seed = played.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(played.seed >> 33) % below;
}

/* Most things happen at once, so that a test makes progress. */
static unsigned lateness(void) { return draw(4) != 0 ? 0 : draw(LATE_MAX); }

static uint64_t sum_of(const void *bytes, int len)
{
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < len; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return sum;
}

static int size_now(void)
{
    const char *text = getenv("PLAYED_MPI_RANKS");
    return text != NULL ? (int)strtol(text, NULL, 10) : 1;
}

static void enter(MPI_Comm comm)
{
    (void)pthread_mutex_lock(&played.lock);
    if (comm->job->is_busy[comm->rank])
        broken("two calls of one rank at a time");
    comm->job->is_busy[comm->rank] = true;
    (void)pthread_mutex_unlock(&played.lock);
    /* here a second call of the rank would be found */
    (void)pthread_mutex_lock(&played.lock);
}

static void leave(MPI_Comm comm)
{
    comm->job->is_busy[comm->rank] = false;
    (void)pthread_mutex_unlock(&played.lock);
}

/* ---- starting and ending --------------------------------------------------------------------- */

int MPI_Initialized(int *flag)
{
    *flag = played.is_started;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = played.is_over;
    return MPI_SUCCESS;
}

// NOLINTNEXTLINE(readability-non-const-parameter): its type is given
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    played.is_started = true;
    *provided = required;
    return MPI_SUCCESS;
}

int MPI_Query_thread(int *provided)
{
    *provided = MPI_THREAD_SERIALIZED;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    if (played.is_over || !played.is_started)
        broken("MPI_Finalize comes once, after MPI_Init_thread");
    for (int key = 0; key < LINKS_MAX; key++)
        if (played.keys[key].is_set)
            (void)played.keys[key].gone(NULL, key, played.keys[key].attribute, NULL);
    played.is_over = true;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *len)
{
    *len = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "a played MPI");
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *text, int *len)
{
    *len = snprintf(text, MPI_MAX_ERROR_STRING, "error %d of the played MPI", code);
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = size_now();
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = played.told;
    played.told = (played.told + 1) % size_now();
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

/* ---- communicators --------------------------------------------------------------------------- */

static played_job *job_make(void)
{
    played_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        abort();
    job->size = size_now();
    job->is_busy = calloc((size_t)job->size, sizeof *job->is_busy);
    job->boxes = calloc((size_t)job->size * LANES, sizeof *job->boxes);
    if (job->is_busy == NULL || job->boxes == NULL)
        abort();
    for (int i = 0; i < job->size * LANES; i++) {
        job->boxes[i].last_next = &job->boxes[i].first;
        job->boxes[i].last_posted = &job->boxes[i].posted;
    }
    return job;
}

int MPI_Comm_dup(MPI_Comm from, MPI_Comm *out)
{
    (void)from;
    if (played.dups == 0)
        played.job = job_make();
    struct ompi_communicator_t *made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    *made = (struct ompi_communicator_t){ played.job, played.dups / LANES, played.dups % LANES };
    played.dups = (played.dups + 1) % (played.job->size * LANES);
    *out = made;
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    *comm = NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copied, MPI_Comm_delete_attr_function *gone,
                           int *keyval, void *extra)
{
    (void)copied, (void)extra;
    for (*keyval = 0; *keyval < LINKS_MAX && played.keys[*keyval].gone != NULL;)
        ++*keyval;
    if (*keyval == LINKS_MAX)
        broken("keys are left");
    played.keys[*keyval].gone = gone;
    return MPI_SUCCESS;
}

// NOLINTNEXTLINE(readability-non-const-parameter): its type is given
int MPI_Comm_free_keyval(int *keyval)
{
    played.keys[*keyval].gone = NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *attribute)
{
    (void)comm;
    played.keys[keyval].attribute = attribute;
    played.keys[keyval].is_set = true;
    return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    played.keys[keyval].is_set = false;
    return played.keys[keyval].gone(comm, keyval, played.keys[keyval].attribute, NULL);
}

/* ---- progress -------------------------------------------------------------------------------- */

static inbox *box_of(MPI_Comm comm, int rank)
{
    return &comm->job->boxes[rank * LANES + comm->lane];
}

static void receive_ends(MPI_Request receive)
{
    message *in = receive->matched;
    receive->matched = NULL;
    receive->is_done = true;
    receive->source = in->from;
    receive->len = in->len < receive->room ? in->len : receive->room;
    receive->error = in->len > receive->room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    if (sum_of(in->at, in->len) != in->sum)
        broken("a buffer was changed before its send was complete");
    memcpy(receive->buffer, in->at, (size_t)receive->len);
    if (in->sender != NULL)
        in->sender->is_done = true;
    free(in);
}

/* Whether an earlier message of the same sender waits before this one. */
static bool is_behind(const inbox *box, const message *late)
{
    for (const message *at = box->first; at != late; at = at->next)
        if (at->from == late->from)
            return true;
    return false;
}

static void match(inbox *box)
{
    for (message **at = &box->first; *at != NULL && box->posted != NULL;) {
        message *in = *at;
        if (in->late > 0) {
            in->late--;
            at = &in->next;
            continue;
        }
        if (is_behind(box, in)) {
            at = &in->next;
            continue;
        }
        *at = in->next;
        if (in->next == NULL)
            box->last_next = at;
        MPI_Request receive = box->posted;
        box->posted = receive->next;
        if (box->posted == NULL)
            box->last_posted = &box->posted;
        receive->matched = in;
        receive->late = lateness();
        if (played.holds && played.held == NULL)
            played.held = receive;
    }
}

/* One step of a request. A receive completes some steps after it was matched. */
static void step(MPI_Request request)
{
    if (!request->is_active || request->is_done)
        return;
    if (request == played.held ||
        (request->is_send ? request->late == 0 : request->matched == NULL))
        return;
    if (request->late > 0)
        request->late--;
    if (request->late > 0)
        return;
    if (request->is_send)
        request->is_done = true;
    else
        receive_ends(request);
}

static void progress(MPI_Comm comm)
{
    for (int lane = 0; lane < LANES; lane++)
        match(&comm->job->boxes[comm->rank * LANES + lane]);
}

/* ---- messages -------------------------------------------------------------------------------- */

static MPI_Request request_make(MPI_Comm comm, void *buffer, int len)
{
    MPI_Request made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    *made = (struct ompi_request_t){ .comm = comm, .buffer = buffer, .room = len };
    played.requests++;
    return made;
}

static void request_end(MPI_Request *request)
{
    free(*request);
    played.requests--;
    *request = (MPI_Request)(void *)&ompi_request_null;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    (void)type, (void)tag;
    enter(comm);
    if (to == played.fail_to) {
        leave(comm);
        return MPI_ERR_OTHER;
    }
    inbox *box = box_of(comm, to);
    const bool is_eager = count <= EAGER_MAX;
    message *out = malloc(sizeof *out + (is_eager ? (size_t)count : 0));
    if (out == NULL)
        abort();
    MPI_Request made = request_make(comm, NULL, count);
    *out = (message){ .from = comm->rank,
                      .len = count,
                      .late = lateness(),
                      .at = buffer,
                      .sum = sum_of(buffer, count) };
    made->is_send = made->is_active = true;
    if (is_eager) {
        memcpy(out->copy, buffer, (size_t)count);
        out->at = out->copy;
        made->late = lateness();
        made->is_done = made->late == 0;
    } else {
        out->sender = made;
    }
    *box->last_next = out;
    box->last_next = &out->next;
    *request = made;
    leave(comm);
    return MPI_SUCCESS;
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    (void)type, (void)tag;
    if (from != MPI_ANY_SOURCE)
        broken("receives are from any source");
    enter(comm);
    *request = request_make(comm, buffer, count);
    leave(comm);
    return MPI_SUCCESS;
}

int MPI_Start(MPI_Request *request)
{
    MPI_Request started = *request;
    enter(started->comm);
    if (started->is_active || started->is_send)
        broken("an active request is started");
    inbox *box = box_of(started->comm, started->comm->rank);
    started->is_active = true;
    started->is_done = started->is_cancelled = false;
    started->matched = NULL;
    started->next = NULL;
    *box->last_posted = started;
    box->last_posted = &started->next;
    leave(started->comm);
    return MPI_SUCCESS;
}

static bool is_null(MPI_Request request)
{
    return request == (MPI_Request)(void *)&ompi_request_null;
}

/* Gives up a request that is done. A persistent one becomes inactive. */
static int take(MPI_Request *request, MPI_Status *status)
{
    MPI_Request done = *request;
    const int error = done->error;
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = done->source;
        status->MPI_ERROR = error;
        status->_ucount = (size_t)done->len;
    }
    done->is_active = false;
    if (done->is_send)
        request_end(request);
    return error;
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    MPI_Comm comm = NULL;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < count; i++)
        if (!is_null(requests[i]) && requests[i]->is_active)
            comm = requests[i]->comm;
    *flag = comm == NULL;
    if (comm == NULL)
        return MPI_SUCCESS;
    enter(comm);
    progress(comm);
    int error = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        if (is_null(requests[i]) || !requests[i]->is_active)
            continue;
        step(requests[i]);
        if (!requests[i]->is_done)
            continue;
        *index = i;
        *flag = 1;
        error = take(&requests[i], status);
        break;
    }
    leave(comm);
    return error;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    int index;
    return MPI_Testany(1, request, &index, flag, status);
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    (void)type;
    *count = (int)status->_ucount;
    return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request *request)
{
    MPI_Request receive = *request;
    enter(receive->comm);
    inbox *box = box_of(receive->comm, receive->comm->rank);
    for (MPI_Request *at = &box->posted; *at != NULL; at = &(*at)->next) {
        if (*at != receive)
            continue;
        *at = receive->next;
        if (box->last_posted == &receive->next)
            box->last_posted = at;
        receive->is_cancelled = receive->is_done = true;
        break;
    }
    leave(receive->comm);
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request)
{
    if ((*request)->is_active)
        broken("an active request is freed");
    request_end(request);
    return MPI_SUCCESS;
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
    (void)send_type, (void)receive_type, (void)comm, (void)receive_count;
    memcpy(receive, send, (size_t)send_count);
    return MPI_SUCCESS;
}

/* ---- for tests ------------------------------------------------------------------------------- */

void played_fail_to(int rank);
void played_fail_to(int rank) { played.fail_to = rank; }

void played_seed(unsigned seed);
void played_seed(unsigned seed) { played.seed = 2 * (uint64_t)seed + 1; }

void played_hold(int holds);
void played_hold(int holds)
{
    played.holds = holds != 0;
    played.held = NULL;
}

long played_requests(void);
long played_requests(void) { return played.requests; }
