/* SPDX-License-Identifier: BSD-3-Clause */
/* udp.c: the conduit over UDP sockets: opening and closing a link, and its registry entry. The
 * link may lose frames and declares it, so the engine wraps it in the reliable link. datagram.h
 * describes a datagram, udp.h the division of work; docs/conduits/udp.md states the guarantees
 * and the reasons. */
#include "conduits/udp/udp.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/lock.h"
#include "os/os.h"
#include "seal/seal.h"

#include <errno.h>
#include <string.h>

enum {
    IP_HEADERS_LEN = 48, /* IPv6 and UDP; IPv4 has 20 less */
    DATAGRAM_LEAST =
        1200,            /* lower bound of PENSTOCK_UDP_DATAGRAM: a reliable frame of 1 KiB fits */
    KERNEL_CHARGE = 832, /* least that Linux charges for a datagram beside its length */
    PORT_LAST = 65535,
    RECEIVE_LEAST = 64 * 1024, /* lower bound of PENSTOCK_UDP_RECEIVE_BUFFER */
};

static const pen_knob knobs[] = {
    { "PENSTOCK_UDP_ADDRESS", PEN_KNOB_STRING, NULL, offsetof(udp_config, address),
      "Address at which a rank receives, or its network, for example 192.168.1.0/24; without /24 "
      "the interface's netmask is used. Unset: GASNET_WORKERIP, else 127.0.0.1, which no other "
      "host reaches." },
    { "GASNET_WORKERIP", PEN_KNOB_STRING, NULL, offsetof(udp_config, worker_ip),
      "Alias of PENSTOCK_UDP_ADDRESS, which takes precedence." },
    { "PENSTOCK_UDP_PORT", PEN_KNOB_INT, "0", offsetof(udp_config, port),
      "Port of rank 0; rank N takes the port N above it. 0: the kernel chooses all ports." },
    { "PENSTOCK_UDP_SECURITY", PEN_KNOB_STRING, "auth", offsetof(udp_config, security),
      "Protection of datagrams: auth (a MAC on each), encrypt (a MAC and encryption), or none "
      "(for networks without strangers)." },
    { "PENSTOCK_UDP_CRYPTO", PEN_KNOB_STRING, "auto", offsetof(udp_config, crypto),
      "Library that protects datagrams of 1 KiB and more: libsodium, libcrypto (OpenSSL 3), or "
      "auto: "
      "the faster one on this machine, by measurement when the first of them is sent." },
    { "PENSTOCK_UDP_RECEIVE_BUFFER", PEN_KNOB_BYTES, NULL, offsetof(udp_config, receive_len),
      "Bytes that the kernel keeps for a rank that does not poll, as far as net.core.rmem_max "
      "allows; unset: GASNET_SOCKETBUFFER_MAX." },
    { "GASNET_SOCKETBUFFER_MAX", PEN_KNOB_BYTES, "4M", offsetof(udp_config, receive_len_gasnet),
      "Alias of PENSTOCK_UDP_RECEIVE_BUFFER, which takes precedence." },
    { "PENSTOCK_UDP_DATAGRAM", PEN_KNOB_BYTES, "0", offsetof(udp_config, datagram_len),
      "Longest datagram; 0: what the interface sends in one packet." },
    { "PENSTOCK_UDP_HOT", PEN_KNOB_INT, "16", offsetof(udp_config, hot),
      "Peers that may have a connected socket of their own (0 to 256)." },
    { "PENSTOCK_UDP_BUNDLE", PEN_KNOB_BOOL, "yes", offsetof(udp_config, bundle),
      "Whether answers made in one poll share datagrams." },
    { "PENSTOCK_UDP_SEGMENT", PEN_KNOB_BOOL, "yes", offsetof(udp_config, segment),
      "Whether the kernel cuts and joins trains of datagrams where it can." },
    { 0 },
};

static int udp_score(pen_peer peers, const char **why)
{
    (void)peers, (void)why; /* whether libsodium starts is seen when a link is opened */
    return 10;
}

