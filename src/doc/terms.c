#include "doc/terms.h"

#include "doc/fold.h"
#include "doc/limits.h"

enum sign_class {
	GAP,    /* between words */
	LETTER, /* of a word */
	PAIR,   /* of a script without blanks */
	NOTHING /* as if it were not there */
};

static const struct range {
	uint32_t from, to;
	enum sign_class class;
} RANGES[] = {
    /* Below U+0080 see class_of(). What is in no line is a letter. */
    {0x80, 0xa9, GAP},
    {0xab, 0xac, GAP},
    {0xad, 0xad, NOTHING}, /* soft hyphen */
    {0xae, 0xb4, GAP},
    {0xb6, 0xb9, GAP},
    {0xbb, 0xbf, GAP},
    {0xd7, 0xd7, GAP},
    {0xf7, 0xf7, GAP},
    {0x37e, 0x37e, GAP},
    {0x55a, 0x55f, GAP},
    {0x589, 0x58a, GAP},
    {0x5be, 0x5be, GAP},
    {0x60c, 0x60d, GAP},
    {0x61b, 0x61f, GAP},
    {0x66a, 0x66d, GAP},
    {0x6d4, 0x6d4, GAP},
    {0x964, 0x965, GAP},
    {0xe00, 0xeff, PAIR},   /* Thai, Lao */
    {0x1000, 0x109f, PAIR}, /* Myanmar */
    {0x1100, 0x11ff, PAIR}, /* Hangul */
    {0x1680, 0x1680, GAP},
    {0x1780, 0x17ff, PAIR}, /* Khmer */
    {0x180e, 0x180e, GAP},
    {0x2000, 0x200a, GAP},
    {0x200b, 0x200f, NOTHING}, /* no width, direction */
    {0x2010, 0x2029, GAP},
    {0x202a, 0x202e, NOTHING},
    {0x202f, 0x205f, GAP},
    {0x2060, 0x206f, NOTHING},
    {0x2070, 0x20cf, GAP},
    {0x2190, 0x2bff, GAP}, /* arrows, signs, boxes, emoji */
    {0x2e00, 0x2e7f, GAP},
    {0x2e80, 0x2fdf, PAIR}, /* radicals */
    {0x3000, 0x3004, GAP},
    {0x3005, 0x3007, PAIR},
    {0x3008, 0x3020, GAP},
    {0x3021, 0x3029, PAIR},
    {0x3030, 0x3030, GAP},
    {0x303d, 0x303f, GAP},
    {0x3040, 0x309f, PAIR}, /* Hiragana */
    {0x30a0, 0x30a0, GAP},
    {0x30a1, 0x30fa, PAIR}, /* Katakana */
    {0x30fb, 0x30fb, GAP},
    {0x30fc, 0x31ff, PAIR},
    {0x3200, 0x33ff, GAP},
    {0x3400, 0x4dbf, PAIR}, /* Han */
    {0x4dc0, 0x4dff, GAP},
    {0x4e00, 0x9fff, PAIR},
    {0xac00, 0xd7ff, PAIR}, /* Hangul */
    {0xe000, 0xf8ff, GAP},
    {0xf900, 0xfaff, PAIR},
    {0xfe00, 0xfe0f, NOTHING}, /* variation selectors */
    {0xfe10, 0xfe6f, GAP},
    {0xfeff, 0xfeff, NOTHING},
    {0xff00, 0xff0f, GAP},
    {0xff1a, 0xff20, GAP},
    {0xff3b, 0xff40, GAP},
    {0xff5b, 0xff65, GAP},
    {0xff66, 0xffdc, PAIR}, /* half-width Katakana, Hangul */
    {0xffe0, 0xffff, GAP},
    {0x1f000, 0x1faff, GAP}, /* emoji */
    {0x20000, 0x3ffff, PAIR},
    {0xe0000, 0x10ffff, NOTHING},
};

static enum sign_class
class_of(uint32_t c)
{
	size_t lo = 0, hi = COUNT_OF(RANGES);

	if (c < 0x80)
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ? LETTER
									: GAP;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c > RANGES[mid].to)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < COUNT_OF(RANGES) && c >= RANGES[lo].from ? RANGES[lo].class
							     : LETTER;
}

/* Cutting: words come out one by one ------------------------------------------- */

struct word {
	char p[TERM_BYTES + 4];
	size_t n;
	bool sign; /* the last of a run of pairs, by itself */
};

struct cutter {
	struct word word; /* the one that grows */
	char last[4];     /* of pairs: the sign before */
	size_t last_n;
	void (*each)(void *arg, const struct word *w);
	void *arg;
};

