/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/init.h>, and the record of how this object file was compiled. */
#ifndef PENSTOCK_INLINE_INIT_H
#define PENSTOCK_INLINE_INIT_H

#include <penstock/init.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PEN_LIBRARY
/* The linker gathers these records between two bounds. If it offers no bounds (weak, so NULL), the
 * library checks only the object file that starts the job. The usual linker of clang would drop
 * unreferenced records. */
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
static const pen_unit pen_this_unit PEN_UNIT_KEEP = {
    PEN_ABI, PEN_MODE, PEN_SEGMENT, (uint32_t)sizeof(pen_unit), __BASE_FILE__, PEN_NAME, 0
};
#endif

/* Text that scripts search for in an executable in order to know how it was built. The length is
 * the one that every conduit grants. */
#define PEN_IDENT_TEXT_OF(x)    #x
#define PEN_IDENT_TEXT(x)       PEN_IDENT_TEXT_OF(x)
#define PEN_IDENT_LINE(key, is) "$GASNet" key ": " is " $\n"
/* clang-format off */
#define PEN_IDENT \
    PEN_IDENT_LINE("ConduitName", GASNET_CONDUIT_NAME_STR) \
    PEN_IDENT_LINE("ThreadModel", "GASNET_" PEN_MODE_NAME) \
    PEN_IDENT_LINE("Segment", "GASNET_SEGMENT_" PEN_SEGMENT_NAME) \
    PEN_IDENT_LINE("Config", "(libgasnet) " GASNET_CONFIG_STRING) \
    PEN_IDENT_LINE("ToolsConfig", "(libgasnet) " GASNET_CONFIG_STRING) \
    PEN_IDENT_LINE("APIVersion", PEN_IDENT_TEXT(GASNET_VERSION)) \
    PEN_IDENT_LINE("EXAPIVersion", PEN_IDENT_TEXT(GEX_SPEC_VERSION_MAJOR) "." \
                                   PEN_IDENT_TEXT(GEX_SPEC_VERSION_MINOR)) \
    PEN_IDENT_LINE("PSHM", "1") \
    PEN_IDENT_LINE("AMMaxMedium", "65536") \
    PEN_IDENT_LINE("DefaultSpawnFunction", "L") \
    PEN_IDENT_LINE("ForkSpawner", "1") \
    PEN_IDENT_LINE("SSHSpawner", "0") \
    PEN_IDENT_LINE("MPISpawner", "0") \
    PEN_IDENT_LINE("PMISpawner", "0")
/* clang-format on */

/* How this object file was compiled, and the records of all object files of its program or library.
 * Only files that start a job contain the text. */
static __inline__ pen_build pen_this_build(void)
{
    pen_build build = { PEN_ABI, PEN_MODE, PEN_SEGMENT, (uint32_t)sizeof(pen_build),
                        NULL,    NULL,     NULL };
#ifndef PEN_LIBRARY
    static const char ident[] = PEN_IDENT;
    __asm__ volatile("" : : "r"(ident)); /* used */
    build.file = pen_this_unit.file;
    build.units = __start_pen_units != NULL ? __start_pen_units : &pen_this_unit;
    build.units_end = __start_pen_units != NULL ? __stop_pen_units : &pen_this_unit + 1;
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
