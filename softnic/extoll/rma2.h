/* SPDX-License-Identifier: BSD-3-Clause */
/* rma2.h: RMA, puts and gets between registered memory: the interface of the user library of an
 * EXTOLL network card, second revision. The text is the project's own; names, arguments and the
 * layout of words are the vendor's. The library is independent of its users.
 *
 * Registered memory has a network logical address (NLA), which its owner sends to peers. An
 * operation is posted and proceeds by itself. Its progress is reported by notifications in the
 * queues of the two ports, as requested in `spec`:
 *
 *   operation         requester               completer                   responder
 *   put, immediate    origin: source was read target: data has arrived    -
 *   notification put  origin: sent            target: class and value     -
 *   get               origin: was sent        origin: data has arrived    target: was read
 *   lock (target 0)   origin: sent            origin: the answer          target: was done
 *
 * A notification names the posted command, with two exceptions: the origin's completer of a get
 * and a lock names the answer (GET_RSP, LOCK_RSP), and a lock's target sees LOCK_REQ.
 *
 * A put's source belongs to the card until the requester's notification. No notification tells an
 * origin that a put has arrived: request an answer, or do a get by the same handle. Commands to
 * one target take effect in the order in which they were posted; VELO and RMA have no order
 * between them. A full notification queue stops the card: the owner must free notifications, in
 * their order.
 *
 * A command with a bad address has no effect, and causes a notification with an error even if
 * `spec` requests no notification. If the origin's own address is bad, the origin gets a requester
 * notification. If the target's address of a put is bad, the target gets a completer notification.
 * If the target's address of a get is bad, the origin gets a notification with error bit
 * responder.
 *
 * Every rma2_post_* and rma2_noti_* of the origin's port continues waiting commands.
 *
 * Threads: rma2_post_* of one port must exclude each other, and so must the calls for
 * notifications; one thread may post while another thread handles notifications. Registration may
 * run beside both. */
#ifndef PEN_SOFTNIC_EXTOLL_RMA2_H
#define PEN_SOFTNIC_EXTOLL_RMA2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum RMA2_ERROR_CODE {
    RMA2_SUCCESS = 0,
    RMA2_ERROR = -1,
    RMA2_INV_HANDLE = -2,
    RMA2_INV_PORT = -3,
    RMA2_INV_VALUE = -4,  /* size, alignment, overlap, class */
    RMA2_NO_ROUTE = -5,   /* unknown node or VPID */
    RMA2_PORTS_USED = -6, /* all VPIDs are taken, or the thread has no card */
    RMA2_NO_MEM = -7,
    RMA2_NO_NOTI = -9,
    RMA2_TRY_AGAIN = -20, /* not the vendor's: the card has no room for another waiting command */
    RMA2_MLOCK_LIMIT = 32,
} RMA2_ERROR_CODE;

typedef uint64_t RMA2_NLA;
typedef uint16_t RMA2_Nodeid;
typedef uint16_t RMA2_VPID;
typedef uint8_t RMA2_Class;

#define RMA2_PAGE_LEN  4096
#define RMA2_SIZE_MAX  ((uint32_t)1 << 23) /* bytes of one command, at least 1 */
#define RMA2_CLASS_MAX 0xfd                /* 0xfe and 0xff are reserved */
#define RMA2_LOCKS     16                  /* cells of each port and unit */
#define RMA2_COMMANDS  256                 /* commands that can wait in a port */

typedef enum RMA2_Connection_Options { /* selects one of a target's requester pages */
                                       RMA2_CONN_DEFAULT = 0,
                                       RMA2_CONN_TC0 = 0,
                                       RMA2_CONN_TC1 = 1,
                                       RMA2_CONN_TC2 = 2,
                                       RMA2_CONN_TC3 = 3,
                                       RMA2_CONN_RRA = 4, /* not on this card: INV_VALUE */
                                       RMA2_CONN_IRQ = 8,
                                       RMA2_CONN_TE =
                                           16, /* physical addresses; not on this card: INV_VALUE */
} RMA2_Connection_Options;

