/* SPDX-License-Identifier: BSD-3-Clause */
/* timeline.c: takes the file of a trace apart. */
#include "timeline/timeline.h"

#include "base/status.h"
#include "diag/log.h"
#include "trace/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- records --------------------------------------------------------------------------------- */

typedef struct reader {
    const char *end;
    pen_timeline *out;
    uint64_t *next; /* by rank: the number that its next event should have */
} reader;

/* Handles one record. */
typedef void take_record(reader *r, const pen_trace_record *record, const char *body);

/* Calls take for each record that is whole. */
static void each_record(reader *r, const char *begin, take_record *take)
{
    pen_trace_record record;
    const char *at = begin;
    while ((size_t)(r->end - at) >= sizeof record) {
        memcpy(&record, at, sizeof record);
        const char *body = at + sizeof record;
        if (record.len > PEN_TRACE_RECORD_LEN_MAX || record.len % 8 != 0 ||
            (size_t)(r->end - body) < record.len)
            break; /* nobody knows where the next record begins */
        take(r, &record, body);
        at = body + record.len;
    }
    r->out->cut = at != r->end;
}

/* Ends a text of the file, and replaces characters that mean something to terminals, HTML, JSON or
 * CSV. */
static void make_plain(char *text, size_t len)
{
    text[len - 1] = '\0';
    for (char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c > '~' || strchr("\"'<>&,\\", *c) != NULL)
            *c = '?';
}

static bool is_events(const reader *r, const pen_trace_record *record)
{
    return record->kind == PEN_TRACE_RECORD_EVENTS && record->which < r->out->rank_count &&
           record->len == (uint64_t)record->count * sizeof(pen_trace_event);
}

static void take_host(reader *r, const pen_trace_record *record, const char *body)
{
    pen_trace_host found;
    if (record->which >= r->out->host_count || record->len != sizeof found) {
        r->out->bad++;
        return;
    }
    memcpy(&found, body, sizeof found);
    pen_timeline_host *host = &r->out->hosts[record->which];
    if (found.size > r->out->rank_count || found.first > r->out->rank_count - found.size) {
        r->out->bad++;
    } else if (host->size == 0) {
        make_plain(found.name, sizeof found.name);
        *host = (pen_timeline_host){ .first = found.first,
                                     .size = found.size,
                                     .ticks = found.ticks,
                                     .mono_ns = found.mono_ns,
                                     .wall_ns = found.wall_ns,
                                     .tick_ns = 1 };
        memcpy(host->name, found.name, sizeof host->name);
        for (uint32_t i = 0; i < found.size; i++)
            r->out->ranks[found.first + i].host = record->which;
    } else if (found.ticks > host->ticks && found.mono_ns > host->mono_ns) {
        host->tick_ns =
            (double)(found.mono_ns - host->mono_ns) / (double)(found.ticks - host->ticks);
    }
}

