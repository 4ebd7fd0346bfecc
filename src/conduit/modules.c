/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.c: finds the files of modules, opens them, and judges what they contain. */
#include "conduit/modules.h"

#include "conduit/conduit.h"
#include "knob/knob.h"
#include "pen_config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "libpenstock-"
#define SUFFIX ".so"
#define SYMBOL "pen_conduit_"

_Static_assert(PEN_MODULE_PATHS_MAX + sizeof PREFIX + PEN_MODULE_NAME_MAX + sizeof SUFFIX <=
                   PEN_MODULE_FILE_MAX,
               "the file of a module in any folder fits");

const pen_knob pen_conduit_knobs[] = {
    { "PENSTOCK_CONDUIT_PATH", PEN_KNOB_STRING, NULL, 0,
      "Further folders with modules of conduits (libpenstock-<name>.so), separated by colons. "
      "Programs with set-user-ID ignore it." },
    { "PENSTOCK_DEVICE_ROOT", PEN_KNOB_STRING, "", sizeof(const char *),
      "For tests: folder in which sys/ and dev/ are, where network cards are looked for." },
    { 0 },
};

/* ---- folders --------------------------------------------------------------------------------- */

/* Adds one folder, if there is room: the text of `format` filled with `folder`. */
static __attribute__((format(printf, 2, 0))) void path_add(char *paths, const char *format,
                                                           int folder_len, const char *folder)
{
    const size_t len = strlen(paths), colon = len > 0;
    int added = len + colon >= PEN_MODULE_PATHS_MAX
                    ? -1
                    : snprintf(paths + len + colon, PEN_MODULE_PATHS_MAX - len - colon, format,
                               folder_len, folder);
    if (added < 0 || (size_t)added >= PEN_MODULE_PATHS_MAX - len - colon)
        paths[len] = '\0';
    else if (colon)
        paths[len] = ':';
}

/* Writes the file that contains this code. The loader names the main program by its first argument,
 * which the caller chooses, so the kernel is asked for the name of that file. Returns false for a
 * privileged program: its caller may have linked the file into another folder. */
static bool own_file(bool is_privileged, char out[PEN_MODULE_PATHS_MAX])
{
    Dl_info self, program;
    if (dladdr(&pen_conduit_knobs, &self) == 0)
        return false;
    bool is_program = dladdr((const void *)getauxval(AT_ENTRY), &program) ==
                          0 || // NOLINT(performance-no-int-to-ptr)
                      program.dli_fbase == self.dli_fbase;
    if (!is_program) {
        (void)snprintf(out, PEN_MODULE_PATHS_MAX, "%s", self.dli_fname);
        return true;
    }
    ssize_t len = is_privileged ? -1 : readlink("/proc/self/exe", out, PEN_MODULE_PATHS_MAX - 1);
    out[len > 0 ? len : 0] = '\0';
    return len > 0;
}

static bool ends_in(const char *text, int len, const char *end)
{
    const int end_len = (int)strlen(end);
    return len >= end_len && memcmp(text + len - end_len, end, (size_t)end_len) == 0;
}

void pen_module_paths(bool is_privileged, char out[PEN_MODULE_PATHS_MAX])
{
    char file[PEN_MODULE_PATHS_MAX];
    out[0] = '\0';
    /* the shared library lies in lib/, the checked one in lib/penstock/checked/, the command and
     * statically linked programs in bin/ */
    if (own_file(is_privileged, file) && strrchr(file, '/') != NULL) {
        int folder_len = (int)(strrchr(file, '/') - file);
        if (ends_in(file, folder_len, "/penstock/checked"))
            path_add(out, "%.*s/..", folder_len, file);
        path_add(out, "%.*s/penstock", folder_len, file);
        path_add(out, "%.*s/../" PEN_LIBDIR_NAME "/penstock", folder_len, file);
    }
    path_add(out, "%.*s/penstock", (int)sizeof PEN_LIBDIR - 1, PEN_LIBDIR);
    const char *more =
        is_privileged ? NULL : pen_knob_from_process(NULL, pen_conduit_knobs[0].name);
    if (more != NULL && more[0] != '\0')
        path_add(out, "%.*s", (int)strnlen(more, PEN_MODULE_PATHS_MAX), more);
}

/* Copies the folder at *paths and moves *paths behind it. Returns false at the end. */
static bool path_next(const char **paths, char folder[PEN_MODULE_PATHS_MAX])
{
    while (**paths == ':')
        ++*paths;
    size_t len = strcspn(*paths, ":");
    if (len == 0 || len >= PEN_MODULE_PATHS_MAX)
        return false;
    memcpy(folder, *paths, len);
    folder[len] = '\0';
    *paths += len;
    return true;
}

/* ---- one module ------------------------------------------------------------------------------ */

/* Conduits are named by lower-case letters, digits and hyphens. So a name is never a path. */
static bool is_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return len > 0 && len < PEN_MODULE_NAME_MAX && name[len] == '\0';
}