typedef enum RMA2_Notification_Spec {
    RMA2_NO_NOTIFICATION = 0,
    RMA2_REQUESTER_NOTIFICATION = 1,
    RMA2_RESPONDER_NOTIFICATION = 2,
    RMA2_COMPLETER_NOTIFICATION = 4,
} RMA2_Notification_Spec;

typedef enum RMA2_Command_Modifier {
    RMA2_CMD_DEFAULT = 0,
    RMA2_CMD_MC = 1,  /* multicast; not on this card: INV_VALUE */
    RMA2_CMD_NTR = 2, /* a notification for each fragment */
    RMA2_CMD_ERA = 4, /* reordering allowed: no effect here */
    RMA2_CMD_EWA = 8,
} RMA2_Command_Modifier;

typedef enum RMA2_Command {
    RMA2_BT_GET = 0,
    RMA2_QW_GET = 1,
    RMA2_BT_PUT = 2,
    RMA2_QW_PUT = 3,
    RMA2_LOCK = 4,
    RMA2_NOTI_PUT = 5,
    RMA2_IMM_PUT = 6,
    RMA2_BT_GET_RSP = 10,
    RMA2_QW_GET_RSP = 11,
    RMA2_LOCK_REQ = 12,
    RMA2_LOCK_RSP = 13,
} RMA2_Command;

/* A notification: 16 bytes of a queue.
 * word 0: the local NLA of the last fragment | value of a notification put | lock: number 0-23,
 * result 24-31 (1: done), old value 32-63.
 * word 1, which is not 0: size - 1 of the last fragment 0-22 (class: 0-7), remote VPID 23-30,
 * remote node 32-47, type 48-50 (as in spec), command 51-54, mode 55-60, error 61-63 (unit, as in
 * spec). */
typedef struct RMA2_Notification {
    uint64_t word[2];
} RMA2_Notification;

/* A command that is prepared and can be posted many times.
 * word 0: 3 | command 2-5 | VPID 8-15 | node 16-31 | spec 32-34 | modifier 35-39 | count - 1 40-62;
 * word 1: address to read, or the value of a notification put; word 2: address to write, or the
 * value of an immediate put. */
typedef struct RMA2_Descriptor {
    uint64_t word[3];
} RMA2_Descriptor;

typedef struct rma2_port_state *RMA2_Port;

typedef struct RMA2_Handle { /* a virtual connection; fields are private to the library */
    RMA2_Nodeid node;
    RMA2_VPID vpid;
    uint16_t options;
    bool connected;
} RMA2_Handle;

typedef struct RMA2_Region { /* fields are private to the library */
    void *start;             /* as registered */
    RMA2_NLA nla;            /* address of the first page */
    size_t count;            /* pages */
    size_t offset;           /* offset of start in the first page */
    void *end;               /* behind the last byte */
    size_t size;
    uint32_t refcount; /* registrations that share the pages */
    uint32_t row;      /* row of the address table */
    bool adhoc, allocated;
    struct RMA2_Region *parent, *next;
} RMA2_Region;

/* ---- ports and connections ------------------------------------------------------------------- */

/* Opens a free VPID of the card that the calling thread uses (pen_card_use). RMA and VELO number
 * their VPIDs separately. */
RMA2_ERROR_CODE rma2_open(RMA2_Port *port);

/* Ends the port: waiting commands are dropped, remaining regions are unregistered. */
RMA2_ERROR_CODE rma2_close(RMA2_Port port);
RMA2_Nodeid rma2_get_nodeid(RMA2_Port port);
RMA2_VPID rma2_get_vpid(RMA2_Port port);
uint32_t rma2_get_node_num(RMA2_Port port);   /* nodes of the network */
uint32_t rma2_get_proc_num(RMA2_Port port);   /* VPIDs of a node */
uint32_t rma2_get_queue_size(RMA2_Port port); /* notifications that the queue holds */

/* Connects locally: no packet is sent. */
RMA2_ERROR_CODE rma2_connect(RMA2_Port port, RMA2_Nodeid node, RMA2_VPID vpid,
                             RMA2_Connection_Options options, RMA2_Handle *handle);
