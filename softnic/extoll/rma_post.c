/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_post.c: posting of RMA commands: what can be judged without looking at memory is judged here.
 */
#include "softnic/extoll/rma_port.h"

#define UNITS \
    (RMA2_REQUESTER_NOTIFICATION | RMA2_RESPONDER_NOTIFICATION | RMA2_COMPLETER_NOTIFICATION)

/* What all commands have in common. */
static RMA2_ERROR_CODE begin(RMA2_Port port, const RMA2_Handle *handle, RMA2_Command command,
                             RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                             rma_command *out)
{
    uint32_t endpoint_i;
    if (port == NULL)
        return RMA2_INV_PORT;
    if (handle == NULL || !handle->connected ||
        !fabric_endpoint(port->card, handle->node, handle->vpid, &endpoint_i))
        return RMA2_INV_HANDLE;
    if (((unsigned)spec & ~(unsigned)UNITS) != 0 || ((unsigned)modifier & RMA2_CMD_MC) != 0)
        return RMA2_INV_VALUE;
    *out = (rma_command){
        .command = command,
        .endpoint_i = endpoint_i,
        .node = handle->node,
        .vpid = handle->vpid,
        .spec = (uint8_t)spec,
        .modifier = (uint8_t)modifier,
        .size = 1,
    };
    return RMA2_SUCCESS;
}

/* A put or get; local and remote are the origin's and the target's address. */
static RMA2_ERROR_CODE post(RMA2_Port port, const RMA2_Handle *handle, RMA2_Command command,
                            RMA2_NLA local, RMA2_NLA remote, uint32_t size,
                            RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    rma_command c;
    RMA2_ERROR_CODE begun = begin(port, handle, command, spec, modifier, &c);
    if (begun != RMA2_SUCCESS)
        return begun;
    bool is_qw = command == RMA2_QW_PUT || command == RMA2_QW_GET;
    if (size < 1 || size > RMA2_SIZE_MAX || (is_qw && (local | remote | size) % 8 != 0))
        return RMA2_INV_VALUE;
    c.size = size;
    c.local = local;
    c.remote = remote;
    return rma_submit(port, &c);
}

/* The same for a part of a region. */
static RMA2_ERROR_CODE post_region(RMA2_Port port, const RMA2_Handle *handle, RMA2_Command command,
                                   const RMA2_Region *region, size_t offset, RMA2_NLA remote,
                                   uint32_t size, unsigned how)
{
    if (region == NULL || offset > region->size || size > region->size - offset)
        return RMA2_INV_VALUE;
    return post(port, handle, command, region->nla + region->offset + offset, remote, size,
                (RMA2_Notification_Spec)(how >> 8), (RMA2_Command_Modifier)(how & 0xff));
}

static unsigned how_of(RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return ((unsigned)spec & 0xff) << 8 | ((unsigned)modifier & 0xff);
}

RMA2_ERROR_CODE rma2_post_put_bt(RMA2_Port port, const RMA2_Handle *handle,
                                 const RMA2_Region *source, size_t offset, uint32_t size,
                                 RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return post_region(port, handle, RMA2_BT_PUT, source, offset, dest, size,
                       how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_post_put_qw(RMA2_Port port, const RMA2_Handle *handle,
                                 const RMA2_Region *source, size_t offset, uint32_t size,
                                 RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return post_region(port, handle, RMA2_QW_PUT, source, offset, dest, size,
                       how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_post_get_bt(RMA2_Port port, const RMA2_Handle *handle, const RMA2_Region *dest,
                                 size_t offset, uint32_t size, RMA2_NLA remote,
                                 RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return post_region(port, handle, RMA2_BT_GET, dest, offset, remote, size,
                       how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_post_get_qw(RMA2_Port port, const RMA2_Handle *handle, const RMA2_Region *dest,
                                 size_t offset, uint32_t size, RMA2_NLA remote,
                                 RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return post_region(port, handle, RMA2_QW_GET, dest, offset, remote, size,
                       how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_post_put_bt_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA source,
                                        uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, RMA2_BT_PUT, source, dest, size, spec, modifier);
}

RMA2_ERROR_CODE rma2_post_put_qw_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA source,
                                        uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, RMA2_QW_PUT, source, dest, size, spec, modifier);
}

RMA2_ERROR_CODE rma2_post_get_bt_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA dest,
                                        uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, RMA2_BT_GET, dest, remote, size, spec, modifier);
}

RMA2_ERROR_CODE rma2_post_get_qw_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA dest,
                                        uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, RMA2_QW_GET, dest, remote, size, spec, modifier);
}

