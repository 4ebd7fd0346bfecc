/* SPDX-License-Identifier: BSD-3-Clause */
/* timer.c: a client of the tools alone, C and C++ alike. */
#include <gasnet_tools.h>

#include <stdio.h>

int main(void)
{
    gasnett_tick_t begin = gasnett_ticks_now();
    gasnett_sched_yield();
    printf("tools on %s: %s\n", gasnett_gethostname(),
           gasnett_ticks_to_ns(gasnett_ticks_now() - begin) < 60000000000u ? "good" : "WRONG");
    return 0;
}