RMA2_ERROR_CODE rma2_disconnect(RMA2_Port port, RMA2_Handle *handle);
RMA2_Nodeid rma2_handle_get_node(const RMA2_Handle *handle);
RMA2_VPID rma2_handle_get_vpid(const RMA2_Handle *handle);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Registers the pages that hold the bytes. INV_VALUE: some are registered already. NO_MEM,
 * MLOCK_LIMIT: the kernel refuses. _nomalloc: fills the caller's region. _cached: shares a
 * registration that holds all of the bytes, if there is one. _adhoc: one page, which may overlap a
 * registered one. */
RMA2_ERROR_CODE rma2_register(RMA2_Port port, void *address, size_t size, RMA2_Region **region);
RMA2_ERROR_CODE rma2_register_nomalloc(RMA2_Port port, void *address, size_t size,
                                       RMA2_Region *region);
RMA2_ERROR_CODE rma2_register_cached(RMA2_Port port, void *address, size_t size,
                                     RMA2_Region **region);
RMA2_ERROR_CODE rma2_register_adhoc(RMA2_Port port, void *address, size_t size,
                                    RMA2_Region **region);

/* Unregisters a region of any of the four calls. Its NLAs are bad from now on, and are not reused
 * soon. No transfer to or from the region may be under way. */
RMA2_ERROR_CODE rma2_unregister(RMA2_Port port, RMA2_Region *region);

RMA2_ERROR_CODE rma2_get_nla(const RMA2_Region *region, size_t offset, RMA2_NLA *nla);
RMA2_ERROR_CODE rma2_get_va(const RMA2_Region *region, size_t offset, void **address);
size_t rma2_get_size(const RMA2_Region *region);
size_t rma2_get_page_count(const RMA2_Region *region);
bool rma2_region_contains(const RMA2_Region *region, const void *address, size_t size);
bool rma2_region_overlaps(const RMA2_Region *region, const void *address, size_t size);
bool rma2_region_equals(const RMA2_Region *region, const void *address, size_t size);

/* ---- commands -------------------------------------------------------------------------------- */

