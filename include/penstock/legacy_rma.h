/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy_rma.h: the GASNet-1 extended interface: put, get, fill and their synchronisation, between
 * job ranks. Arguments of all calls:
 *   node       the peer's job rank; may be the caller
 *   dest, src  the peer's address is inside its segment (any address in GASNET_SEGMENT_EVERYTHING),
 *              the local address is any; they must not overlap
 *   nbytes     0 is legal
 * The source of a put that is not "bulk" may be changed when the call returns, the source of a bulk
 * put when the operation is done. Bulk and other calls do not differ otherwise. No alignment is
 * needed. Wrong arguments end the job. Context: no handler.
 * GASNet-1, chapter "Extended API". */
#ifndef PENSTOCK_LEGACY_RMA_H
#define PENSTOCK_LEGACY_RMA_H

#include <penstock/legacy.h>
#include <penstock/rma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- blocking: done when they return; block and poll ---------------------------------------- */

/* Gets. */
GEX_INLINE void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t nbytes);
GEX_INLINE void gasnet_get_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes);
/* Puts. */
GEX_INLINE void gasnet_put(gasnet_node_t node, void *dest, void *src, size_t nbytes);
GEX_INLINE void gasnet_put_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes);
/* Sets bytes at the peer to val. Blocks and polls. */
GEX_INLINE void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes);

/* ---- with a handle: begin an operation; may wait for resources, and poll meanwhile ---------- */

/* Begin a get. Return a handle, GASNET_INVALID_HANDLE if it is done already. */
GEX_INLINE gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src, size_t nbytes);
GEX_INLINE gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src,
                                              size_t nbytes);
/* Begin a put. */
GEX_INLINE gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src, size_t nbytes);
GEX_INLINE gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
                                              size_t nbytes);
/* Begins to set bytes at the peer to val. */
GEX_INLINE gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes);

/* ---- implicit: as above; counted for the thread, or in its access region -------------------- */

/* Begin a get. */
GEX_INLINE void gasnet_get_nbi(void *dest, gasnet_node_t node, void *src, size_t nbytes);
GEX_INLINE void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes);
/* Begin a put. */
GEX_INLINE void gasnet_put_nbi(gasnet_node_t node, void *dest, void *src, size_t nbytes);
GEX_INLINE void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes);
/* Begins to set bytes at the peer to val. */
GEX_INLINE void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes);

/* ---- values: integers of 1..8 bytes in the machine's byte order ----------------------------- */

/* Gets an integer of nbytes, zero-extended. Blocks and polls. */
GEX_INLINE gasnet_register_value_t gasnet_get_val(gasnet_node_t node, void *src, size_t nbytes);
/* Put the low nbytes of val: wait until it is done; return a handle; count as an implicit
 * operation. */
GEX_INLINE void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t val,
                               size_t nbytes);
GEX_INLINE gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest,
                                             gasnet_register_value_t val, size_t nbytes);
GEX_INLINE void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t val,
                                   size_t nbytes);
/* Begins to get an integer. Any thread must call gasnet_wait_syncnb_valget once for each handle, in
 * order to receive the integer. */
GEX_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src, size_t nbytes);
/* Waits for the integer. Blocks and polls. */
GEX_INLINE gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle);

/* ---- synchronisation ------------------------------------------------------------------------ */

/* Synchronise handles. "wait" blocks and polls. "try" polls once and returns GASNET_OK or
 * GASNET_ERR_NOT_READY; "_nopoll" does not poll. A handle that is done no longer exists; in arrays
 * it becomes GASNET_INVALID_HANDLE, which counts as done. "some" means at least one handle; it
 * succeeds if only invalid handles are left. */

GEX_INLINE void gasnet_wait_syncnb(gasnet_handle_t handle);
GEX_INLINE int gasnet_try_syncnb(gasnet_handle_t handle);
GEX_INLINE int gasnet_try_syncnb_nopoll(gasnet_handle_t handle);
GEX_INLINE void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t count);
GEX_INLINE int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t count);
GEX_INLINE int gasnet_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t count);
GEX_INLINE void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t count);
GEX_INLINE int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t count);
GEX_INLINE int gasnet_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t count);

/* Synchronise this thread's implicit operations: gets, puts (and fills), or all. Not in an access
 * region. */
GEX_INLINE void gasnet_wait_syncnbi_gets(void);
GEX_INLINE void gasnet_wait_syncnbi_puts(void);
GEX_INLINE void gasnet_wait_syncnbi_all(void);
GEX_INLINE int gasnet_try_syncnbi_gets(void);
GEX_INLINE int gasnet_try_syncnbi_puts(void);
GEX_INLINE int gasnet_try_syncnbi_all(void);
GEX_INLINE int gasnet_try_syncnbi_gets_nopoll(void);
GEX_INLINE int gasnet_try_syncnbi_puts_nopoll(void);
GEX_INLINE int gasnet_try_syncnbi_all_nopoll(void);

/* Begin an access region, in which this thread counts implicit operations separately; end it and
 * return one handle for all of them. Regions do not nest. They do not poll. */
GEX_INLINE void gasnet_begin_nbi_accessregion(void);
GEX_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/legacy_rma.h>
#endif
