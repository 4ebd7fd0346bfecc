/* SPDX-License-Identifier: BSD-3-Clause */
/* misuse_test.c: the library's answer to wrong calls: set-up calls return a code and print the
 * reason, in every build; checked builds end the job for every other mistake. */
#define GASNET_PAR 1
#include "unit/api/child.h"

#include "base/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HANDLER = 200, REPLY = 201 };

#define EXPECT(cond)                                                 \
    do {                                                             \
        if (!(cond)) {                                               \
            (void)fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
            _exit(99);                                               \
        }                                                            \
    } while (0)

static void assert_passed(void (*play)(void))
{
    child_end end = child_run(play);
    if (end.status != 0)
        (void)fprintf(stderr, "%s", end.said);
    assert_int_equal(end.status, 0);
}

static void assert_says(void (*play)(void), const char *reason)
{
    child_end end = child_run(play);
    if (end.status != 0 || strstr(end.said, reason) == NULL)
        (void)fprintf(stderr, "wanted \"%s\", got:\n%s", reason, end.said);
    assert_int_equal(end.status, 0);
    assert_non_null(strstr(end.said, reason));
}

static void assert_refused(void (*play)(void), const char *reason)
{
    child_end end = child_run(play);
    assert_true(child_was_refused(&end, reason));
}

/* ---- set-up calls, in every build ------------------------------------------------------------ */

static void start_twice(void)
{
    child_job job = child_join();
    EXPECT(gasnet_init(NULL, NULL) == GASNET_ERR_NOT_INIT);
    EXPECT(gex_Client_Init(&job.client, &job.endpoint, &job.team, "AGAIN", NULL, NULL, 0) ==
           GASNET_ERR_NOT_INIT);
    EXPECT(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) == GASNET_ERR_NOT_INIT);
}

static void a_second_start_is_refused(void **state)
{
    (void)state;
    assert_says(start_twice, "the job was started already");
}

static void start_wrongly(void)
{
    child_job job;
    int argc = 0;
    EXPECT(gex_Client_Init(&job.client, &job.endpoint, &job.team, "", NULL, NULL, 0) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gex_Client_Init(&job.client, &job.endpoint, &job.team, "A", &argc, NULL, 0) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gex_Client_Init(&job.client, &job.endpoint, &job.team, "A", NULL, NULL, 1u << 20) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gasnet_getSegmentInfo(NULL, 0) == GASNET_ERR_NOT_INIT);
    (void)child_join(); /* a wrong start leaves no traces */
}

static void wrong_arguments_do_not_use_the_start_up(void **state)
{
    (void)state;
    assert_says(start_wrongly, "flags 0x100000: these flags do not exist");
}

static void attach_wrongly(void)
{
    child_job job = child_join();
    const uintptr_t most = gasnet_getMaxLocalSegmentSize();
    EXPECT(most % GASNET_PAGESIZE == 0 && most != 0);
    EXPECT(gex_Segment_Attach(&job.segment, job.team, 0) == GASNET_ERR_BAD_ARG);
    EXPECT(gex_Segment_Attach(&job.segment, job.team, 5) == GASNET_ERR_BAD_ARG);
    EXPECT(gex_Segment_Attach(&job.segment, job.team, most + GASNET_PAGESIZE) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gex_Segment_Attach(&job.segment, gex_TM_Pair(job.endpoint, 0), GASNET_PAGESIZE) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gex_Segment_Attach(&job.segment, job.team, GASNET_PAGESIZE) == GASNET_OK);
    EXPECT(gex_Segment_Attach(&job.segment, job.team, GASNET_PAGESIZE) == GASNET_ERR_BAD_ARG);
}

static void a_segment_has_a_size_in_pages_and_is_attached_once(void **state)
{
    (void)state;
    assert_says(attach_wrongly, "size 5: not a positive multiple of GASNET_PAGESIZE");
}

