/* SPDX-License-Identifier: BSD-3-Clause */
/* evidence.c: looks for network cards in sysfs and in /dev. */
#include "link/evidence.h"

#include "knob/knob.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LEN = 512 };

/* Drivers of cards for InfiniBand's verbs, and of verbs in software over Ethernet. */
static const struct {
    const char *driver;
    pen_network network; /* PEN_NETWORKS: none */
} drivers[] = {
    { "efa", PEN_NETWORK_EFA },
    { "hfi1", PEN_NETWORK_OMNIPATH },
    { "mlx4_core", PEN_NETWORK_MELLANOX },
    { "mlx5_core", PEN_NETWORK_MELLANOX },
    { "rdma_rxe", PEN_NETWORKS },
    { "siw", PEN_NETWORKS },
};

static uint32_t bit(pen_network network) { return 1U << network; }

/* Does the folder contain a name that begins with `begin`? */
static bool has_name(const char *folder, const char *begin)
{
    bool found = false;
    DIR *listing = opendir(folder);
    for (struct dirent *entry = NULL;
         listing != NULL && !found &&
         (entry = readdir(listing)) != NULL;) // NOLINT(concurrency-mt-unsafe)
        found = entry->d_name[0] != '.' && strncmp(entry->d_name, begin, strlen(begin)) == 0;
    if (listing != NULL)
        (void)closedir(listing);
    return found;
}

/* Is a port of the card active? The kernel writes "4: ACTIVE". */
static bool has_active_port(const char *card)
{
    bool is_active = false;
    for (unsigned port = 1; port <= 4 && !is_active; port++) {
        char path[PATH_LEN + 32], state[8];
        (void)snprintf(path, sizeof path, "%s/ports/%u/state", card, port);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        is_active = fgets(state, sizeof state, file) != NULL && strncmp(state, "4:", 2) == 0;
        (void)fclose(file);
    }
    return is_active;
}

/* Returns the network that a card in /sys/class/infiniband reaches. A card in software has no
 * device behind it, or a driver of that list. */
static pen_network network_of(const char *card)
{
    char path[PATH_LEN + 32], target[PATH_LEN];
    (void)snprintf(path, sizeof path, "%s/device/driver", card);
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len <= 0)
        return PEN_NETWORKS;
    target[len] = '\0';
    const char *slash = strrchr(target, '/'), *driver = slash != NULL ? slash + 1 : target;
    pen_network network = PEN_NETWORK_VERBS;
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
        if (strcmp(driver, drivers[i].driver) == 0)
            network = drivers[i].network;
    const bool wants_port = network == PEN_NETWORK_MELLANOX || network == PEN_NETWORK_VERBS;
    return wants_port && !has_active_port(card) ? PEN_NETWORKS : network;
}

static uint32_t look_at_verbs(const char *folder)
{
    uint32_t networks = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry = NULL;
         listing != NULL && (entry = readdir(listing)) != NULL;) { // NOLINT(concurrency-mt-unsafe)
        char card[PATH_LEN];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(card, sizeof card, "%s/%s", folder, entry->d_name);
        const pen_network network = network_of(card);
        if (network != PEN_NETWORKS)
            networks |= bit(network);
    }
    if (listing != NULL)
        (void)closedir(listing);
    return networks;
}

uint32_t pen_evidence_look(void)
{
    char folder[PATH_LEN / 2];
    const char *root = pen_knob_from_process(NULL, "PENSTOCK_DEVICE_ROOT");
    if (root == NULL || strlen(root) > sizeof folder / 2)
        root = "";
    (void)snprintf(folder, sizeof folder, "%s/sys/class/infiniband", root);
    uint32_t networks = look_at_verbs(folder);
    (void)snprintf(folder, sizeof folder, "%s/sys/class/cxi", root);
    networks |= has_name(folder, "cxi") ? bit(PEN_NETWORK_SLINGSHOT) : 0;
    (void)snprintf(folder, sizeof folder, "%s/dev", root);
    networks |= has_name(folder, "hfi1_") ? bit(PEN_NETWORK_OMNIPATH) : 0;
    return networks;
}

const pen_evidence *pen_evidence_first(const pen_evidence *rows, size_t count, uint32_t networks)
{
    for (size_t i = 0; i < count; i++)
        if ((networks & bit(rows[i].network)) != 0)
            return &rows[i];
    return NULL;
}

const char *pen_evidence_words(pen_network network)
{
    static const char *const words[PEN_NETWORKS] = {
        [PEN_NETWORK_SLINGSHOT] = "this machine has a Slingshot card (in /sys/class/cxi)",
        [PEN_NETWORK_EFA] = "this machine has an EFA card (in /sys/class/infiniband)",
        [PEN_NETWORK_OMNIPATH] = "this machine has an Omni-Path card (/dev/hfi1_...)",
        [PEN_NETWORK_MELLANOX] =
            "this machine has an active card of Mellanox (in /sys/class/infiniband)",
        [PEN_NETWORK_VERBS] =
            "this machine has an active card with verbs (in /sys/class/infiniband)",
    };
    return words[network];
}
