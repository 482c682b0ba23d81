/* The input as tokens: text, start tags, end tags. */
#include "markup/entity.h"
#include "markup/html_priv.h"

/* U+FFFD. */
static const char UNKNOWN[3] = {'\xef', '\xbf', '\xbd'};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f';
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The byte k behind the place, or 0. */
static char
peek(const struct html_lexer *l, size_t k)
{
	return l->at + k < l->in.n ? l->in.p[l->at + k] : 0;
}

static bool
is_ahead(const struct html_lexer *l, size_t at, const char *z)
{
	return str_starts_nocase(str_from(l->in, at), str_of(z));
}

/* Not its 64 attributes: this is done for each token. */
static void
token_begin(struct html_token *t, enum html_token_kind kind)
{
	t->kind = kind;
	t->tag = T_OTHER;
	t->text = STR_EMPTY;
	t->self_closing = false;
	t->n_attrs = 0;
}

bool
html_lexer_init(struct html_lexer *l, struct arena *a, struct str in)
{
	size_t bad = 0, n = 0;
	char *p;

	*l = (struct html_lexer){.arena = a};
	if (str_starts(in, STR("\xef\xbb\xbf")))
		in = str_from(in, 3);
	for (size_t at = str_utf8_bad(in); at < in.n;
	     at += 1 + str_utf8_bad(str_from(in, at + 1)))
		bad++;
	p = arena_try(a, in.n + 2 * bad + 1);
	if (!p)
		return false;
	l->in.p = p;
	for (size_t i = 0; i < in.n; i++) {
		size_t good = i + str_utf8_bad(str_from(in, i));

		for (; i < good; i++)
			if (in.p[i] != '\r')
				p[n++] = in.p[i];
			else if (i + 1 == good || in.p[i + 1] != '\n')
				p[n++] = '\n';
		if (i == in.n)
			break;
		memcpy(p + n, UNKNOWN, sizeof(UNKNOWN));
		n += 3;
	}
	l->in.n = n;
	return true;
}

/* NUL is left out of text, and replaced elsewhere. */
enum { REFS = 1, ATTR = 2, LOWER = 4, TEXT = 8 };

/* Is s, a part of our copy, what it would be decoded to? */
static bool
is_decoded(struct str s, int how)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == 0 || (c == '&' && (how & REFS)) ||
		    (c >= 'A' && c <= 'Z' && (how & LOWER)))
			return false;
	}
	return true;
}

/* s, decoded as `how` says. */
static struct str
decoded(struct html_lexer *l, struct str s, int how)
{
	size_t extra = 0, n = 0;
	char *p;

	if (is_decoded(s, how))
		return s;
	/* No reference is shorter than what it stands for, but for two of six
	 * bytes and less that stand for six: room for these. */
	for (size_t i = 0; i < s.n; i++)
		extra += s.p[i] == 0 || (s.p[i] == '&' && (how & REFS)) ? 2 : 0;
	p = arena_try(l->arena, s.n + extra + 8);
	if (!p) {
		l->full = true;
		return STR_EMPTY;
	}
	for (size_t i = 0; i < s.n;) {
		size_t len = 0, took = 0;

		if (s.p[i] == '&' && (how & REFS))
			took = entity_read(str_from(s, i),
			    how & ATTR ? ENTITY_IN_ATTR : ENTITY_IN_HTML, p + n,
			    &len);
		if (took > 0) {
			n += len;
			i += took;
			continue;
		}
		if (s.p[i] == 0 && !(how & TEXT)) {
			memcpy(p + n, UNKNOWN, sizeof(UNKNOWN));
			n += 3;
		} else if (s.p[i] != 0) {
			p[n++] = how & LOWER ? lower(s.p[i]) : s.p[i];
		}
		i++;
	}
	return (struct str){p, n};
}

/* Text up to the next markup. */
static bool
text_token(struct html_lexer *l, struct html_token *t)
{
	size_t from = l->at;

	while (l->at < l->in.n) {
		const char *lt = memchr(l->in.p + l->at, '<', l->in.n - l->at);
		char c;

		l->at = lt ? (size_t)(lt - l->in.p) : l->in.n;
		if (!lt)
			break;
		c = peek(l, 1);
		if (str_is_letter(c) || c == '!' || c == '?' ||
		    (c == '/' && l->at + 2 < l->in.n))
			break;
		l->at++;
	}
	if (l->at == from)
		return false;
	token_begin(t, TOK_TEXT);
	t->text =
	    decoded(l, (struct str){l->in.p + from, l->at - from}, REFS | TEXT);
	return true;
}

