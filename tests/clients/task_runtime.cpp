// SPDX-License-Identifier: BSD-3-Clause
// task_runtime.cpp: the network module of a task runtime. A thread polls; workers run tasks that
// arrive as Medium messages, built in place (negotiated payload), and answer with Longs; everything
// is sent over team pairs. Every send is tried with IMMEDIATE first. The limits of messages are
// asked for before the start.
#include <gasnet_tools.h>
#include <gasnetex.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace
{

const size_t asked_early = gex_AM_LUBRequestMedium(); // while objects are initialised, before main

constexpr int TASKS = 200, WORKERS = 3;
constexpr gex_AM_Index_t TASK = 130, RESULT = 131, BULK = 132;

struct Header {
    uint64_t id;
    uint32_t from, words;
};

struct Task {
    Header header;
    std::vector<uint32_t> words;
};

gex_EP_t endpoint;
gex_TM_t team;
gex_Rank_t me, ranks;
std::vector<char *> segments;
char *answers; // in this rank's segment: a slot for each task that it sent

std::mutex lock;
std::condition_variable ready;
std::deque<Task> tasks;
std::atomic<int> ran{ 0 }, answered{ 0 }, bulk_bytes{ 0 };
std::atomic<bool> stop{ false };

uint64_t digest(const uint32_t *words, size_t count)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ words[i]) * 1099511628211u;
    return sum;
}

void on_task(gex_Token_t, void *buffer, size_t len, gex_AM_Arg_t check)
{
    Task task;
    memcpy(&task.header, buffer, sizeof(Header));
    const uint32_t *words =
        reinterpret_cast<const uint32_t *>(static_cast<char *>(buffer) + sizeof(Header));
    if (len != sizeof(Header) + task.header.words * sizeof(uint32_t) ||
        uint32_t(check) != task.header.words)
        gasnett_fatalerror("a task of %zu bytes says that it has %u words", len, task.header.words);
    task.words.assign(words, words + task.header.words);
    std::lock_guard<std::mutex> hold(lock);
    tasks.push_back(std::move(task));
    ready.notify_one();
}

void on_result(gex_Token_t, void *, size_t len, gex_AM_Arg_t)
{
    if (len != sizeof(uint64_t))
        gasnett_fatalerror("a result of %zu bytes", len);
    answered++;
}

void on_bulk(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t value)
{
    gex_Token_Info_t info;
    gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_SRCRANK | GEX_TI_ENTRY | GEX_TI_IS_LONG);
    if (!(known & GEX_TI_SRCRANK) || info.gex_srcrank != gex_Rank_t(value))
        gasnett_fatalerror("bulk data of an unknown rank");
    for (size_t i = 0; i < len; i++)
        if (static_cast<unsigned char *>(data)[i] != (unsigned char)(value + i % 251))
            gasnett_fatalerror("byte %zu of bulk data", i);
    bulk_bytes += int(len);
}

gex_TM_t pair() { return gex_TM_Pair(endpoint, 0); }

// A Medium whose payload is written where the library will send it from.
void send_task(gex_Rank_t to, uint64_t id)
{
    gex_TM_t tm = pair();
    uint32_t words = uint32_t(id * 97 % 900);
    size_t need = sizeof(Header) + words * sizeof(uint32_t);
    size_t most = gex_AM_MaxRequestMedium(tm, to, nullptr, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 1);
    if (need > most)
        gasnett_fatalerror("%zu bytes do not fit in the %zu of a Medium", need, most);
    gex_AM_SrcDesc_t sd = GEX_AM_SRCDESC_NO_OP;
    for (int tries = 0; tries < 50 && sd == GEX_AM_SRCDESC_NO_OP; tries++) {
        sd = gex_AM_PrepareRequestMedium(tm, to, nullptr, need, need, nullptr, GEX_FLAG_IMMEDIATE,
                                         1);
        if (sd == GEX_AM_SRCDESC_NO_OP)
            gasnet_AMPoll();
    }
    if (sd == GEX_AM_SRCDESC_NO_OP)
        sd = gex_AM_PrepareRequestMedium(tm, to, nullptr, need, need, nullptr, 0, 1);
    char *room = static_cast<char *>(gex_AM_SrcDescAddr(sd));
    Header header = { id, me, words };
    memcpy(room, &header, sizeof(header));
    uint32_t *out = reinterpret_cast<uint32_t *>(room + sizeof(header));
    for (uint32_t i = 0; i < words; i++)
        out[i] = uint32_t(id) * 31 + i;
    gex_AM_CommitRequestMedium1(sd, TASK, need, gex_AM_Arg_t(words));
}