static size_t udp_shared_len(pen_peer peers, const void *config)
{
    (void)peers, (void)config;
    return 0;
}

/* ---- introductions --------------------------------------------------------------------------- */

static pen_status udp_address_of(pen_link *base, void *blob)
{
    const udp_link *link = udp_of(base);
    udp_address address = { .magic = UDP_ADDRESS_MAGIC,
                            .mode = (uint8_t)link->mode,
                            .has_aes = link->has_aes };
    udp_address_pack(&link->address, &address);
    memcpy(address.salt, link->salt, sizeof address.salt);
    memcpy(blob, &address, sizeof address);
    return PEN_OK;
}

static udp_address address_at(const void *blobs, pen_peer peer)
{
    udp_address address;
    memcpy(&address, (const char *)blobs + (size_t)peer * sizeof address, sizeof address);
    return address;
}

/* Reason why this peer and this rank cannot exchange datagrams, or NULL. */
static const char *disagreement(const udp_link *link, const udp_address *address,
                                const udp_sockaddr *unpacked, bool is_sound)
{
    if (address->magic != UDP_ADDRESS_MAGIC || !is_sound)
        return "its build differs; start all ranks with the same build";
    if (address->mode != (uint8_t)link->mode)
        return "its PENSTOCK_UDP_SECURITY differs; give all ranks the same value";
    if (unpacked->any.sa_family != link->address.any.sa_family)
        return "one rank has an IPv4 address and one an IPv6 address; give all ranks an address "
               "or network of one kind in PENSTOCK_UDP_ADDRESS";
    return NULL;
}

static pen_status meet_peers(udp_link *link, const void *blobs, bool *all_have_aes)
{
    const pen_host *host = link->base.host;
    *all_have_aes = true;
    for (pen_peer peer = 0; peer < link->us.peers; peer++) {
        udp_address address = address_at(blobs, peer);
        udp_sockaddr *unpacked = &link->peers[peer].address;
        bool is_sound = udp_address_unpack(&address, unpacked);
        const char *why = disagreement(link, &address, unpacked, is_sound);
        if (why != NULL) {
            host->log(host->ctx, PEN_LOG_ERROR, "cannot speak with rank %u over udp: %s", peer,
                      why);
            return PEN_ERR_UNUSABLE;
        }
        *all_have_aes = *all_have_aes && address.has_aes != 0;
    }
    return PEN_OK;
}

static pen_status udp_connect(pen_link *base, const void *blobs, pen_peer count)
{
    udp_link *link = udp_of(base);
    const pen_host *host = base->host;
    bool all_have_aes;
    if (count != link->us.peers)
        return PEN_ERR_ARGUMENT;
    pen_status status = meet_peers(link, blobs, &all_have_aes);
    if (status != PEN_OK)
        return status;
    const pen_seal_params params = {
        .job_key = link->job_key,
        .purpose = "penstock udp",
        .mode = link->mode,
        .cipher = all_have_aes ? PEN_SEAL_AES256_GCM : PEN_SEAL_CHACHA20_POLY1305,
        .library = link->library,
        .now_ns = host->now_ns,
        .clock_ctx = host->ctx,
        .self = base->self,
        .peers = count,
    };
    const char *salts = (const char *)blobs + offsetof(udp_address, salt);
    status = pen_seal_open(&params, salts, sizeof(udp_address), &link->seal);
    if (status == PEN_ERR_UNUSABLE)
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use PENSTOCK_UDP_CRYPTO=libcrypto: libcrypto.so.3 does not open; install "
                  "OpenSSL 3 (package libssl3), or give auto");
    else if (status != PEN_OK)
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot make the keys of %u ranks: %s; raise the limit of memory (ulimit -v)",
                  count, strerror(errno));
    return status;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void udp_close(pen_link *base)
{
    udp_link *link = udp_of(base);
    const pen_host *host = base->host;
    if (link->seal != NULL)
        udp_flush(link);
    udp_socket_close(link);
    udp_receiver_close(link);
    pen_seal_close(link->seal);
    void *const memory[] = { link->peers, link->hot, link->bundle_bytes };
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (memory[i] != NULL)
            host->release(host->ctx, memory[i]);
    host->release(host->ctx, link);
}