/* Behind the next `z`, or at the end. */
static void
skip_past(struct html_lexer *l, const char *z)
{
	size_t n = strlen(z);

	/* Not memmem(): under ASan each call looks at all that is left. */
	while (l->in.n - l->at >= n) {
		const char *found =
		    memchr(l->in.p + l->at, z[0], l->in.n - l->at);

		if (!found)
			break;
		l->at = (size_t)(found - l->in.p);
		if (str_starts(str_from(l->in, l->at), (struct str){z, n})) {
			l->at += n;
			return;
		}
		l->at++;
	}
	l->at = l->in.n;
}

/* Behind "<!--". */
static void
skip_comment(struct html_lexer *l)
{
	if (peek(l, 0) == '>' || (peek(l, 0) == '-' && peek(l, 1) == '>')) {
		skip_past(l, ">");
		return;
	}
	for (;;) {
		skip_past(l, "--");
		if (l->at >= l->in.n)
			return;
		if (peek(l, 0) == '>' ||
		    (peek(l, 0) == '!' && peek(l, 1) == '>')) {
			skip_past(l, ">");
			return;
		}
		l->at--; /* "--->" */
	}
}

/* At "<!", "<?" or "</" with no name: a comment of some kind, or CDATA. */
static bool
skip_markup(struct html_lexer *l, struct html_token *t)
{
	size_t from;

	l->between = true;
	if (peek(l, 1) == '!' && peek(l, 2) == '-' && peek(l, 3) == '-') {
		l->at += 4;
		skip_comment(l);
		return false;
	}
	if (!l->foreign || l->in.n - l->at < 9 ||
	    memcmp(l->in.p + l->at, "<![CDATA[", 9) != 0) {
		skip_past(l, ">");
		return false;
	}
	l->at += 9;
	from = l->at;
	skip_past(l, "]]>");
	token_begin(t, TOK_TEXT);
	t->text = (struct str){l->in.p + from, l->at - from};
	if (str_ends(t->text, STR("]]>")))
		t->text.n -= 3;
	t->text = decoded(l, t->text, TEXT);
	return true;
}

static struct str
attr_value(struct html_lexer *l)
{
	size_t from;
	char q = peek(l, 0);

	if (q == '"' || q == '\'') {
		const char *end;

		l->at++;
		from = l->at;
		end = memchr(l->in.p + from, q, l->in.n - from);
		l->at = end ? (size_t)(end - l->in.p) + 1 : l->in.n;
		return (struct str){
		    l->in.p + from, l->at - from - (end != NULL)};
	}
	from = l->at;
	while (l->at < l->in.n && !is_blank(peek(l, 0)) && peek(l, 0) != '>')
		l->at++;
	return (struct str){l->in.p + from, l->at - from};
}

static void
keep_attr(struct html_lexer *l, struct html_token *t, struct str name,
    struct str value)
{
	if (t->n_attrs == HTML_ATTRS_MAX)
		return;
	name = decoded(l, name, LOWER);
	for (size_t i = 0; i < t->n_attrs; i++)
		if (str_eq(t->attrs[i].name, name))
			return;
	value = decoded(l, value, REFS | ATTR);
	t->attrs[t->n_attrs++] = (struct html_attr){name, value};
}

/* Behind the tag's name. False: the input ends in the tag. */
static bool
attrs(struct html_lexer *l, struct html_token *t)
{
	for (;;) {
		struct str name, value = STR_EMPTY;
		size_t from;
		char c = 0;

		while (is_blank(peek(l, 0)) ||
		       (peek(l, 0) == '/' && peek(l, 1) != '>'))
			l->at++;
		if (l->at >= l->in.n)
			return false;
		c = peek(l, 0);
		if (c == '/' || c == '>') {
			t->self_closing = c == '/';
			l->at += c == '/' ? 2 : 1;
			return true;
		}
		from = l->at++; /* even a '=' */
		for (; l->at < l->in.n; l->at++) {
			c = peek(l, 0);
			if (is_blank(c) || c == '/' || c == '>' || c == '=')
				break;
		}
		name = (struct str){l->in.p + from, l->at - from};
		while (is_blank(peek(l, 0)))
			l->at++;
		if (peek(l, 0) == '=') {
			l->at++;
			while (is_blank(peek(l, 0)))
				l->at++;
			if (peek(l, 0) != '>')
				value = attr_value(l);
		}
		keep_attr(l, t, name, value);
	}
}

