/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c: the amount that a cache may register, from variables and from the device. */
#include "firehose/firehose.h"

/* MEMORY_DEFAULT: what is used if neither the device nor a variable says anything. The two least
 * values are those of the paper's authors for a cache that serves local memory only. */
#define MEMORY_DEFAULT     ((size_t)1 << 30)
#define MEMORY_LEAST       ((size_t)16 << 20)
#define REGION_LEN_DEFAULT ((size_t)128 << 10)
enum { REGIONS_DEFAULT = 1024, REGIONS_LEAST = 32 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* A negative number means what 0 means. */
static size_t count_of(int64_t number) { return number > 0 ? (size_t)number : 0; }

/* The user's value, but no less than `floor`, and no more than the device allows. */
static size_t limit_of(size_t user, size_t fallback, size_t floor, size_t device)
{
    size_t wanted = most(user != 0 ? user : device != 0 ? device : fallback, floor);
    return device != 0 ? least(wanted, device) : wanted;
}

pen_firehose_limits pen_firehose_limits_make(const pen_firehose_config *config,
                                             size_t device_memory_len, size_t device_region_len,
                                             uint32_t device_regions)
{
    size_t regions_user = count_of(config->regions) + count_of(config->victim_regions);
    size_t regions = limit_of(regions_user, REGIONS_DEFAULT, REGIONS_LEAST, device_regions);
    size_t memory = limit_of(config->memory + config->victim_memory, MEMORY_DEFAULT, MEMORY_LEAST,
                             device_memory_len);
    size_t region =
        limit_of(config->region_len, memory / regions, REGION_LEN_DEFAULT, device_region_len);
    return (pen_firehose_limits){ .memory_len = memory,
                                  .region_len = least(region, memory),
                                  .regions = (uint32_t)least(regions, UINT32_MAX - 1) };
}