static const pen_link_ops udp_ops = {
    .close = udp_close,
    .address = udp_address_of,
    .connect = udp_connect,
    .post = udp_post,
    .poll = udp_poll,
};

/* Checks the bounds of a setting, and reports the error. A negative number is far above any
 * bound here. */
static bool is_within(const pen_host *host, const char *name, uint64_t value, uint64_t least,
                      uint64_t most)
{
    if (value >= least && value <= most)
        return true;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot use %s=%lld: it has to be from %llu to %llu in a job of this size", name,
              (long long)value, (unsigned long long)least, (unsigned long long)most);
    return false;
}

static pen_status check_config(udp_link *link)
{
    const pen_host *host = link->base.host;
    const udp_config *config = &link->config;
    uint64_t receive_len =
        config->receive_len != 0 ? config->receive_len : config->receive_len_gasnet;
    if (!pen_seal_mode_parse(config->security, &link->mode)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use PENSTOCK_UDP_SECURITY=%s: this protection does not exist; give "
                  "auth, encrypt or none",
                  config->security);
        return PEN_ERR_ARGUMENT;
    }
    if (!pen_seal_library_parse(config->crypto, &link->library)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use PENSTOCK_UDP_CRYPTO=%s: this library is not known; give auto, "
                  "libsodium or libcrypto",
                  config->crypto);
        return PEN_ERR_ARGUMENT;
    }
    const char *receive_name =
        config->receive_len != 0 ? "PENSTOCK_UDP_RECEIVE_BUFFER" : "GASNET_SOCKETBUFFER_MAX";
    const int64_t port_last = PORT_LAST - (int64_t)link->us.peers + 1;
    bool is_valid =
        is_within(host, "PENSTOCK_UDP_PORT", (uint64_t)config->port, 0,
                  port_last > 0 ? (uint64_t)port_last : 0) &&
        is_within(host, "PENSTOCK_UDP_HOT", (uint64_t)config->hot, 0, UDP_HOT_MAX) &&
        is_within(host, receive_name, receive_len, RECEIVE_LEAST, INT64_MAX) &&
        (config->datagram_len == 0 || is_within(host, "PENSTOCK_UDP_DATAGRAM", config->datagram_len,
                                                DATAGRAM_LEAST, UDP_DATAGRAM_MAX));
    return is_valid ? PEN_OK : PEN_ERR_ARGUMENT;
}

static bool is_local(const udp_sockaddr *address)
{
    return address->any.sa_family == AF_INET ? ntohl(address->v4.sin_addr.s_addr) >> 24 == 127
                                             : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static void set_limits(udp_link *link, size_t mtu)
{
    pen_caps *caps = &link->base.caps;
    size_t most = link->config.datagram_len != 0 ? link->config.datagram_len : mtu - IP_HEADERS_LEN;
    if (most > caps->inbox_len / 4) /* otherwise a few would fill it */
        most = caps->inbox_len / 4;
    most = most > DATAGRAM_LEAST ? most : DATAGRAM_LEAST; /* the kernel cuts longer ones */
    most = most < UDP_DATAGRAM_MAX ? most : UDP_DATAGRAM_MAX;
    link->datagram_max = most & ~(size_t)7;
    caps->frame_max =
        (uint32_t)(link->datagram_max - UDP_DATAGRAM_EXTRA - UDP_FRAME_EXTRA_MAX) & ~15u;
    caps->frame_copy_max = caps->frame_max;
    caps->frame_overhead = KERNEL_CHARGE + UDP_DATAGRAM_EXTRA + UDP_FRAME_EXTRA_MAX;
    caps->frame_grain = 8;
    caps->addr_len = sizeof(udp_address);
    /* Data that never leaves the host's memory is not damaged in transit. */
    caps->flags = link->mode != PEN_SEAL_NONE || is_local(&link->address) ? PEN_CAP_INTACT : 0;
}

static pen_status alloc_parts(udp_link *link)
{
    const pen_host *host = link->base.host;
    size_t peers_len = link->us.peers * sizeof *link->peers;
    size_t hot_len = (size_t)(link->config.hot + 1) * sizeof *link->hot;
    link->peers = host->alloc(host->ctx, peers_len, PEN_CACHE_LINE);
    link->hot = host->alloc(host->ctx, hot_len, PEN_CACHE_LINE);
    link->bundle_bytes = /* untouched pages cost no memory */
        host->alloc(host->ctx, (size_t)UDP_BUNDLES * UDP_BUFFER_LEN, PEN_CACHE_LINE);
    bool has_all = link->peers != NULL && link->hot != NULL && link->bundle_bytes != NULL &&
                   udp_receiver_open(link) == PEN_OK;
    if (!has_all) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the udp conduit: memory for %u peers: %s; free some memory",
                  link->us.peers, strerror(errno));
        return PEN_ERR_MEMORY;
    }
    memset(link->peers, 0, peers_len);
    for (unsigned i = 0; i < UDP_BUNDLES; i++)
        link->bundles[i].bytes = link->bundle_bytes + (size_t)i * UDP_BUFFER_LEN;
    return PEN_OK;
}