static void register_wrongly(void)
{
    child_job job = child_join();
    gex_AM_Entry_t low = { 100, (gex_AM_Fn_t)start_twice, 0, 0, NULL, "low" };
    gex_AM_Entry_t twice[] = { { HANDLER, (gex_AM_Fn_t)start_twice, 0, 0, NULL, "one" },
                               { HANDLER, (gex_AM_Fn_t)start_twice, 0, 0, NULL, "two" } };
    EXPECT(gex_EP_RegisterHandlers(job.endpoint, &low, 1) == GASNET_ERR_BAD_ARG);
    EXPECT(gex_EP_RegisterHandlers(job.endpoint, twice, 2) == GASNET_ERR_BAD_ARG);
    EXPECT(gex_EP_RegisterHandlers(job.endpoint, twice, 1) == GASNET_OK); /* nothing was left */
}

static void a_table_with_a_wrong_entry_registers_nothing(void **state)
{
    (void)state;
    assert_says(register_wrongly, "error:");
}

static void refuse_silently(void)
{
    child_job job = child_join();
    gex_EP_t other;
    gex_AM_Entry_t low = { 100, (gex_AM_Fn_t)start_twice, 0, 0, NULL, "low" };
    EXPECT(gex_System_GetVerboseErrors() == 1);
    gex_System_SetVerboseErrors(0);
    EXPECT(gex_EP_Create(&other, job.client, GEX_EP_CAPABILITY_ALL, 0) == GASNET_ERR_BAD_ARG);
    EXPECT(gex_EP_RegisterHandlers(job.endpoint, &low, 1) == GASNET_ERR_BAD_ARG);
    EXPECT(gasnet_set_waitmode(17) == GASNET_ERR_BAD_ARG);
}

static void errors_can_be_asked_for_in_silence(void **state)
{
    (void)state;
    child_end end = child_run(refuse_silently);
    assert_int_equal(end.status, 0);
    assert_string_equal(end.said, "");
}

static void segments_by_hand(void)
{
    static char memory[3 * 4096 + 5];
    child_job job = child_join();
    gex_Segment_t segment, spare;
    EXPECT(gex_Segment_Create(&segment, job.client, memory, 0, GEX_MK_HOST, 0) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gex_Segment_Create(&segment, job.client, memory, sizeof(memory), GEX_MK_INVALID, 0) ==
           GASNET_ERR_BAD_ARG);
    EXPECT(gex_Segment_Create(&segment, job.client, memory, sizeof(memory), GEX_MK_HOST, 0) ==
           GASNET_OK);
    EXPECT(gex_Segment_Create(&spare, job.client, NULL, GASNET_PAGESIZE, GEX_MK_HOST, 0) ==
           GASNET_OK);
    EXPECT(gex_Segment_QueryAddr(segment) == memory);
    EXPECT(gex_Segment_QuerySize(segment) == sizeof(memory));
    EXPECT(gex_Segment_QueryClient(segment) == job.client);
    EXPECT(gex_Segment_QueryBound(job.team, 0, NULL, NULL, NULL) != 0);
    EXPECT(gex_EP_BindSegment(job.endpoint, segment, 0) == GASNET_OK);
    EXPECT(gex_EP_BindSegment(job.endpoint, spare, 0) == GASNET_ERR_BAD_ARG);
    EXPECT(gex_EP_PublishBoundSegment(job.team, &job.endpoint, 1, 0) == GASNET_OK);
    gex_RMA_PutBlockingVal(job.team, 0, memory + 7, 0x1234, 2, 0);
    EXPECT(memory[7] == 0x34 && memory[8] == 0x12);
    gex_Segment_Destroy(spare, 0);
    gex_Segment_Destroy(segment, 0); /* bound: fatal */
}

static void a_bound_segment_cannot_be_destroyed(void **state)
{
    (void)state;
    assert_refused(segments_by_hand, "gex_Segment_Destroy: the segment");
}

