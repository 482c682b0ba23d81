#include "event/type/pattern.h"

#include "event/limits.h"

enum op { OP_CLASS, OP_SPLIT, OP_START, OP_END, OP_MATCH };

struct range {
	uint32_t from, to;
};

struct state {
	enum op op;
	bool not ;            /* CLASS: all but these */
	unsigned n;           /* ranges */
	struct range *ranges; /* the arena's */
	unsigned next, other; /* other: SPLIT */
};

struct pattern {
	unsigned n, first;
	struct state v[];
};

struct maker {
	struct arena *a;
	struct str text;
	size_t at;
	unsigned n, depth, made;
	struct state *v;
	struct err *e;
};

/* A piece of the machine: it begins at `from`, and its last state is to go on
 * to whatever comes: `to` is an empty SPLIT whose next is still open. */
struct part {
	unsigned from, to;
};

#define RANGES_MAX  64
#define MAKER_DEPTH 32
#define MADE_MAX    (4 * PATTERN_STATES)

static int
pattern_refuse(struct maker *m, const char *why)
{
	return err_set(m->e, ERR_INVALID, "%s, at character %zu", why, m->at);
}

static int
state_new(struct maker *m, enum op op, unsigned *ret)
{
	if (m->n == PATTERN_STATES)
		return pattern_refuse(m, "is too large");
	m->v[m->n] = (struct state){.op = op};
	*ret = m->n++;
	return OK;
}

/* The next character, decoded; the text is UTF-8. At the end 0. */
static uint32_t
decode(struct str s, size_t *at)
{
	unsigned char c = *at < s.n ? (unsigned char)s.p[*at] : 0;
	unsigned more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
	uint32_t u = more == 3 ? c & 7u : more == 2 ? c & 15u : c;

	if (more == 1)
		u = c & 31u;
	for (++*at; more > 0 && *at < s.n; more--, ++*at)
		u = u << 6 | ((unsigned char)s.p[*at] & 63u);
	return u;
}

static bool
peek(const struct maker *m, char c)
{
	return m->at < m->text.n && m->text.p[m->at] == c;
}

static bool
pass(struct maker *m, char c)
{
	bool is = peek(m, c);

	m->at += is;
	return is;
}

struct set {
	struct range v[RANGES_MAX];
	unsigned n;
	bool not ;
};

static int
set_add(struct maker *m, struct set *s, uint32_t from, uint32_t to)
{
	if (s->n == RANGES_MAX)
		return pattern_refuse(m, "has a class that is too large");
	s->v[s->n++] = (struct range){from, to};
	return OK;
}

/* \d, \w, \s, and their complements: 1; 0 when it is none of them. */
static int
set_named(struct maker *m, struct set *s, char c)
{
	static const struct range D[] = {{'0', '9'}},
				  W[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'},
				      {'a', 'z'}},
				  S[] = {{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0},
				      {0x1680, 0x1680}, {0x2000, 0x200a},
				      {0x2028, 0x2029}, {0x202f, 0x202f},
				      {0x205f, 0x205f}, {0x3000, 0x3000},
				      {0xfeff, 0xfeff}};
	char low = (char)(c | 0x20);
	const struct range *v = low == 'd' ? D : low == 'w' ? W : S;
	size_t n = low == 'd'   ? COUNT_OF(D)
		   : low == 'w' ? COUNT_OF(W)
				: COUNT_OF(S);
	uint32_t after = 0;

	if (low != 'd' && low != 'w' && low != 's')
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (c == low)
			TRY(set_add(m, s, v[i].from, v[i].to));
		else if (v[i].from > after)
			TRY(set_add(m, s, after, v[i].from - 1));
		after = v[i].to + 1;
	}
	if (c != low)
		TRY(set_add(m, s, after, 0x10ffff));
	return 1;
}

