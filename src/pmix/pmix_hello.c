/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_hello.c: packs and unpacks greetings of ranks, and finds blocks. */
#include "pmix/pmix_hello.h"

#include "boot/boot.h"

#include "base/pack.h"
#include "boot/host_page.h"
#include "pen_config.h"
#include "pmix/oob.h"

#include <stdlib.h>
#include <string.h>

static const char hello_mark[] = PEN_PMIX_HELLO_MARK PEN_VERSION_STRING;

const char *pen_pmix_hello_version(void) { return hello_mark + strlen(PEN_PMIX_HELLO_MARK); }

void pen_pmix_hello_pack(const pen_pmix_hello *hello, pen_pack *out)
{
    pen_pack_text(out, hello_mark);
    pen_pack_u32(out, PEN_HOST_PAGE_MAGIC);
    pen_pack_u32(out, hello->first);
    pen_pack_u32(out, hello->count);
    pen_pack_text(out, hello->host);
    pen_pack_u32(out, hello->cores);
    pen_pack_bytes(out, &hello->cpus, sizeof(hello->cpus));
    pen_pack_bytes(out, hello->door, sizeof(hello->door));
    pen_pack_bytes(out, hello->ticket, sizeof(hello->ticket));
    pen_pack_bytes(out, hello->job_key, sizeof(hello->job_key));
    pen_pack_bytes(out, hello->salt, sizeof(hello->salt));
    pen_pack_u32(out, hello->port);
    pen_pack_text(out, hello->addresses);
}

bool pen_pmix_hello_unpack(const char *bytes, size_t len, pen_pmix_hello *out,
                           const char **version_out)
{
    const size_t mark_len = strlen(PEN_PMIX_HELLO_MARK);
    pen_unpack from = { bytes, bytes + len, false };
    const char *mark = pen_unpack_text(&from);
    *version_out = strncmp(mark, PEN_PMIX_HELLO_MARK, mark_len) == 0 ? mark + mark_len : "";
    if (from.failed || strcmp(mark, hello_mark) != 0)
        return false;
    uint32_t magic = pen_unpack_u32(&from);
    out->version = *version_out;
    out->first = pen_unpack_u32(&from);
    out->count = pen_unpack_u32(&from);
    out->host = pen_unpack_text(&from);
    out->cores = pen_unpack_u32(&from);
    pen_unpack_bytes(&from, &out->cpus, sizeof(out->cpus));
    pen_unpack_bytes(&from, out->door, sizeof(out->door));
    pen_unpack_bytes(&from, out->ticket, sizeof(out->ticket));
    pen_unpack_bytes(&from, out->job_key, sizeof(out->job_key));
    pen_unpack_bytes(&from, out->salt, sizeof(out->salt));
    out->port = pen_unpack_u32(&from);
    out->addresses = pen_unpack_text(&from);
    return !from.failed && from.at == from.end && magic == PEN_HOST_PAGE_MAGIC &&
           strlen(out->host) < PEN_PMIX_HOST_MAX && out->port <= UINT16_MAX &&
           strlen(out->addresses) < PEN_OOB_ADDRESSES_LEN;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Reads the next number of a list. If there is no number, returns false and leaves *at. */
static bool number_next(const char **at, uint32_t *out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    unsigned long number = strtoul(*at, &end, 10);
    if (number >= PEN_BOOT_RANKS_MAX)
        return false;
    *at = *end == ',' ? end + 1 : end;
    *out = (uint32_t)number;
    return true;
}

bool pen_pmix_block(const char *local_peers, uint32_t rank, uint32_t most, uint32_t *first,
                    uint32_t *end, bool *all)
{
    bool here[PEN_BOOT_RANKS_MAX] = { false };
    uint32_t count = 0, number;
    const char *at = local_peers;
    while (number_next(&at, &number)) {
        count += !here[number];
        here[number] = true;
    }
    if (*at != '\0' || rank >= PEN_BOOT_RANKS_MAX || !here[rank])
        return false;
    uint32_t low = rank, high = rank + 1;
    while (low > 0 && here[low - 1])
        low--;
    while (high < PEN_BOOT_RANKS_MAX && here[high])
        high++;
    *all = high - low == count;
    if (most != 0) {
        low += (rank - low) / most * most;
        high = high - low > most ? low + most : high;
    }
    *first = low;
    *end = high;
    return true;
}

uint32_t pen_pmix_blocks(const pen_pmix_hello *hellos, uint32_t size, uint32_t *firsts)
{
    uint32_t count = 0, end = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        if (rank == end) { /* a new block begins */
            firsts[count++] = rank;
            if (hellos[rank].count == 0 || hellos[rank].count > size - rank)
                return 0;
            end = rank + hellos[rank].count;
        }
        if (hellos[rank].first != firsts[count - 1] ||
            hellos[rank].count != end - firsts[count - 1])
            return 0;
    }
    firsts[count] = size;
    return count;
}

uint32_t pen_pmix_cores(const pen_pmix_hello *hellos, uint32_t count)
{
    cpu_set_t together;
    CPU_ZERO(&together);
    for (uint32_t i = 0; i < count; i++)
        CPU_OR(&together, &together, &hellos[i].cpus);
    uint32_t cores = (uint32_t)CPU_COUNT(&together);
    /* if cores is below the mask's count, it is the cgroup's quota */
    for (uint32_t i = 0; i < count; i++)
        if (hellos[i].cores < (uint32_t)CPU_COUNT(&hellos[i].cpus) && hellos[i].cores < cores)
            cores = hellos[i].cores;
    return cores > 0 ? cores : 1;
}
