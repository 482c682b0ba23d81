/* Bytes that nobody says anything of. */
#include "markup/charset_priv.h"
#include "markup/entity.h"

#define SNIFF_BYTES    ((size_t)16384)
#define LANGUAGE_BYTES ((size_t)4096)

struct tally {
	size_t kana, hangul, han, wide, common, hebrew, other;
	size_t lower, upper, odd; /* Cyrillic; odd: a capital within a word */
	size_t g_lower, g_upper;  /* Greek */
	bool sjis;                /* the bytes are those of Shift_JIS */
};

/* What no Chinese text is without, and what other texts seldom turn into. */
static bool
is_common(struct str c)
{
	static const char ALL[] = "的一是不了在人有中大上到和地以要年"
				  "這这個个們们為为說说國国會会時时與与";

	return memmem(ALL, sizeof(ALL) - 1, c.p, c.n) != NULL;
}

static struct tally
count(struct str s)
{
	struct tally t = {0};
	bool low = false; /* a small letter of Cyrillic stands before */

	for (size_t at = 0; at < s.n;) {
		size_t n = str_utf8_len(str_from(s, at));
		uint32_t c =
		    n == 2 || n == 3 ? entity_code(str_from(s, at), n) : 0;

		t.kana += c >= 0x3041 && c < 0x3100;
		t.hangul += c >= 0xac00 && c < 0xd7a4;
		t.han += (c >= 0x4e00 && c < 0xa000) || c == 0x3001 ||
			 c == 0x3002 || c == 0xff0c;
		t.wide += (c >= 0x3003 && c < 0x3041) || c == 0x3000 ||
			  (c >= 0xff01 && c < 0xffa0 && c != 0xff0c);
		t.common += n == 3 && is_common((struct str){s.p + at, 3});
		t.hebrew += c >= 0x5d0 && c < 0x5eb;
		t.g_lower += c >= 0x3ac && c < 0x3cf;
		t.g_upper += c >= 0x386 && c < 0x3ac;
		t.odd += low && c >= 0x400 && c < 0x430;
		low = c >= 0x430 && c < 0x460;
		t.lower += low;
		t.upper += c >= 0x400 && c < 0x430;
		t.other += c >= 0x80;
		at += n > 0 ? n : 1;
	}
	return t;
}

/* Out of 100: how much it looks like what this charset is for. */
static size_t
likeness(size_t kind, const struct tally *t)
{
	size_t good = 0;

	if (t->other == 0)
		return 0;
	switch (kind) {
	case 'j': /* Japanese has kana everywhere, in no other reading */
		if (t->kana > 0 || t->sjis)
			good = t->kana * 4 + t->han + t->wide;
		break;
	case 'k':
		good = t->hangul > 4 * t->han ? t->hangul : 0;
		break;
	case 'r': /* Russian is mostly small letters, and some capitals */
		if (t->lower > t->upper && t->odd * 16 <= t->lower &&
		    (t->upper > 0 || t->lower < 16))
			good = t->lower + t->upper;
		break;
	case 'h':
		good = t->hebrew;
		break;
	case 'g':
		good = t->g_lower > t->g_upper ? t->g_lower + t->g_upper : 0;
		break;
	case 'b': /* half of Big5 looks like letters of the West */
		good = t->common * 12 >= t->han ? t->han : 0;
		break;
	default:
		good = t->han;
		break;
	}
	good = good * 100 / t->other;
	return good > 100 ? 100 : good;
}

static const struct {
	enum charset charset;
	size_t kind;
} GUESSES[] = {{CS_EUC_JP, 'j'}, {CS_SHIFT_JIS, 'j'}, {CS_EUC_KR, 'k'},
    {CS_WINDOWS_1251, 'r'}, {CS_KOI8_R, 'r'}, {CS_WINDOWS_1255, 'h'},
    {CS_WINDOWS_1253, 'g'}, {CS_GB18030, 'c'}, {CS_BIG5, 'b'}};

/* The usual one of a language, where no more is known than that. */
static const struct {
	struct str language;
	enum charset charset;
} LANGUAGES[] = {{STR("ar"), CS_WINDOWS_1256}, {STR("bg"), CS_WINDOWS_1251},
    {STR("cs"), CS_WINDOWS_1250}, {STR("el"), CS_WINDOWS_1253},
    {STR("et"), CS_WINDOWS_1257}, {STR("fa"), CS_WINDOWS_1256},
    {STR("he"), CS_WINDOWS_1255}, {STR("hr"), CS_WINDOWS_1250},
    {STR("hu"), CS_WINDOWS_1250}, {STR("iw"), CS_WINDOWS_1255},
    {STR("ja"), CS_SHIFT_JIS}, {STR("ko"), CS_EUC_KR},
    {STR("lt"), CS_WINDOWS_1257}, {STR("lv"), CS_WINDOWS_1257},
    {STR("pl"), CS_WINDOWS_1250}, {STR("ro"), CS_WINDOWS_1250},
    {STR("ru"), CS_WINDOWS_1251}, {STR("sk"), CS_WINDOWS_1250},
    {STR("sl"), CS_WINDOWS_1250}, {STR("th"), CS_WINDOWS_874},
    {STR("tr"), CS_WINDOWS_1254}, {STR("uk"), CS_WINDOWS_1251},
    {STR("vi"), CS_WINDOWS_1258}, {STR("zh-tw"), CS_BIG5},
    {STR("zh-hk"), CS_BIG5}, {STR("zh"), CS_GB18030}};

