/* SPDX-License-Identifier: BSD-3-Clause */
/* seen_record.h: a rank as an agent sees it, in a record for the launcher. */
#ifndef PEN_REMOTE_SEEN_RECORD_H
#define PEN_REMOTE_SEEN_RECORD_H

#include "base/pack.h"
#include "launch/seen.h"

void pen_seen_pack(pen_pack *to, const pen_seen *seen);

/* Reads a rank. If the record is too short, out->known is false. */
void pen_seen_unpack(pen_unpack *from, pen_seen *out);

#endif
