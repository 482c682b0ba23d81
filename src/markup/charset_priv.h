/*
 * charset_priv.h - what the parts of charset share.
 *
 *   charset.c          what is said of the bytes, and what is believed
 *   charset_guess.c    bytes that nobody says anything of
 *   charset_convert.c  bytes of one encoding to UTF-8
 */
#pragma once

#include "base/base.h"

/* How the bytes of an encoding are cut into characters. */
enum charset_kind {
	CHARSET_UTF8,
	CHARSET_SINGLE, /* a byte is one */
	CHARSET_PAIRS,  /* two, from 0x81 on */
	CHARSET_SJIS,
	CHARSET_EUC_JP,
	CHARSET_GB,
	CHARSET_SHIFTED, /* ISO-2022-JP: by what escapes say */
	CHARSET_UTF16,
	CHARSET_UTF32,
	CHARSET_REFUSED, /* nobody may read it: it hides what it says */
};

enum charset {
	CS_NONE,
#define ENCODING(id, iconv, kind, labels) CS_##id,
#include "markup/charsets.tbl"
	CS_COUNT
};

enum charset_kind charset_kind(enum charset cs);

/*
 * How many characters make no sense, for which U+FFFD stands in `to`; SIZE_MAX
 * when iconv does not know it. Not for CS_NONE, CS_UTF_8 and CS_REPLACEMENT.
 */
size_t charset_convert(enum charset cs, struct str s, struct buf *to);

/* CS_NONE: UTF-8 with other bytes in it, or windows-1252. */
enum charset charset_guess(struct str s);