RMA2_ERROR_CODE rma2_post_immediate_put(RMA2_Port port, const RMA2_Handle *handle, uint32_t count,
                                        uint64_t value, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    rma_command c;
    RMA2_ERROR_CODE begun = begin(port, handle, RMA2_IMM_PUT, spec, modifier, &c);
    if (begun != RMA2_SUCCESS)
        return begun;
    if (count < 1 || count > 8)
        return RMA2_INV_VALUE;
    c.size = count;
    c.value = value;
    c.remote = dest;
    return rma_submit(port, &c);
}

RMA2_ERROR_CODE rma2_post_notification(RMA2_Port port, const RMA2_Handle *handle, RMA2_Class class8,
                                       uint64_t value, RMA2_Notification_Spec spec,
                                       RMA2_Command_Modifier modifier)
{
    rma_command c;
    RMA2_ERROR_CODE begun = begin(port, handle, RMA2_NOTI_PUT, spec, modifier, &c);
    if (begun != RMA2_SUCCESS)
        return begun;
    if (class8 > RMA2_CLASS_MAX)
        return RMA2_INV_VALUE;
    c.class8 = class8;
    c.value = value;
    return rma_submit(port, &c);
}

RMA2_ERROR_CODE rma2_post_lock(RMA2_Port port, const RMA2_Handle *handle, uint32_t target,
                               uint32_t lock_number, int32_t cmp, int32_t add,
                               RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    rma_command c;
    RMA2_ERROR_CODE begun = begin(port, handle, RMA2_LOCK, spec, modifier, &c);
    if (begun != RMA2_SUCCESS)
        return begun;
    if (target > 1 || lock_number >= RMA2_LOCKS)
        return RMA2_INV_VALUE;
    c.lock_unit = (uint8_t)target;
    c.lock_number = lock_number;
    c.lock_cmp = cmp;
    c.lock_add = add;
    return rma_submit(port, &c);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static RMA2_ERROR_CODE describe(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                RMA2_Command command, uint32_t count, uint64_t word1,
                                uint64_t word2, unsigned how)
{
    if (!handle->connected)
        return RMA2_INV_HANDLE;
    if (count < 1 || count > RMA2_SIZE_MAX)
        return RMA2_INV_VALUE;
    desc->word[0] = (uint64_t)(count - 1) << 40 | (uint64_t)(how & 0x1f) << 35 |
                    (uint64_t)(how >> 8 & 7) << 32 | (uint64_t)handle->node << 16 |
                    (uint64_t)handle->vpid << 8 | (uint64_t)command << 2 | 3;
    desc->word[1] = word1;
    desc->word[2] = word2;
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_desc_put_bt(RMA2_Descriptor *desc, const RMA2_Handle *handle, RMA2_NLA source,
                                 uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_BT_PUT, size, source, dest, how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_desc_get_bt(RMA2_Descriptor *desc, const RMA2_Handle *handle, RMA2_NLA dest,
                                 uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_BT_GET, size, remote, dest, how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_desc_immediate_put(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                        uint32_t count, uint64_t value, RMA2_NLA dest,
                                        RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_IMM_PUT, count, dest, value, how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_desc_notification(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                       RMA2_Class class8, uint64_t value,
                                       RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_NOTI_PUT, class8 + 1u, value, 0, how_of(spec, modifier));
}

RMA2_ERROR_CODE rma2_post_descriptor(RMA2_Port port, const RMA2_Handle *handle,
                                     const RMA2_Descriptor *desc)
{
    uint64_t word = desc->word[0];
    RMA2_Command command = (RMA2_Command)(word >> 2 & 15);
    RMA2_Notification_Spec spec = (RMA2_Notification_Spec)(word >> 32 & 7);
    RMA2_Command_Modifier modifier = (RMA2_Command_Modifier)(word >> 35 & 0x1f);
    uint32_t count = (uint32_t)(word >> 40 & 0x7fffff) + 1;
    if (handle == NULL || (word >> 16 & 0xffff) != handle->node ||
        (word >> 8 & 0xff) != handle->vpid)
        return RMA2_INV_HANDLE;
    switch (command) {
    case RMA2_BT_PUT:
    case RMA2_QW_PUT:
        return post(port, handle, command, desc->word[1], desc->word[2], count, spec, modifier);
    case RMA2_BT_GET:
    case RMA2_QW_GET:
        return post(port, handle, command, desc->word[2], desc->word[1], count, spec, modifier);
    case RMA2_IMM_PUT:
        return rma2_post_immediate_put(port, handle, count, desc->word[2], desc->word[1], spec,
                                       modifier);
    case RMA2_NOTI_PUT:
        if (count - 1 > RMA2_CLASS_MAX)
            return RMA2_INV_VALUE;
        return rma2_post_notification(port, handle, (RMA2_Class)(count - 1), desc->word[1], spec,
                                      modifier);
    default:
        return RMA2_INV_VALUE;
    }
}