/* Behind the backslash: a class into *s (1), or one character in *ret (0). */
static int
escape(struct maker *m, struct set *s, uint32_t *ret)
{
	static const char FROM[] = "tnrfv", TO[] = "\t\n\r\f\v";
	char c = m->at < m->text.n ? m->text.p[m->at] : '\0';
	const char *known = c ? strchr(FROM, c) : NULL;
	unsigned digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
	int rc = c ? TRY(set_named(m, s, c)) : 0;

	m->at++;
	if (rc > 0)
		return rc;
	if (known) {
		*ret = (uint32_t)TO[known - FROM];
		return 0;
	}
	if (digits > 0) {
		for (*ret = 0; digits > 0; digits--, m->at++) {
			int d = m->at < m->text.n
				    ? str_hex_digit(m->text.p[m->at])
				    : -1;

			if (d < 0)
				return pattern_refuse(
				    m, "has an escape that is cut");
			*ret = *ret << 4 | (uint32_t)d;
		}
		return 0;
	}
	if (c == '\0' || (c >= '0' && c <= '9') ||
	    ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
		return pattern_refuse(m, "has an escape that is not taken");
	m->at--;
	*ret = decode(m->text, &m->at);
	return 0;
}

/* Behind the [ up to its ]. */
static int
bracket(struct maker *m, struct set *s)
{
	s->not = pass(m, '^');
	while (!pass(m, ']')) {
		uint32_t from = 0, to = 0;
		int rc = 0;

		if (m->at >= m->text.n)
			return pattern_refuse(m, "has a [ without its ]");
		if (pass(m, '\\'))
			rc = TRY(escape(m, s, &from));
		else
			from = decode(m->text, &m->at);
		if (rc > 0)
			continue;
		to = from;
		if (peek(m, '-') && m->at + 1 < m->text.n &&
		    m->text.p[m->at + 1] != ']') {
			m->at++;
			if (pass(m, '\\')) {
				if (TRY(escape(m, s, &to)) > 0)
					return pattern_refuse(
					    m, "has a range to a class");
			} else {
				to = decode(m->text, &m->at);
			}
		}
		if (to < from)
			return pattern_refuse(
			    m, "has a range that runs backwards");
		TRY(set_add(m, s, from, to));
	}
	return OK;
}

static int
put_state(struct maker *m, enum op op, const struct set *s, struct part *ret)
{
	struct state *st;

	TRY(state_new(m, op, &ret->from));
	TRY(state_new(m, OP_SPLIT, &ret->to));
	st = &m->v[ret->from];
	st->next = ret->to;
	m->v[ret->to].other = PATTERN_STATES; /* nowhere */
	if (!s)
		return OK;
	st->not = s->not ;
	st->n = s->n;
	st->ranges = arena_array(m->a, s->n ? s->n : 1, sizeof(*st->ranges));
	memcpy(st->ranges, s->v, s->n * sizeof(*st->ranges));
	return OK;
}

static int either(struct maker *m, struct part *ret);

static int
group(struct maker *m, struct part *ret)
{
	if (pass(m, '?') && !pass(m, ':'))
		return pattern_refuse(m, "has a (? that is not taken");
	if (++m->depth > MAKER_DEPTH)
		return pattern_refuse(m, "is too deep");
	TRY(either(m, ret));
	m->depth--;
	return pass(m, ')') ? OK : pattern_refuse(m, "has a ( without its )");
}

static int
atom(struct maker *m, struct part *ret)
{
	struct set s = {.n = 0};
	uint32_t c = 0;

	/* What is repeated is made again, also inside what is. */
	if (++m->made > MADE_MAX)
		return pattern_refuse(m, "is too large");
	if (pass(m, '('))
		return group(m, ret);
	if (pass(m, '^'))
		return put_state(m, OP_START, NULL, ret);
	if (pass(m, '$'))
		return put_state(m, OP_END, NULL, ret);
	if (peek(m, '*') || peek(m, '+') || peek(m, '?') || peek(m, '{'))
		return pattern_refuse(m, "repeats nothing");
	if (pass(m, '[')) {
		TRY(bracket(m, &s));
	} else if (pass(m, '.')) {
		s.not = true;
		TRY(set_add(m, &s, '\n', '\n'));
		TRY(set_add(m, &s, '\r', '\r'));
		TRY(set_add(m, &s, 0x2028, 0x2029));
	} else if (pass(m, '\\')) {
		if (TRY(escape(m, &s, &c)) == 0)
			TRY(set_add(m, &s, c, c));
	} else {
		c = decode(m->text, &m->at);
		TRY(set_add(m, &s, c, c));
	}
	return put_state(m, OP_CLASS, &s, ret);
}

static bool
number(struct maker *m, unsigned *ret)
{
	size_t from = m->at;

	for (*ret = 0; m->at < m->text.n && m->text.p[m->at] >= '0' &&
		       m->text.p[m->at] <= '9' && *ret < PATTERN_STATES;
	     m->at++)
		*ret = *ret * 10 + (unsigned)(m->text.p[m->at] - '0');
	return m->at > from;
}

#define FOR_EVER (PATTERN_STATES + 1)

/* How often what stands before is repeated; once without a sign. */
static int
times(struct maker *m, unsigned *least, unsigned *most)
{
	*least = *most = 1;
	if (pass(m, '*')) {
		*least = 0;
		*most = FOR_EVER;
	} else if (pass(m, '+')) {
		*most = FOR_EVER;
	} else if (pass(m, '?')) {
		*least = 0;
	} else if (pass(m, '{')) {
		if (!number(m, least))
			return pattern_refuse(m, "has a { without a number");
		*most = *least;
		if (pass(m, ',') && !number(m, most))
			*most = FOR_EVER;
		if (!pass(m, '}') || *most < *least)
			return pattern_refuse(m, "has a {} that is none");
	} else {
		return OK;
	}
	return peek(m, '?') || peek(m, '+') || peek(m, '*')
		   ? pattern_refuse(
			 m, "is lazy or possessive, or repeats twice")
		   : OK;
}

static int
join(struct maker *m, struct part *all, struct part next)
{
	m->v[all->to].next = next.from;
	all->to = next.to;
	return OK;
}

/* An atom as often as it is wanted: it is made again for each time. */
static int
repeated(struct maker *m, struct part *ret)
{
	size_t from = m->at, after;
	unsigned least, most, begin = m->n;
	struct part one = {0, 0};

	TRY(atom(m, &one));
	TRY(times(m, &least, &most));
	after = m->at;
	if (least == 1 && most == 1) {
		*ret = one;
		return OK;
	}
	m->n = begin;
	TRY(state_new(m, OP_SPLIT, &ret->from));
	m->v[ret->from].other = PATTERN_STATES;
	ret->to = ret->from;
	for (unsigned i = 0; i < (most == FOR_EVER ? least + 1 : most); i++) {
		struct part skip = {0, 0};
		unsigned end = 0;

		if (i >= least) {
			TRY(state_new(m, OP_SPLIT, &skip.from));
			m->v[ret->to].next = skip.from;
		}
		m->at = from;
		TRY(atom(m, &one));
		if (i < least) {
			TRY(join(m, ret, one));
			continue;
		}
		TRY(state_new(m, OP_SPLIT, &end));
		m->v[end].other = PATTERN_STATES;
		m->v[skip.from].next = one.from;
		m->v[skip.from].other = end;
		m->v[one.to].next = most == FOR_EVER ? skip.from : end;
		ret->to = end;
	}
	m->at = after;
	return OK;
}

static int
sequence(struct maker *m, struct part *ret)
{
	struct part one = {0, 0};

	TRY(state_new(m, OP_SPLIT, &ret->from));
	m->v[ret->from].other = PATTERN_STATES;
	ret->to = ret->from;
	while (m->at < m->text.n && !peek(m, '|') && !peek(m, ')')) {
		TRY(repeated(m, &one));
		TRY(join(m, ret, one));
	}
	return OK;
}

static int
either(struct maker *m, struct part *ret)
{
	struct part more = {0, 0};
	unsigned fork = 0, end = 0;

	TRY(sequence(m, ret));
	while (pass(m, '|')) {
		TRY(sequence(m, &more));
		TRY(state_new(m, OP_SPLIT, &fork));
		TRY(state_new(m, OP_SPLIT, &end));
		m->v[fork].next = ret->from;
		m->v[fork].other = more.from;
		m->v[end].other = PATTERN_STATES;
		m->v[ret->to].next = m->v[more.to].next = end;
		*ret = (struct part){fork, end};
	}
	return OK;
}

int
pattern_compile(
    struct arena *a, struct str text, struct pattern **ret, struct err *e)
{
	struct state room[PATTERN_STATES];
	struct maker m = {.a = a, .text = text, .v = room, .e = e};
	struct pattern *p;
	struct part all = {0, 0};
	unsigned match = 0;

	if (text.n > PATTERN_MAX)
		return err_set(
		    e, ERR_INVALID, "must be at most %d bytes", PATTERN_MAX);
	TRY(either(&m, &all));
	if (m.at < text.n)
		return pattern_refuse(&m, "has a ) without its (");
	TRY(state_new(&m, OP_MATCH, &match));
	room[all.to].next = match;
	p = arena_alloc(a, sizeof(*p) + m.n * sizeof(p->v[0]));
	p->n = m.n;
	p->first = all.from;
	memcpy(p->v, room, m.n * sizeof(p->v[0]));
	*ret = p;
	return OK;
}

/* Where the machine is, all at once. */
struct where {
	unsigned v[PATTERN_STATES], n;
	unsigned char in[PATTERN_STATES];
};

/* That state, and all that are reached from it without a character. */
static void
enter(const struct pattern *p, struct where *w, unsigned first, bool start,
    bool end)
{
	unsigned stack[PATTERN_STATES + 1], n = 0;

	stack[n++] = first;
	while (n > 0) {
		unsigned i = stack[--n];
		const struct state *s = &p->v[i];

		if (w->in[i])
			continue;
		w->in[i] = 1;
		if (s->op == OP_CLASS || s->op == OP_MATCH) {
			w->v[w->n++] = i;
			continue;
		}
		if ((s->op == OP_START && !start) || (s->op == OP_END && !end))
			continue;
		if (!w->in[s->next])
			stack[n++] = s->next;
		if (s->op == OP_SPLIT && s->other < p->n && !w->in[s->other] &&
		    n <= PATTERN_STATES)
			stack[n++] = s->other;
	}
}

static bool
takes(const struct state *s, uint32_t c)
{
	for (unsigned i = 0; i < s->n; i++)
		if (c >= s->ranges[i].from && c <= s->ranges[i].to)
			return !s->not ;
	return s->not ;
}

bool
pattern_matches(const struct pattern *p, struct str text, size_t *left)
{
	struct where rooms[2], *now = &rooms[0], *next = &rooms[1], *swap;
	size_t at = 0, cost;
	uint32_t c;

	now->n = 0;
	memset(now->in, 0, p->n);
	enter(p, now, p->first, true, text.n == 0);
	for (;;) {
		for (unsigned i = 0; i < now->n; i++)
			if (p->v[now->v[i]].op == OP_MATCH)
				return true;
		cost = 1 + (now->n + p->n / 8) / 8;
		if (at >= text.n || *left < cost) {
			*left = at >= text.n ? *left : 0;
			return false;
		}
		*left -= cost;
		c = decode(text, &at);
		next->n = 0;
		memset(next->in, 0, p->n);
		for (unsigned i = 0; i < now->n; i++)
			if (takes(&p->v[now->v[i]], c))
				enter(p, next, p->v[now->v[i]].next, false,
				    at == text.n);
		/* It may begin anywhere. */
		enter(p, next, p->first, false, at == text.n);
		swap = now;
		now = next;
		next = swap;
	}
}
