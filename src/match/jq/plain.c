#include "match/jq/plain.h"

#include "match/jq/jq_scan.h"
#include "match/limits.h"

enum kind { FIELD, CONSTANT, COMPARE, NOT, AND, OR };
/* How a field may stand to a constant. */
enum { LESS = 1, EQUAL = 2, MORE = 4 };

struct constant {
	enum json_type type;
	double number;
	struct str text;
};

struct node {
	enum kind kind;
	unsigned when;   /* COMPARE: it holds */
	struct str path; /* FIELD: "a.b.c" */
	struct constant c;
	const struct node *left, *right;
};

struct plain {
	const struct node *root;
	struct node nodes[];
};

/* Reading. All functions return NULL for what is not of our kind. */
struct reader {
	struct arena *scratch;
	struct str rest;
	unsigned deep;
	struct node *nodes;
	size_t n;
};

static struct node *pipe_of(struct reader *r);

static void
blanks(struct reader *r)
{
	while (r->rest.n > 0 && str_is_blank(r->rest.p[0]))
		r->rest = str_from(r->rest, 1);
}

static char
peek(const struct reader *r)
{
	return r->rest.n > 0 ? r->rest.p[0] : '\0';
}

static size_t
word_length(struct str s)
{
	size_t n = 0;

	while (n < s.n && (jq_scan_begins(s.p[n]) || str_is_digit(s.p[n])))
		n++;
	return n;
}

/* Takes the sign or word off, when it is next. */
static bool
eat(struct reader *r, const char *sign)
{
	struct str s = str_of(sign);

	blanks(r);
	if (!str_starts(r->rest, s))
		return false;
	if (jq_scan_begins(sign[0]) && word_length(r->rest) != s.n)
		return false;
	r->rest = str_from(r->rest, s.n);
	return true;
}

static struct node *
node(struct reader *r, enum kind kind)
{
	struct node *n;

	if (r->n == PLAIN_NODES_MAX)
		return NULL;
	n = &r->nodes[r->n++];
	*n = (struct node){.kind = kind};
	return n;
}

static struct node *
join(struct reader *r, enum kind kind, const struct node *left,
    const struct node *right)
{
	struct node *n = left && (right || kind == NOT) ? node(r, kind) : NULL;

	if (n) {
		n->left = left;
		n->right = right;
	}
	return n;
}

/* .a.b.c, with nothing between. */
static struct node *
field(struct reader *r)
{
	struct str path = str_from(r->rest, 1);
	struct node *n;
	size_t at = 0;

	for (;;) {
		size_t word = word_length(str_from(path, at));

		if (word == 0 || str_is_digit(path.p[at]))
			return NULL;
		at += word;
		if (at + 1 >= path.n || path.p[at] != '.' ||
		    !jq_scan_begins(path.p[at + 1]))
			break;
		at++;
	}
	n = node(r, FIELD);
	if (n)
		n->path = (struct str){path.p, at};
	r->rest = str_from(path, at);
	return n;
}

/* How far a constant goes: a string, or all that a number or word may have. */
static size_t
constant_length(struct str s)
{
	size_t n = 1;

	if (s.p[0] == '"') {
		while (n < s.n && s.p[n] != '"')
			n++;
		return n < s.n ? n + 1 : n;
	}
	while (n < s.n && (jq_scan_begins(s.p[n]) || str_is_digit(s.p[n]) ||
			      strchr("+-.", s.p[n])))
		n++;
	return n;
}

/* As JSON writes them, but for strings with escapes: those are jq's business,
 * which knows others. */
static struct node *
constant(struct reader *r)
{
	struct str s = {r->rest.p, constant_length(r->rest)};
	struct json *j;
	struct node *n;
	struct err e;

	if (str_has(s, '\\') || json_parse(r->scratch, s, &j, &e) < 0)
		return NULL;
	n = node(r, CONSTANT);
	if (n)
		n->c = (struct constant){.type = j->type, .text = j->text};
	if (n && j->type == JSON_NUMBER)
		n->c.number = strtod(arena_z(r->scratch, s), NULL);
	r->rest = str_from(r->rest, s.n);
	return n;
}

static struct node *
operand(struct reader *r)
{
	char c;

	blanks(r);
	c = peek(r);
	if (c == '.')
		return field(r);
	return c == '"' || c == '-' || str_is_digit(c) || jq_scan_begins(c)
		   ? constant(r)
		   : NULL;
}

/* 0: none is next. */
static unsigned
comparator(struct reader *r)
{
	static const struct {
		const char *sign;
		unsigned when;
	} SIGNS[] = {{"==", EQUAL}, {"!=", LESS | MORE}, {"<=", LESS | EQUAL},
	    {">=", MORE | EQUAL}, {"<", LESS}, {">", MORE}};

	for (size_t i = 0; i < COUNT_OF(SIGNS); i++)
		if (eat(r, SIGNS[i].sign))
			return SIGNS[i].when;
	return 0;
}

/* As it is when the sides change places. */
static unsigned
turned(unsigned when)
{
	return (when & EQUAL) | (when & LESS ? MORE : 0) |
	       (when & MORE ? LESS : 0);
}

