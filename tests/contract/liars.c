/* SPDX-License-Identifier: BSD-3-Clause */
/* liars.c: conduits that break their promises. Each wraps an honest conduit and lies in one flag;
 * the tests of the contract have to find every one of them. Beside each liar is the same link
 * without the flag, or with the flag kept, which has to pass. Each runs in its own process,
 * because a broken promise ends the process. */
#include "contract.h"

#include "link/impair.h"
#include "support/bounded.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- links that lie -------------------------------------------------------------------------- */

/* A link around a link. Forwarded calls use the honest link's tables. */
typedef struct liar_link {
    pen_link base; /* first: the test sees a pen_link */
    pen_link *inner;
    pen_frame late; /* a frame whose body was not copied */
    uint64_t late_head[PEN_FRAME_HEAD_MAX / 8];
    pen_peer late_to;
    pen_lane late_lane;
    bool is_late;
} liar_link;

static liar_link *liar_of(pen_link *link) { return (liar_link *)(void *)link; }

static void liar_close(pen_link *base)
{
    liar_link *link = liar_of(base);
    link->inner->ops->close(link->inner);
    free(link);
}

static pen_status liar_address(pen_link *base, void *blob)
{
    return liar_of(base)->inner->ops->address(liar_of(base)->inner, blob);
}

static pen_status liar_connect(pen_link *base, const void *blobs, pen_peer count)
{
    return liar_of(base)->inner->ops->connect(liar_of(base)->inner, blobs, count);
}

static unsigned liar_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    liar_link *link = liar_of(base);
    if (link->is_late && link->inner->ops->post(link->inner, link->late_to, link->late_lane,
                                                &link->late, NULL) == PEN_POST_DONE)
        link->is_late = false;
    return link->inner->ops->poll(link->inner, lanes, budget);
}

/* Claims that long bodies are copied without an op, and reads them at the next poll. */
static pen_post post_late(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    liar_link *link = liar_of(base);
    if (frame->body_len <= base->caps.frame_copy_max || op != NULL)
        return link->inner->ops->post(link->inner, to, lane, frame, op);
    if (link->is_late)
        return PEN_POST_AGAIN;
    memcpy(link->late_head, frame->head, frame->head_len);
    link->late = *frame;
    link->late.head = link->late_head;
    link->late_to = to;
    link->late_lane = lane;
    link->is_late = true;
    return PEN_POST_DONE;
}

static pen_post post_honestly(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                              pen_op *op)
{
    return liar_of(base)->inner->ops->post(liar_of(base)->inner, to, lane, frame, op);
}

static const pen_link_ops late_ops = { liar_close, liar_address, liar_connect, post_late,
                                       liar_poll };
static const pen_link_ops honest_ops = { liar_close, liar_address, liar_connect, post_honestly,
                                         liar_poll };

/* Put and get that need the region of the local side. The honest link may not need it. */
struct liar_region {
    pen_region *inner; /* NULL: the honest link has no room for the region */
    char *start;
    size_t len;
};

static struct liar_region *region_of(const pen_region *region)
{
    return (struct liar_region *)(uintptr_t)region;
}

static pen_status rma_register(pen_link *base, void *addr, size_t len, pen_region **out)
{
    pen_link *inner = liar_of(base)->inner;
    struct liar_region *region = (struct liar_region *)calloc(1, sizeof *region);
    CHECK(region != NULL);
    region->start = (char *)addr;
    region->len = len;
    if (inner->rma->register_region(inner, addr, len, &region->inner) != PEN_OK)
        region->inner = NULL;
    *out = (pen_region *)(void *)region;
    return PEN_OK;
}

static void rma_deregister(pen_link *base, pen_region *region)
{
    pen_link *inner = liar_of(base)->inner;
    if (region_of(region)->inner != NULL)
        inner->rma->deregister_region(inner, region_of(region)->inner);
    free(region_of(region));
}

