#include "feed/page_text.h"

#include <iconv.h>

#include "base/arena.h"
#include "base/str.h"

#define LOOK_BYTES 1024 /* where HTML wants its <meta charset> */
#define LABEL_MAX  40

/* U+FFFD. */
static const char UNKNOWN[3] = {'\xef', '\xbf', '\xbd'};

/* The word behind "charset=" in s. */
static struct str
label_in(struct str s)
{
	for (; s.n > 8; s = str_from(s, 1)) {
		struct str rest = str_from(s, 7);
		size_t n = 0;

		if (!str_eq_nocase((struct str){s.p, 7}, STR("charset")))
			continue;
		while (rest.n > 0 && strchr(" \t\n\"'=", rest.p[0]))
			rest = str_from(rest, 1);
		while (n < rest.n && n < LABEL_MAX && rest.p[n] &&
		       !strchr(" \t\n\"'<>;/", rest.p[n]))
			n++;
		if (n > 0)
			return (struct str){rest.p, n};
	}
	return STR_EMPTY;
}

/* What iconv refuses becomes U+FFFD, a byte at a time. */
static struct str
converted(struct arena *a, struct str s, struct str label)
{
	iconv_t c;
	char name[LABEL_MAX + 1], *from, *p, *to;
	size_t left, room = 3 * s.n + 4;

	(void)snprintf(name, sizeof(name), "%.*s", STR_ARG(label));
	if (str_eq_nocase(label, STR("shift_jis")) ||
	    str_eq_nocase(label, STR("x-sjis")))
		(void)snprintf(name, sizeof(name), "CP932");
	if (str_eq_nocase(label, STR("iso-8859-1")))
		(void)snprintf(name, sizeof(name), "CP1252");
	p = arena_raw(a, room);
	c = p ? iconv_open("UTF-8", name) : (iconv_t)-1;
	if (c == (iconv_t)-1)
		return s;
	from = (char *)(uintptr_t)s.p;
	left = s.n;
	to = p;
	while (left > 0 && room > 3) {
		if (iconv(c, &from, &left, &to, &room) != (size_t)-1)
			break;
		if (left == 0 || room <= 3)
			break;
		memcpy(to, UNKNOWN, sizeof(UNKNOWN));
		to += 3;
		room -= 3;
		from++;
		left--;
	}
	(void)iconv_close(c);
	return (struct str){p, (size_t)(to - p)};
}

struct str
page_text(struct arena *a, struct str page, struct str content_type)
{
	struct str label, head = page;

	if (str_starts(page, STR("\xef\xbb\xbf")))
		return str_from(page, 3);
	if (str_starts(page, STR("\xff\xfe")))
		return converted(a, str_from(page, 2), STR("UTF-16LE"));
	if (str_starts(page, STR("\xfe\xff")))
		return converted(a, str_from(page, 2), STR("UTF-16BE"));
	if (head.n > LOOK_BYTES)
		head.n = LOOK_BYTES;
	label = label_in(content_type);
	if (label.n == 0)
		label = label_in(head);
	/* ISO-2022-JP is ASCII to who looks at its bytes. */
	if (str_utf8_bad(page) == page.n &&
	    !str_eq_nocase(label, STR("iso-2022-jp")))
		return page;
	return label.n > 0 ? converted(a, page, label) : page;
}