/* The first pass: hosts, and how much there is. */
static void count_record(reader *r, const pen_trace_record *record, const char *body)
{
    if (record->kind == PEN_TRACE_RECORD_HOST)
        take_host(r, record, body);
    else if (record->kind == PEN_TRACE_RECORD_END && record->which < r->out->host_count)
        r->out->hosts[record->which].ended = true;
    else if (is_events(r, record))
        r->out->ranks[record->which].count += record->count;
    else if (record->kind != PEN_TRACE_RECORD_NAMES)
        r->out->bad++;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Times are first computed by the host's own clock, from its first reading on. */
static bool take_event(const pen_timeline *t, const pen_timeline_host *host,
                       const pen_trace_event *event, pen_moment *out)
{
    const double most_ns = 1e17; /* three years; keeps sums from overflowing */
    double at_ns = (double)(int64_t)(event->at - host->ticks) * host->tick_ns;
    double span_ns = (double)pen_trace_unpack(event->span) * host->tick_ns;
    bool has_peer = event->peer != UINT32_MAX;
    if (event->kind == PEN_TRACE_NONE || event->kind >= PEN_TRACE_KINDS ||
        (has_peer && event->peer >= t->rank_count) || !(at_ns > -most_ns && at_ns < most_ns) ||
        !(span_ns < most_ns))
        return false;
    *out = (pen_moment){ .at_ns = (int64_t)at_ns,
                         .span_ns = (uint64_t)span_ns,
                         .kind = event->kind,
                         .detail = event->detail,
                         .what = event->what,
                         .peer = event->peer,
                         .number = event->number,
                         .value = event->value };
    return true;
}

static void take_events(reader *r, const pen_trace_record *record, const char *body)
{
    pen_timeline_rank *rank = &r->out->ranks[record->which];
    const pen_timeline_host *host = &r->out->hosts[rank->host];
    if (record->first > r->next[record->which])
        rank->dropped += record->first - r->next[record->which];
    r->next[record->which] = record->first + record->count;
    for (uint32_t i = 0; i < record->count; i++) {
        pen_trace_event event;
        memcpy(&event, body + i * sizeof event, sizeof event);
        if (take_event(r->out, host, &event, &rank->moments[rank->count]))
            rank->count++;
        else
            r->out->bad++;
    }
}

static void take_names(reader *r, const pen_trace_record *record, const char *body)
{
    const uint64_t most = PEN_TRACE_NAMES_MAX;
    if (record->which >= r->out->rank_count || record->first > most ||
        record->count > most - record->first ||
        record->len != (uint64_t)record->count * PEN_TRACE_NAME_LEN) {
        r->out->bad++;
        return;
    }
    pen_timeline_rank *rank = &r->out->ranks[record->which];
    if (rank->names == NULL)
        rank->names = calloc(PEN_TRACE_NAMES_MAX, sizeof *rank->names);
    for (uint32_t i = 0; i < record->count && rank->names != NULL; i++) {
        char *name = rank->names[record->first + i];
        memcpy(name, body + (size_t)i * PEN_TRACE_NAME_LEN, PEN_TRACE_NAME_LEN);
        make_plain(name, PEN_TRACE_NAME_LEN);
    }
}

/* The second pass. */
static void take_record_body(reader *r, const pen_trace_record *record, const char *body)
{
    if (is_events(r, record))
        take_events(r, record, body);
    else if (record->kind == PEN_TRACE_RECORD_NAMES)
        take_names(r, record, body);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pen_status make_tables(pen_timeline *t, const pen_trace_head *head)
{
    t->rank_count = head->ranks;
    t->host_count = head->hosts;
    t->ranks = calloc(t->rank_count, sizeof *t->ranks);
    t->hosts = calloc(t->host_count, sizeof *t->hosts);
    if (t->ranks == NULL || t->hosts == NULL)
        return PEN_ERR_MEMORY;
    for (uint32_t i = 0; i < t->host_count; i++)
        t->hosts[i].tick_ns = 1;
    return PEN_OK;
}

/* Gives each rank the part of the storage that its counted events need. */
static pen_status make_storage(pen_timeline *t)
{
    uint64_t total = 0;
    for (uint32_t rank = 0; rank < t->rank_count; rank++)
        total += t->ranks[rank].count;
    t->storage = calloc(total + 1, sizeof *t->storage);
    if (t->storage == NULL)
        return PEN_ERR_MEMORY;
    pen_moment *at = t->storage;
    for (uint32_t rank = 0; rank < t->rank_count; rank++) {
        t->ranks[rank].moments = at;
        at += t->ranks[rank].count;
        t->ranks[rank].count = 0;
    }
    return PEN_OK;
}

/* Moves all times so that the first event is at 0. */
static void start_at_zero(pen_timeline *t)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t rank = 0; rank < t->rank_count; rank++) {
        for (size_t i = 0; i < t->ranks[rank].count; i++) {
            const pen_moment *moment = &t->ranks[rank].moments[i];
            int64_t end = moment->at_ns + (int64_t)moment->span_ns;
            first = moment->at_ns < first ? moment->at_ns : first;
            last = end > last ? end : last;
        }
        t->moments += t->ranks[rank].count;
    }
    if (t->moments == 0)
        return;
    for (uint32_t rank = 0; rank < t->rank_count; rank++)
        for (size_t i = 0; i < t->ranks[rank].count; i++)
            t->ranks[rank].moments[i].at_ns -= first;
    t->end_ns = last - first;
    t->wall_ns = t->hosts[0].wall_ns + (uint64_t)first;
}

static bool head_is_valid(const pen_trace_head *head, const char **why)
{
    *why = "it is no trace of Penstock";
    if (memcmp(head->magic, PEN_TRACE_MAGIC, sizeof head->magic) != 0)
        return false;
    *why = "a different version of Penstock wrote it";
    if (head->version != PEN_TRACE_VERSION || head->event_len != sizeof(pen_trace_event))
        return false;
    *why = "its head makes no sense";
    return head->ranks != 0 && head->ranks <= PEN_TIMELINE_RANKS_MAX && head->hosts != 0 &&
           head->hosts <= head->ranks;
}

static pen_status parse(reader *r, const char *records)
{
    each_record(r, records, count_record);
    pen_status status = make_storage(r->out);
    r->next = calloc(r->out->rank_count, sizeof *r->next);
    if (status == PEN_OK && r->next == NULL)
        status = PEN_ERR_MEMORY;
    if (status != PEN_OK)
        return status;
    each_record(r, records, take_record_body);
    status = pen_timeline_align(r->out);
    if (status == PEN_OK)
        start_at_zero(r->out);
    return status;
}

