/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_state.c: publishes and reads what a rank waits for, and writes it as text. */
#include "boot/wait_state.h"

#include <stdio.h>
#include <string.h>

enum { READ_TRIES = 1000 };

/* ---- the record ------------------------------------------------------------------------------ */

void pen_wait_publish(pen_wait_state *state, const pen_wait_note *note, uint64_t now_ns)
{
    static const pen_wait_note none = { .call = PEN_CALL_NONE, .peer = PEN_WAIT_NOBODY };
    const pen_wait_note *from = note != NULL ? note : &none;
    uint32_t sequence = atomic_load_explicit(&state->sequence, memory_order_relaxed);
    /* relaxed: the release of each field puts the odd number before it */
    atomic_store_explicit(&state->sequence, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(&state->call, from->call, memory_order_release);
    atomic_store_explicit(&state->awaited, from->awaited, memory_order_release);
    atomic_store_explicit(&state->peer, from->peer, memory_order_release);
    atomic_store_explicit(&state->number, from->number, memory_order_release);
    atomic_store_explicit(&state->team, from->team, memory_order_release);
    atomic_store_explicit(&state->since_ns, from->since_ns, memory_order_release);
    atomic_store_explicit(&state->seen_ns, now_ns, memory_order_release);
    /* release: pairs with the acquire in pen_wait_read; the fields come before the even number */
    atomic_store_explicit(&state->sequence, sequence + 2, memory_order_release);
}

static bool is_loop(pen_call call) { return call == PEN_CALL_POLL || call == PEN_CALL_BLOCKUNTIL; }

bool pen_wait_read(const pen_wait_state *state, uint64_t now_ns, pen_wait_note *out)
{
    for (int i = 0; i < READ_TRIES; i++) {
        /* acquire: pairs with the release in pen_wait_publish */
        uint32_t before = atomic_load_explicit(&state->sequence, memory_order_acquire);
        /* acquire: the number is read again after each field */
        pen_wait_note note = {
            .call = (pen_call)atomic_load_explicit(&state->call, memory_order_acquire),
            .awaited = (pen_awaited)atomic_load_explicit(&state->awaited, memory_order_acquire),
            .peer = atomic_load_explicit(&state->peer, memory_order_acquire),
            .number = atomic_load_explicit(&state->number, memory_order_acquire),
            .team = atomic_load_explicit(&state->team, memory_order_acquire),
            .since_ns = atomic_load_explicit(&state->since_ns, memory_order_acquire)
        };
        uint64_t seen_ns = atomic_load_explicit(&state->seen_ns, memory_order_acquire);
        if (before % 2 != 0 ||
            before != atomic_load_explicit(&state->sequence, memory_order_relaxed))
            continue;
        *out = note;
        return note.call != PEN_CALL_NONE &&
               !(is_loop(note.call) && now_ns > seen_ns + PEN_WAIT_LOOP_NS);
    }
    return false;
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *pen_call_text(pen_call call)
{
    static const char *const texts[] = {
#define CALL_TEXT(name, text) text,
        PEN_CALL_LIST(CALL_TEXT)
#undef CALL_TEXT
    };
    return (size_t)call < sizeof(texts) / sizeof(texts[0]) ? texts[call] : "a call";
}

/* Writes the peer's part of a sentence: "<before> rank 3", or `without` if the peer is unknown. */
static void peer_text(const pen_wait_note *note, const char *before, const char *without, char *out,
                      size_t out_len)
{
    if (note->peer == PEN_WAIT_NOBODY)
        (void)snprintf(out, out_len, "%s", without);
    else
        (void)snprintf(out, out_len, "%s rank %u", before, note->peer);
}

static void awaited_text(const pen_wait_note *note, char *out, size_t out_len)
{
    char peer[64];
    out[0] = '\0';
    switch (note->awaited) {
    case PEN_AWAITED_PUT:
        peer_text(note, ", for a put to", ", for a put", out, out_len);
        break;
    case PEN_AWAITED_GET:
        peer_text(note, ", for a get from", ", for a get", out, out_len);
        break;
    case PEN_AWAITED_ATOMIC:
        peer_text(note, ", for an atomic operation on", ", for an atomic operation", out, out_len);
        break;
    case PEN_AWAITED_LONG:
        peer_text(note, ", for a message to", ", for a message", out, out_len);
        break;
    case PEN_AWAITED_ROOM:
        peer_text(note, ", for room for a message to", ", for room for a message", out, out_len);
        break;
    case PEN_AWAITED_NAMED:
    case PEN_AWAITED_BARRIER:
        (void)snprintf(out, out_len, ", for barrier %u of all ranks", note->number);
        break;
    case PEN_AWAITED_COLLECTIVE:
        peer_text(note, ", and first for", "", peer, sizeof(peer));
        (void)snprintf(out, out_len, ", for collective %u of team %llu%s", note->number,
                       (unsigned long long)note->team, peer);
        break;
    case PEN_AWAITED_RANKS:
        peer_text(note, ", for", ", for other ranks", out, out_len);
        break;
    default:
        peer_text(note, ", for", "", out, out_len);
        break;
    }
}

void pen_wait_text(const pen_wait_note *note, uint64_t now_ns, char *out, size_t out_len)
{
    char awaited[128];
    awaited_text(note, awaited, sizeof(awaited));
    uint64_t waited_ns = now_ns > note->since_ns ? now_ns - note->since_ns : 0;
    (void)snprintf(out, out_len, "%s %s for %.1f s%s",
                   note->call == PEN_CALL_POLL ? "polls in" : "waits in", pen_call_text(note->call),
                   (double)waited_ns / 1e9, awaited);
}
