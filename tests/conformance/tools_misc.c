/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_misc.c: GASNet tools: time, the machine, the environment, numbers, traces, annotations and
 * GASNet's constants as text.
 *
 * TESTS: gasnett_ticks_now gasnett_ticks_to_ns gasnett_ticks_to_us gasnett_tick_granularityus
 * TESTS: gasnett_tick_overheadus gasnett_gettimeofday_us gasnett_nsleep GASNETT_TICK_MIN
 * TESTS: GASNETT_TICK_MAX gasnett_gethostname gasnett_exe_name gasnett_cpu_count
 * TESTS: gasnett_getPhysMemSz gasnett_isLittleEndian gasnett_performance_warning_str
 * TESTS: gasnett_release_version gasnett_release_version_str gasnett_set_affinity
 * TESTS: gasnett_maximize_rlimits gasnett_maximize_rlimit gasnett_checksum gasnett_count0s
 * TESTS: gasnett_count0s_copy gasnett_count0s_uint32_t gasnett_count0s_uint64_t
 * TESTS: gasnett_count0s_uintptr_t gasnett_getenv gasnett_setenv gasnett_unsetenv
 * TESTS: gasnett_getenv_withdefault gasnett_getenv_yesno_withdefault
 * TESTS: gasnett_getenv_int_withdefault gasnett_getenv_dbl_withdefault gasnett_verboseenv
 * TESTS: gasnett_envstr_display gasnett_envint_display gasnett_envdbl_display
 * TESTS: gasnett_format_number gasnett_parse_int gasnett_reghandler gasnett_flush_streams
 * TESTS: gasnett_backtrace_init gasnett_print_backtrace gasnett_print_backtrace_ifenabled
 * TESTS: gasnett_backtrace_user gasnett_format_dt gasnett_format_op gasnett_format_ti
 * TESTS: gasnett_format_memveclist gasnett_format_addrlist gasnett_format_putsgets gasnett_mmap
 */
/* PEN_RANKS: 1 3 */
#include <gasnet.h>

#include "conformance/check.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

_Static_assert(GASNETT_PAGESIZE == GASNET_PAGESIZE && (1 << GASNETT_PAGESHIFT) == GASNET_PAGESIZE,
               "GASNet tools, platform: the page is GASNet's");
_Static_assert(GASNETT_SPEC_VERSION_MAJOR == 1 && GASNETT_SPEC_VERSION_MINOR >= 20 &&
                   GASNETT_RELEASE_VERSION_MAJOR == GASNET_RELEASE_VERSION_MAJOR,
               "GASNet tools, versions");
#if GASNETT_MAX_THREADS < 1 || defined(GASNET_SEQ) && GASNETT_MAX_THREADS != 1
#    error GASNet tools: the number of threads is known to the preprocessor
#endif

GASNETT_IDENT(tools_misc_ident, "$ToolsMisc: " GASNETT_CONFIG_STRING
                                " " GASNETT_SYSTEM_TUPLE PLATFORM_COMPILER_IDSTR " $");

static int stacks_printed;

static int print_no_stack(int fd)
{
    (void)fd;
    stacks_printed++;
    return 0;
}

gasnett_backtrace_type_t gasnett_backtrace_user = { "none", print_no_stack, 1 };

/* ---- time ------------------------------------------------------------------------------------ */

static void check_time(void)
{
    static const gasnett_tick_t least = GASNETT_TICK_MIN, most = GASNETT_TICK_MAX;
    /* Each interval lies within the next longer one, even if the machine does other work in
     * between. */
    const uint64_t outer_us = gasnett_gettimeofday_us();
    const gasnett_tick_t start = gasnett_ticks_now();
    const uint64_t inner_us = gasnett_gettimeofday_us();
    CHECK(start > least && start < most, "GASNet tools, timers: MIN and MAX are bounds");
    CHECK_EQ(gasnett_nsleep(30000000), 0, "GASNet tools, timers: nsleep sleeps");
    const uint64_t inner = gasnett_gettimeofday_us() - inner_us;
    const uint64_t us = gasnett_ticks_to_us(gasnett_ticks_now() - start);
    const uint64_t outer = gasnett_gettimeofday_us() - outer_us;
    CHECK(inner >= 29900, "GASNet tools, timers: nsleep sleeps as long as it is told");
    CHECK(us >= inner - inner / 100 && us <= outer + outer / 100,
          "GASNet tools, timers: ticks pass as fast as the calendar's time");
    const uint64_t ns = gasnett_ticks_to_ns(1000000000);
    CHECK(ns / 1000 == gasnett_ticks_to_us(1000000000), "GASNet tools, timers: one rate");
    gasnett_tick_t last = gasnett_ticks_now();
    for (int i = 0; i < 10000; i++) {
        const gasnett_tick_t now = gasnett_ticks_now();
        CHECK(now >= last, "GASNet tools, timers: ticks do not go back");
        last = now;
    }
    CHECK(gasnett_tick_granularityus() > 0 && gasnett_tick_granularityus() < 1000,
          "GASNet tools, timers: ticks are fine");
    CHECK(gasnett_tick_overheadus() > 0 && gasnett_tick_overheadus() < 1000,
          "GASNet tools, timers: a reading is cheap");
}

