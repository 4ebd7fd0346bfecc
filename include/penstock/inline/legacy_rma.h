/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/legacy_rma.h>. They call the GASNet-EX calls on the primordial team. */
#ifndef PENSTOCK_INLINE_LEGACY_RMA_H
#define PENSTOCK_INLINE_LEGACY_RMA_H

#include <penstock/legacy_rma.h>
#include <penstock/poll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- blocking ------------------------------------------------------------------------------- */

GEX_INLINE void gasnet_get(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    (void)gex_RMA_GetBlocking(pen_world, dest, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_get_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    (void)gex_RMA_GetBlocking(pen_world, dest, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_put(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    (void)gex_RMA_PutBlocking(pen_world, node, dest, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_put_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    (void)gex_RMA_PutBlocking(pen_world, node, dest, src, nbytes, PEN_FLAG_GASNET1);
}

/* Fills the peer's memory if it is mapped here; otherwise returns 0. */
static __inline__ int pen_rma_fill(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(pen_world, node, dest, nbytes, 0, &alias)))
        return 0;
    memset(alias, val, nbytes);
    pen_rma_put_done();
    return 1;
}

GEX_INLINE void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    if (!pen_rma_fill(node, dest, val, nbytes))
        pen_api_set(pen_world, node, dest, val, nbytes);
}

/* ---- with a handle -------------------------------------------------------------------------- */

GEX_INLINE gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    return gex_RMA_GetNB(pen_world, dest, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE gasnet_handle_t gasnet_get_nb_bulk(void *dest, gasnet_node_t node, void *src,
                                              size_t nbytes)
{
    return gex_RMA_GetNB(pen_world, dest, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    return gex_RMA_PutNB(pen_world, node, dest, src, nbytes, GEX_EVENT_NOW, PEN_FLAG_GASNET1);
}

GEX_INLINE gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, void *src,
                                              size_t nbytes)
{
    return gex_RMA_PutNB(pen_world, node, dest, src, nbytes, GEX_EVENT_DEFER, PEN_FLAG_GASNET1);
}

GEX_INLINE gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    if (pen_rma_fill(node, dest, val, nbytes))
        return GASNET_INVALID_HANDLE;
    return pen_api_set_nb(pen_world, node, dest, val, nbytes);
}

/* ---- implicit ------------------------------------------------------------------------------- */

GEX_INLINE void gasnet_get_nbi(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    (void)gex_RMA_GetNBI(pen_world, dest, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_get_nbi_bulk(void *dest, gasnet_node_t node, void *src, size_t nbytes)
{
    (void)gex_RMA_GetNBI(pen_world, dest, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_put_nbi(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    (void)gex_RMA_PutNBI(pen_world, node, dest, src, nbytes, GEX_EVENT_NOW, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, void *src, size_t nbytes)
{
    (void)gex_RMA_PutNBI(pen_world, node, dest, src, nbytes, GEX_EVENT_DEFER, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    if (!pen_rma_fill(node, dest, val, nbytes))
        pen_api_set_nbi(pen_world, node, dest, val, nbytes);
}

/* ---- values --------------------------------------------------------------------------------- */

GEX_INLINE gasnet_register_value_t gasnet_get_val(gasnet_node_t node, void *src, size_t nbytes)
{
    return gex_RMA_GetBlockingVal(pen_world, node, src, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t val,
                               size_t nbytes)
{
    (void)gex_RMA_PutBlockingVal(pen_world, node, dest, val, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest,
                                             gasnet_register_value_t val, size_t nbytes)
{
    return gex_RMA_PutNBVal(pen_world, node, dest, val, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t val,
                                   size_t nbytes)
{
    (void)gex_RMA_PutNBIVal(pen_world, node, dest, val, nbytes, PEN_FLAG_GASNET1);
}

GEX_INLINE gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, void *src, size_t nbytes)
{
    gasnet_valget_handle_t handle = { 0, NULL };
    void *alias;
    if (PEN_UNLIKELY(!pen_rma_mapped(pen_world, node, src, nbytes, 0, &alias)))
        return pen_api_valget(pen_world, node, src, nbytes);
    memcpy(pen_rma_low_bytes(&handle.value, nbytes), alias, nbytes);
    pen_rma_get_done();
    return handle;
}

GEX_INLINE gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle)
{
    return handle.op == NULL ? handle.value : pen_api_valget_wait(handle);
}

/* ---- synchronisation ------------------------------------------------------------------------ */

GEX_INLINE void gasnet_wait_syncnb(gasnet_handle_t handle) { gex_Event_Wait(handle); }

GEX_INLINE int gasnet_try_syncnb_nopoll(gasnet_handle_t handle) { return gex_Event_Test(handle); }

GEX_INLINE int gasnet_try_syncnb(gasnet_handle_t handle)
{
    if (handle == GASNET_INVALID_HANDLE)
        return GASNET_OK;
    (void)gasnet_AMPoll();
    return gex_Event_Test(handle);
}

GEX_INLINE void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t count)
{
    gex_Event_WaitSome(handles, count, 0);
}

GEX_INLINE int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t count)
{
    (void)gasnet_AMPoll();
    return gex_Event_TestSome(handles, count, 0);
}

GEX_INLINE int gasnet_try_syncnb_some_nopoll(gasnet_handle_t *handles, size_t count)
{
    return gex_Event_TestSome(handles, count, 0);
}

GEX_INLINE void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t count)
{
    gex_Event_WaitAll(handles, count, 0);
}

GEX_INLINE int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t count)
{
    (void)gasnet_AMPoll();
    return gex_Event_TestAll(handles, count, 0);
}

GEX_INLINE int gasnet_try_syncnb_all_nopoll(gasnet_handle_t *handles, size_t count)
{
    return gex_Event_TestAll(handles, count, 0);
}

GEX_INLINE void gasnet_wait_syncnbi_gets(void) { gex_NBI_Wait(GEX_EC_GET, 0); }
GEX_INLINE void gasnet_wait_syncnbi_puts(void) { gex_NBI_Wait(GEX_EC_PUT, 0); }
GEX_INLINE void gasnet_wait_syncnbi_all(void) { gex_NBI_Wait(GEX_EC_GET | GEX_EC_PUT, 0); }

GEX_INLINE int gasnet_try_syncnbi_gets_nopoll(void) { return gex_NBI_Test(GEX_EC_GET, 0); }
GEX_INLINE int gasnet_try_syncnbi_puts_nopoll(void) { return gex_NBI_Test(GEX_EC_PUT, 0); }

GEX_INLINE int gasnet_try_syncnbi_all_nopoll(void)
{
    return gex_NBI_Test(GEX_EC_GET | GEX_EC_PUT, 0);
}

GEX_INLINE int gasnet_try_syncnbi_gets(void)
{
    (void)gasnet_AMPoll();
    return gasnet_try_syncnbi_gets_nopoll();
}

GEX_INLINE int gasnet_try_syncnbi_puts(void)
{
    (void)gasnet_AMPoll();
    return gasnet_try_syncnbi_puts_nopoll();
}

GEX_INLINE int gasnet_try_syncnbi_all(void)
{
    (void)gasnet_AMPoll();
    return gasnet_try_syncnbi_all_nopoll();
}

GEX_INLINE void gasnet_begin_nbi_accessregion(void) { gex_NBI_BeginAccessRegion(0); }

GEX_INLINE gasnet_handle_t gasnet_end_nbi_accessregion(void) { return gex_NBI_EndAccessRegion(0); }

#ifdef __cplusplus
}
#endif
#endif