/* A field against a constant, in either order; or one of them alone. */
static struct node *
comparison(struct reader *r)
{
	struct node *left = operand(r), *right, *n;
	unsigned when = left ? comparator(r) : 0;

	if (when == 0)
		return left;
	right = operand(r);
	if (!right || right->kind == left->kind)
		return NULL;
	if (left->kind == FIELD)
		n = join(r, COMPARE, left, right);
	else
		n = join(r, COMPARE, right, left);
	if (n)
		n->when = left->kind == FIELD ? when : turned(when);
	return n;
}

static struct node *
term(struct reader *r)
{
	struct node *n;

	blanks(r);
	if (peek(r) != '(')
		return comparison(r);
	r->rest = str_from(r->rest, 1);
	if (r->deep == PLAIN_DEPTH_MAX)
		return NULL;
	r->deep++;
	n = pipe_of(r);
	r->deep--;
	return n && eat(r, ")") ? n : NULL;
}

static struct node *
and_of(struct reader *r)
{
	struct node *n = term(r);

	while (n && eat(r, "and"))
		n = join(r, AND, n, term(r));
	return n;
}

static struct node *
or_of(struct reader *r)
{
	struct node *n = and_of(r);

	while (n && eat(r, "or"))
		n = join(r, OR, n, and_of(r));
	return n;
}

/* Weakest of all: a | not is about everything before it. */
static struct node *
pipe_of(struct reader *r)
{
	struct node *n = or_of(r);

	while (n && eat(r, "|"))
		n = eat(r, "not") ? join(r, NOT, n, NULL) : NULL;
	return n;
}

/* The root; NULL: not all of it is of our kind. */
static const struct node *
read_all(struct reader *r, struct str program, struct node *nodes)
{
	const struct node *root;

	r->rest = program;
	r->deep = 0;
	r->nodes = nodes;
	r->n = 0;
	root = pipe_of(r);
	blanks(r);
	return r->rest.n == 0 ? root : NULL;
}

struct plain *
plain_parse(struct str program)
{
	UNINIT struct node nodes[PLAIN_NODES_MAX];
	struct reader r;
	struct plain *p = NULL;

	if (program.n > PLAIN_TEXT_MAX || str_utf8_bad(program) < program.n)
		return NULL;
	r.scratch = arena_new(64 * KIB);
	/* Twice: to know how many nodes it has, and into so many. */
	if (read_all(&r, program, nodes)) {
		p = mem_get(sizeof(*p) + r.n * sizeof(struct node));
		p->root = read_all(&r, program, p->nodes);
	}
	arena_free(r.scratch);
	return p;
}

/* Running. A field that is absent is null: no value, as is null's field. */
static bool
plain_find(const struct json *j, struct str path, const struct json **ret)
{
	while (path.n > 0) {
		struct str key = str_cut(&path, '.');

		if (!j || j->type == JSON_NULL)
			continue;
		if (j->type != JSON_OBJECT)
			return false;
		j = json_step(j, key);
	}
	*ret = j;
	return true;
}

/* json_type is in jq's order of types. */
_Static_assert(JSON_NULL < JSON_FALSE && JSON_FALSE < JSON_TRUE &&
		   JSON_TRUE < JSON_NUMBER && JSON_NUMBER < JSON_STRING &&
		   JSON_STRING < JSON_ARRAY && JSON_ARRAY < JSON_OBJECT,
    "jq orders by type first");

static unsigned
order(const struct json *j, const struct constant *c)
{
	enum json_type type = j ? j->type : JSON_NULL;
	double v;

	if (type != c->type)
		return type < c->type ? LESS : MORE;
	if (type == JSON_NUMBER) {
		/* A member of an object: behind it is a comma or a brace. */
		v = strtod(j->raw.p, NULL);
		return v < c->number ? LESS : v > c->number ? MORE : EQUAL;
	}
	if (type == JSON_STRING) {
		int cmp = str_cmp(j->text, c->text);

		return cmp < 0 ? LESS : cmp > 0 ? MORE : EQUAL;
	}
	return EQUAL;
}

static enum jq_verdict
plain_run_it(const struct node *n, const struct json *doc)
{
	const struct json *j = NULL;
	enum jq_verdict left;

	switch (n->kind) {
	case FIELD:
		if (!plain_find(doc, n->path, &j))
			return JQ_ERROR;
		return j && j->type != JSON_NULL && j->type != JSON_FALSE;
	case CONSTANT:
		return n->c.type != JSON_NULL && n->c.type != JSON_FALSE;
	case COMPARE:
		if (!plain_find(doc, n->left->path, &j))
			return JQ_ERROR;
		return (n->when & order(j, &n->right->c)) != 0;
	case NOT:
	case AND:
	case OR:
		break;
	}
	left = plain_run_it(n->left, doc);
	if (left == JQ_ERROR)
		return left;
	if (n->kind == NOT)
		return left == JQ_TRUE ? JQ_FALSE : JQ_TRUE;
	if ((n->kind == AND) == (left == JQ_FALSE))
		return left;
	return plain_run_it(n->right, doc);
}

enum jq_verdict
plain_run(const struct plain *p, const struct json *doc)
{
	return plain_run_it(p->root, doc);
}