/* ---- machine --------------------------------------------------------------------------------- */

static void check_machine(void)
{
    char name[256] = "";
    uint32_t one = 1;
    gethostname(name, sizeof(name) - 1);
    CHECK(strncmp(gasnett_gethostname(), name, 63) == 0, "GASNet tools: the host's name");
    CHECK(strstr(gasnett_exe_name(), "tools_misc") != NULL, "GASNet tools: the program's name");
    CHECK(gasnett_cpu_count() >= 1, "GASNet tools: there is a processor");
    CHECK(gasnett_getPhysMemSz(1) > 1 << 20, "GASNet tools: there is memory");
    CHECK_EQ(gasnett_isLittleEndian() != 0, *(unsigned char *)&one == 1,
             "GASNet tools, platform: order of bytes");
    CHECK(gasnett_performance_warning_str() != NULL, "GASNet tools: a text, if an empty one");
    CHECK(gasnett_release_version() == UINT64_C(2025080000) &&
              strcmp(gasnett_release_version_str(), GASNETI_RELEASE_VERSION) == 0,
          "GASNet tools, versions: the library is of the headers' release");
    CHECK_EQ(gasnett_set_affinity(check_rank), 0, "GASNet tools: it says that it worked");
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1,
          "GASNet tools: a thread is bound to one processor");
    CHECK(tools_misc_ident[0] == '$', "GASNet tools: a text stays in the program");
}

static void check_limits(void)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0, "limits can be read");
    limit.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_CORE, &limit) == 0, "limits can be lowered");
    gasnett_setenv("GASNET_MAXIMIZE_RLIMIT_CORE", "no");
    CHECK_EQ(gasnett_maximize_rlimit(RLIMIT_CORE, "RLIMIT_CORE"), 0,
             "GASNet tools: the user may forbid to raise a limit");
    gasnett_unsetenv("GASNET_MAXIMIZE_RLIMIT_CORE");
    CHECK(gasnett_maximize_rlimit(RLIMIT_CORE, "RLIMIT_CORE") != 0,
          "GASNet tools: a limit is raised");
    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == limit.rlim_max,
          "GASNet tools: a limit is raised as far as it goes");
    CHECK_EQ(gasnett_maximize_rlimit(-1, "RLIMIT_NONE"), 0, "GASNet tools: there is no such limit");
    gasnett_maximize_rlimits();
}

static void check_blocks(void)
{
    const unsigned char block[] = { 1, 0, 2, 0, 0, 3, 255, 0, 4 };
    unsigned char copy[sizeof(block)] = { 9 };
    CHECK_EQ(gasnett_count0s(block, sizeof(block)), 4, "GASNet tools: bytes that are 0");
    CHECK_EQ(gasnett_count0s(block, 0), 0, "GASNet tools: no bytes");
    CHECK_EQ(gasnett_count0s_copy(copy, block, sizeof(block)), 4, "GASNet tools: bytes that are 0");
    CHECK(memcmp(copy, block, sizeof(block)) == 0, "GASNet tools: and a copy of all");
    CHECK(gasnett_count0s_uint32_t(0) == 4 && gasnett_count0s_uint32_t(0x00ff0001) == 2 &&
              gasnett_count0s_uint64_t(0) == 8 && gasnett_count0s_uintptr_t(0) == 8 &&
              gasnett_count0s_uint64_t(UINT64_C(0x8000010000ff0010)) == 4 &&
              gasnett_count0s_uint64_t(~UINT64_C(0)) == 0,
          "GASNet tools: bytes of a value that are 0");
    const uint64_t sum = gasnett_checksum(block, sizeof(block));
    CHECK(sum == gasnett_checksum(copy, sizeof(copy)), "GASNet tools: equal bytes, equal sums");
    copy[8] ^= 1;
    CHECK(sum != gasnett_checksum(copy, sizeof(copy)), "GASNet tools: a bit changes the sum");
}

/* ---- environment and numbers ----------------------------------------------------------------- */