static pen_status rma_export(pen_link *base, const pen_region *region, void *blob)
{
    pen_link *inner = liar_of(base)->inner;
    CHECK(region_of(region)->inner != NULL);
    return inner->rma->export_region(inner, region_of(region)->inner, blob);
}

static bool covers(const pen_region *region, const void *local, size_t len)
{
    if (region == NULL)
        return false;
    size_t offset = (size_t)((const char *)local - region_of(region)->start);
    return offset <= region_of(region)->len && len <= region_of(region)->len - offset;
}

static pen_status rma_import(pen_link *base, pen_peer peer, const void *blob, pen_rkey *out)
{
    return liar_of(base)->inner->rma->import_region(liar_of(base)->inner, peer, blob, out);
}

static void rma_release(pen_link *base, pen_peer peer, pen_rkey key)
{
    liar_of(base)->inner->rma->release_region(liar_of(base)->inner, peer, key);
}

static pen_post rma_put(pen_link *base, pen_peer to, uint64_t offset, pen_rkey key,
                        const void *local, pen_region *region, size_t len, pen_op *op)
{
    if (!covers(region, local, len))
        return PEN_POST_FAILED;
    return liar_of(base)->inner->rma->put(liar_of(base)->inner, to, offset, key, local, NULL, len,
                                          op);
}

static pen_post rma_get(pen_link *base, pen_peer from, uint64_t offset, pen_rkey key, void *local,
                        pen_region *region, size_t len, pen_op *op)
{
    if (!covers(region, local, len))
        return PEN_POST_FAILED;
    return liar_of(base)->inner->rma->get(liar_of(base)->inner, from, offset, key, local, NULL, len,
                                          op);
}

static const pen_rma_ops strict_rma = { rma_register, rma_deregister, rma_export, rma_import,
                                        rma_release,  rma_put,        rma_get };

/* ---- the list -------------------------------------------------------------------------------- */

static const struct liar {
    const char *name, *inner;
    pen_peer ranks;
    pen_impair_config impair; /* changes frames */
    const pen_link_ops *ops;  /* NULL: the honest link's function */
    bool wants_regions;
    uint32_t hides;                /* bytes of the declared inbox that do not exist */
    uint32_t copy_max;             /* 0: the honest link's value */
    uint32_t claims, claims_not;   /* flags that it sets or clears falsely */
    bool is_honest;                /* it passes */
    const contract_test *tests[2]; /* the tests that find it */
} liars[] = {
    { "RELIABLE: frames come twice",
      "smp",
      2,
      { .duplicate = 0.1 },
      .claims = PEN_CAP_RELIABLE,
      .tests = { frame_tests } },
    { "INTACT: a bit flips",
      "smp",
      2,
      { .corrupt = 0.1 },
      .claims = PEN_CAP_RELIABLE | PEN_CAP_INTACT,
      .tests = { frame_tests } },
    { "frames overtake, as they may",
      "loop",
      1,
      { .reorder = 0.1 },
      .claims_not = PEN_CAP_SAME_HOST,
      .is_honest = true,
      .tests = { body_tests, traffic_tests } },
    { "SAME_HOST: frames come late",
      "smp",
      3,
      { .delay = 0.1, .delay_s = 0.01 },
      .claims = PEN_CAP_SAME_HOST,
      .tests = { frame_tests } },
    { "COPIES: a body is read after post", "smp", 2, .ops = &late_ops, .copy_max = 64,
      .claims = PEN_CAP_COPIES, .tests = { frame_tests } },
    { "COPIES kept", "smp", 2, .ops = &honest_ops, .copy_max = 64, .claims = PEN_CAP_COPIES,
      .is_honest = true, .tests = { traffic_tests } },
    { "LOCAL_REGION: wanted and not said", "extoll", 3, .ops = &honest_ops, .wants_regions = true,
      .tests = { body_tests } },
    { "LOCAL_REGION: wanted and said", "extoll", 3, .ops = &honest_ops, .wants_regions = true,
      .claims = PEN_CAP_LOCAL_REGION, .is_honest = true, .tests = { body_tests } },
    { "an inbox shorter than declared", "bounded", 3, .ops = &honest_ops, .hides = 40000,
      .tests = { lane_tests } },
    { "an inbox as long as declared", "bounded", 3, .ops = &honest_ops, .is_honest = true,
      .tests = { lane_tests } },
    { "a flag that nobody knows", "smp", 1, .ops = &honest_ops, .claims = 1u << 31,
      .tests = { frame_tests } },
};

