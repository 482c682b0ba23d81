/*
 * item_cursor.h - a place in a list of articles, as a token for others to keep.
 *
 * As event/cursor.h has it for the log: opaque, checked, one spelling. It says
 * in which order it is a place, since one of a search means nothing in a list.
 *
 * 28 characters of base64url: the order (one byte, which is also the version),
 * published_at and id (eight each), and four bytes of a digest over those.
 */
#pragma once

#include "base/base.h"

#define ITEM_CURSOR_LEN 28

enum item_order {
	ITEM_BY_DATE = 1, /* published_at, id; newest first */
	ITEM_BY_ID = 2,   /* id alone: searches, and "as of" */
};

struct item_place {
	int64_t at, id;
};

void item_cursor_format(
    enum item_order order, struct item_place p, char ret[ITEM_CURSOR_LEN + 1]);
/* ERR_INVALID, with what is wrong; the caller knows the field's name. */
int item_cursor_parse(struct str s, enum item_order order,
    struct item_place *ret, struct err *e) MUST_CHECK;
