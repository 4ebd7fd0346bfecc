/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_bar.h: how far a program is, on a terminal; ten times a second at most. */
#ifndef PROGRESS_BAR_H
#define PROGRESS_BAR_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void progress_bar_show(const char *what, uint64_t done, uint64_t all)
{
    static double shown_s;
    static const char bar[] = "########################################";
    enum { BAR_LEN = sizeof(bar) - 1 };

    const double now = now_s();
    if (done < all && now - shown_s < 0.1)
        return;
    shown_s = now;
    const int len = all == 0 ? BAR_LEN : (int)(done * BAR_LEN / all);
    printf("\r%-8s [%-*.*s] %3d %%", what, BAR_LEN, len, bar, len * 100 / BAR_LEN);
    if (done >= all)
        fputs("\r\033[K", stdout);
    fflush(stdout);
}

#endif
