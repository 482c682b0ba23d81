#include "markup/charset.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "markup/charset_priv.h"

#define BAD "\xef\xbf\xbd"

static const struct str LABELS[CS_COUNT] = {
#define ENCODING(id, iconv, kind, labels) [CS_##id] = STR(labels),
#include "markup/charsets.tbl"
};

/* What is read where it ends exactly: a byte too far is a finding of ASan. */
static struct str
exactly(struct str s)
{
	char *p = malloc(s.n > 0 ? s.n : 1);

	assert_non_null(p);
	if (s.n > 0)
		memcpy(p, s.p, s.n);
	return (struct str){p, s.n};
}

static void
give_back(struct str s)
{
	free((void *)(uintptr_t)s.p);
}

static size_t
convert(enum charset cs, struct str s, struct buf *b)
{
	struct str exact = exactly(s);
	size_t wrong;

	buf_clear(b);
	wrong = charset_convert(cs, exact, b);
	give_back(exact);
	assert_true(wrong <= s.n && !b->failed);
	assert_int_equal(str_utf8_bad(buf_str(b)), b->n);
	return wrong;
}

static bool
is_multi(enum charset cs)
{
	enum charset_kind k = charset_kind(cs);

	return k == CHARSET_PAIRS || k == CHARSET_SJIS || k == CHARSET_EUC_JP ||
	       k == CHARSET_GB || k == CHARSET_SHIFTED;
}

static bool
is_converted(enum charset cs)
{
	return charset_kind(cs) != CHARSET_UTF8 &&
	       charset_kind(cs) != CHARSET_REFUSED;
}