static void
flush(struct cutter *c)
{
	if (c->word.n > 0)
		c->each(c->arg, &c->word);
	c->word.n = 0;
	if (c->last_n > 0) {
		struct word w = {.n = c->last_n, .sign = true};

		memcpy(w.p, c->last, c->last_n);
		c->last_n = 0;
		c->each(c->arg, &w);
	}
}

static void
add_pair(struct cutter *c, const char *p, size_t n)
{
	if (c->word.n > 0)
		flush(c);
	if (c->last_n > 0) {
		struct word w = {.n = c->last_n + n};

		memcpy(w.p, c->last, c->last_n);
		memcpy(w.p + c->last_n, p, n);
		c->each(c->arg, &w);
	}
	memcpy(c->last, p, n);
	c->last_n = n;
}

static void
add_letter(struct cutter *c, const char *p, size_t n)
{
	if (c->last_n > 0)
		flush(c);
	/* The rest of a long one is left out, in texts and queries alike. */
	if (c->word.n + n > TERM_BYTES)
		return;
	memcpy(c->word.p + c->word.n, p, n);
	c->word.n += n;
}

static void
cut_sign(struct cutter *c, uint32_t sign)
{
	enum sign_class class = class_of(sign);
	char p[4];

	if (class == GAP)
		flush(c);
	else if (class == LETTER)
		add_letter(c, p, str_utf8_put(sign, p));
	else if (class == PAIR)
		add_pair(c, p, str_utf8_put(sign, p));
}

static void
cut_words(struct cutter *c, struct str text)
{
	uint32_t signs[FOLD_MAX];

	while (text.n > 0) {
		size_t n = fold_next(&text, signs);

		for (size_t i = 0; i < n; i++)
			cut_sign(c, signs[i]);
	}
}

/* What each engine wants ------------------------------------------------------- */

static const struct dialect {
	const char *quote;        /* around a word */
	bool places;              /* behind a text's word its place is said */
	const char *open, *close; /* around a phrase */
	const char *then;         /* between its words */
	const char *and, * or, *not ; /* between phrases */
	const char *begins;           /* behind a word that is a beginning */
	const char *phrase_begins;    /* behind a phrase that ends in one */
} DIALECTS[] = {
    [STORE_SQLITE] = {"", false, "\"", "\"", " ", " AND ", " OR ", " NOT ", "",
	"*"},
    [STORE_POSTGRES] = {"'", true, "(", ")", " <-> ", " & ", " | ", " & !",
	":*", ""},
};

static void
put_word(struct buf *out, const struct dialect *d, const struct word *w)
{
	buf_addz(out, d->quote);
	buf_add(out, (struct str){w->p, w->n});
	buf_addz(out, d->quote);
}

/* Texts ------------------------------------------------------------------------- */

static void
put_term(void *arg, const struct word *w)
{
	struct terms *t = arg;
	const struct dialect *d = &DIALECTS[t->engine];

	if (t->n >= TERMS_MAX || t->out->n > TERMS_BYTES_MAX)
		return;
	t->n++;
	if (t->out->n > 0)
		buf_addc(t->out, ' ');
	put_word(t->out, d, w);
	if (d->places)
		buf_fmt(t->out, ":%zu", t->n);
}

/* No phrase goes from one text to the next: a sign that is in no word. It
 * stands before the first too, so that every article has it. */
static const struct word GAP_WORD = {.p = "\xe2\x90\x80", .n = 3};

void
terms_begin(struct terms *t)
{
	put_term(t, &GAP_WORD);
}

static void
put_gap(struct terms *t)
{
	if (t->n > 1)
		put_term(t, &GAP_WORD);
}

void
terms_add(struct terms *t, struct str text)
{
	struct cutter c = {.each = put_term, .arg = t};

	if (text.n == 0)
		return;
	put_gap(t);
	cut_words(&c, text);
	flush(&c);
}

/* Elements within a word do not end it. */
static bool
within_words(struct str tag)
{
	static const char *const NAMES[] = {
	    "a", "em", "strong", "b", "i", "code", "sup", "sub", "del"};

	if (str_starts(tag, STR("/")))
		tag = str_from(tag, 1);
	tag = str_cut(&tag, ' ');
	for (size_t i = 0; i < COUNT_OF(NAMES); i++)
		if (str_eq(tag, str_of(NAMES[i])))
			return true;
	return false;
}

/* To the end of the tag; a > stands in attributes as it is. */
static size_t
tag_end(struct str s)
{
	bool quoted = false;
	size_t i = 0;

	for (; i < s.n && (quoted || s.p[i] != '>'); i++)
		if (s.p[i] == '"')
			quoted = !quoted;
	return i;
}

