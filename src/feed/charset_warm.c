#include "feed/charset_warm.h"

#include <iconv.h>
#include <stddef.h>

#include "base/base.h"

static const char *const NAMES[] = {"UTF-16LE", "UTF-16BE", "UTF-32LE",
    "UTF-32BE", "IBM037", "IBM866", "ISO-8859-2", "ISO-8859-3", "ISO-8859-4",
    "ISO-8859-5", "ISO-8859-6", "ISO-8859-7", "ISO-8859-8", "ISO-8859-10",
    "ISO-8859-13", "ISO-8859-14", "ISO-8859-15", "ISO-8859-16", "KOI8-R",
    "KOI8-U", "MACINTOSH", "MAC-CYRILLIC", "MAC-UK", "TIS-620", "CP874",
    "CP949", "UHC", "CP932", "CP1250", "CP1251", "CP1252", "CP1253", "CP1254",
    "CP1255", "CP1256", "CP1257", "CP1258", "GBK", "GB18030", "BIG5",
    "BIG5-HKSCS", "EUC-JP", "EUC-JP-MS", "EUC-KR", "EUC-TW", "ISO-2022-JP",
    "ISO-2022-JP-2", "SHIFT_JIS", "SJIS", "IBM943"};

/* Never closed: a module that nobody has open is unloaded after a while. */
void
charset_warm(void)
{
	for (size_t i = 0; i < COUNT_OF(NAMES); i++)
		(void)iconv_open("UTF-8", NAMES[i]);
}
