/*
 * mask.h - values that must not be kept.
 *
 * The setting `event.mask` lists entries, separated by commas or blanks:
 *
 *   RecordCreated:/payload/fields/Email   one type, one JSON Pointer
 *   feed.item.*:/payload/author           all types that begin so
 *   *:/payload/contacts/0/phone           all types
 *
 * The pointers are RFC 6901, and one thing more: a segment that is a single
 * asterisk stands for every member or element. They lie below /payload, since
 * the envelope is needed to carry the event. A key with a comma or blank can
 * only be reached by the asterisk.
 *
 * At append the value at each pointer, whatever it is, becomes "***" in the
 * bytes that are stored; all other bytes stay as published. That is the one
 * exception to "as published", and it can not be undone.
 *
 * LIFE. A mask is parsed once, into the arena of the settings, and then only
 * read, by any thread.
 */
#pragma once

#include "base/base.h"

struct mask;

/* An empty text is a mask without entries. ERR_INVALID names the entry. */
int mask_parse(struct arena *a, struct str text, struct mask **ret,
    struct err *e) MUST_CHECK;

/*
 * The event's bytes with the values replaced, or event->raw itself when
 * nothing matches. It marks nodes of the tree, so a tree is masked only once.
 */
int mask_apply(struct arena *a, const struct mask *m, struct str type,
    struct json *event, struct str *ret, struct err *e) MUST_CHECK;