static const struct liar *this_liar;

static const pen_conduit *find_inner(const struct liar *liar)
{
    return strcmp(liar->inner, pen_conduit_bounded.name) == 0 ? &pen_conduit_bounded
                                                              : pen_conduit_find(liar->inner);
}

static pen_status wrap(pen_link *inner, pen_link **out)
{
    liar_link *link = (liar_link *)calloc(1, sizeof *link);
    CHECK(link != NULL);
    link->base = *inner;
    link->base.ops = this_liar->ops;
    link->base.zcopy = NULL; /* these would bypass the wrapper */
    link->base.amo = NULL;
    link->base.behind = NULL;
    link->base.count = NULL;
    link->base.express = (pen_express_table){ .first = NULL };
    if (this_liar->wants_regions)
        link->base.rma = &strict_rma;
    else
        link->base.rma = NULL;
    link->inner = inner;
    *out = &link->base;
    return PEN_OK;
}

static pen_status liar_open(const pen_link_params *params, pen_link **out)
{
    pen_link *link = NULL;
    pen_status status = find_inner(this_liar)->open(params, &link);
    if (status != PEN_OK)
        return status;
    if (this_liar->ops != NULL)
        status = wrap(link, &link);
    else
        status = pen_impair_open(link, &this_liar->impair, PEN_CONCURRENT, &link);
    link->caps.flags |= this_liar->claims;
    link->caps.flags &= ~this_liar->claims_not;
    if (this_liar->hides != 0)
        link->caps.inbox_len += this_liar->hides;
    if (this_liar->copy_max != 0)
        link->caps.frame_copy_max = this_liar->copy_max;
    *out = link;
    return status;
}

static void run_tests(const struct liar *liar)
{
    this_liar = liar;
    pen_conduit conduit = *find_inner(liar);
    conduit.open = liar_open;
    for (unsigned list = 0; list < 2 && liar->tests[list] != NULL; list++) {
        for (const contract_test *test = liar->tests[list]; test->name != NULL; test++) {
            struct setup setup = { .conduit = &conduit, .name = "", .ranks = liar->ranks };
            struct job job;
            if (test->ranks_max != 0 && liar->ranks > test->ranks_max)
                continue;
            printf("%s: %s\n", liar->name, test->name);
            fflush(stdout);
            job_open(&job, &setup);
            test->run(&job);
            if (!test->leaves_frames)
                CHECK(job_delivered(&job) == job_posted(&job));
            job_close(&job);
        }
    }
}

/* Returns whether the tests find fault with it, in a process of its own. */
static bool is_found(const struct liar *liar)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (!liar->is_honest)
            (void)dup2(nowhere, STDERR_FILENO);
        run_tests(liar);
        fflush(NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

int liars_run(const char *word)
{
    unsigned count = 0;
    for (size_t i = 0; i < sizeof(liars) / sizeof(liars[0]); i++) {
        if (word != NULL && strstr(liars[i].name, word) == NULL)
            continue;
        if (find_inner(&liars[i]) == NULL)
            continue;
        bool found = is_found(&liars[i]);
        printf("%s: %s\n", liars[i].name, found ? "found" : "passes");
        fflush(stdout);
        CHECK(found != liars[i].is_honest);
        count++;
    }
    printf("%u as they should be\n", count);
    return 0;
}