/* Each as the standard has it. */
static void
converts(void **)
{
	static const struct {
		enum charset cs;
		struct str bytes;
		const char *want;
		size_t wrong;
	} ROWS[] = {
	    {CS_IBM866, STR("\x8f\xe0"), "Пр", 0},
	    {CS_ISO_8859_2, STR("\xb1\xe6"), "ąć", 0},
	    {CS_ISO_8859_3, STR("\xe6\xa5"), "ĉ" BAD, 1},
	    {CS_ISO_8859_4, STR("\xe0"), "ā", 0},
	    {CS_ISO_8859_5, STR("\xbf\xe0"), "Пр", 0},
	    {CS_ISO_8859_6, STR("\xe5"), "م", 0},
	    {CS_ISO_8859_7, STR("\xc5\xa4"), "Ε€", 0},
	    {CS_ISO_8859_8, STR("\xf9\xa1"), "ש" BAD, 1},
	    {CS_ISO_8859_8_I, STR("\xf9"), "ש", 0},
	    {CS_ISO_8859_10, STR("\xbd"), "―", 0},
	    {CS_ISO_8859_13, STR("\xe0"), "ą", 0},
	    {CS_ISO_8859_14, STR("\xf0"), "ŵ", 0},
	    {CS_ISO_8859_15, STR("\xa4"), "€", 0},
	    {CS_ISO_8859_16, STR("\xaa"), "Ș", 0},
	    {CS_KOI8_R, STR("\xf0\xd2"), "Пр", 0},
	    {CS_KOI8_U, STR("\xa4\xae\xbe"), "єўЎ", 0},
	    {CS_MACINTOSH, STR("\x8e\xc6\xdb\xf0"), "é∆€\uf8ff", 0},
	    {CS_WINDOWS_874, STR("\xc0\x80\xdb"), "ภ€" BAD, 1},
	    {CS_WINDOWS_1250, STR("\x9c\x81"), "ś\xc2\x81", 1},
	    {CS_WINDOWS_1251, STR("\xcf\x98"), "П\xc2\x98", 1},
	    {CS_WINDOWS_1252, STR("\x93\x81\xe9"), "“\xc2\x81é", 0},
	    {CS_WINDOWS_1253, STR("\xc5\xaa"), "Ε" BAD, 1},
	    {CS_WINDOWS_1254, STR("\xdd"), "İ", 0},
	    {CS_WINDOWS_1255, STR("\xf9\xd9"), "ש" BAD, 1},
	    {CS_WINDOWS_1256, STR("\xe3"), "م", 0},
	    {CS_WINDOWS_1257, STR("\xde\xa1"), "Ž" BAD, 1},
	    /* never put together with what follows, and nothing is held back */
	    {CS_WINDOWS_1258, STR("a\xccO\xf2"), "a\u0300O\u0323", 0},
	    {CS_WINDOWS_1258, STR("xa"), "xa", 0},
	    {CS_X_MAC_CYRILLIC, STR("\x8f\xa2\xff"), "ПҐ€", 0},
	    {CS_X_USER_DEFINED, STR("a\x80\xff"), "a\uf780\uf7ff", 0},
	    {CS_EBCDIC, STR("\x4c\x6f\xa7"), "<?x", 0},
	    {CS_GBK, STR("\xd6\xd0\x80<"), "中€<", 0},
	    {CS_GBK, STR("\x81"), BAD, 1},
	    {CS_GBK, STR("\x81<a"), BAD "<a", 1},
	    {CS_GBK, STR("\xff<"), BAD "<", 1},
	    {CS_GB18030, STR("\x95\x32\x82\x36"), "\U00020000", 0},
	    {CS_GB18030, STR("\x95\x32\x82"), BAD, 1},
	    {CS_GB18030, STR("\x95\x32"), BAD, 1},
	    {CS_GB18030, STR("\x95\x32<"), BAD "2<", 1},
	    {CS_GB18030, STR("\x95\x32\x82<"), BAD "2" BAD "<", 2},
	    {CS_GB18030, STR("\xfe\x39\xfe\x39x"), BAD "x", 1},
	    {CS_BIG5, STR("\xa4\xa4\x88\x62"), "中\u00ca\u0304", 0},
	    {CS_BIG5, STR("\xa4"), BAD, 1},
	    {CS_BIG5, STR("\xa4<"), BAD "<", 1},
	    {CS_BIG5, STR("\xff<"), BAD "<", 1},
	    {CS_EUC_JP, STR("\xc6\xfc\x8e\xb1\xad\xa1"), "日ｱ①", 0},
	    {CS_EUC_JP, STR("\x8f\xb0\xa1"), "丂", 0},
	    {CS_EUC_JP, STR("\x8f\xb0"), BAD, 1},
	    {CS_EUC_JP, STR("\x8f"), BAD, 1},
	    {CS_EUC_JP, STR("\x8f\xb0<"), BAD "<", 1},
	    {CS_EUC_JP, STR("\x8f<"), BAD "<", 1},
	    {CS_EUC_JP, STR("\x8e<"), BAD "<", 1},
	    {CS_EUC_JP, STR("\xa1\xc1\xa0x"), "～" BAD "x", 1},
	    {CS_SHIFT_JIS, STR("\x93\xfa\xb1\x87\x40"), "日ｱ①", 0},
	    {CS_SHIFT_JIS, STR("\x93"), BAD, 1},
	    {CS_SHIFT_JIS, STR("\x93<"), BAD "<", 1},
	    {CS_EUC_KR, STR("\xc7\xd1\x8c\x63"), "한똠", 0},
	    {CS_EUC_KR, STR("\xa2\xe8"), BAD, 1}, /* read and then refused */
	    {CS_EUC_KR, STR("\xa2\xe8<a>"), BAD "<a>", 1},
	    {CS_EUC_KR, STR("\xa2"), BAD, 1},
	    {CS_EUC_KR, STR("\xc7<"), BAD "<", 1},
	    {CS_ISO_2022_JP, STR("a\033$BF|\033(B<"), "a日<", 0},
	    {CS_ISO_2022_JP, STR("\033$@F|\033(J\\~\033(I1"), "日¥‾ｱ", 0},
	    {CS_ISO_2022_JP, STR("\033$BF"), BAD, 1},
	    {CS_ISO_2022_JP, STR("\033$BF\033(B<"), BAD "<", 1},
	    {CS_ISO_2022_JP, STR("\033$B.!F|"), BAD "日", 1},
	    {CS_ISO_2022_JP, STR("\033$BF|\nF|"), "日\n日", 0},
	    {CS_ISO_2022_JP, STR("\033"), BAD, 1},
	    {CS_ISO_2022_JP, STR("\033$)C\x0e<"), BAD "$)C" BAD "<", 2},
	    {CS_ISO_2022_JP, STR("\033(I~<"), BAD "ｼ", 1},
	    {CS_ISO_2022_JP, STR("\xe9<"), BAD "<", 1},
	    {CS_UTF_16LE, STR("\x3d\xd8\0\xde<\0"), "\U0001f600<", 0},
	    {CS_UTF_16BE, STR("\xd8\x3d\xde\0\0<"), "\U0001f600<", 0},
	    {CS_UTF_16LE, STR("\x3d\xd8<\0"), BAD "<", 1},
	    {CS_UTF_16LE, STR("\0\xde<\0\x3d\xd8"), BAD "<" BAD, 2},
	    {CS_UTF_16BE, STR("\0<\0"), "<" BAD, 1},
	    {CS_UTF_32LE, STR("\0\xf6\1\0<\0\0\0"), "\U0001f600<", 0},
	    {CS_UTF_32BE, STR("\0\x11\0\0\0\0\xd8\0<"), BAD BAD BAD, 3},
	};
	struct buf b = BUF(MIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		size_t wrong = convert(ROWS[i].cs, ROWS[i].bytes, &b);

		if (!str_eq(buf_str(&b), str_of(ROWS[i].want)) ||
		    wrong != ROWS[i].wrong)
			fail_msg("row %zu: %.*s, %zu wrong", i,
			    STR_ARG(buf_str(&b)), wrong);
	}
	buf_done(&b);
}