/* By what <language> or xml:lang says, which is ASCII; CS_NONE: nothing. */
static enum charset
by_language(struct str s)
{
	static const struct str MARKS[] = {STR("<language>"),
	    STR("xml:lang=\""), STR("<dc:language>"), STR("<html lang=\"")};

	s.n = s.n > LANGUAGE_BYTES ? LANGUAGE_BYTES : s.n;
	for (size_t i = 0; i < COUNT_OF(MARKS); i++) {
		struct str rest = s;

		if (!str_pass(&rest, MARKS[i]))
			continue;
		for (size_t k = 0; k < COUNT_OF(LANGUAGES); k++) {
			struct str l = LANGUAGES[k].language;

			if (rest.n > l.n && strchr("-_<\" ", rest.p[l.n]) &&
			    str_starts_nocase(rest, l))
				return LANGUAGES[k].charset;
		}
	}
	return CS_NONE;
}

/*
 * Bytes over 127 mostly stand alone in Western texts, and few of them are
 * below 160 other than quotes and dashes. Shift_JIS is full of those.
 */
static bool
western(struct str s)
{
	size_t alone = 0, runs = 0, odd = 0, all = 0;

	for (size_t i = 0; i < s.n; i++) {
		size_t from = i;

		for (; i < s.n && (unsigned char)s.p[i] >= 0x80; i++) {
			unsigned char c = (unsigned char)s.p[i];

			all++;
			odd += c > 0x80 && c < 0xa0 && c != 0x85 &&
			       !(c >= 0x91 && c <= 0x97);
		}
		/* Two of them in a word of the West: "créée". */
		if (i - from == 1 ||
		    (i - from == 2 &&
			((from > 0 && str_is_letter(s.p[from - 1])) ||
			    (i < s.n && str_is_letter(s.p[i])))))
			alone++;
		else if (i > from)
			runs++;
	}
	return alone >= runs && odd * 4 <= all;
}

/*
 * In Shift_JIS nearly all characters begin with a byte from 0x81 to 0x9f, and
 * in no other one here; accents of the West stand alone.
 */
static bool
sjis_bytes(struct str s)
{
	size_t all = 0, low = 0, joined = 0;
	bool before = false;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool high = c >= 0x80;

		all += high;
		joined += high && before;
		before = high;
		if (high && (c < 0xa1 || c > 0xdf)) {
			low += c < 0xa0;
			before = ++i < s.n && (unsigned char)s.p[i] >= 0x80;
		}
	}
	return low >= 2 && low * 4 >= all * 3 && joined > 0;
}

/* Whichever looks most like what it is for. */
static enum charset
by_looks(struct str s, struct buf *b)
{
	enum charset best = CS_NONE;
	bool west = western(s);
	size_t most = 70;

	for (size_t i = 0; i < COUNT_OF(GUESSES); i++) {
		struct tally t;

		if (west && GUESSES[i].kind != 'b')
			continue;
		buf_clear(b);
		/* one: where we cut it */
		if (charset_convert(GUESSES[i].charset, s, b) > 1)
			continue;
		t = count(buf_str(b));
		t.sjis = GUESSES[i].charset == CS_SHIFT_JIS && sjis_bytes(s);
		if (likeness(GUESSES[i].kind, &t) > most) {
			most = likeness(GUESSES[i].kind, &t);
			best = GUESSES[i].charset;
		}
	}
	return best;
}

enum charset
charset_guess(struct str s)
{
	enum charset best = CS_NONE, usual = by_language(s);
	struct buf b = BUF(8 * SNIFF_BYTES);
	bool fits, alone, cut;

	/* From where it begins to be other than ASCII. */
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80) {
			s = str_from(s, i);
			break;
		}
	cut = s.n > SNIFF_BYTES;
	s.n = cut ? SNIFF_BYTES : s.n;
	fits = usual != CS_NONE && charset_convert(usual, s, &b) <= 1;
	/* Russian, Chinese and the like have several. */
	alone = fits && usual != CS_WINDOWS_1251 &&
		charset_kind(usual) == CHARSET_SINGLE;
	if (!alone)
		best = by_looks(s, &b);
	/* Without kana it looks like Chinese; in EUC-JP all bytes are high. */
	if (usual == CS_SHIFT_JIS && best != CS_EUC_JP && best != usual) {
		buf_clear(&b);
		best = charset_convert(CS_EUC_JP, s, &b) <= cut ? CS_EUC_JP
		       : fits                                   ? usual
								: best;
	}
	buf_done(&b);
	return best != CS_NONE || !fits ? best : usual;
}
