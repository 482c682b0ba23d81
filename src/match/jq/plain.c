#include "match/jq/plain.h"

#include "base/json.h"
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
	char *text; /* the program, which paths and strings lie in */
	struct node nodes[];
};

/* Reading. All functions return NULL for what is not of our kind. */
struct reader {
	struct str rest;
	unsigned deep;
	size_t n;
	struct node nodes[PLAIN_NODES_MAX];
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

/* No escapes: those are jq's business. */
static struct node *
string(struct reader *r)
{
	struct str s = str_from(r->rest, 1);
	struct node *n;
	size_t at = 0;

	while (at < s.n && s.p[at] != '"') {
		if (s.p[at] == '\\' || (unsigned char)s.p[at] < 0x20)
			return NULL;
		at++;
	}
	if (at == s.n)
		return NULL;
	n = node(r, CONSTANT);
	if (n)
		n->c =
		    (struct constant){.type = JSON_STRING, .text = {s.p, at}};
	r->rest = str_from(s, at + 1);
	return n;
}

static size_t
digits(struct str s, size_t at)
{
	while (at < s.n && digit(s.p[at]))
		at++;
	return at;
}

/* As JSON writes them, up to a length. */
static struct node *
number(struct reader *r)
{
	char z[64];
	struct str s = r->rest;
	size_t sign = peek(r) == '-', at = digits(s, sign), part;
	struct node *n;

	if (at == sign || (s.p[sign] == '0' && at > sign + 1))
		return NULL;
	if (at < s.n && s.p[at] == '.') {
		part = digits(s, at + 1);
		if (part == at + 1)
			return NULL;
		at = part;
	}
	if (at < s.n && (s.p[at] | 0x20) == 'e') {
		part = at + 1;
		if (part < s.n && (s.p[part] == '+' || s.p[part] == '-'))
			part++;
		at = digits(s, part);
		if (at == part)
			return NULL;
	}
	if (at < s.n && (begins_word(s.p[at]) || s.p[at] == '.'))
		return NULL;
	if (at >= sizeof(z))
		return NULL;
	memcpy(z, s.p, at);
	z[at] = '\0';
	n = node(r, CONSTANT);
	if (n)
		n->c = (struct constant){
		    .type = JSON_NUMBER, .number = strtod(z, NULL)};
	r->rest = str_from(s, at);
	return n;
}

static struct node *
word(struct reader *r)
{
	static const struct {
		const char *name;
		enum json_type type;
	} WORDS[] = {
	    {"null", JSON_NULL}, {"true", JSON_TRUE}, {"false", JSON_FALSE}};
	struct node *n;

	for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
		if (!eat(r, WORDS[i].name))
			continue;
		n = node(r, CONSTANT);
		if (n)
			n->c.type = WORDS[i].type;
		return n;
	}
	return NULL;
}

static struct node *
operand(struct reader *r)
{
	char c;

	blanks(r);
	c = peek(r);
	if (c == '.')
		return field(r);
	if (c == '"')
		return string(r);
	if (c == '-' || digit(c))
		return number(r);
	return begins_word(c) ? word(r) : NULL;
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

/* From what was read, and lies on the stack and in the caller's text, to what
 * stays. */
static struct plain *
pack(const struct reader *r, const struct node *root, struct str program)
{
	struct plain *p = malloc(sizeof(*p) + r->n * sizeof(struct node));
	char *text = malloc(program.n);

	if (!p || !text) {
		free(p);
		free(text);
		return NULL;
	}
	memcpy(text, program.p, program.n);
	p->text = text;
	p->root = p->nodes + (root - r->nodes);
	for (size_t i = 0; i < r->n; i++) {
		struct node *n = &p->nodes[i];

		*n = r->nodes[i];
		if (n->left)
			n->left = p->nodes + (n->left - r->nodes);
		if (n->right)
			n->right = p->nodes + (n->right - r->nodes);
		if (n->path.p)
			n->path.p = text + (n->path.p - program.p);
		if (n->c.text.p)
			n->c.text.p = text + (n->c.text.p - program.p);
	}
	return p;
}

struct plain *
plain_parse(struct str program)
{
	UNINIT struct reader r;
	const struct node *root;

	if (program.n > PLAIN_TEXT_MAX || str_utf8_bad(program) < program.n)
		return NULL;
	r.rest = program;
	r.deep = 0;
	r.n = 0;
	root = pipe_of(&r);
	blanks(&r);
	return root && r.rest.n == 0 ? pack(&r, root, program) : NULL;
}

void
plain_free(struct plain *p)
{
	if (p)
		free(p->text);
	free(p);
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