static void check_environment(void)
{
    static const char name[] = "TOOLS_MISC_VARIABLE",
                      odd[] = "a 'quoted' \"value\" \\ with blanks ";
    CHECK(gasnett_getenv(name) == NULL, "GASNet tools, environment: not set");
    CHECK(strcmp(gasnett_getenv_withdefault(name, "dflt"), "dflt") == 0 &&
              gasnett_getenv_yesno_withdefault(name, 1) == 1 &&
              gasnett_getenv_int_withdefault(name, -12, 0) == -12 &&
              gasnett_getenv_dbl_withdefault(name, 2.5) == 2.5,
          "GASNet tools, environment: what is not set has its default");
    gasnett_setenv(name, odd);
    CHECK(strcmp(gasnett_getenv(name), odd) == 0 &&
              strcmp(gasnett_getenv_withdefault(name, "dflt"), odd) == 0,
          "GASNet tools, environment: values are kept byte by byte");
    gasnett_setenv(name, "oFF");
    CHECK_EQ(gasnett_getenv_yesno_withdefault(name, 1), 0, "GASNet tools, environment: no");
    gasnett_setenv(name, "-77");
    CHECK_EQ(gasnett_getenv_int_withdefault(name, 1, 0), -77, "GASNet tools, environment: integer");
    gasnett_setenv(name, "3M");
    CHECK_EQ(gasnett_getenv_int_withdefault(name, 1, 1024), 3 << 20,
             "GASNet tools, environment: size");
    gasnett_setenv(name, "1/4");
    CHECK(gasnett_getenv_dbl_withdefault(name, 1) == 0.25, "GASNet tools, environment: fraction");
    gasnett_unsetenv(name);
    CHECK(gasnett_getenv(name) == NULL, "GASNet tools, environment: removed");
    CHECK_EQ(gasnett_verboseenv(), 0, "GASNet tools, environment: nobody wants to see it");
    gasnett_envstr_display(name, "text", 0);
    gasnett_envint_display(name, 4096, 1, 1);
    gasnett_envdbl_display(name, 0.5, 1);
}

static void check_numbers(void)
{
    static const struct {
        const char *text;
        uint64_t unit;
        int64_t value;
    } rows[] = {
        { "0", 0, 0 },
        { "-5", 0, -5 },
        { "+17", 0, 17 },
        { "0x1F", 0, 31 },
        { "010", 0, 10 },
        { "9223372036854775807", 0, INT64_MAX },
        { "4", 1024, 4096 },
        { "4K", 1, 4096 },
        { "4 kB", 1, 4096 },
        { "4KiB", 1024, 4096 },
        { "1.5G", 1, INT64_C(3) << 29 },
        { "2T", 1, INT64_C(2) << 40 },
        { "7B", 1024, 7 },
        { "-1M", 1, -(1 << 20) },
    };
    char text[64];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_EQ(gasnett_parse_int(rows[i].text, rows[i].unit), rows[i].value, rows[i].text);
    errno = 0;
    CHECK(gasnett_parse_int("4K", 0) == 0 && errno == EINVAL, "a plain number has no suffix");
    CHECK(gasnett_parse_int("x", 1) == 0, "GASNet tools: no number at all");
    for (int i = 0; i < 60; i++) {
        const int64_t value = (INT64_C(1) << i) + (i % 3);
        CHECK_EQ(gasnett_parse_int(gasnett_format_number(value, text, sizeof(text), 0), 0), value,
                 "GASNet tools: a number is read as it was written");
        CHECK_EQ(
            gasnett_parse_int(gasnett_format_number(INT64_C(1) << i, text, sizeof(text), 1), 1),
            INT64_C(1) << i, "GASNet tools: a size is read as it was written");
    }
    CHECK(strcmp(gasnett_format_number(65536, text, sizeof(text), 1), "64 KB") == 0,
          "GASNet tools: sizes are shown in large units");
}

/* ---- signals, stacks, traces ----------------------------------------------------------------- */

static volatile sig_atomic_t signals_seen;

static void count_signal(int number) { signals_seen += number == SIGUSR1; }

static int evaluations;

static int evaluate(void) { return ++evaluations; }