/* ---- wrong in every build, and fatal --------------------------------------------------------- */

static void barrier_over_a_pair(void)
{
    child_job job = child_join();
    gex_Coll_BarrierBlocking(gex_TM_Pair(job.endpoint, 0), 0);
}

static void wait_for_nothing(void)
{
    (void)child_join();
    gex_Event_Wait(GEX_EVENT_NO_OP);
}

static void defer_a_message(void)
{
    child_job job = child_join();
    (void)gex_AM_RequestMedium(job.team, 0, HANDLER, NULL, 0, GEX_EVENT_DEFER, 0);
}

static void seventeen_arguments(void)
{
    (void)child_join();
    (void)gasnet_AMRequestShort(0, HANDLER, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                16, 17);
}

static void poll_without_a_job(void) { (void)gasnet_AMPoll(); }

static void calls_that_cannot_be_right_end_the_job(void **state)
{
    (void)state;
    assert_refused(barrier_over_a_pair, "gex_Coll_BarrierNB: the team comes from gex_TM_Pair");
    assert_refused(wait_for_nothing, "gex_Event_Wait: GEX_EVENT_NO_OP");
    assert_refused(seventeen_arguments, "gasnet_AMRequestShort: 17 arguments");
    assert_refused(poll_without_a_job, "gasnet_AMPoll: called before the job was started");
#if !PEN_CHECKED /* checked builds name the unregistered handler first */
    assert_refused(defer_a_message, "gex_AM_RequestMedium0: an event argument");
#else
    (void)defer_a_message;
#endif
}

/* ---- places where a call may not be made: checked builds ------------------------------------- */

static gex_HSL_t lock = GEX_HSL_INITIALIZER, other_lock = GEX_HSL_INITIALIZER;
static volatile int handled;
static void (*in_handler)(gex_Token_t token);

static void run(gex_Token_t token)
{
    handled = 1;
    in_handler(token);
}

static void play_in_handler(void (*play)(gex_Token_t token))
{
    child_job job = child_attach();
    gex_AM_Entry_t entries[] = {
        { HANDLER, (gex_AM_Fn_t)run, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "run" },
        { REPLY, (gex_AM_Fn_t)run, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "reply" },
    };
    in_handler = play;
    EXPECT(gex_EP_RegisterHandlers(job.endpoint, entries, 2) == GASNET_OK);
    (void)gex_AM_RequestShort0(job.team, 0, HANDLER, 0);
    GASNET_BLOCKUNTIL(handled != 0);
    gasnet_AMPoll();
}

static void poll_here(gex_Token_t token)
{
    (void)token;
    (void)gasnet_AMPoll();
}
static void poll_in_handler(void) { play_in_handler(poll_here); }

static void do_nothing(gex_Token_t token) { (void)token; }

static void reply_two_times(gex_Token_t token)
{
    in_handler = do_nothing; /* in the reply's handler, which runs within */
    (void)gex_AM_ReplyShort0(token, REPLY, 0);
    (void)gex_AM_ReplyShort0(token, REPLY, 0);
}
static void reply_twice(void) { play_in_handler(reply_two_times); }

static void keep_lock(gex_Token_t token)
{
    (void)token;
    gex_HSL_Lock(&lock);
}
static void return_with_lock(void) { play_in_handler(keep_lock); }

static void drop_in_wrong_order(gex_Token_t token)
{
    (void)token;
    gex_HSL_Lock(&lock);
    gex_HSL_Lock(&other_lock);
    gex_HSL_Unlock(&lock);
}
static void drop_out_of_order(void) { play_in_handler(drop_in_wrong_order); }

static void reply_locked(gex_Token_t token)
{
    gex_HSL_Lock(&lock);
    (void)gex_AM_ReplyShort0(token, REPLY, 0);
}
static void reply_with_lock(void) { play_in_handler(reply_locked); }

