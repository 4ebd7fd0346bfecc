/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c: reads the records of the client's object files, and decides what follows from them. */
#include "api/program.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "job/job.h"

#include <gasnetex.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- do its files fit each other? ----------------------------------------------------------- */

static const char *mode_name(uint32_t mode)
{
    return mode == PEN_MODE_SEQ       ? "GASNET_SEQ"
           : mode == PEN_MODE_PARSYNC ? "GASNET_PARSYNC"
           : mode == PEN_MODE_PAR     ? "GASNET_PAR"
                                      : "an unknown thread mode";
}

static const char *segment_name(uint32_t segment)
{
    return segment == PEN_SEGMENT_FAST         ? "GASNET_SEGMENT_FAST"
           : segment == PEN_SEGMENT_LARGE      ? "GASNET_SEGMENT_LARGE"
           : segment == PEN_SEGMENT_EVERYTHING ? "GASNET_SEGMENT_EVERYTHING"
                                               : "an unknown segment mode";
}

static const char *conduit_name(uint32_t name)
{
    static const char *const names[] = {
        [PEN_NAME_ANY] = "any conduit",           [PEN_NAME_SMP] = "the smp conduit",
        [PEN_NAME_UDP] = "the udp conduit",       [PEN_NAME_MPI] = "the mpi conduit",
        [PEN_NAME_OFI] = "the ofi conduit",       [PEN_NAME_UCX] = "the ucx conduit",
        [PEN_NAME_IBV] = "the ibv conduit",       [PEN_NAME_PORTALS4] = "the portals4 conduit",
        [PEN_NAME_EXTOLL] = "the extoll conduit",
    };
    return name < sizeof names / sizeof names[0] ? names[name] : "an unknown conduit";
}

static const char *file_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return path == NULL ? "the program" : slash != NULL ? slash + 1 : path;
}

/* Ends the process: a program made of files that disagree cannot run, whatever it does with an
 * error code. */
static PEN_COLD _Noreturn void refuse_program(const pen_log *log, const char *file,
                                              const char *what, const char *other_file,
                                              const char *other_what)
{
    pen_log_error((pen_log *)(uintptr_t)log,
                  "%s was compiled for %s but %s for %s; compile all files of a program alike",
                  file_name(file), what, file_name(other_file), other_what);
    exit(EXIT_FAILURE);
}

static PEN_COLD _Noreturn void refuse_headers(pen_log *log, const char *file, uint32_t abi)
{
    pen_log_error(log,
                  "%s was compiled with headers of interface %" PRIu32
                  ", but this library speaks %d; compile it again with the library's headers",
                  file_name(file), abi, PEN_ABI);
    exit(EXIT_FAILURE);
}

/* A file without a conduit's name fits all others. */
static void note_name(pen_log *log, const pen_unit *unit, pen_program *out)
{
    if (unit->name == PEN_NAME_ANY || unit->name == out->name)
        return;
    if (out->name != PEN_NAME_ANY)
        refuse_program(log, unit->file, conduit_name(unit->name), out->file,
                       conduit_name(out->name));
    *out = (pen_program){ unit->name, unit->file };
}

/* Records lie one after another; the first members of each are the same in every version. */
static void check_units(pen_log *log, const pen_build *build, pen_program *out)
{
    const char *at = (const char *)build->units, *end = (const char *)build->units_end;
    while (at != NULL && (size_t)(end - at) >= sizeof(pen_unit)) {
        const pen_unit *unit = (const pen_unit *)(const void *)at;
        if (unit->abi != PEN_ABI || unit->size != sizeof(pen_unit))
            refuse_headers(log, unit->size == sizeof(pen_unit) ? unit->file : NULL, unit->abi);
        if (unit->mode != build->mode)
            refuse_program(log, unit->file, mode_name(unit->mode), build->file,
                           mode_name(build->mode));
        if (unit->segment != build->segment)
            refuse_program(log, unit->file, segment_name(unit->segment), build->file,
                           segment_name(build->segment));
        note_name(log, unit, out);
        at += sizeof(pen_unit);
    }
}

pen_program pen_api_program_check(pen_log *log, const pen_build *build)
{
    pen_program program = { PEN_NAME_ANY, NULL };
    if (build->abi != PEN_ABI || build->size != sizeof *build)
        refuse_headers(log, NULL, build->abi);
    check_units(log, build, &program);
    return program;
}

/* ---- does it fit the job? ------------------------------------------------------------------- */

pen_status pen_api_program_fits(pen_job *job, const pen_program *program)
{
    if (program->name != PEN_NAME_SMP || job->config.allow_other_conduit)
        return PEN_OK;
    uint32_t far = 0;
    while (far < job->size && (far == job->rank || job->routes[far].same_host))
        far++;
    if (far == job->size)
        return PEN_OK;
    if (job->rank == 0)
        pen_log_error(
            &job->log,
            "cannot run this program over %s: %s was built for the smp conduit, whose "
            "ranks share the memory of one host, but ranks 0 and %u do not; build it for "
            "udp (pkg-config gasnet-udp-<mode>, or udp-conduit/udp-<mode>.mak) or for any "
            "conduit (pkg-config penstock), or set PENSTOCK_ALLOW_OTHER_CONDUIT=1 if it "
            "works between hosts",
            job->conduit->name, file_name(program->file), far);
    (void)pen_boot_barrier(
        &job->boot); /* otherwise the end of another rank may end rank 0 before this message */
    return PEN_ERR_UNUSABLE;
}

/* ---- does it start itself? ------------------------------------------------------------------ */

uint32_t pen_api_program_ranks(const pen_program *program, const int *argc, char ***argv)
{
    enum { DIGITS_MAX = 9 };
    if (program->name != PEN_NAME_UDP || argc == NULL || argv == NULL || *argc < 2 ||
        *argv == NULL || (*argv)[1] == NULL)
        return 0;
    const char *text = (*argv)[1];
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > DIGITS_MAX || text[len] != '\0')
        return 0;
    return (uint32_t)strtoul(text, NULL, 10); /* 0 is not accepted either */
}

void pen_api_program_drop_ranks(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++) /* the last element moved is the NULL at the end */
        (*argv)[i] = (*argv)[i + 1];
    (*argc)--;
}
