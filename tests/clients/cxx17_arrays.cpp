// SPDX-License-Identifier: BSD-3-Clause
// cxx17_arrays.cpp: a GASNet-EX client in C++17. Templates turn a type into calls: distributed
// arrays, remote procedures whose arguments are packed into handler arguments, atomics and
// reductions by type.
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnetex.h>

#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{

struct World {
    gex_Client_t client = GEX_CLIENT_INVALID;
    gex_EP_t endpoint = GEX_EP_INVALID;
    gex_TM_t team = GEX_TM_INVALID;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    gex_Rank_t rank = GEX_RANK_INVALID, size = 0;
    std::vector<char *> base;
    size_t used = 0;
} world;

template <typename... Words> [[noreturn]] void fail(std::string_view what, Words... words)
{
    fprintf(stderr, "rank %u: %.*s", world.rank, int(what.size()), what.data());
    (fprintf(stderr, " %lld", static_cast<long long>(words)), ...);
    fputc('\n', stderr);
    gasnet_exit(1);
    abort();
}

void barrier() { gex_Event_Wait(gex_Coll_BarrierNB(world.team, 0)); }

template <typename T> constexpr gex_DT_t datatype()
{
    if constexpr (std::is_same_v<T, float>)
        return GEX_DT_FLT;
    else if constexpr (std::is_same_v<T, double>)
        return GEX_DT_DBL;
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 4 ? GEX_DT_I32 : GEX_DT_I64;
    else
        return sizeof(T) == 4 ? GEX_DT_U32 : GEX_DT_U64;
}
static_assert(datatype<int64_t>() == GEX_DT_I64);

template <typename T> class Array
{
    static_assert(std::is_trivially_copyable_v<T>);
    size_t offset, per_rank;
    T *at(size_t i) const
    {
        return reinterpret_cast<T *>(world.base[i / per_rank] + offset) + i % per_rank;
    }

  public:
    explicit Array(size_t count)
        : offset(world.used), per_rank((count + world.size - 1) / world.size)
    {
        world.used += (per_rank * sizeof(T) + 63) / 64 * 64;
        if (world.used > gex_Segment_QuerySize(world.segment))
            fail("the segment is too small for", count);
    }
    size_t first() const { return world.rank * per_rank; }
    size_t last() const { return first() + per_rank; }
    size_t size() const { return per_rank * world.size; }
    T &local(size_t i) { return *at(i); }
    gex_Rank_t owner(size_t i) const { return gex_Rank_t(i / per_rank); }
    T *address(size_t i) const { return at(i); }

    void put(size_t i, const T &value)
    {
        if constexpr (sizeof(T) <= SIZEOF_GEX_RMA_VALUE_T && std::is_integral_v<T>)
            gex_RMA_PutNBIVal(world.team, owner(i), at(i), gex_RMA_Value_t(value), sizeof(T), 0);
        else
            gex_RMA_PutNBI(world.team, owner(i), at(i), const_cast<T *>(&value), sizeof(T),
                           GEX_EVENT_NOW, 0);
    }
    T get(size_t i) const
    {
        T value;
        gex_RMA_GetBlocking(world.team, &value, owner(i), at(i), sizeof(T), 0);
        return value;
    }
};

// ---- remote procedures: a handler for each function, its arguments in handler arguments
// -----------

template <auto Function> struct Procedure;
template <typename... Args, void (*Function)(gex_Rank_t, Args...)> struct Procedure<Function> {
    static constexpr unsigned words = (((sizeof(Args) + 3) / 4) + ... + 0);
    static inline gex_AM_Index_t index = 0;

    template <typename T, size_t N>
    static T take(const std::array<gex_AM_Arg_t, N> &in, size_t &next)
    {
        T value;
        memcpy(&value, &in[next], sizeof(T));
        next += (sizeof(T) + 3) / 4;
        return value;
    }
    template <typename... Ws> static void handler(gex_Token_t token, Ws... arguments)
    {
        gex_Token_Info_t info;
        gex_Token_Info(token, &info, GEX_TI_SRCRANK);
        [[maybe_unused]] const std::array<gex_AM_Arg_t, sizeof...(Ws)> in = { arguments... };
        [[maybe_unused]] size_t next = 0;
        std::tuple<Args...> unpacked{ take<Args>(in, next)... }; // braces: from left to right
        std::apply([&](auto... values) { Function(info.gex_srcrank, values...); }, unpacked);
    }
    template <size_t> using Word = gex_AM_Arg_t;
    template <size_t... I> static gex_AM_Entry_t entry(std::index_sequence<I...>)
    {
        return { 0,
                 reinterpret_cast<gex_AM_Fn_t>(&handler<Word<I>...>),
                 GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                 words,
                 nullptr,
                 __func__ };
    }
    static void enlist()
    {
        gex_AM_Entry_t one = entry(std::make_index_sequence<words>());
        if (gex_EP_RegisterHandlers(world.endpoint, &one, 1) != GASNET_OK)
            fail("registration of a handler");
        index = one.gex_index;
    }
    template <size_t... I>
    static void send(gex_Rank_t to, [[maybe_unused]] const std::array<gex_AM_Arg_t, words> &out,
                     std::index_sequence<I...>)
    {
        static_assert(words == 0 || words == 12,
                      "a number of arguments that no procedure of this program has");
        if constexpr (words == 0)
            gex_AM_RequestShort(world.team, to, index, 0);
        else
            gex_AM_RequestShort12(world.team, to, index, 0, out[I]...);
    }
    static void call(gex_Rank_t to, Args... values)
    {
        std::array<gex_AM_Arg_t, words> out{};
        size_t next = 0;
        ((memcpy(&out[next], &values, sizeof(values)), next += (sizeof(values) + 3) / 4), ...);
        send(to, out, std::make_index_sequence<words>());
    }
};

