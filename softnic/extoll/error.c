/* SPDX-License-Identifier: BSD-3-Clause */
/* error.c: the texts of return codes. */
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"

const char *velo2_strerror(velo2_ret_t code)
{
    static const char *const texts[] = {
        [VELO2_RET_SUCCESS] = "success",
        [VELO2_RET_INV_MSG] = "invalid message",
        [VELO2_RET_ERROR] = "port or connection not open",
        [VELO2_RET_NO_MSG] = "no message",
        [VELO2_RET_NO_MATCH] = "message of another type",
        [VELO2_RET_ERR_FDOPEN] = "no card or no free VPID",
        [VELO2_RET_ERR_MMAP] = "out of memory",
        [VELO2_RET_INVALID_MBOX] = "VPID is not open",
        [VELO2_RET_INVALID_NODE] = "no such node",
        [VELO2_RET_TRY_AGAIN] = "mailbox full",
        [VELO2_RET_INV_MTT] = "invalid message type",
    };
    return (unsigned)code < sizeof(texts) / sizeof(texts[0]) ? texts[code] : "unknown";
}

const char *rma2_strerror(RMA2_ERROR_CODE code)
{
    switch (code) {
    case RMA2_SUCCESS:
        return "success";
    case RMA2_ERROR:
        return "error";
    case RMA2_INV_HANDLE:
        return "invalid handle";
    case RMA2_INV_PORT:
        return "invalid port";
    case RMA2_INV_VALUE:
        return "invalid value";
    case RMA2_NO_ROUTE:
        return "unknown node or VPID";
    case RMA2_PORTS_USED:
        return "no card or no free VPID";
    case RMA2_NO_MEM:
        return "out of memory";
    case RMA2_NO_NOTI:
        return "no notification";
    case RMA2_TRY_AGAIN:
        return "too many commands wait";
    case RMA2_MLOCK_LIMIT:
        return "limit of locked memory";
    }
    return "unknown";
}