static void lock_twice(void)
{
    (void)child_join();
    gex_HSL_Lock(&lock);
    gex_HSL_Lock(&lock);
}

static void drop_what_is_free(void)
{
    (void)child_join();
    gex_HSL_Unlock(&lock);
}

static void poll_with_lock(void)
{
    (void)child_join();
    gex_HSL_Lock(&lock);
    (void)gasnet_AMPoll();
}

static void poll_in_section(void)
{
    (void)child_join();
    gasnet_hold_interrupts();
    (void)gasnet_AMPoll();
}

static void send_before_attach(void)
{
    (void)gasnet_init(NULL, NULL);
    (void)gasnet_AMRequestShort0(0, HANDLER);
}

static void send_nowhere(void)
{
    child_job job = child_join();
    (void)gex_AM_RequestShort0(job.team, 1, HANDLER, 0);
}

static void send_to_another_endpoint(void)
{
    child_job job = child_join();
    (void)gex_AM_RequestShort0(gex_TM_Pair(job.endpoint, 3), 0, HANDLER, 0);
}

static void put_with_odd_flags(void)
{
    child_job job = child_attach();
    (void)gex_RMA_PutBlockingVal(job.team, 0, gex_Segment_QueryAddr(job.segment), 1, 8,
                                 GEX_FLAG_PEER_SEG_OFFSET);
}

static void checked_builds_notice_calls_in_wrong_places(void **state)
{
    (void)state;
    if (!PEN_CHECKED)
        skip();
    assert_refused(poll_in_handler, "gasnet_AMPoll: called in a handler");
    assert_refused(reply_twice, "AMReplyShort: there has been a reply");
    assert_refused(return_with_lock, "a handler returned while it holds the lock");
    assert_refused(drop_out_of_order, "gex_HSL_Unlock: a handler drops its locks in the reverse");
    assert_refused(reply_with_lock, "AMReplyShort: called while holding a handler-safe lock");
    assert_refused(lock_twice, "gex_HSL_Lock: this thread holds the lock");
    assert_refused(drop_what_is_free, "gex_HSL_Unlock: this thread does not hold the lock");
    assert_refused(poll_with_lock, "gasnet_AMPoll: called while holding a handler-safe lock");
    assert_refused(poll_in_section, "gasnet_AMPoll: called between gasnet_hold_interrupts");
    assert_refused(send_before_attach, "called after gasnet_init but before gasnet_attach");
    assert_refused(send_nowhere, "there is no rank 1 in a team of 1");
    assert_refused(send_to_another_endpoint, "to endpoint 3 of rank 0: active messages go");
    assert_refused(put_with_odd_flags, "this call does not accept 0x400");
}

static void lock_rightly(void)
{
    (void)child_join();
    gex_HSL_Lock(&lock);
    EXPECT(gex_HSL_Trylock(&other_lock) == GASNET_OK);
    gex_HSL_Unlock(&lock); /* any order, outside handlers */
    gex_HSL_Unlock(&other_lock);
    gasnet_hold_interrupts();
    gasnet_resume_interrupts();
    EXPECT(gasnet_AMPoll() == GASNET_OK);
    gex_HSL_Destroy(&lock);
}

static void right_use_of_locks_passes(void **state)
{
    (void)state;
    assert_passed(lock_rightly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_start_is_refused),
        cmocka_unit_test(wrong_arguments_do_not_use_the_start_up),
        cmocka_unit_test(a_segment_has_a_size_in_pages_and_is_attached_once),
        cmocka_unit_test(a_table_with_a_wrong_entry_registers_nothing),
        cmocka_unit_test(errors_can_be_asked_for_in_silence),
        cmocka_unit_test(a_bound_segment_cannot_be_destroyed),
        cmocka_unit_test(calls_that_cannot_be_right_end_the_job),
        cmocka_unit_test(checked_builds_notice_calls_in_wrong_places),
        cmocka_unit_test(right_use_of_locks_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