static udp_link *alloc_link(const pen_link_params *params)
{
    const pen_host *host = params->host;
    udp_link *link = host->alloc(host->ctx, sizeof *link, PEN_CACHE_LINE);
    if (link == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the udp conduit: aligned_alloc of %zu bytes: %s; free some memory",
                  sizeof *link, strerror(errno));
        return NULL;
    }
    memset(link, 0, sizeof *link);
    link->base = (pen_link){
        .ops = &udp_ops, .wait = &udp_wait, .due = &udp_due, .host = host, .self = params->self
    };
    link->config = *(const udp_config *)params->config;
    link->job_key = params->job_key;
    link->us = (udp_expect){ pen_seal_epoch(params->job_key), params->self, params->peers };
    link->fd = -1;
    link->receiver.counters = host->counters != NULL ? host->counters : &link->own_counters;
    atomic_init(&link->poller, 0);
    atomic_init(&link->unsent, false);
    pen_lock_init(&link->send_lock, params->concurrency);
    pen_random(link->salt, sizeof link->salt);
    return link;
}

static pen_status open_steps(udp_link *link)
{
    udp_sockaddr at;
    size_t mtu = 0;
    pen_status status = check_config(link);
    if (status == PEN_OK)
        status = udp_address_choose(link->base.host, &link->config, &at, &mtu);
    if (status != PEN_OK)
        return status;
    status = udp_socket_open(link, &at);
    if (status != PEN_OK)
        return status;
    set_limits(link, mtu);
    udp_socket_find_abilities(link);
    return alloc_parts(link);
}

static pen_status udp_open(const pen_link_params *params, pen_link **out)
{
    const pen_host *host = params->host;
    bool has_aes = false;
    if (!pen_seal_start(&has_aes) || params->job_key == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the udp conduit: %s; choose another with PENSTOCK_CONDUIT",
                  params->job_key == NULL
                      ? "this job has no key"
                      : "libsodium cannot start: the kernel gives no random numbers");
        return PEN_ERR_UNUSABLE;
    }
    udp_link *link = alloc_link(params);
    if (link == NULL)
        return PEN_ERR_MEMORY;
    link->has_aes = has_aes;
    pen_status status = open_steps(link);
    if (status != PEN_OK)
        udp_close(&link->base);
    else
        *out = &link->base;
    return status;
}

const pen_conduit pen_conduit_udp = {
    .abi = PEN_CONDUIT_ABI,
    .name = "udp",
    .summary = "datagrams over IPv4 and IPv6, sealed against strangers",
    .knobs = knobs,
    .config_len = sizeof(udp_config),
    .score = udp_score,
    .shared_len = udp_shared_len,
    .open = udp_open,
};