/* At '<' or "</" with a letter behind it. */
static bool
tag_token(struct html_lexer *l, struct html_token *t)
{
	bool end = peek(l, 1) == '/';
	size_t from = l->at + (end ? 2 : 1);

	token_begin(t, end ? TOK_END : TOK_START);
	for (l->at = from; l->at < l->in.n; l->at++) {
		char c = peek(l, 0);

		if (is_blank(c) || c == '/' || c == '>')
			break;
	}
	t->text = decoded(l, (struct str){l->in.p + from, l->at - from}, LOWER);
	t->tag = html_tag_find(t->text);
	return attrs(l, t);
}

void
html_lexer_next(struct html_lexer *l, struct html_token *t)
{
	l->between = false;
	while (l->at < l->in.n && !l->full) {
		if (text_token(l, t))
			return;
		if (str_is_letter(peek(l, 1)) ||
		    (peek(l, 1) == '/' && str_is_letter(peek(l, 2)))) {
			if (tag_token(l, t))
				return;
		} else if (skip_markup(l, t)) {
			return;
		}
	}
	token_begin(t, TOK_END_OF_INPUT);
}

struct str
html_lexer_rest(struct html_lexer *l)
{
	struct str s = str_from(l->in, l->at);

	l->at = l->in.n;
	return decoded(l, s, 0);
}

/* Is there NAME and what ends a name, k bytes behind `at`? */
static bool
is_named(const struct html_lexer *l, size_t at, const char *name)
{
	size_t n = strlen(name);
	char c;

	if (at > l->in.n || !is_ahead(l, at, name) || at + n >= l->in.n)
		return false;
	c = l->in.p[at + n];
	return is_blank(c) || c == '/' || c == '>';
}

/*
 * Where a script ends. Within <!-- --> a <script> hides its </script>: so it
 * was in 1996, and so it is.
 */
static size_t
script_end(const struct html_lexer *l)
{
	enum { PLAIN, ESCAPED, DOUBLE } state = PLAIN;
	size_t dashes = 0;

	for (size_t i = l->at; i < l->in.n; i++) {
		char c = l->in.p[i];

		if (c == '-') {
			dashes++;
			continue;
		}
		if (c == '>' && dashes >= 2)
			state = PLAIN;
		dashes = 0;
		if (c != '<')
			continue;
		if (state == PLAIN && is_ahead(l, i, "<!--")) {
			state = ESCAPED;
			dashes = 2;
			i += 3;
		} else if (is_named(l, i + 1, "/script")) {
			if (state != DOUBLE)
				return i;
			state = ESCAPED;
		} else if (state == ESCAPED && is_named(l, i + 1, "script")) {
			state = DOUBLE;
		}
	}
	return l->in.n;
}

static size_t
raw_end(const struct html_lexer *l, const char *name)
{
	size_t i = l->at;

	while (i < l->in.n) {
		const char *lt = memchr(l->in.p + i, '<', l->in.n - i);

		if (!lt)
			return l->in.n;
		i = (size_t)(lt - l->in.p);
		if (i + 1 < l->in.n && l->in.p[i + 1] == '/' &&
		    is_named(l, i + 2, name))
			return i;
		i++;
	}
	return l->in.n;
}

struct str
html_lexer_raw(struct html_lexer *l, enum html_tag which)
{
	size_t end = which == T_SCRIPT ? script_end(l)
				       : raw_end(l, html_tag_name(which));
	struct str s = {l->in.p + l->at, end - l->at};
	struct html_token t;

	l->at = end;
	s = decoded(l, s, HTML_FLAGS[which] & F_RCDATA ? REFS : 0);
	if (end < l->in.n && !tag_token(l, &t))
		l->at = l->in.n;
	return s;
}
