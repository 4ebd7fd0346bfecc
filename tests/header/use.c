/* SPDX-License-Identifier: BSD-3-Clause */
/* use.c: a client that uses every kind of name once, to be compiled as C99 to C17 and C++11 to
 * C++17 in all thread modes: constants where constants are needed, static initialisers, calls, and
 * the forms of messages that count their arguments. Compiled with and without optimisation, as some
 * warnings need either; not run. */
#include <gasnet.h>

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

#ifdef __cplusplus
#    define HANDLER(function) (reinterpret_cast<gex_AM_Fn_t>(function))
#else
#    define HANDLER(function) ((gex_AM_Fn_t)(function))
#endif

#if GASNET_MAXEPS < 1 || GASNET_PAGESIZE < 4096 || GASNET_ALIGNED_SEGMENTS || \
    GASNET_HIDDEN_AM_CONCURRENCY_LEVEL || SIZEOF_GEX_RMA_VALUE_T != 8 ||      \
    GEX_SPEC_VERSION_MINOR < 19 || GEX_DT_U64 != 8
#    error constants are usable in #if
#endif

enum { INDEX = GEX_AM_INDEX_BASE + 1, OPERATIONS = GEX_OP_ADD | GEX_OP_TO_FETCHING(GEX_OP_ADD) };

static const gex_Flags_t flags = GEX_FLAG_AM_REQREP | GEX_FLAG_AM_MEDLONG;
static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static gasnet_hsl_t older_lock = GASNET_HSL_INITIALIZER;
static gex_Event_t events[] = { GEX_EVENT_INVALID, GEX_EVENT_NO_OP, GASNET_INVALID_HANDLE };
static gex_Event_t *const locals[] = { GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP };
static gex_MK_t kinds[] = { GEX_MK_HOST, GEX_MK_INVALID };
static volatile int flag;

void handle_short(gex_Token_t token, gex_AM_Arg_t value);
void handle_medium(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t value);

void handle_short(gex_Token_t token, gex_AM_Arg_t value)
{
    gex_Token_Info_t info;
    gex_HSL_Lock(&lock);
    flag = value;
    gex_HSL_Unlock(&lock);
    (void)gex_Token_Info(token, &info, GEX_TI_ALL);
    (void)gex_AM_ReplyShort(token, INDEX, 0);
}

void handle_medium(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t value)
{
    (void)gex_AM_ReplyMedium(token, INDEX, payload, len, GEX_EVENT_NOW, 0, value, 2);
    (void)gex_AM_ReplyLong(token, INDEX, payload, len, payload, GEX_EVENT_NOW, 0);
    (void)gasnet_AMReplyMedium1(token, INDEX, payload, len, value);
}

static gex_AM_Entry_t entries[] = {
    { INDEX, HANDLER(handle_short), flags, 1, NULL, "short" },
    { 0, HANDLER(handle_medium), GEX_FLAG_AM_MEDIUM, 1, NULL, "medium" },
};
static gasnet_handlerentry_t table[] = { { 0, HANDLER(handle_short) } };

static void send_messages(gex_TM_t team, char *buffer, size_t len)
{
    gex_Event_t local;
    (void)gex_AM_RequestShort(team, 0, INDEX, 0);
    (void)gex_AM_RequestShort(team, 0, INDEX, 0, 1);
    (void)gex_AM_RequestShort(team, 0, INDEX, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                              16);
    (void)gex_AM_RequestMedium(team, 0, INDEX, buffer, len, &local, 0, 1, 2);
    (void)gex_AM_RequestLong(team, 0, INDEX, buffer, len, buffer, GEX_EVENT_GROUP,
                             GEX_FLAG_IMMEDIATE);
    (void)gex_AM_RequestLong16(team, 0, INDEX, buffer, len, buffer, &local, 0, 1, 2, 3, 4, 5, 6, 7,
                               8, 9, 10, 11, 12, 13, 14, 15, 16);
    (void)gasnet_AMRequestShort(0, INDEX, 2, 1, 2);
    (void)gasnet_AMRequestLongAsync3(0, INDEX, buffer, len, buffer, 1, 2, 3);
}

