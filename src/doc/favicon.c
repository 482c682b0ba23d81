#include "doc/favicon.h"

static const struct {
	struct str magic;
	const char *mime;
} KINDS[] = {
    {{"\x89PNG\r\n\x1a\n", 8}, "image/png"},
    {{"GIF87a", 6}, "image/gif"},
    {{"GIF89a", 6}, "image/gif"},
    {{"\xff\xd8\xff", 3}, "image/jpeg"},
    {{"\0\0\1\0", 4}, "image/x-icon"},
    {{"\0\0\2\0", 4}, "image/x-icon"},
    /* By more than their first bytes. */
    {{NULL, 0}, "image/webp"},
    {{NULL, 0}, "image/svg+xml"},
};

/* <svg behind declarations, comments and blanks, within what is looked at. */
static bool
is_svg(struct str s)
{
	struct str head = {s.p, s.n < 1024 ? s.n : 1024};

	if (str_starts(head, STR("\xef\xbb\xbf")))
		head = str_from(head, 3);
	head = str_trim(head);
	if (head.n == 0 || head.p[0] != '<')
		return false;
	for (size_t i = 0; i + 4 < head.n; i++) {
		if (head.p[i] != '<')
			continue;
		if (memcmp(head.p + i, "<svg", 4) == 0)
			return strchr(" \t\r\n>", head.p[i + 4]) != NULL;
		/* An element that is none of ours: another document. */
		if (head.p[i + 1] != '?' && head.p[i + 1] != '!')
			return false;
	}
	return false;
}

const char *
favicon_mime(struct str s)
{
	for (size_t i = 0; i < COUNT_OF(KINDS); i++)
		if (KINDS[i].magic.p && str_starts(s, KINDS[i].magic))
			return KINDS[i].mime;
	if (s.n > 12 && memcmp(s.p, "RIFF", 4) == 0 &&
	    memcmp(s.p + 8, "WEBP", 4) == 0)
		return "image/webp";
	return is_svg(s) ? "image/svg+xml" : NULL;
}

const char *
favicon_find(struct str mime)
{
	for (size_t i = 0; i < COUNT_OF(KINDS); i++)
		if (str_eq(mime, str_of(KINDS[i].mime)))
			return KINDS[i].mime;
	return NULL;
}