/* Put bytes (bt), or 8-byte words (qw: addresses and size are multiples of 8). */
RMA2_ERROR_CODE rma2_post_put_bt(RMA2_Port port, const RMA2_Handle *handle,
                                 const RMA2_Region *source, size_t offset, uint32_t size,
                                 RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_put_qw(RMA2_Port port, const RMA2_Handle *handle,
                                 const RMA2_Region *source, size_t offset, uint32_t size,
                                 RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_put_bt_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA source,
                                        uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_put_qw_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA source,
                                        uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier);

/* Get data from the peer's `remote` into the own region. */
RMA2_ERROR_CODE rma2_post_get_bt(RMA2_Port port, const RMA2_Handle *handle, const RMA2_Region *dest,
                                 size_t offset, uint32_t size, RMA2_NLA remote,
                                 RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_get_qw(RMA2_Port port, const RMA2_Handle *handle, const RMA2_Region *dest,
                                 size_t offset, uint32_t size, RMA2_NLA remote,
                                 RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_get_bt_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA dest,
                                        uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_get_qw_direct(RMA2_Port port, const RMA2_Handle *handle, RMA2_NLA dest,
                                        uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier);

/* Puts the low count (1-8) bytes of value. */
RMA2_ERROR_CODE rma2_post_immediate_put(RMA2_Port port, const RMA2_Handle *handle, uint32_t count,
                                        uint64_t value, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier);

/* Puts class and value into the target's notification queue. The spec selects the notifications;
 * without RMA2_COMPLETER_NOTIFICATION the target gets no notification. */
RMA2_ERROR_CODE rma2_post_notification(RMA2_Port port, const RMA2_Handle *handle, RMA2_Class class8,
                                       uint64_t value, RMA2_Notification_Spec spec,
                                       RMA2_Command_Modifier modifier);

/* Fetch, compare and add on cell lock_number of the target's unit (0: completer, 1: responder): if
 * (cell <= cmp) cell += add. The answer has the old value and whether the addition was done. */
RMA2_ERROR_CODE rma2_post_lock(RMA2_Port port, const RMA2_Handle *handle, uint32_t target,
                               uint32_t lock_number, int32_t cmp, int32_t add,
                               RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier);

/* Prepare puts, gets, immediate and notification puts. source: the side that is read. */
RMA2_ERROR_CODE rma2_desc_put_bt(RMA2_Descriptor *desc, const RMA2_Handle *handle, RMA2_NLA source,
                                 uint32_t size, RMA2_NLA dest, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_desc_get_bt(RMA2_Descriptor *desc, const RMA2_Handle *handle, RMA2_NLA dest,
                                 uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                                 RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_desc_immediate_put(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                        uint32_t count, uint64_t value, RMA2_NLA dest,
                                        RMA2_Notification_Spec spec,
                                        RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_desc_notification(RMA2_Descriptor *desc, const RMA2_Handle *handle,
                                       RMA2_Class class8, uint64_t value,
                                       RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier);
RMA2_ERROR_CODE rma2_post_descriptor(RMA2_Port port, const RMA2_Handle *handle,
                                     const RMA2_Descriptor *desc);

/* Continues waiting commands. Returns how many are not yet carried out. */
uint32_t rma2_flush(RMA2_Port port);

/* ---- notifications --------------------------------------------------------------------------- */

/* Returns the notification at the read pointer, which stays there until it is freed. NO_NOTI: the
 * queue is empty. */
RMA2_ERROR_CODE rma2_noti_probe(RMA2_Port port, RMA2_Notification **noti);
RMA2_ERROR_CODE rma2_noti_get_block(RMA2_Port port, RMA2_Notification **noti); /* waits */

/* Frees the notification at the read pointer. INV_VALUE: `noti` is another one. */
RMA2_ERROR_CODE rma2_noti_free(RMA2_Port port, RMA2_Notification *noti);
void rma2_noti_dup(const RMA2_Notification *noti, RMA2_Notification *copy);

/* Copies out the first notification with this command, type, node and VPID. Notifications before
 * it are kept aside for later calls of this kind; rma2_noti_probe does not return them again.
 * NO_NOTI: no notification matches. _block waits. */
RMA2_ERROR_CODE rma2_noti_match(RMA2_Port port, RMA2_Command command, RMA2_Notification_Spec type,
                                RMA2_Nodeid node, RMA2_VPID vpid, RMA2_Notification *copy);
RMA2_ERROR_CODE rma2_noti_match_block(RMA2_Port port, RMA2_Command command,
                                      RMA2_Notification_Spec type, RMA2_Nodeid node, RMA2_VPID vpid,
                                      RMA2_Notification *copy);

RMA2_Command rma2_noti_get_cmd(const RMA2_Notification *noti);
RMA2_Notification_Spec rma2_noti_get_notification_type(const RMA2_Notification *noti);
uint32_t rma2_noti_get_mode(const RMA2_Notification *noti);
uint32_t rma2_noti_get_error(const RMA2_Notification *noti); /* 0: no error; else the unit */
RMA2_Nodeid rma2_noti_get_remote_nodeid(const RMA2_Notification *noti);
RMA2_VPID rma2_noti_get_remote_vpid(const RMA2_Notification *noti);
RMA2_NLA rma2_noti_get_local_address(const RMA2_Notification *noti);
uint32_t rma2_noti_get_size(const RMA2_Notification *noti);

/* Returns the size of a whole command in fragments, which began at start. */
uint32_t rma2_noti_get_total_size(RMA2_NLA start, const RMA2_Notification *noti);
uint64_t rma2_noti_get_notiput_payload(const RMA2_Notification *noti);
RMA2_Class rma2_noti_get_notiput_class(const RMA2_Notification *noti);
int32_t rma2_noti_get_lock_value(const RMA2_Notification *noti);
uint32_t rma2_noti_get_lock_number(const RMA2_Notification *noti);
bool rma2_noti_get_lock_result(const RMA2_Notification *noti);

/* Returns the text of an error code. */
const char *rma2_strerror(RMA2_ERROR_CODE code);

#endif