static void move_bytes(gex_TM_t team, char *there, char *here, size_t len)
{
    gex_Event_t leaf;
    (void)gex_RMA_PutBlocking(team, 0, there, here, 8, 0);
    (void)gex_RMA_GetBlocking(team, here, 0, there, len, 0);
    gex_Event_Wait(gex_RMA_PutNB(team, 0, there, here, len, &leaf, 0));
    gex_Event_Wait(gex_RMA_PutNB(team, 0, there, here, len, locals[flag % 2], 0));
    (void)gex_RMA_PutNBI(team, 0, there, here, 4, GEX_EVENT_GROUP, GEX_FLAG_IMMEDIATE);
    (void)gex_RMA_PutBlockingVal(team, 0, there, gex_RMA_GetBlockingVal(team, 0, there, 8, 0), 8,
                                 0);
    gasnet_put(0, there, here, len);
    gasnet_memset(0, there, 1, len);
    gasnet_wait_syncnb(gasnet_get_nb_bulk(here, 0, there, len));
    (void)gasnet_wait_syncnb_valget(gasnet_get_nb_val(0, there, 4));
    gasnet_begin_nbi_accessregion();
    gasnet_put_nbi_val(0, there, 7, 2);
    events[0] = gasnet_end_nbi_accessregion();
    gex_Event_WaitAll(events, 1, 0);
}

static void do_atomics(gex_TM_t team, void *target)
{
    gex_AD_t domain = GEX_AD_INVALID;
    int64_t old;
    float value = 1;
    const gex_OP_t any = GEX_OP_XOR;
    gex_AD_Create(&domain, team, GEX_DT_I64, GEX_OP_FADD | GEX_OP_XOR, 0);
    gex_Event_Wait(gex_AD_OpNB_I64(domain, &old, 0, target, GEX_OP_FADD, -1, 0, 0));
    (void)gex_AD_OpNBI_I64(domain, &old, 0, target, any, 1, 0, GEX_FLAG_AD_REL);
    (void)gex_AD_OpNBI_U32(domain, NULL, 0, target, GEX_OP_INC, 0, 0, GEX_FLAG_IMMEDIATE);
    (void)gex_AD_OpNBI_FLT(domain, &value, 0, target, GEX_OP_FADD, value, 0, 0);
    (void)gex_AD_OpNB_DBL(domain, NULL, 0, target, GEX_OP_SET, 1, 0, 0);
    gex_AD_SetCData(domain, gex_AD_QueryTM(domain));
    gex_AD_Destroy(domain);
}

int main(int argc, char **argv)
{
    gex_Client_t client = GEX_CLIENT_INVALID;
    gex_EP_t endpoint = GEX_EP_INVALID;
    gex_TM_t team = GEX_TM_INVALID;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    char here[64] = { 0 };
    GASNET_BEGIN_FUNCTION();
    if (argc > 1)
        (void)gasnet_init(&argc, &argv);
    else
        (void)gex_Client_Init(&client, &endpoint, &team, "USE", &argc, &argv, 0);
    (void)gex_EP_RegisterHandlers(endpoint, entries, sizeof(entries) / sizeof(entries[0]));
    (void)gasnet_attach(table, 1, GASNET_PAGESIZE, 0);
    (void)gex_Segment_Create(&segment, client, NULL, GASNET_PAGESIZE, kinds[0], 0);
    send_messages(gex_TM_Pair(endpoint, 0), here, sizeof(here));
    do_atomics(team, here);
    move_bytes(team, (char *)gex_Segment_QueryAddr(segment), here, sizeof(here));
    if (flag)
        GASNET_BLOCKUNTIL(flag != 0);
    else
        GASNET_BLOCKUNTIL(OPERATIONS != 0);
    {
        GASNET_POST_THREADINFO(GASNET_GET_THREADINFO());
        gasnet_hsl_lock(&older_lock);
        gasnet_hsl_unlock(&older_lock);
    }
    (void)gasnett_ticks_to_ns(gasnett_ticks_now());
    gasnet_coll_broadcast(gasnete_coll_team_all, here, 0, here, sizeof(here), 0);
    (void)fprintf(stderr, "%s %s %s %d\n", gasnett_format_ti(GEX_TI_ALL),
                  gasnett_format_dt(GEX_DT_I32), gasnett_format_op(GEX_OP_ADD),
                  gasnett_set_affinity(0));
    gasnet_exit((int)gasneti_mynode);
    return GEX_RANK_INVALID == 0;
}
