/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h: regions, marks and values of a program in the trace of its job (`penstock run --trace`),
 * beside what the library does. An addition of Penstock; no other header includes it.
 *
 * A name stands for all regions that have it. Its first 63 characters count, and a rank has at most
 * 255 names; further ones appear as "other". The calls cost some nanoseconds in a job that is not
 * traced, and have no effect before a job has started. Names appear in the trace as they are, so
 * they should contain no secret. */
#ifndef PENSTOCK_TRACE_H
#define PENSTOCK_TRACE_H

#include <penstock/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a region. Regions of a thread nest: the one that began last ends first.
 *   name  a text without a line break; the call copies it
 * Context: any but a signal handler. Does not poll. */
PEN_API void pen_trace_begin(const char *name);

/* Ends the region of this name that began last. Context: any but a signal handler. Does not poll.
 */
PEN_API void pen_trace_end(const char *name);

/* Marks this moment. Context: any but a signal handler. Does not poll. */
PEN_API void pen_trace_mark(const char *name);

/* Records the value that a quantity of the program has now; viewers draw it as a curve.
 * Context: any but a signal handler. Does not poll. */
PEN_API void pen_trace_value(const char *name, double value);

/* Returns non-zero if the job is traced, for programs that compute names or values for the calls
 * above. Context: any. Does not poll. */
PEN_API int pen_trace_is_on(void);

#ifdef __cplusplus
}

namespace penstock
{
/* A region that lasts as long as the object. `name` has to stay valid meanwhile. */
class trace_region
{
  public:
    explicit trace_region(const char *name) : name_(name) { pen_trace_begin(name); }
    ~trace_region() { pen_trace_end(name_); }
    trace_region(const trace_region &) = delete;
    trace_region &operator=(const trace_region &) = delete;

  private:
    const char *name_;
};
} // namespace penstock
#endif
#endif
