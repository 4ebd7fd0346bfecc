/* SPDX-License-Identifier: BSD-3-Clause */
/* use.c: the card on which a thread opens ports. The vendor's calls name no card, because a
 * process has one device file. This is the only variable of the library. */
#include "softnic/extoll/fabric.h"

static _Thread_local pen_card *the_card;

void pen_card_use(pen_card *card) { the_card = card; }

pen_card *fabric_card_used(void) { return the_card; }
