/*
 * cursor.h - a place in the log, as a token for others to keep.
 *
 * WHY NOT JUST THE NUMBER. A client must treat it as opaque, so that its
 * meaning can change; and one that was cut, altered or made by somebody else
 * must be an error, since reading from a wrong place looks like lost events.
 *
 * A token is 12 bytes in base64url: the version (1), seq as eight bytes, and a
 * CRC-24 over both. It is no secret and no permission. The CRC finds every
 * change of up to four neighbouring characters, and all but one in sixteen
 * million of the rest. There is exactly one token for each seq.
 */
#pragma once

#include "base/base.h"

#define CURSOR_LEN 16

/* Everything after seq is still to be read; 0 is the beginning. */
void cursor_format(int64_t seq, char ret[CURSOR_LEN + 1]);
/* ERR_INVALID, with what is wrong; the caller knows the field's name. */
int cursor_parse(struct str s, int64_t *ret_seq, struct err *e) MUST_CHECK;