/* Every byte, and two, at the end; three and four behind each lead. */
static void
ends_anywhere(void **)
{
	static const struct str TAILS[] = {STR(""), STR("<"), STR("0"),
	    STR("@"), STR("\x7f"), STR("\x80"), STR("\x8e"), STR("\x8f"),
	    STR("\xa1"), STR("\xb0"), STR("\xe8"), STR("\xfe"), STR("\xff"),
	    STR("\033"), STR("\033$"), STR("\033$B"), STR("\x0e"), STR("0\x81"),
	    STR("0\x81<"), STR("0\xff"), STR("\xb0\xff"), STR("\xb0<"),
	    STR("0\x81\x39"), STR("\0"), STR("\xd8")};
	struct buf b = BUF(MIB);
	char room[64];

	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
		for (unsigned c = 0; is_converted(cs) && c < 256; c++)
			for (size_t i = 0; i < COUNT_OF(TAILS); i++) {
				size_t n = TAILS[i].n;

				room[0] = (char)c;
				memcpy(room + 1, TAILS[i].p, n);
				(void)convert(
				    cs, (struct str){room, n + 1}, &b);
				if (!is_multi(cs))
					break;
			}
	buf_done(&b);
}

/* No byte that makes no sense takes the markup behind it along. */
static void
keeps_ascii(void **)
{
	struct buf b = BUF(MIB);

	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
		for (unsigned c = 0; is_multi(cs) && c < 256; c++) {
			char room[] = {'x', (char)c, '<', 'a'};

			(void)convert(cs, (struct str){room, 4}, &b);
			if (b.n < 4 || b.p[0] != 'x' ||
			    memcmp(b.p + b.n - 2, "<a", 2) != 0)
				fail_msg("%d, %02x: %.*s", (int)cs, c,
				    STR_ARG(buf_str(&b)));
		}
	buf_done(&b);
}

/* Over the borders of what is asked for at once. */
static void
is_long(void **)
{
	static const struct {
		enum charset cs;
		struct str one;
	} ROWS[] = {
	    {CS_EUC_KR, STR("\xc7\xd1")},
	    {CS_EUC_KR, STR("\xa2\xe8")},
	    {CS_EUC_JP, STR("\x8f\xb0\xa1")},
	    {CS_EUC_JP, STR("\x8f\xb0<")},
	    {CS_GB18030, STR("\x95\x32\x82\x36")},
	    {CS_BIG5, STR("\x88\x62<")},
	    {CS_SHIFT_JIS, STR("a\x93\xfa")},
	    {CS_ISO_2022_JP, STR("\033$BF|F|\033(B")},
	    {CS_ISO_2022_JP, STR("\033$BF|F")},
	};
	struct buf in = BUF(MIB), out = BUF(MIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		size_t one = convert(ROWS[i].cs, ROWS[i].one, &out);
		size_t bytes = out.n;

		buf_clear(&in);
		buf_addc(&in, ' ');
		for (size_t k = 0; k < 6000; k++)
			buf_add(&in, ROWS[i].one);
		assert_int_equal(
		    convert(ROWS[i].cs, buf_str(&in), &out), 6000 * one);
		assert_int_equal(out.n, 1 + 6000 * bytes);
	}
	buf_done(&in);
	buf_done(&out);
}

static int
decode(struct str bytes, struct str type, struct buf *b, struct str *ret)
{
	struct str exact = exactly(bytes), got = STR_EMPTY;
	struct err e = {0};
	int rc;

	buf_clear(b);
	rc = charset_decode(exact, type, b, &got, &e);
	if (rc == OK) {
		assert_int_equal(str_utf8_bad(got), got.n);
		if (got.p != b->p) { /* it is ours, and goes */
			buf_clear(b);
			buf_add(b, got);
		}
		*ret = buf_str(b);
	} else {
		assert_int_equal(rc, ERR_INVALID);
		assert_non_null(strstr(e.text, "charset"));
	}
	give_back(exact);
	return rc;
}

