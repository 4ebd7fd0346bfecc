/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_environment.c: the client's variables, printed like the library's own. */
#include "api/tools.h"

#include "api/api.h"
#include "boot/boot.h"
#include "job/job.h"
#include "knob/knob.h"
#include "tools/tools.h"

#include <errno.h>
#include <gasnet.h>
#include <gasnet_tools.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_LEN_MAX = 64 };

/* C clients expect the type of getenv; they do not write to the string. */
static char *as_getenv_does(const char *value) { return (char *)(uintptr_t)value; }

char *gasnett_getenv(const char *name)
{
    return name == NULL ? NULL : as_getenv_does(pen_api_tools_getenv(name));
}

void gasnett_setenv(const char *name, const char *value)
{
    if (name == NULL || value == NULL || !pen_knob_to_process(name, value))
        pen_api_tools_fatal("gasnett_setenv(%s): cannot set it: %s", name != NULL ? name : "NULL",
                            value == NULL ? "no value" : strerror(errno));
}

void gasnett_unsetenv(const char *name)
{
    if (name == NULL || !pen_knob_to_process(name, NULL))
        pen_api_tools_fatal("gasnett_unsetenv(%s): cannot remove it: %s",
                            name != NULL ? name : "NULL", strerror(errno));
    if (pen_api_root.job != NULL)
        pen_boot_forget_variable(&pen_api_root.job->boot, name);
}

/* ---- showing --------------------------------------------------------------------------------- */

int gasnett_verboseenv(void)
{
    const pen_job *job = pen_api_root.job;
    if (job != NULL)
        return job->config.verbose_env && job->rank == 0 ? 1 : 0;
    const char *value = pen_api_tools_getenv("GASNET_VERBOSEENV");
    bool wanted = false;
    return value != NULL && pen_knob_parse(PEN_KNOB_BOOL, value, &wanted) && wanted ? 1 : 0;
}

void gasnett_envstr_display(const char *name, const char *value, int is_default)
{
    const pen_knob row = { .name = name, .type = PEN_KNOB_STRING, .summary = "The program's." };
    if (gasnett_verboseenv() != 0)
        pen_knob_print(stderr, &row, value, is_default != 0);
}

void gasnett_envint_display(const char *name, int64_t value, int is_default, int is_mem_size)
{
    char text[NUMBER_LEN_MAX];
    pen_tools_format_number(value, text, sizeof text, is_mem_size != 0);
    gasnett_envstr_display(name, text, is_default);
}

void gasnett_envdbl_display(const char *name, double value, int is_default)
{
    char text[NUMBER_LEN_MAX];
    (void)snprintf(text, sizeof text, "%g", value);
    gasnett_envstr_display(name, text, is_default);
}

/* ---- with defaults --------------------------------------------------------------------------- */

/* Whether it is set and not empty: scripts unset a variable by an empty value. */
static const char *number_text(const char *name)
{
    const char *value = pen_api_tools_getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static _Noreturn void refuse(const char *name, const char *value, const char *form)
{
    pen_api_tools_fatal("cannot use %s=\"%s\": it has the wrong form; %s", name, value, form);
}

char *gasnett_getenv_withdefault(const char *name, const char *fallback)
{
    const char *value = pen_api_tools_getenv(name);
    bool is_default = value == NULL;
    gasnett_envstr_display(name, is_default ? fallback : value, is_default);
    return as_getenv_does(is_default ? fallback : value);
}

int gasnett_getenv_yesno_withdefault(const char *name, int fallback)
{
    const char *text = number_text(name);
    bool value = fallback != 0;
    if (text != NULL && !pen_knob_parse(PEN_KNOB_BOOL, text, &value))
        refuse(name, text, "say yes or no");
    gasnett_envstr_display(name, value ? "YES" : "NO", text == NULL);
    return value ? 1 : 0;
}

int64_t gasnett_getenv_int_withdefault(const char *name, int64_t fallback, uint64_t memory_unit)
{
    const char *text = number_text(name);
    int64_t value = fallback;
    if (text != NULL && !pen_tools_parse_int(text, memory_unit, &value))
        refuse(name, text,
               memory_unit != 0 ? "say a size such as 64K or 1.5G" : "say a whole number");
    gasnett_envint_display(name, value, text == NULL, memory_unit != 0);
    return value;
}

double gasnett_getenv_dbl_withdefault(const char *name, double fallback)
{
    const char *text = number_text(name);
    double value = fallback;
    if (text != NULL && !pen_tools_parse_real(text, &value))
        refuse(name, text, "say a number such as 0.25 or 1/4");
    gasnett_envdbl_display(name, value, text == NULL);
    return value;
}

/* ---- numbers --------------------------------------------------------------------------------- */

char *gasnett_format_number(int64_t value, char *buffer, size_t size, int is_mem_size)
{
    pen_tools_format_number(value, buffer, size, is_mem_size != 0);
    return buffer;
}

int64_t gasnett_parse_int(const char *text, uint64_t memory_unit)
{
    int64_t value = 0;
    if (pen_tools_parse_int(text, memory_unit, &value))
        return value;
    errno = EINVAL;
    return 0;
}
