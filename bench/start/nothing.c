/* SPDX-License-Identifier: BSD-3-Clause */
/* nothing.c: a job that starts and ends: what initialisation and exit cost. */
#include <gasnetex.h>

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    if (gex_Client_Init(&client, &endpoint, &team, "NOTHING", &argc, &argv, 0))
        return 1;
    gasnet_exit(0);
}
