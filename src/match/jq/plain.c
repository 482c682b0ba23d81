#include "match/jq/plain.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "match/limits.h"

enum kind { FIELD, CONSTANT, COMPARE, NOT, AND, OR };
enum compare { EQ, NE, LT, LE, GT, GE };

struct constant {
	enum json_type type;
	double number;
	struct str text;
};

struct node {
	enum kind kind;
	enum compare op;
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
	while (r->rest.n > 0 && strchr(" \t\r\n", r->rest.p[0]) &&
	       r->rest.p[0] != '\0')
		r->rest = str_from(r->rest, 1);
}

static char
peek(const struct reader *r)
{
	return r->rest.n > 0 ? r->rest.p[0] : '\0';
}

static bool
begins_word(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t
word_length(struct str s)
{
	size_t n = 0;

	while (n < s.n && (begins_word(s.p[n]) || digit(s.p[n])))
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
	if (begins_word(sign[0]) && word_length(r->rest) != s.n)
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

		if (word == 0 || digit(path.p[at]))
			return NULL;
		at += word;
		if (at + 1 >= path.n || path.p[at] != '.' ||
		    !begins_word(path.p[at + 1]))
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
	while (n < s.n &&
	       (begins_word(s.p[n]) || digit(s.p[n]) || strchr("+-.", s.p[n])))
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
	return c == '"' || c == '-' || digit(c) || begins_word(c) ? constant(r)
								  : NULL;
}

static bool
comparator(struct reader *r, enum compare *ret)
{
	static const struct {
		const char *sign;
		enum compare op;
	} SIGNS[] = {{"==", EQ}, {"!=", NE}, {"<=", LE}, {">=", GE}, {"<", LT},
	    {">", GT}};

	for (size_t i = 0; i < COUNT_OF(SIGNS); i++)
		if (eat(r, SIGNS[i].sign)) {
			*ret = SIGNS[i].op;
			return true;
		}
	return false;
}

/* A field against a constant, in either order; or one of them alone. */
static struct node *
comparison(struct reader *r)
{
	static const enum compare TURNED[] = {
	    [EQ] = EQ, [NE] = NE, [LT] = GT, [LE] = GE, [GT] = LT, [GE] = LE};
	struct node *left = operand(r), *right, *n;
	enum compare op;

	if (!left || !comparator(r, &op))
		return left;
	right = operand(r);
	if (!right || right->kind == left->kind)
		return NULL;
	if (left->kind == FIELD)
		n = join(r, COMPARE, left, right);
	else
		n = join(r, COMPARE, right, left);
	if (n)
		n->op = left->kind == FIELD ? op : TURNED[op];
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
find(const struct json *j, struct str path, const struct json **ret)
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

static int
order(const struct json *j, const struct constant *c)
{
	enum json_type type = j ? j->type : JSON_NULL;
	double v;

	if (type != c->type)
		return type < c->type ? -1 : 1;
	if (type == JSON_NUMBER) {
		/* A member of an object: behind it is a comma or a brace. */
		v = strtod(j->raw.p, NULL);
		return (v > c->number) - (v < c->number);
	}
	return type == JSON_STRING ? str_cmp(j->text, c->text) : 0;
}

static bool
holds(enum compare op, int order)
{
	switch (op) {
	case EQ:
		return order == 0;
	case NE:
		return order != 0;
	case LT:
		return order < 0;
	case LE:
		return order <= 0;
	case GT:
		return order > 0;
	case GE:
		return order >= 0;
	}
	return false;
}

static enum jq_verdict
run(const struct node *n, const struct json *doc)
{
	const struct json *j = NULL;
	enum jq_verdict left;

	switch (n->kind) {
	case FIELD:
		if (!find(doc, n->path, &j))
			return JQ_ERROR;
		return j && j->type != JSON_NULL && j->type != JSON_FALSE;
	case CONSTANT:
		return n->c.type != JSON_NULL && n->c.type != JSON_FALSE;
	case COMPARE:
		if (!find(doc, n->left->path, &j))
			return JQ_ERROR;
		return holds(n->op, order(j, &n->right->c));
	case NOT:
	case AND:
	case OR:
		break;
	}
	left = run(n->left, doc);
	if (left == JQ_ERROR)
		return left;
	if (n->kind == NOT)
		return left == JQ_TRUE ? JQ_FALSE : JQ_TRUE;
	if ((n->kind == AND) == (left == JQ_FALSE))
		return left;
	return run(n->right, doc);
}

enum jq_verdict
plain_run(const struct plain *p, const struct json *doc)
{
	return run(p->root, doc);
}