void answer(const Task &task)
{
    uint64_t value = digest(task.words.data(), task.words.size());
    char *slot = segments[task.header.from] + task.header.id * sizeof(uint64_t);
    gex_TM_t tm = pair();
    while (gex_AM_RequestLong1(tm, task.header.from, RESULT, &value, sizeof(value), slot,
                               GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE, 0) != 0)
        gasnet_AMPoll();
}

void work()
{
    std::unique_lock<std::mutex> hold(lock);
    while (true) {
        ready.wait(hold, [] { return stop || !tasks.empty(); });
        if (tasks.empty())
            return;
        Task task = std::move(tasks.front());
        tasks.pop_front();
        hold.unlock();
        answer(task);
        ran++;
        hold.lock();
    }
}

void poll()
{
    while (!stop) {
        gasnet_AMPoll();
        gasnett_sched_yield();
    }
}

void send_bulk(gex_Rank_t to)
{
    size_t len = gex_AM_MaxRequestLong(pair(), to, GEX_EVENT_NOW, 0, 1);
    len = len > 300000 ? 300000 : len;
    std::vector<unsigned char> bytes(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(me + i % 251);
    gex_Event_t local;
    gex_AM_RequestLong1(pair(), to, BULK, bytes.data(), len, segments[to] + (1 << 20), &local, 0,
                        gex_AM_Arg_t(me));
    gex_Event_Wait(local);
}

void check_answers()
{
    for (uint64_t id = 0; id < TASKS; id++) {
        std::vector<uint32_t> words(id * 97 % 900);
        for (size_t i = 0; i < words.size(); i++)
            words[i] = uint32_t(id) * 31 + uint32_t(i);
        uint64_t got;
        memcpy(&got, answers + id * sizeof(got), sizeof(got));
        if (got != digest(words.data(), words.size()))
            gasnett_fatalerror("the answer to task %d", int(id));
    }
}

void start(int *argc, char ***argv)
{
    gex_Client_t client;
    gex_Segment_t segment;
    setenv("GASNET_PHYSMEM_PROBE", "0", 1);
    gex_Client_Init(&client, &endpoint, &team, "realm", argc, argv, 0);
    gex_AM_Entry_t table[] = {
        { TASK, (gex_AM_Fn_t)on_task, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, nullptr,
          "task" },
        { RESULT, (gex_AM_Fn_t)on_result, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, nullptr,
          "result" },
        { BULK, (gex_AM_Fn_t)on_bulk, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, nullptr, "bulk" },
    };
    gex_EP_RegisterHandlers(endpoint, table, 3);
    gex_Segment_Attach(&segment, team, 2 << 20);
    answers = static_cast<char *>(gex_Segment_QueryAddr(segment));
    me = gex_TM_QueryRank(team);
    ranks = gex_TM_QuerySize(team);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        void *owner;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, &owner, nullptr, nullptr, 0));
        segments.push_back(static_cast<char *>(owner));
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (asked_early < 512 || gex_AM_LUBRequestLong() < 512 ||
        asked_early != gex_AM_LUBRequestMedium())
        gasnett_fatalerror("the least largest message is %zu bytes", asked_early);
    start(&argc, &argv);
    if (asked_early > gex_AM_MaxRequestMedium(team, (me + 1) % ranks, GEX_EVENT_NOW, 0, 16))
        gasnett_fatalerror("a bound that was promised before the start does not hold");
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    std::vector<std::thread> threads;
    threads.emplace_back(poll);
    for (int i = 0; i < WORKERS; i++)
        threads.emplace_back(work);
    for (uint64_t id = 0; id < TASKS; id++)
        send_task(gex_Rank_t((me + 1 + id) % ranks), id);
    send_bulk((me + 1) % ranks);
    gex_Event_t all_sent = gex_Coll_BarrierNB(team, 0);
    while (answered < TASKS || gex_Event_Test(all_sent) != GASNET_OK || bulk_bytes == 0)
        gasnett_sched_yield(); // the polling thread makes the progress
    check_answers();
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    {
        std::lock_guard<std::mutex> hold(lock);
        stop = true;
    }
    ready.notify_all();
    for (std::thread &thread : threads)
        thread.join();
    printf("rank %u of %u: good\n", me, ranks);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