static void check_debug(void)
{
    gasnett_sighandlerfn_t before = gasnett_reghandler(SIGUSR1, count_signal);
    raise(SIGUSR1);
    CHECK_EQ(signals_seen, 1, "GASNet tools: the signal is handled");
    CHECK(gasnett_reghandler(SIGUSR1, before) == count_signal, "GASNet tools: by whom before");
    gasnett_backtrace_init(NULL);
    CHECK_EQ(gasnett_print_backtrace(STDERR_FILENO), 0, "GASNet tools: a stack is printed");
    CHECK_EQ(stacks_printed, 1, "GASNet tools: as the client wants it");
    gasnett_print_backtrace_ifenabled = print_no_stack;
    CHECK(gasnett_print_backtrace_ifenabled(2) == 0 && stacks_printed == 2,
          "GASNet tools: the client may choose what prints stacks on demand");
    gasnett_flush_streams();
    GASNETT_TRACE_PRINTF("%d", evaluate());
    GASNETT_TRACE_PRINTF_FORCE("%d", evaluate());
    GASNETT_STATS_PRINTF("%d", evaluate());
    GASNETT_STATS_PRINTF_FORCE("%d", evaluate());
    GASNETT_TRACE_SETMASK(GASNETT_TRACE_GETMASK());
    GASNETT_STATS_SETMASK(GASNETT_STATS_GETMASK());
    GASNETT_STATS_DUMP(1);
    GASNETT_TRACE_SETSOURCELINE(__FILE__, __LINE__);
    GASNETT_TRACE_FREEZESOURCELINE();
    GASNETT_TRACE_UNFREEZESOURCELINE();
    GASNETT_TRACE_SET_TRACELOCAL(GASNETT_TRACE_GET_TRACELOCAL());
    CHECK(evaluations == 0 || GASNETT_TRACE_ENABLED, "GASNet tools: what is not traced is free");
    CHECK(strstr(gasnett_current_loc, "tools_misc.c:") != NULL, "GASNet tools: where we are");
}

static int fall(int from)
{
    int passed = 0;
    switch (from) {
    case 0:
        passed++;
        GASNETT_FALLTHROUGH
    case 1:
        passed++;
        break;
    default:
        gasnett_unreachable();
    }
    return passed;
}

static void check_annotations(void)
{
    if_pf(check_rank < 0) CHECK(0, "GASNet tools: if_pf is if");
    if_pt(GASNETT_PREDICT_TRUE(check_rank >= 0))
        GASNETT_UNUSED_ARGS3(evaluate(), evaluate(), evaluate());
    CHECK_EQ(evaluations, 3, "GASNet tools: unused values are evaluated once");
    CHECK_EQ(fall(0), 2, "GASNet tools: a case runs into the next one");
    gasnett_assume(check_size > 0);
    CHECK(gasnett_constant_p(3), "GASNet tools: a constant is one");
}

/* ---- text of GASNet's constants -------------------------------------------------------------- */

static void check_format(void)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "%s %s %s %s", gasnett_format_dt(GEX_DT_I64),
                   gasnett_format_op(GEX_OP_ADD | GEX_OP_FMAX),
                   gasnett_format_ti(GEX_TI_EP | GEX_TI_SRCRANK), gasnett_format_dt(0));
    CHECK(strcmp(text, "GEX_DT_I64 GEX_OP_ADD|GEX_OP_FMAX GEX_TI_SRCRANK|GEX_TI_EP 0") == 0,
          "the tools: a data type, operations, fields and no bit in one line");
    const char *all = gasnett_format_op(~(gex_OP_t)0);
    CHECK(strstr(all, "GEX_OP_AND|") == all && strstr(all, "|GEX_OP_USER_NC|0x") != NULL,
          "the tools: all operations fit, and bits without a name are a number");
    gex_Memvec_t list[2] = { { text, 3 }, { text + 8, 4 } };
    void *addresses[2] = { text, text + 8 };
    char *room = (char *)malloc(gasnett_format_putsgets_bufsz(2, 2));
    CHECK_EQ(gasnett_format_memveclist(room, 2, list), 7, "the tools: the sum of the lengths");
    CHECK(strlen(room) < gasnett_format_memveclist_bufsz(2), "the tools: it fits");
    (void)gasnett_format_addrlist(room, 2, addresses, 4);
    CHECK(strlen(room) < gasnett_format_addrlist_bufsz(2), "the tools: it fits");
    CHECK(strstr(gasnett_format_putsgets(room, 2, list, 2, list), "from") != NULL,
          "the tools: what moves");
    free(room);
    unsigned char *pages = (unsigned char *)gasnett_mmap(3 * (uintptr_t)GASNETT_PAGESIZE);
    CHECK(pages != NULL && check_all(pages, 3 * (size_t)GASNETT_PAGESIZE, 0),
          "the tools: zeroed memory");
}

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "the job starts");
    check_begin();
    CHECK_EQ(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0), GASNET_OK, "the job starts");
    check_time();
    check_machine();
    check_limits();
    check_blocks();
    check_environment();
    check_numbers();
    check_debug();
    check_annotations();
    check_format();
    return check_end();
}
