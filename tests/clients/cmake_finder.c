/* SPDX-License-Identifier: BSD-3-Clause */
/* cmake_finder.c: the program of a project that finds GASNet by a module of its own. It asks the
 * preprocessor which network the module found, as the module's defines and the library's own have
 * to agree. */
#include <gasnetex.h>

#if USE_GASNET_CONDUIT_SMP
#    if !defined(GASNET_CONDUIT_SMP) || defined(GASNET_CONDUIT_UDP)
#        error not the network that the module found
#    endif
#elif USE_GASNET_CONDUIT_UDP
#    if !defined(GASNET_CONDUIT_UDP) || defined(GASNET_CONDUIT_SMP)
#        error not the network that the module found
#    endif
#else
#    error the module found no network
#endif

#ifndef GASNET_PAR
#    error the thread mode is not in the flags
#endif

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t team;
    if (gex_Client_Init(&client, &ep, &team, "FINDER", &argc, &argv, 0) != GASNET_OK)
        return EXIT_FAILURE;
    if (strcmp(GASNET_CORE_NAME_STR, argv[1]) != 0) {
        fprintf(stderr, "compiled for %s\n", GASNET_CORE_NAME_STR);
        gasnet_exit(EXIT_FAILURE);
    }
    printf("rank %u of %u: good\n", gex_TM_QueryRank(team), gex_TM_QuerySize(team));
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(EXIT_SUCCESS);
}
