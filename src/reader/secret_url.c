#include "reader/secret_url.h"

/* A parameter whose name ends so, with a value that is no mere switch. The
 * migration that marked the feeds of older stores has the same words. */
static const char *const NAMES[] = {"token", "auth", "key", "secret", "sig",
    "signature", "password", "passwd", "pwd"};
#define VALUE_MIN 8

static bool
ends_nocase(struct str s, struct str with)
{
	return s.n >= with.n && str_eq_nocase(str_from(s, s.n - with.n), with);
}

/* Where the host begins and ends; an authority that is none is empty. */
static struct str
authority(struct str url)
{
	size_t at = 0, end;

	while (at + 2 < url.n && memcmp(url.p + at, "://", 3) != 0)
		at++;
	if (at + 2 >= url.n)
		return (struct str){url.p, 0};
	at += 3;
	for (end = at; end < url.n && !str_has(STR("/?#\\"), url.p[end]);)
		end++;
	return (struct str){url.p + at, end - at};
}

bool
secret_url(struct str url)
{
	struct str rest = url;

	if (str_has(authority(url), '@'))
		return true;
	rest = str_cut(&rest, '#');
	(void)str_cut(&rest, '?');
	while (rest.n > 0) {
		struct str value = str_cut(&rest, '&');
		struct str name = str_cut(&value, '=');

		if (value.n < VALUE_MIN)
			continue;
		for (size_t i = 0; i < COUNT_OF(NAMES); i++)
			if (ends_nocase(name, str_of(NAMES[i])))
				return true;
	}
	return false;
}

void
secret_url_json(struct str url, struct buf *b)
{
	struct str host = authority(url);
	size_t at = (size_t)(host.p - url.p), skip = host.n;
	struct buf plain = BUF(url.n + 1);

	while (skip > 0 && host.p[skip - 1] != '@')
		skip--;
	if (skip == 0) {
		buf_json(b, url);
		return;
	}
	buf_add(&plain, (struct str){url.p, at});
	buf_add(&plain, str_from(url, at + skip));
	buf_json(b, buf_str(&plain));
	if (plain.failed)
		b->failed = true;
	buf_done(&plain);
}
