#include "markup/text.h"

#include "markup/entity.h"
#include "markup/html.h"

struct str
text_copy(struct arena *a, struct str s)
{
	char *p = arena_try(a, s.n + 1);

	if (!p)
		return STR_EMPTY;
	memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return (struct str){p, s.n};
}

/* Bytes of the tag or comment at s; 0: it is none; SIZE_MAX: nor is any. */
static size_t
tag_len(struct str s)
{
	const char *end;

	if (s.n < 3 ||
	    !(str_is_letter(s.p[1]) || s.p[1] == '/' || s.p[1] == '!'))
		return 0;
	end = memchr(s.p, '>', s.n);
	return end ? (size_t)(end - s.p) + 1 : SIZE_MAX;
}

/* Does the tag at s part words? */
static bool
parts(struct str s)
{
	struct html_node n = {
	    .text = str_from(s, s.n > 1 && s.p[1] == '/' ? 2 : 1)};
	char low[12];
	size_t i = 0;

	for (; i < n.text.n && i < sizeof(low) &&
	       (str_is_letter(n.text.p[i]) || str_is_digit(n.text.p[i]));
	     i++)
		low[i] = (char)(n.text.p[i] | 0x20);
	n.tag = (uint8_t)html_tag_find((struct str){low, i});
	return html_is_block(&n);
}

/* `apart`: there is a blank where a block began or ended. */
static struct str
strip(struct arena *a, struct str s, bool tags, bool apart)
{
	size_t n = 0, room_bytes = s.n + 1;
	char *p;

	/* Few references are shorter than what they stand for, by two. */
	for (size_t i = 0; i < s.n; i++)
		room_bytes += s.p[i] == '&' ? 2 : 0;
	p = arena_try(a, room_bytes);
	if (!p)
		return STR_EMPTY;
	while (s.n > 0) {
		size_t took = 0, len = 0;
		char room[ENTITY_MAX];

		/* Where no > is left, no later < is a tag either. */
		if (tags && s.p[0] == '<') {
			took = tag_len(s);
			tags = took < SIZE_MAX;
			took = tags ? took : 0;
			if (apart && took > 0 && parts(s))
				p[n++] = ' ';
		} else if (s.p[0] == '&') {
			took = entity_read(s, ENTITY_IN_ATTR, room, &len);
		}
		if (took == 0) {
			room[0] = s.p[0];
			len = took = 1;
		}
		memcpy(p + n, room, len);
		n += len;
		s = str_from(s, took);
	}
	return (struct str){p, n};
}

struct str
text_squeeze(struct arena *a, struct str s)
{
	bool again = false;
	size_t n = 0;
	char *p;

	s = str_trim(s);
	for (size_t i = 0; i < s.n && !again; i++)
		again = str_is_blank(s.p[i]) &&
			(s.p[i] != ' ' || str_is_blank(s.p[i + 1]));
	if (!again)
		return s;
	p = arena_try(a, s.n);
	if (!p)
		return STR_EMPTY;
	for (size_t i = 0; i < s.n; i++) {
		if (!str_is_blank(s.p[i]))
			p[n++] = s.p[i];
		else if (n > 0 && p[n - 1] != ' ')
			p[n++] = ' ';
	}
	return (struct str){p, n};
}

struct str
text_of_html(struct arena *a, struct str html)
{
	return text_squeeze(a, strip(a, html, true, true));
}

/* Is one of its tags an end tag, or one that needs none? */
static bool
tagged(struct str s)
{
	for (;;) {
		const char *lt = s.n > 3 ? memchr(s.p, '<', s.n - 3) : NULL;

		if (!lt)
			return false;
		s = str_from(s, (size_t)(lt - s.p) + 1);
		if ((s.p[0] == '/' && str_is_letter(s.p[1])) ||
		    str_starts(s, STR("br")) || str_starts(s, STR("img ")))
			return true;
	}
}

struct str
text_title(struct arena *a, struct str s)
{
	bool tags = tagged(s);

	if (tags || str_has(s, '&'))
		s = strip(a, s, tags, false);
	return text_squeeze(a, s);
}

static struct str
escaped(const char *c)
{
	return *c == '&'   ? STR("&amp;")
	       : *c == '<' ? STR("&lt;")
	       : *c == '>' ? STR("&gt;")
			   : (struct str){c, 1};
}

struct str
text_escape(struct arena *a, struct str s)
{
	size_t n = 0;
	char *p;

	for (size_t i = 0; i < s.n; i++)
		n += escaped(s.p + i).n;
	if (n == s.n)
		return s;
	p = arena_try(a, n);
	if (!p)
		return STR_EMPTY;
	n = 0;
	for (size_t i = 0; i < s.n; i++) {
		struct str as = escaped(s.p + i);

		memcpy(p + n, as.p, as.n);
		n += as.n;
	}
	return (struct str){p, n};
}

/* What stands between the two signs, trimmed; empty when they aren't there. */
static struct str
between(struct str s, char from, char to)
{
	const char *a = s.n > 0 ? memchr(s.p, from, s.n) : NULL;
	const char *b = a ? memrchr(s.p, to, s.n) : NULL;

	if (!b || b < a)
		return STR_EMPTY;
	return str_trim((struct str){a + 1, (size_t)(b - a) - 1});
}

static struct str
unquote(struct str s)
{
	s = str_trim(s);
	if (s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"')
		return str_trim((struct str){s.p + 1, s.n - 2});
	return s;
}

struct str
text_person(struct arena *a, struct str s, bool *ret_named)
{
	struct str head, inside;

	s = text_title(a, s);
	*ret_named = true;
	if (str_starts(s, STR("mailto:")))
		s = str_from(s, 7);
	head = s;
	head = str_trim(str_cut(&head, '('));
	inside = between(s, '(', ')');
	if (inside.n > 0 && str_has(head, '@')) /* ann@example.com (Ann) */
		return unquote(inside);
	if (head.n > 0 && str_has(inside, '@') && !str_has(inside, ' '))
		return unquote(head); /* Ann (ann@example.com) */
	head = s;
	head = unquote(str_cut(&head, '<'));
	inside = between(s, '<', '>');
	if (inside.n > 0 && str_has(inside, '@')) { /* Ann <ann@example.com> */
		*ret_named = head.n > 0;
		return head.n > 0 ? head : inside;
	}
	*ret_named = !str_has(s, '@') || str_has(s, ' ');
	return s;
}

struct str
text_base64(struct arena *a, struct str s)
{
	static const char SIGNS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *p = arena_try(a, s.n / 4 * 3 + 4);
	uint32_t word = 0;
	size_t n = 0, have = 0;

	if (!p)
		return STR_EMPTY;
	for (size_t i = 0; i < s.n && s.p[i] != '='; i++) {
		const char *at;

		if (str_is_blank(s.p[i]))
			continue;
		at = s.p[i] ? strchr(SIGNS, s.p[i]) : NULL;
		if (!at)
			return STR_EMPTY;
		word = word << 6 | (uint32_t)(at - SIGNS);
		have += 6;
		if (have >= 8) {
			have -= 8;
			p[n++] = (char)(word >> have & 0xff);
		}
	}
	if (str_utf8_bad((struct str){p, n}) < n || memchr(p, '\0', n))
		return STR_EMPTY;
	return (struct str){p, n};
}