void
terms_add_html(struct terms *t, struct str html)
{
	struct cutter c = {.each = put_term, .arg = t};

	if (html.n == 0)
		return;
	put_gap(t);
	while (html.n > 0) {
		size_t i = 0;

		while (i < html.n && html.p[i] != '<' && html.p[i] != '&')
			i++;
		cut_words(&c, (struct str){html.p, i});
		html = str_from(html, i);
		if (html.n == 0)
			break;
		if (html.p[0] == '<') {
			i = tag_end(html);
			if (!within_words(str_from((struct str){html.p, i}, 1)))
				flush(&c);
		} else {
			/* &amp; and the like: none is part of a word. */
			flush(&c);
			for (i = 1; i < html.n && i < 8 && html.p[i] != ';';)
				i++;
			i = i < html.n && html.p[i] == ';' ? i : 0;
		}
		html = str_from(html, i + 1);
	}
	flush(&c);
}

/* Queries ------------------------------------------------------------------------ */

struct asking {
	const struct dialect *dialect;
	struct buf *out; /* phrases that must be there, or must not */
	const char *between;
	size_t n;         /* words of all */
	size_t n_phrase;  /* of this phrase */
	struct word held; /* not written yet: it may be the last */
	bool holds;
};

static void
write_held(struct asking *q, bool prefix)
{
	const struct dialect *d = q->dialect;

	if (q->n_phrase > 0)
		buf_addz(q->out, d->then);
	else
		buf_fmt(
		    q->out, "%s%s", q->out->n > 0 ? q->between : "", d->open);
	put_word(q->out, d, &q->held);
	if (prefix)
		buf_addz(q->out, d->begins);
	q->n_phrase++;
	q->n++;
	q->holds = false;
}

static void
ask_word(void *arg, const struct word *w)
{
	struct asking *q = arg;

	if (q->n > TERMS_QUERY_MAX)
		return;
	if (q->holds)
		write_held(q, false);
	q->held = *w;
	q->holds = true;
}

/* A run of pairs goes on in the text perhaps: then its last sign has company. */
static void
end_phrase(struct asking *q, bool prefix)
{
	if (q->holds && q->held.sign) {
		q->holds = q->n_phrase == 0;
		prefix = true;
	}
	prefix = prefix && q->holds;
	if (q->holds)
		write_held(q, prefix);
	if (q->n_phrase > 0)
		buf_fmt(q->out, "%s%s", q->dialect->close,
		    prefix ? q->dialect->phrase_begins : "");
	q->n_phrase = 0;
}

/* Of the query at its byte `at`. */
static bool
query_has(struct str query, size_t at, const char *signs)
{
	return at < query.n && query.p[at] != '\0' &&
	       strchr(signs, query.p[at]);
}

/* What is not there is told by "-" before a word or a phrase. */
static void
ask_phrases(
    struct asking *q, struct str query, struct buf *with, struct buf *without)
{
	size_t at = 0;

	while (at < query.n) {
		struct cutter c = {.each = ask_word, .arg = q};
		bool not = query.p[at] == '-', quoted, star;
		const char *ends;
		size_t from;

		at += not ;
		quoted = query_has(query, at, "\"");
		ends = quoted ? "\"" : "\" \t\n\r";
		from = quoted ? ++at : at;
		q->out = not ? without : with;
		q->between = not ? q->dialect->or : q->dialect->and;
		while (at < query.n && !query_has(query, at, ends))
			at++;
		star = at > from && query.p[at - 1] == '*';
		cut_words(&c, (struct str){query.p + from, at - from});
		flush(&c);
		if (quoted && at < query.n)
			at++; /* the closing one */
		if (query_has(query, at, "*")) {
			star = true; /* "two words"* */
			at++;
		}
		end_phrase(q, star);
		while (query_has(query, at, " \t\n\r"))
			at++;
	}
}

int
terms_query(
    enum store_engine engine, struct str query, struct buf *out, struct err *e)
{
	const struct dialect *d = &DIALECTS[engine];
	struct asking q = {.dialect = d};
	struct buf without CLEANUP(buf_done) = BUF(16 * KIB);

	ask_phrases(&q, query, out, &without);
	if (q.n == 0)
		return err_at(
		    e, ERR_INVALID, "/search", "search has no word in it");
	if (q.n > TERMS_QUERY_MAX)
		return err_at(e, ERR_INVALID, "/search",
		    "search has more than %d words", TERMS_QUERY_MAX);
	if (without.n == 0)
		return OK;
	if (out->n == 0)
		put_word(out, d, &GAP_WORD);
	buf_fmt(out, "%s(%.*s)", d->not, STR_ARG(buf_str(&without)));
	return OK;
}