static void refuse(pen_module *out, const char *why, const char *detail)
{
    out->conduit = NULL;
    (void)snprintf(out->why_not, sizeof out->why_not, "%s%s", why, detail);
}

/* Judges what a library calls the conduit of this name. Only its first number may be read before
 * that is known to be ours. */
static void judge(const pen_conduit *found, pen_module *out)
{
    if (found == NULL)
        refuse(out, "its module contains no " SYMBOL, out->name);
    else if (found->abi != PEN_CONDUIT_ABI)
        (void)snprintf(out->why_not, sizeof out->why_not,
                       "its module was built for version %u of the contract of conduits, and this "
                       "Penstock has version %u; build both from the same source",
                       (unsigned)found->abi, (unsigned)PEN_CONDUIT_ABI);
    else if (strcmp(found->name, out->name) != 0)
        refuse(out, "its module contains a conduit of another name: ", found->name);
    else if (pen_conduit_shared_len(found, 2) != 0)
        refuse(out, "its module wants memory of the launcher, which only built-in conduits get",
               "");
    else
        out->conduit = found;
}

static void file_open(pen_module *out)
{
    char symbol[sizeof SYMBOL + PEN_MODULE_NAME_MAX];
    void *library = dlopen(out->file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        refuse(out, "its module does not open: ", dlerror());
        return;
    }
    (void)snprintf(symbol, sizeof symbol, SYMBOL "%s", out->name);
    for (char *at = symbol; *at != '\0'; at++) /* no C name has a hyphen */
        if (*at == '-')
            *at = '_';
    judge((const pen_conduit *)dlsym(library, symbol), out);
    (void)dlclose(library); /* RTLD_NODELETE: it stays where it is */
}

bool pen_module_open(const char *paths, const char *name, pen_module *out)
{
    char folder[PEN_MODULE_PATHS_MAX], file[PEN_MODULE_FILE_MAX];
    if (!is_name(name))
        return false;
    while (path_next(&paths, folder)) {
        (void)snprintf(file, sizeof file, "%s/" PREFIX "%s" SUFFIX, folder, name);
        if (access(file, F_OK) != 0)
            continue;
        *out = (pen_module){ .conduit = NULL };
        (void)snprintf(out->name, sizeof out->name, "%s", name);
        memcpy(out->file, file, sizeof file);
        if (pen_conduit_find_builtin(name) != NULL)
            refuse(out, "its module is not opened: Penstock itself contains a conduit of that name",
                   "");
        else
            file_open(out);
        return true;
    }
    return false;
}

/* ---- all modules ----------------------------------------------------------------------------- */

typedef struct names {
    char text[PEN_MODULES_MAX][PEN_MODULE_NAME_MAX];
    size_t count;
} names;

/* Adds the name in a file's name, if it is that of a module and not yet known. */
static void name_add(names *all, const char *file)
{
    size_t len = strlen(file), around = strlen(PREFIX) + strlen(SUFFIX);
    char name[PEN_MODULE_NAME_MAX];
    if (len <= around || len - around >= sizeof name ||
        strncmp(file, PREFIX, strlen(PREFIX)) != 0 ||
        strcmp(file + len - strlen(SUFFIX), SUFFIX) != 0 || all->count == PEN_MODULES_MAX)
        return;
    memcpy(name, file + strlen(PREFIX), len - around);
    name[len - around] = '\0';
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->text[i], name) == 0)
            return;
    if (is_name(name))
        memcpy(all->text[all->count++], name, sizeof name);
}

static int names_compare(const void *one, const void *other) { return strcmp(one, other); }

static bool is_of_family(const char *name, const char *family)
{
    const size_t len = family != NULL ? strlen(family) : 0;
    return family == NULL || (strncmp(name, family, len) == 0 && name[len] == '-');
}

size_t pen_module_names(const char *paths, char out[PEN_MODULES_MAX][PEN_MODULE_NAME_MAX])
{
    char folder[PEN_MODULE_PATHS_MAX];
    names all = { .count = 0 };
    for (const char *rest = paths; path_next(&rest, folder);) {
        DIR *listing = opendir(folder);
        for (struct dirent *entry = NULL;
             listing != NULL &&
             (entry = readdir(listing)) != NULL;) // NOLINT(concurrency-mt-unsafe)
            name_add(&all, entry->d_name);
        if (listing != NULL)
            (void)closedir(listing);
    }
    qsort(all.text, all.count, sizeof all.text[0], names_compare);
    memcpy(out, all.text, sizeof all.text);
    return all.count;
}

size_t pen_modules_open(const char *paths, const char *family, pen_module out[PEN_MODULES_MAX])
{
    char names_found[PEN_MODULES_MAX][PEN_MODULE_NAME_MAX];
    size_t count = 0, found = pen_module_names(paths, names_found);
    for (size_t i = 0; i < found; i++)
        if (is_of_family(names_found[i], family))
            count += pen_module_open(paths, names_found[i], &out[count]);
    return count;
}