pen_status pen_timeline_parse(const void *bytes, size_t len, pen_timeline *out, const char **why)
{
    pen_trace_head head;
    *out = (pen_timeline){ .rank_count = 0 };
    *why = "it is too short for a trace of Penstock";
    if (len < sizeof head)
        return PEN_ERR_PROTOCOL;
    memcpy(&head, bytes, sizeof head);
    if (!head_is_valid(&head, why))
        return PEN_ERR_PROTOCOL;
    *why = "there is no memory for it";
    reader r = { .end = (const char *)bytes + len, .out = out };
    pen_status status = make_tables(out, &head);
    if (status == PEN_OK)
        status = parse(&r, (const char *)bytes + sizeof head);
    free(r.next);
    if (status != PEN_OK)
        pen_timeline_close(out);
    return status;
}

void pen_timeline_close(pen_timeline *timeline)
{
    for (uint32_t rank = 0; timeline->ranks != NULL && rank < timeline->rank_count; rank++)
        free(timeline->ranks[rank].names);
    free(timeline->ranks);
    free(timeline->hosts);
    free(timeline->storage);
    *timeline = (pen_timeline){ .rank_count = 0 };
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads up to `room` bytes, fewer at the end of the file. Returns an errno. */
static int read_all(int fd, char *bytes, size_t room, size_t *len)
{
    *len = 0;
    while (*len < room) {
        ssize_t got = read(fd, bytes + *len, room - *len);
        if (got == 0)
            break;
        if (got > 0)
            *len += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* Bytes of one or several files. */
typedef struct pile {
    char *bytes;
    size_t len;
} pile;

/* Reads a whole file behind the pile, so that its later changes cannot hurt. Returns an errno. */
static int slurp(const char *path, pile *to)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = fstat(fd, &file) != 0 ? errno : 0;
    size_t room = error == 0 && file.st_size > 0 ? (size_t)file.st_size : 0, len = 0;
    char *more = error == 0 ? realloc(to->bytes, to->len + room + 1) : NULL;
    if (error == 0 && more == NULL)
        error = ENOMEM;
    if (error == 0) {
        to->bytes = more;
        error = read_all(fd, more + to->len, room, &len);
        to->len += len;
    }
    close(fd);
    return error;
}

/* Takes the head off a further file, which begins at `begin`. Returns false if it belongs to a job
 * of a different size. */
static bool join(pile *all, size_t begin)
{
    const size_t head_len = sizeof(pen_trace_head);
    if (all->len - begin < head_len || memcmp(all->bytes, all->bytes + begin, head_len) != 0)
        return false;
    memmove(all->bytes + begin, all->bytes + begin + head_len, all->len - begin - head_len);
    all->len -= head_len;
    return true;
}

static pen_status slurp_all(pen_log *log, const char *const *paths, size_t count, pile *all)
{
    for (size_t i = 0; i < count; i++) {
        size_t begin = all->len;
        int error = slurp(paths[i], all);
        if (error != 0) {
            pen_log_error(log,
                          "cannot read the trace %s: %s; give a file that `penstock run --trace` "
                          "has written",
                          paths[i], strerror(error));
            return PEN_ERR_SYSTEM;
        }
        if (i > 0 && !join(all, begin)) {
            pen_log_error(log, "%s is not a trace of the same job as %s; give the files of one job",
                          paths[i], paths[0]);
            return PEN_ERR_ARGUMENT;
        }
    }
    return PEN_OK;
}

pen_status pen_timeline_read(pen_log *log, const char *const *paths, size_t count,
                             pen_timeline *out)
{
    pile all = { .len = 0 };
    const char *why;
    pen_status status = slurp_all(log, paths, count, &all);
    if (status == PEN_OK) {
        status = pen_timeline_parse(all.bytes, all.len, out, &why);
        if (status != PEN_OK)
            pen_log_error(
                log,
                "cannot read the trace %s: %s; give a file that `penstock run --trace` of "
                "this version has written",
                paths[0], why);
    }
    free(all.bytes);
    return status;
}

/* ---- selecting ------------------------------------------------------------------------------- */

void pen_timeline_cut(pen_timeline *timeline, int64_t from_ns, int64_t to_ns)
{
    timeline->moments = 0;
    for (uint32_t rank = 0; rank < timeline->rank_count; rank++) {
        pen_timeline_rank *r = &timeline->ranks[rank];
        size_t kept = 0;
        for (size_t i = 0; i < r->count; i++) {
            const pen_moment *moment = &r->moments[i];
            if (moment->at_ns < to_ns && moment->at_ns + (int64_t)moment->span_ns >= from_ns)
                r->moments[kept++] = *moment;
        }
        r->count = kept;
        timeline->moments += kept;
    }
}

const char *pen_timeline_name(const pen_timeline *timeline, uint32_t rank, uint16_t number)
{
    const pen_timeline_rank *r = &timeline->ranks[rank];
    bool is_known = r->names != NULL && number < PEN_TRACE_NAMES_MAX && r->names[number][0] != '\0';
    return is_known ? r->names[number] : "unnamed";
}
