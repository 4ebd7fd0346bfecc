/* SPDX-License-Identifier: BSD-3-Clause */
/* libc.c: a client that includes one header of the library and then uses the C library. It has no
 * include of its own, as many clients have not. Compiled with each of the headers, and run. */
#include CLIENT_HEADER

#if SIZEOF_INT != 4 || SIZEOF_LONG != 8 || SIZEOF_VOID_P != 8
#    error sizes are usable in #if
#endif

struct pair {
    char first;
    int second;
};

/* An array of negative length does not compile. */
#define MUST_BE(name, truth) typedef char must_be_##name[(truth) ? 1 : -1]
MUST_BE(char, SIZEOF_CHAR == sizeof(char));
MUST_BE(short, SIZEOF_SHORT == sizeof(short));
MUST_BE(int, SIZEOF_INT == sizeof(int));
MUST_BE(long, SIZEOF_LONG == sizeof(long));
MUST_BE(pointer, SIZEOF_VOID_P == sizeof(void *));
MUST_BE(size, SIZEOF_SIZE_T == sizeof(size_t));
MUST_BE(difference, SIZEOF_PTRDIFF_T == sizeof(ptrdiff_t));
MUST_BE(longest, SIZEOF_LONG_LONG == 8);
MUST_BE(offset, offsetof(struct pair, second) >= 1);
MUST_BE(limits, INT_MAX > 0 && LONG_MIN < 0 && CHAR_BIT == 8);
MUST_BE(fixed, INT64_MAX > UINT32_MAX && SIZE_MAX >= UINT32_MAX && UINTPTR_MAX != 0);

int same(const char *name, const char *is, const char *should_be);

int same(const char *name, const char *is, const char *should_be)
{
    if (strcmp(is, should_be) == 0)
        return 1;
    (void)fprintf(stderr, "%s: '%s', should be '%s'\n", name, is, should_be);
    return 0;
}

static int check_formats(char *text, size_t size)
{
    size_t len = 0, read_back = 0;
    ptrdiff_t distance = -7;
    uint64_t wide = UINT64_C(1) << 40;
    len = (size_t)snprintf(text, size,
                           "%" PRIu64 " %" PRIx64 " %" PRIuSZ " %" PRIdSZ " %" PRIiSZ " %" PRIxSZ
                           " %" PRIXSZ " %" PRIoSZ " %" PRId32 " %" PRIuPTR,
                           wide, wide, (size_t)12, distance, distance, (size_t)171, (size_t)171,
                           (size_t)8, (int32_t)-1, (uintptr_t)9);
    if (len != strlen(text) || sscanf("34", "%" SCNuSZ, &read_back) != 1 || read_back != 34)
        return 0;
    return same("formats", text, "1099511627776 10000000000 12 -7 -7 ab AB 10 -1 9");
}

static int check_environment(void)
{
    static const char name[] = "PEN_TEST_OF_LIBC";
    char *copy = NULL;
    int good = 0;
    if (setenv(name, "there", 1) != 0)
        return 0;
    copy = strdup(getenv(name));
    good = copy != NULL && same("setenv", copy, "there");
    free(copy);
    (void)unsetenv(name);
    return good && getenv(name) == NULL;
}

int main(void)
{
    char *text = (char *)alloca(256);
    char *more = (char *)malloc((size_t)MAX(2, 200));
    int good = 0;
    if (more == NULL)
        abort();
    errno = 0;
    good = strtol("99999999999999999999", NULL, 10) == LONG_MAX && errno == ERANGE;
    memset(more, 'x', 200);
    memcpy(text, more, (size_t)MIN(200, 3));
    text[3] = '\0';
    good = good && same("memcpy", text, "xxx");
    good = good && check_formats(text, 256) && check_environment();
    free(more);
    if (!good)
        (void)fprintf(stderr, "%s\n", strerror(errno));
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
