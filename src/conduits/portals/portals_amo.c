/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_amo.c: operations on words of peers, performed by the card. The link has them if the card
 * promises that they are atomic to processors as well (PTL_COHERENT_ATOMICS), because the owner of
 * a word changes it by instructions.
 *
 * The least and the greatest of floats stay with messages: documents do not say what a card makes
 * of values without an order. A word that is set, got or compared is taken as bits, also if it is
 * a float, as the engine does. */
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "softnic/portals/portals4.h"

#include <penstock/types.h>
#include <string.h>

enum { SOURCE, OLD }; /* words of a token */

/* An operation as the card knows it. */
typedef struct card_amo {
    ptl_op_t operation;
    ptl_datatype_t type;
    uint64_t source, operand;
    bool fetches; /* the client wants the old value */
} card_amo;

static bool is_float(uint32_t type) { return (type & (GEX_DT_FLT | GEX_DT_DBL)) != 0; }

static uint32_t len_of(uint32_t type)
{
    return (type & (GEX_DT_I32 | GEX_DT_U32 | GEX_DT_FLT)) != 0 ? sizeof(uint32_t)
                                                                : sizeof(uint64_t);
}

static bool fetches(uint32_t op) { return op > GEX_OP_CAS; }

static uint32_t without_fetching(uint32_t op)
{
    return fetches(op) && op != GEX_OP_GET ? GEX_OP_TO_NONFETCHING(op) : op;
}

static ptl_datatype_t type_of(uint32_t type)
{
    switch (type) {
    case GEX_DT_I32:
        return PTL_INT32_T;
    case GEX_DT_U32:
        return PTL_UINT32_T;
    case GEX_DT_I64:
        return PTL_INT64_T;
    case GEX_DT_U64:
        return PTL_UINT64_T;
    case GEX_DT_FLT:
        return PTL_FLOAT;
    default:
        return PTL_DOUBLE;
    }
}

/* The bits of 1 or -1, or of a value with its sign changed. */
static uint64_t unit_of(uint32_t type, bool is_negative)
{
    const float narrow = is_negative ? -1.0F : 1.0F;
    const double wide = narrow;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &narrow, sizeof low);
    memcpy(&bits, &wide, sizeof bits);
    if (!is_float(type))
        return is_negative ? UINT64_MAX : 1;
    return type == GEX_DT_FLT ? low : bits;
}

static uint64_t negated(uint32_t type, uint64_t bits)
{
    if (!is_float(type))
        return -bits;
    return bits ^ (type == GEX_DT_FLT ? UINT64_C(1) << 31 : UINT64_C(1) << 63);
}

/* Operations that compute: the card's operation, and its source. Returns false if the card does
 * not serve it. */
static bool plan_sum(const pen_amo *amo, card_amo *out)
{
    out->type = type_of(amo->type);
    out->operation = PTL_SUM;
    switch (without_fetching(amo->op)) {
    case GEX_OP_ADD:
        out->source = amo->operands[0];
        return true;
    case GEX_OP_SUB:
        out->source = negated(amo->type, amo->operands[0]);
        return true;
    case GEX_OP_INC:
    case GEX_OP_DEC:
        out->source = unit_of(amo->type, without_fetching(amo->op) == GEX_OP_DEC);
        return true;
    default:
        return false;
    }
}

static bool plan_order(const pen_amo *amo, card_amo *out)
{
    const uint32_t op = without_fetching(amo->op);
    out->type = type_of(amo->type);
    out->source = amo->operands[0];
    out->operation = op == GEX_OP_MULT ? PTL_PROD : op == GEX_OP_MIN ? PTL_MIN : PTL_MAX;
    return op == GEX_OP_MULT || (!is_float(amo->type) && (op == GEX_OP_MIN || op == GEX_OP_MAX));
}

/* Operations on bits. */
static bool plan_bits(const pen_amo *amo, card_amo *out)
{
    out->type = len_of(amo->type) == sizeof(uint32_t) ? PTL_UINT32_T : PTL_UINT64_T;
    out->source = amo->operands[0];
    switch (without_fetching(amo->op)) {
    case GEX_OP_AND:
        out->operation = PTL_BAND;
        return true;
    case GEX_OP_OR:
        out->operation = PTL_BOR;
        return true;
    case GEX_OP_XOR:
        out->operation = PTL_BXOR;
        return true;
    case GEX_OP_GET: /* changes nothing */
        out->operation = PTL_BOR;
        out->source = 0;
        return true;
    case GEX_OP_SET:
        out->operation = PTL_SWAP;
        return true;
    case GEX_OP_CAS:
        out->operation = PTL_CSWAP;
        out->operand = amo->operands[0];
        out->source = amo->operands[1];
        return true;
    default:
        return false;
    }
}

static bool plan(const pen_amo *amo, card_amo *out)
{
    out->operand = 0;
    out->fetches = fetches(amo->op);
    return plan_bits(amo, out) || plan_sum(amo, out) || plan_order(amo, out);
}

static bool serves(const pen_link *base, uint32_t type, uint32_t op)
{
    (void)base;
    const pen_amo amo = { .type = type, .op = op };
    card_amo ignored;
    return plan(&amo, &ignored);
}

/* A value of either width, at the begin of a word. */
static void store(uint64_t *word, uint64_t bits, uint32_t len)
{
    const uint32_t low = (uint32_t)bits;
    memcpy(word, len == sizeof low ? (const void *)&low : (const void *)&bits, len);
}

/* Returns a result of the interface. */
static int begin(portals_link *link, portals_token *token, const card_amo *what, uint32_t len,
                 uint64_t offset, pen_rkey key)
{
    const portals_peer *peer = &link->peer[token->peer];
    const ptl_size_t at = (ptl_size_t)((char *)token->words - link->buffers);
    const ptl_size_t source = at + SOURCE * sizeof(uint64_t), old = at + OLD * sizeof(uint64_t);
    const ptl_pt_index_t portal = peer->portal[PORTALS_MEMORY];
    const ptl_handle_md_t md = link->frames_md;
    uint64_t operand;
    store(&token->words[SOURCE], what->source, len);
    store(&operand, what->operand, len);
    if (what->operation >= PTL_SWAP)
        return PtlSwap(md, old, md, source, len, peer->process, portal, key, offset, token, 0,
                       &operand, what->operation, what->type);
    if (what->fetches)
        return PtlFetchAtomic(md, old, md, source, len, peer->process, portal, key, offset, token,
                              0, what->operation, what->type);
    return PtlAtomic(md, source, len, PTL_ACK_REQ, peer->process, portal, key, offset, token, 0,
                     what->operation, what->type);
}

static pen_post post(pen_link *base, pen_peer to, uint64_t offset, pen_rkey key, const pen_amo *amo,
                     pen_op *op)
{
    portals_link *link = portals_of(base);
    const uint32_t len = len_of(amo->type);
    card_amo what;
    bool is_lost;
    (void)plan(amo, &what);
    portals_token *token = portals_token_take(link, PORTALS_MEMORY, to, 2, &is_lost);
    if (token == NULL)
        return is_lost ? PEN_POST_FAILED : PEN_POST_AGAIN;
    token->op = op;
    token->is_source_done = true; /* there is none */
    token->copy_from = (const char *)&token->words[OLD];
    token->copy_to = what.fetches ? amo->result : NULL;
    token->copy_len = len;
    portals_device_use(link->device);
    int result = begin(link, token, &what, len, offset, key);
    portals_device_use(NULL);
    return portals_op_begun(link, token, to, result);
}

const pen_amo_ops portals_amo = { .serves = serves, .post = post };
