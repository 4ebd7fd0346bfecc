/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_job.c: GASNet's constants and lists of memory as text. */

#include "os/os.h"

#include "api/api.h"
#include "base/compiler.h"

#include <gasnet.h>
#include <gasnet_tools.h>
#include <gasnetex.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct bit_name {
    uint32_t bit;
    const char *name;
} bit_name;

#define BIT(name) { name, #name }

static const bit_name types[] = {
    BIT(GEX_DT_I32), BIT(GEX_DT_U32), BIT(GEX_DT_I64),  BIT(GEX_DT_U64),
    BIT(GEX_DT_FLT), BIT(GEX_DT_DBL), BIT(GEX_DT_USER), { 0, NULL },
};
static const bit_name operations[] = {
    BIT(GEX_OP_AND),  BIT(GEX_OP_OR),      BIT(GEX_OP_XOR),   BIT(GEX_OP_ADD),  BIT(GEX_OP_SUB),
    BIT(GEX_OP_MULT), BIT(GEX_OP_MIN),     BIT(GEX_OP_MAX),   BIT(GEX_OP_INC),  BIT(GEX_OP_DEC),
    BIT(GEX_OP_SET),  BIT(GEX_OP_CAS),     BIT(GEX_OP_FAND),  BIT(GEX_OP_FOR),  BIT(GEX_OP_FXOR),
    BIT(GEX_OP_FADD), BIT(GEX_OP_FSUB),    BIT(GEX_OP_FMULT), BIT(GEX_OP_FMIN), BIT(GEX_OP_FMAX),
    BIT(GEX_OP_FINC), BIT(GEX_OP_FDEC),    BIT(GEX_OP_SWAP),  BIT(GEX_OP_FCAS), BIT(GEX_OP_GET),
    BIT(GEX_OP_USER), BIT(GEX_OP_USER_NC), { 0, NULL },
};
static const bit_name fields[] = {
    BIT(GEX_TI_SRCRANK), BIT(GEX_TI_ENTRY), BIT(GEX_TI_IS_REQ),
    BIT(GEX_TI_IS_LONG), BIT(GEX_TI_EP),    { 0, NULL },
};

/* ---- text that may not fit ------------------------------------------------------------------- */

typedef struct writer {
    char *at;    /* NULL: nowhere */
    size_t size; /* room that is left, with the terminating 0 */
    size_t len;  /* length of the whole text, without the 0 */
} writer;

static void PEN_PRINTF(2, 3) put(writer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(out->at, out->at != NULL ? out->size : 0, format, arguments);
    va_end(arguments);
    if (len <= 0)
        return;
    out->len += (size_t)len;
    if (out->at == NULL || out->size == 0)
        return;
    size_t written = (size_t)len < out->size ? (size_t)len : out->size - 1;
    out->at += written;
    out->size -= written;
}

/* Writes the names of the bits that are set, and bits without a name as a number. */
static void put_bits(writer *out, uint32_t bits, const bit_name *names)
{
    const char *between = "";
    for (; names->name != NULL; names++) {
        if ((bits & names->bit) == 0)
            continue;
        put(out, "%s%s", between, names->name);
        between = "|";
        bits &= ~names->bit;
    }
    if (bits != 0 || out->len == 0)
        put(out, "%s%#" PRIx32, between, bits);
}

/* A thread's latest texts. All names of the longest table fit into one text. */
enum { TEXTS = 8, TEXT_LEN_MAX = 512 };
typedef struct texts {
    unsigned next_i;
    char text[TEXTS][TEXT_LEN_MAX];
} texts;

static pthread_once_t texts_once = PTHREAD_ONCE_INIT;
static pthread_key_t texts_key;
static bool has_texts_key;

static void make_texts_key(void) { has_texts_key = pthread_key_create(&texts_key, free) == 0; }

/* Returns this thread's texts; NULL: no memory. */
static texts *texts_here(void)
{
    (void)pthread_once(&texts_once, make_texts_key);
    if (!has_texts_key)
        return NULL;
    texts *here = pthread_getspecific(texts_key);
    if (here != NULL)
        return here;
    here = calloc(1, sizeof *here);
    if (here != NULL && pthread_setspecific(texts_key, here) != 0) {
        free(here);
        return NULL;
    }
    return here;
}

static char *format_bits(uint32_t bits, const bit_name *names)
{
    static char no_memory[] = "(no memory)";
    texts *here = texts_here();
    if (here == NULL)
        return no_memory;
    char *text = here->text[here->next_i++ % TEXTS];
    writer out = { .at = text, .size = TEXT_LEN_MAX };
    put_bits(&out, bits, names);
    return text;
}

char *gasnett_format_dt(gex_DT_t type) { return format_bits(type, types); }
char *gasnett_format_op(gex_OP_t operation) { return format_bits(operation, operations); }
char *gasnett_format_ti(gex_TI_t wanted) { return format_bits(wanted, fields); }

/* ---- lists of memory ------------------------------------------------------------------------- */

/* Bytes that one entry, and the text around a list, need at most. */
enum { ENTRY_LEN_MAX = 64, AROUND_LEN_MAX = 128 };

static size_t put_memvecs(writer *out, size_t count, const gex_Memvec_t *list)
{
    size_t total = 0;
    put(out, "%zu entries:", count);
    for (size_t i = 0; i < count; i++) {
        put(out, " [%p, %zu bytes]", list[i].gex_addr, list[i].gex_len);
        total += list[i].gex_len;
    }
    put(out, " (%zu bytes in all)", total);
    return total;
}

size_t gasnett_format_memveclist_bufsz(size_t count)
{
    return count * ENTRY_LEN_MAX + AROUND_LEN_MAX;
}

size_t gasnett_format_memveclist(char *buffer, size_t count, const gex_Memvec_t *list)
{
    writer out = { .at = buffer, .size = gasnett_format_memveclist_bufsz(count) };
    return put_memvecs(&out, count, list);
}

size_t gasnett_format_addrlist_bufsz(size_t count)
{
    return gasnett_format_memveclist_bufsz(count);
}

char *gasnett_format_addrlist(char *buffer, size_t count, void *const *list, size_t len)
{
    writer out = { .at = buffer, .size = gasnett_format_addrlist_bufsz(count) };
    put(&out, "%zu entries of %zu bytes:", count, len);
    for (size_t i = 0; i < count; i++)
        put(&out, " %p", list[i]);
    return buffer;
}

size_t gasnett_format_putsgets_bufsz(size_t dest_count, size_t source_count)
{
    return gasnett_format_memveclist_bufsz(dest_count) +
           gasnett_format_memveclist_bufsz(source_count);
}

char *gasnett_format_putsgets(char *buffer, size_t dest_count, const gex_Memvec_t *dest,
                              size_t source_count, const gex_Memvec_t *source)
{
    writer out = { .at = buffer, .size = gasnett_format_putsgets_bufsz(dest_count, source_count) };
    put(&out, "to ");
    (void)put_memvecs(&out, dest_count, dest);
    put(&out, "; from ");
    (void)put_memvecs(&out, source_count, source);
    return buffer;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *gasnett_mmap(uintptr_t len)
{
    size_t whole = pen_align_up(len > 0 ? len : 1, pen_page_len());
    void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void gasnett_diagnostic_gethandlers(gex_AM_Entry_t **table, int *count)
{
    if (table != NULL)
        *table = NULL;
    if (count != NULL)
        *count = 0;
}
