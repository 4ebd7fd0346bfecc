/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_post.c: posting of RMA commands. Checks that need no look at memory are done here. */
#include "softnic/extoll/rma_port.h"

#define UNITS \
    (RMA2_REQUESTER_NOTIFICATION | RMA2_RESPONDER_NOTIFICATION | RMA2_COMPLETER_NOTIFICATION)

/* Returns whether addresses and length are multiples of eight bytes, as the QW commands require. */
static bool is_aligned(const rma_command *c)
{
    bool is_qw = c->command == RMA2_QW_PUT || c->command == RMA2_QW_GET;
    return !is_qw || (c->local | c->remote | c->size) % 8 == 0;
}

/* Checks a command, fills in its target and options, and posts it. Size 0 marks a command that
 * cannot exist. */
static RMA2_ERROR_CODE post(RMA2_Port port, const RMA2_Handle *handle, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier, rma_command c)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    if (handle == NULL || !handle->connected ||
        !fabric_endpoint(port->card, handle->node, handle->vpid, &c.endpoint_i))
        return RMA2_INV_HANDLE;
    if (((unsigned)spec & ~(unsigned)UNITS) != 0 || ((unsigned)modifier & RMA2_CMD_MC) != 0)
        return RMA2_INV_VALUE;
    if (c.size < 1 || c.size > RMA2_SIZE_MAX || !is_aligned(&c))
        return RMA2_INV_VALUE;
    c.node = handle->node;
    c.vpid = handle->vpid;
    c.spec = (uint8_t)spec;
    c.modifier = (uint8_t)modifier;
    return rma_submit(port, &c);
}

/* Makes a put or get; local and remote are the addresses at origin and target. */
static rma_command between(RMA2_Command command, RMA2_NLA local, RMA2_NLA remote, uint32_t size)
{
    return (rma_command){ .command = command, .local = local, .remote = remote, .size = size };
}

/* Makes a put or get of a part of a region; size 0 if the part is outside of it. */
static rma_command of_region(RMA2_Command command, const RMA2_Region *region, size_t offset,
                             RMA2_NLA remote, uint32_t size)
{
    if (region == NULL || offset > region->size || size > region->size - offset)
        return between(command, 0, remote, 0);
    return between(command, region->nla + region->offset + offset, remote, size);
}

RMA2_ERROR_CODE rma2_post_put_bt(RMA2_Port port, const RMA2_Handle *handle,
                                 const RMA2_Region *source, size_t offset, uint32_t size,
                                 RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, of_region(RMA2_BT_PUT, source, offset, dest, size));
}

RMA2_ERROR_CODE rma2_post_put_qw(RMA2_Port port, const RMA2_Handle *handle,
                                 const RMA2_Region *source, size_t offset, uint32_t size,
                                 RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, of_region(RMA2_QW_PUT, source, offset, dest, size));
}

RMA2_ERROR_CODE rma2_post_get_bt(RMA2_Port port, const RMA2_Handle *handle, const RMA2_Region *dest,
                                 size_t offset, uint32_t size, RMA2_NLA remote,
                                 RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, of_region(RMA2_BT_GET, dest, offset, remote, size));
}

RMA2_ERROR_CODE rma2_post_get_qw(RMA2_Port port, const RMA2_Handle *handle, const RMA2_Region *dest,
                                 size_t offset, uint32_t size, RMA2_NLA remote,
                                 RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, of_region(RMA2_QW_GET, dest, offset, remote, size));
}

RMA2_ERROR_CODE rma2_post_put_bt_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA source,
                                        uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, between(RMA2_BT_PUT, source, dest, size));
}

RMA2_ERROR_CODE rma2_post_put_qw_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA source,
                                        uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, between(RMA2_QW_PUT, source, dest, size));
}

RMA2_ERROR_CODE rma2_post_get_bt_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA dest,
                                        uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, between(RMA2_BT_GET, dest, remote, size));
}

RMA2_ERROR_CODE rma2_post_get_qw_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA dest,
                                        uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier, between(RMA2_QW_GET, dest, remote, size));
}

RMA2_ERROR_CODE rma2_post_immediate_put(RMA2_Port port, const RMA2_Handle *handle, uint32_t count,
                                        uint64_t value, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier)
{
    rma_command c = between(RMA2_IMM_PUT, 0, dest, count > 8 ? 0 : count);
    c.value = value;
    return post(port, handle, spec, modifier, c);
}

RMA2_ERROR_CODE rma2_post_notification(RMA2_Port port, const RMA2_Handle *handle, RMA2_Class class8,
                                       uint64_t value, RMA2_Notification_Spec spec,
                                       RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier,
                (rma_command){ .command = RMA2_NOTI_PUT,
                               .size = class8 <= RMA2_CLASS_MAX,
                               .class8 = class8,
                               .value = value });
}

RMA2_ERROR_CODE rma2_post_lock(RMA2_Port port, const RMA2_Handle *handle, uint32_t target,
                               uint32_t lock_number, int32_t cmp, int32_t add,
                               RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return post(port, handle, spec, modifier,
                (rma_command){ .command = RMA2_LOCK,
                               .size = target <= 1 && lock_number < RMA2_LOCKS,
                               .lock_unit = (uint8_t)target,
                               .lock_number = lock_number,
                               .lock_cmp = cmp,
                               .lock_add = add });
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static RMA2_ERROR_CODE describe(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                RMA2_Command command, uint32_t count, uint64_t word1,
                                uint64_t word2, RMA2_Notification_Spec spec,
                                RMA2_Command_Modifier modifier)
{
    if (!handle->connected)
        return RMA2_INV_HANDLE;
    if (count < 1 || count > RMA2_SIZE_MAX)
        return RMA2_INV_VALUE;
    desc->word[0] = (uint64_t)(count - 1) << 40 | (uint64_t)(modifier & 0x1f) << 35 |
                    (uint64_t)(spec & UNITS) << 32 | (uint64_t)handle->node << 16 |
                    (uint64_t)handle->vpid << 8 | (uint64_t)command << 2 | 3;
    desc->word[1] = word1;
    desc->word[2] = word2;
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_desc_put_bt(RMA2_Descriptor *desc, const RMA2_Handle *handle, RMA2_NLA source,
                                 uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_BT_PUT, size, source, dest, spec, modifier);
}

RMA2_ERROR_CODE rma2_desc_get_bt(RMA2_Descriptor *desc, const RMA2_Handle *handle, RMA2_NLA dest,
                                 uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_BT_GET, size, remote, dest, spec, modifier);
}

RMA2_ERROR_CODE rma2_desc_immediate_put(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                        uint32_t count, uint64_t value, RMA2_NLA dest,
                                        RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_IMM_PUT, count, dest, value, spec, modifier);
}

RMA2_ERROR_CODE rma2_desc_notification(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                       RMA2_Class class8, uint64_t value,
                                       RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier)
{
    return describe(desc, handle, RMA2_NOTI_PUT, class8 + 1u, value, 0, spec, modifier);
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
        return post(port, handle, spec, modifier,
                    between(command, desc->word[1], desc->word[2], count));
    case RMA2_BT_GET:
    case RMA2_QW_GET:
        return post(port, handle, spec, modifier,
                    between(command, desc->word[2], desc->word[1], count));
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
