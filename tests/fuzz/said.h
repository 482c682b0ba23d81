/*
 * said.h - what is said of bytes that a fuzz target reads, chosen by one of
 * them: nothing, every label of the Encoding Standard, and what nobody should
 * say.
 */
#pragma once

#include "base/base.h"
#include "markup/charset.h"

static inline struct str
said(uint8_t which)
{
	static const struct str ALL[] = {
	    STR(""),
	    STR("text/xml"),
#define LABEL(label, id) STR("text/html; charset=" label),
#include "markup/charsets.tbl"
	    STR("text/xml; charset=\"euc-kr"),
	    STR("text/xml; charset=utf-7"),
	    STR("charset='iso-2022-cn-ext//translit'"),
	    STR("text/xml;charset = ISO2022CNEXT"),
	};

	static bool loaded;

	/* Once: it would be most of what the fuzzer does. */
	if (!loaded)
		loaded = charset_load() == NULL;
	assert(loaded);
	return ALL[which < COUNT_OF(ALL) ? which : 0];
}
