#include "markup/xml_priv.h"

const unsigned char XML_SIGNS[256] = {
    [0 ... 8] = STOP,
    ['\t'] = BLANK,
    ['\n'] = BLANK,
    [11] = STOP,
    [12] = STOP,
    ['\r'] = STOP | BLANK,
    [14 ... 31] = STOP,
    [' '] = BLANK,
    ['&'] = STOP,
    ['-'] = NAME,
    ['.'] = NAME,
    ['0' ... '9'] = NAME,
    [':'] = NAME,
    ['A' ... 'Z'] = NAME_START | NAME,
    ['_'] = NAME_START | NAME,
    ['a' ... 'z'] = NAME_START | NAME,
    [0x80 ... 0xee] = NAME_START | NAME,
    [0xef] = NAME_START | NAME | STOP, /* U+FFFE and U+FFFF begin so */
    [0xf0 ... 0xff] = NAME_START | NAME,
};

#define EACH(byte) (0x0101010101010101u * (byte))

size_t
xml_plain(struct str s)
{
	size_t i = 0;

	for (;;) {
		/* Eight at a time: none below a blank, no &, no 0xef. Those
		 * behind the first that is one may be wrong; who cares. */
		while (s.n - i >= 8) {
			uint64_t w, amp, ef;

			memcpy(&w, s.p + i, sizeof(w));
			amp = w ^ EACH((uint64_t)'&');
			ef = w ^ EACH((uint64_t)0xef);
			if ((((w - EACH((uint64_t)0x20)) & ~w) |
				((amp - EACH((uint64_t)1)) & ~amp) |
				((ef - EACH((uint64_t)1)) & ~ef)) &
			    EACH((uint64_t)0x80))
				break;
			i += 8;
		}
		for (size_t end = i + 8; i < end; i++)
			if (i == s.n || (sign(s.p[i]) & STOP))
				return i;
	}
}

/* The five of XML, as most are. */
static size_t
own_reference(struct str s, struct str *ret)
{
	static const struct {
		struct str name, as;
	} OWN[] = {{STR("&lt;"), STR("<")}, {STR("&gt;"), STR(">")},
	    {STR("&amp;"), STR("&")}, {STR("&quot;"), STR("\"")},
	    {STR("&apos;"), STR("'")}};

	for (size_t i = 0; i < COUNT_OF(OWN); i++)
		if (s.n >= OWN[i].name.n &&
		    memcmp(s.p, OWN[i].name.p, OWN[i].name.n) == 0) {
			*ret = OWN[i].as;
			return OWN[i].name.n;
		}
	return 0;
}

static size_t
defined(struct xml_dtd *dtd, struct str s, struct str *ret)
{
	size_t n = 1;

	if (dtd->n == 0)
		return 0;
	while (n < s.n && n < 64 && (sign(s.p[n]) & NAME))
		n++;
	if (n == s.n || s.p[n] != ';' ||
	    !xml_dtd_find(dtd, (struct str){s.p + 1, n - 1}, ret))
		return 0;
	return n + 1;
}

size_t
xml_special(struct xml_reader *r, struct str s, bool refs,
    char room[ENTITY_MAX], struct str *ret)
{
	size_t took, len = 0;

	*ret = (struct str){s.p, 1};
	if (s.p[0] == '&') {
		if (!refs)
			return 1;
		took = own_reference(s, ret);
		if (took == 0)
			took = defined(&r->dtd, s, ret);
		if (took > 0)
			return took;
		took = entity_read(s, ENTITY_IN_XML, room, &len);
		r->faulty = r->faulty || took == 0 || s.p[1] != '#';
		if (took > 0)
			*ret = (struct str){room, len};
		return took > 0 ? took : 1;
	}
	if (s.p[0] == '\r') { /* any line end is \n */
		*ret = STR("\n");
		return s.n > 1 && s.p[1] == '\n' ? 2 : 1;
	}
	if (s.p[0] == '\xef' &&
	    (s.n < 3 || s.p[1] != '\xbf' || (unsigned char)s.p[2] < 0xbe))
		return 1;
	*ret = STR_EMPTY;
	r->faulty = true;
	return s.p[0] == '\xef' ? 3 : 1;
}
