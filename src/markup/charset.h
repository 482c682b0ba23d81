/*
 * charset.h - bytes of unknown kind to UTF-8.
 *
 * Asked in this order: a byte order mark; the pattern of zero bytes; the HTTP
 * header, unless it says Latin, which is what a server says that knows nothing;
 * the XML declaration, or a page's <meta>; the bytes themselves (the escapes of
 * ISO-2022-JP come before all that is said). The first answer under
 * which all bytes make sense is taken; when none is, the first one, with U+FFFD
 * for what makes none. Two things that everybody lies about: what says to be
 * ISO-8859-1 or ASCII is windows-1252, or UTF-8 when all of it is; and single
 * bytes of windows-1252 in UTF-8 are read as such; so are characters in halves
 * (CESU-8).
 *
 * A charset is named by one of the labels of the WHATWG Encoding Standard
 * (charsets.tbl); any other name is as good as none. Its encodings are read as
 * it says, as near as glibc's iconv comes; those that it has replaced since
 * they hide ASCII (ISO-2022-KR, ISO-2022-CN, HZ) are refused.
 *
 * INVARIANTS
 *   1. Every byte is read once and none beyond the end, whatever the bytes, the
 *      charset and iconv's answer (charset_convert.c).
 *   2. The text is UTF-8.
 */
#pragma once

#include "base/base.h"

/*
 * The text is `*ret`: `bytes` itself where it was UTF-8 already, else in `to`.
 * The BOM is gone; a declaration, if any, still stands and no longer holds.
 * ERR_LIMIT when `to` is too small, ERR_INVALID for a charset that is refused.
 */
int charset_decode(struct str bytes, struct str content_type, struct buf *to,
    struct str *ret, struct err *e) MUST_CHECK;

/*
 * Loads what iconv needs for every charset, for good: behind it none opens a
 * file. NULL, or the name of one that this system has not.
 */
const char *charset_load(void);