long called_small, called_large;
double sum_of_doubles;
void small(gex_Rank_t) { called_small++; }
void large(gex_Rank_t from, double x, int8_t sign, uint64_t big, float half, double y, double z,
           int64_t negative)
{
    called_large++;
    if (sign != -3 || big != 0xFEDCBA9876543210u + from || half != 0.5f ||
        negative != -int64_t(from) - 1)
        fail("arguments of a remote procedure from", from);
    sum_of_doubles += x * y - z;
}

template <typename T> void arrays(std::optional<size_t> count = std::nullopt)
{
    Array<T> array(count.value_or(64 * world.size));
    for (size_t i = array.first(); i < array.last(); i++)
        array.put((i * 7 + 3) % array.size(), T(i % 100));
    gex_NBI_Wait(GEX_EC_PUT, 0);
    barrier();
    for (size_t i = 0; i < array.size(); i++)
        if (array.get((i * 7 + 3) % array.size()) != T(i % 100))
            fail("an element of an array:", i, sizeof(T));
    barrier();
}

template <typename T> void atomics()
{
    Array<T> counters(world.size);
    counters.local(counters.first()) = T(0);
    gex_AD_t domain;
    gex_AD_Create(&domain, world.team, datatype<T>(), GEX_OP_FADD | GEX_OP_GET | GEX_OP_ADD, 0);
    barrier();
    T before;
    auto op = [&](T *result, size_t i, gex_OP_t what, T operand) {
        if constexpr (std::is_same_v<T, double>)
            return gex_AD_OpNB_DBL(domain, result, counters.owner(i), counters.address(i), what,
                                   operand, 0, 0);
        else if constexpr (std::is_same_v<T, int32_t>)
            return gex_AD_OpNB_I32(domain, result, counters.owner(i), counters.address(i), what,
                                   operand, 0, 0);
        else
            return gex_AD_OpNB_U64(domain, result, counters.owner(i), counters.address(i), what,
                                   operand, 0, 0);
    };
    for (size_t i = 0; i < world.size; i++) {
        gex_Event_Wait(op(nullptr, i, GEX_OP_ADD, T(10)));
        gex_Event_Wait(op(&before, i, GEX_OP_FADD, T(1)));
        if (before < T(10))
            fail("a fetched value", before);
    }
    barrier();
    for (size_t i = 0; i < world.size; i++) {
        gex_Event_Wait(op(&before, i, GEX_OP_GET, T(0)));
        if (before != T(11 * world.size))
            fail("a counter", before, 11 * world.size);
    }
    barrier();
    gex_AD_Destroy(domain);
}

template <typename T> void reductions()
{
    std::vector<T> in(100), out(100);
    std::iota(in.begin(), in.end(), T(world.rank));
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world.team, out.data(), in.data(), datatype<T>(),
                                          sizeof(T), in.size(), GEX_OP_ADD, nullptr, nullptr, 0));
    for (size_t i = 0; i < in.size(); i++)
        if (out[i] != T(world.size * (world.size - 1) / 2 + world.size * i))
            fail("a sum", out[i], i);
    auto keep_larger = [](const void *left, void *both, size_t count, const void *cdata) {
        if (*static_cast<const int *>(cdata) != 42)
            fail("the context of a reduction");
        for (size_t i = 0; i < count; i++)
            static_cast<T *>(both)[i] =
                std::max(static_cast<T *>(both)[i], static_cast<const T *>(left)[i]);
    };
    int context = 42;
    gex_Event_Wait(gex_Coll_ReduceToOneNB(world.team, 0, out.data(), in.data(), GEX_DT_USER,
                                          sizeof(T), in.size(), GEX_OP_USER, keep_larger, &context,
                                          0));
    if (world.rank == 0 && out[99] != T(world.size - 1 + 99))
        fail("a maximum", out[99]);
}

} // namespace

int main(int argc, char **argv)
{
    gex_Client_Init(&world.client, &world.endpoint, &world.team, "cxx17", &argc, &argv, 0);
    gex_Segment_Attach(&world.segment, world.team, 16 * GASNET_PAGESIZE);
    world.rank = gex_TM_QueryRank(world.team);
    world.size = gex_TM_QuerySize(world.team);
    for (gex_Rank_t r = 0; r < world.size; r++) {
        void *owner = nullptr;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world.team, r, &owner, nullptr, nullptr, 0));
        world.base.push_back(static_cast<char *>(owner));
    }
    using Small = Procedure<&small>;
    using Large = Procedure<&large>;
    Small::enlist();
    Large::enlist();
    static_assert(Large::words == 12 && Large::words <= 16);
    barrier();
    for (gex_Rank_t r = 0; r < world.size; r++) {
        Small::call(r);
        Large::call(r, 1.5, -3, 0xFEDCBA9876543210u + world.rank, 0.5f, 4.0, 0.25,
                    -int64_t(world.rank) - 1);
    }
    GASNET_BLOCKUNTIL(called_small == world.size && called_large == world.size);
    if (sum_of_doubles != world.size * 5.75)
        fail("the sum of arguments");
    arrays<uint8_t>();
    arrays<int32_t>(1000);
    arrays<double>();
    atomics<int32_t>();
    atomics<uint64_t>();
    atomics<double>();
    reductions<float>();
    reductions<int64_t>();
    printf("rank %u of %u: good\n", world.rank, world.size);
    fflush(stdout);
    barrier();
    gasnet_exit(0);
}
