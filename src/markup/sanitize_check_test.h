/*
 * sanitize_check_test.h - is this really clean? For tests and fuzzing.
 *
 * Two looks that share nothing with the writer: at the bytes, by a grammar of
 * what it may write, and at the tree that the parser finds in them.
 */
#pragma once

#include "markup/html.h"
#include "markup/limits.h"
#include "markup/sanitize.h"

static inline bool
check_word(struct str name, const char *list)
{
	char word[24];

	if (name.n == 0 || name.n > 12)
		return false;
	(void)snprintf(word, sizeof(word), " %.*s ", STR_ARG(name));
	return strstr(list, word) != NULL;
}

static inline bool
check_tag(struct str name, enum sanitize_tags tags)
{
	return check_word(name,
		   " p br a ul ol li blockquote pre code strong em img ") ||
	       (tags == SANITIZE_ARTICLE &&
		   check_word(name,
		       " h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr th td"
		       " caption figure figcaption b i hr del sup sub "));
}

static inline bool
check_attr(struct str tag, struct str name, struct str value)
{
	if (str_eq(tag, STR("a"))) {
		if (str_eq(name, STR("href")))
			return str_starts(value, STR("https://")) ||
			       str_starts(value, STR("http://")) ||
			       str_starts(value, STR("mailto:"));
		if (str_eq(name, STR("target")))
			return str_eq(value, STR("_blank"));
		if (str_eq(name, STR("rel")))
			return str_eq(value, STR("noopener noreferrer"));
		return str_eq(name, STR("title"));
	}
	if (!str_eq(tag, STR("img")))
		return false;
	if (str_eq(name, STR("src")))
		return str_starts(value, STR("https://"));
	return check_word(name, " alt title width height ");
}

/* <NAME( ATTR="VALUE")*> or </NAME>, from its '<' on; its length, 0: bad. */
static inline size_t
check_markup(struct str s, enum sanitize_tags tags)
{
	size_t i = 1, from;
	bool end = s.n > 1 && s.p[1] == '/';
	struct str tag, name, value;

	i += end;
	for (from = i; i < s.n && s.p[i] != ' ' && s.p[i] != '>'; i++)
		continue;
	tag = (struct str){s.p + from, i - from};
	if (!check_tag(tag, tags))
		return 0;
	while (!end && i < s.n && s.p[i] == ' ') {
		for (from = ++i; i < s.n && s.p[i] >= 'a' && s.p[i] <= 'z'; i++)
			continue;
		name = (struct str){s.p + from, i - from};
		if (s.n - i < 2 || s.p[i] != '=' || s.p[i + 1] != '"')
			return 0;
		for (from = i += 2; i < s.n && s.p[i] != '"'; i++)
			if (s.p[i] == '<' || s.p[i] == '>')
				return 0;
		value = (struct str){s.p + from, i - from};
		if (i == s.n || !check_attr(tag, name, value))
			return 0;
		i++;
	}
	return i < s.n && s.p[i] == '>' ? i + 1 : 0;
}

/* Where it is not what may be written; s.n: nowhere. */
static inline size_t
check_bytes(struct str s, enum sanitize_tags tags)
{
	for (size_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = 1;

		if (c == '>' || c == 0x7f ||
		    (c < ' ' && c != '\n' && c != '\t'))
			return i;
		if (c == '<')
			n = check_markup(str_from(s, i), tags);
		if (n == 0)
			return i;
		i += n;
	}
	return str_utf8_bad(s);
}

/* What a parser finds in it is of the list. */
static inline bool
check_tree(struct str s, enum sanitize_tags tags)
{
	struct arena *a = arena_new(SANITIZE_MEM);
	struct html h = {0};
	struct err e;
	bool good = a && html_parse(a, s, &h, &e) == OK;
	const struct html_node *n = good ? h.root : NULL;

	while (n && good && (n = html_next(h.root, n, false))) {
		if (n->is_text)
			continue;
		good = n->ns == NS_HTML && check_tag(n->text, tags);
		for (size_t i = 0; good && i < n->n_attrs; i++)
			good = check_attr(
			    n->text, n->attrs[i].name, n->attrs[i].value);
	}
	arena_free(a);
	return good;
}