/* By the header, the declaration and a page, with each end. */
static void
one_label(enum charset as, struct str l, struct buf *in, struct buf *b)
{
	static const struct str TAILS[] = {STR("\xa2\xe8"), STR("\x0e"),
	    STR("\x81"), STR("\x8f\xa1"), STR("\x81\x30\x81"), STR("\xe9"),
	    STR("\033$B"), STR("\033$BF"), STR("\xff\xff"), STR("\xc3\xa9")};
	char type[128];

	for (size_t k = 0; k < 3 * COUNT_OF(TAILS); k++) {
		struct str got = STR_EMPTY;
		int rc;

		type[0] = '\0';
		buf_clear(in);
		if (k % 3 == 0)
			(void)snprintf(type, sizeof(type),
			    "text/xml; charset=\"%.*s\"", STR_ARG(l));
		else
			buf_fmt(in,
			    k % 3 == 1 ? "<?xml encoding='%.*s'?>"
				       : "<meta charset=%.*s>",
			    STR_ARG(l));
		buf_add(in, STR("<a>"));
		buf_add(in, TAILS[k / 3]);
		rc = decode(buf_str(in), str_of(type), b, &got);
		if (as != CS_REPLACEMENT)
			assert_true(rc == OK && str_has(got, 'a'));
		else if (k / 3 == 1) /* nothing but ASCII */
			assert_int_equal(rc, ERR_INVALID);
	}
}

static void
every_label(void **)
{
	struct buf in = BUF(KIB), b = BUF(MIB);
	size_t n = 0;

	for (enum charset cs = CS_NONE; cs < CS_COUNT; cs++)
		for (struct str all = LABELS[cs]; all.n > 0; n++)
			one_label(cs, str_cut(&all, ' '), &in, &b);
	assert_int_equal(n, 228);
	buf_done(&in);
	buf_done(&b);
}

/* What is called otherwise is as if nobody had said anything. */
static void
other_names(void **)
{
	static const char *const NAMES[] = {"utf-7", "iso-2022-jp-2",
	    "iso-2022-jp-3", "iso-2022-cn-ext//translit", "euc-tw", "johab",
	    "tcvn", "ibm1390", "ibm930", "utf-32", "cesu-8", "scsu",
	    "armscii-8", "", "\"\"", "utf-16//ignore", "big5//translit",
	    "euckr", "win-1251", "x"};
	static const struct str TAILS[] = {STR("\xe9"), STR("\x0e"),
	    STR("\xa2\xe8"), STR("\033$B"), STR("+ADw-script+AD4-")};
	struct buf in = BUF(KIB), plain = BUF(MIB), b = BUF(MIB);

	for (size_t i = 0; i < COUNT_OF(NAMES) * COUNT_OF(TAILS); i++) {
		struct str want = STR_EMPTY, got = STR_EMPTY;
		char type[64];

		(void)snprintf(type, sizeof(type), "text/xml; charset=%s",
		    NAMES[i / COUNT_OF(TAILS)]);
		buf_clear(&in);
		buf_add(&in, STR("<a>"));
		buf_add(&in, TAILS[i % COUNT_OF(TAILS)]);
		assert_int_equal(
		    decode(buf_str(&in), STR_EMPTY, &plain, &want), OK);
		assert_int_equal(
		    decode(buf_str(&in), str_of(type), &b, &got), OK);
		if (!str_eq(got, want))
			fail_msg("%s: %.*s", type, STR_ARG(got));
	}
	buf_done(&in);
	buf_done(&plain);
	buf_done(&b);
}

/* Behind charset_load() no file is opened. */
static void
loads(void **)
{
	int status = -1;
	pid_t child;

	assert_null(charset_load());
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit none = {0, 0};
		struct buf b = BUF(KIB);
		bool all = setrlimit(RLIMIT_NOFILE, &none) == 0;

		for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
			all = all && (!is_converted(cs) ||
					 charset_convert(cs, STR("\xa4\xa4"),
					     &b) != SIZE_MAX);
		_exit(all ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(converts),
	    cmocka_unit_test(ends_anywhere),
	    cmocka_unit_test(keeps_ascii),
	    cmocka_unit_test(is_long),
	    cmocka_unit_test(every_label),
	    cmocka_unit_test(other_names),
	    cmocka_unit_test(loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
