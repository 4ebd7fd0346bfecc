/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/init.h>, and the record of how this object file was compiled. */
#ifndef PENSTOCK_INLINE_INIT_H
#define PENSTOCK_INLINE_INIT_H

#include <penstock/init.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PEN_LIBRARY
/* The linker gathers these records; where it offers no bounds for them (weak, so NULL) only the
 * object file that starts the job is checked. clang's usual linker would drop unreferenced ones. */
#    if defined(__clang__) && defined(__has_attribute)
#        if __has_attribute(retain)
#            define PEN_UNIT_KEEP __attribute__((used, retain, section("pen_units")))
#        endif
#    endif
#    ifndef PEN_UNIT_KEEP
#        define PEN_UNIT_KEEP __attribute__((used, section("pen_units")))
#    endif
extern const pen_unit __start_pen_units[] __attribute__((weak, visibility("hidden")));
extern const pen_unit __stop_pen_units[] __attribute__((weak, visibility("hidden")));
static const pen_unit pen_this_unit PEN_UNIT_KEEP = { PEN_ABI,       PEN_MODE,
                                                      PEN_SEGMENT,   (uint32_t)sizeof(pen_unit),
                                                      __BASE_FILE__, 0 };
#endif

/* How this object file was compiled, and the others of the program or library it is part of. */
static __inline__ pen_build pen_this_build(void)
{
    pen_build build = { PEN_ABI, PEN_MODE, PEN_SEGMENT, (uint32_t)sizeof(pen_build),
                        NULL,    NULL,     NULL };
#ifndef PEN_LIBRARY
    build.file = pen_this_unit.file;
    build.units = __start_pen_units;
    build.units_end = __stop_pen_units;
#endif
    return build;
}

GEX_INLINE int gex_Client_Init(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *team,
                               const char *name, int *argc, char ***argv, gex_Flags_t flags)
{
    pen_build build = pen_this_build();
    return pen_api_client_init(&build, client, endpoint, team, name, argc, argv, flags);
}

#ifdef __cplusplus
}
#endif
#endif
