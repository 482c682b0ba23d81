#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "event/limits.h"
#include "event/type/fault.h"
#include "event/type/jschema_priv.h"
#include "event/type/pattern.h"

/* One check of one document. */
struct run {
	const char *at;        /* of the document */
	struct faults *faults; /* NULL: nobody wants to know why */
	size_t left, depth;
	bool over; /* there was too much to do; told once */
};

/* Where we are in the document, as a chain on the stack. */
struct place {
	const struct place *up;
	struct str name; /* .p NULL: an index */
	size_t index;
};

static void
write_place(const struct place *p, char at[JSON_POINTER_MAX + 1])
{
	char index[24];

	if (!p)
		return;
	write_place(p->up, at);
	(void)snprintf(index, sizeof(index), "%zu", p->index);
	json_point(at, p->name.p ? p->name : str_of(index));
}

static bool no(struct run *r, const struct place *p, const char *fmt, ...)
    PRINTF(3, 4);

/* Says so, and that it does not fit. */
static bool
no(struct run *r, const struct place *p, const char *fmt, ...)
{
	char at[JSON_POINTER_MAX + 1], text[sizeof(((struct err *)0)->text)];
	struct err e;
	va_list ap;

	if (!r->faults)
		return false;
	(void)snprintf(at, sizeof(at), "%s", r->at);
	write_place(p, at);
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)json_wrong(&e, at, "%s", text);
	faults_add(r->faults, &e, false);
	return false;
}

/* True: there is time for a step of this cost. */
static bool
spend(struct run *r, size_t cost)
{
	if (r->left > cost && !r->over) {
		r->left -= cost;
		return true;
	}
	r->left = 0;
	r->over = true;
	return false;
}

unsigned
jschema_type(const struct json *j)
{
	static const unsigned BITS[] = {
	    [JSON_NULL] = T_NULL,
	    [JSON_FALSE] = T_BOOL,
	    [JSON_TRUE] = T_BOOL,
	    [JSON_NUMBER] = T_NUMBER,
	    [JSON_STRING] = T_STRING,
	    [JSON_ARRAY] = T_ARRAY,
	    [JSON_OBJECT] = T_OBJECT,
	};
	char text[SCHEMA_DIGITS];
	double d;

	if (j->type != JSON_NUMBER)
		return BITS[j->type];
	if (!str_has(j->raw, '.') && !str_has(j->raw, 'e') &&
	    !str_has(j->raw, 'E'))
		return T_INT;
	if (j->raw.n >= sizeof(text))
		return T_NUMBER;
	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(j->raw));
	d = strtod(text, NULL);
	return d == floor(d) ? T_INT : T_NUMBER;
}

int
jschema_number_cmp(const struct json *a, const struct json *b)
{
	char text[2][SCHEMA_DIGITS];
	int64_t x, y;
	double d, f;

	if (json_int(a, &x) && json_int(b, &y))
		return (x > y) - (x < y);
	if (a->raw.n >= SCHEMA_DIGITS || b->raw.n >= SCHEMA_DIGITS)
		return 2;
	(void)snprintf(text[0], sizeof(text[0]), "%.*s", STR_ARG(a->raw));
	(void)snprintf(text[1], sizeof(text[1]), "%.*s", STR_ARG(b->raw));
	d = strtod(text[0], NULL);
	f = strtod(text[1], NULL);
	return (d > f) - (d < f);
}

/* No deeper than JSON_DEPTH_MAX. */
bool
jschema_equal(const struct json *a, const struct json *b, size_t *left)
{
	if (*left == 0 || a->type != b->type || a->n != b->n)
		return false;
	--*left;
	if (a->type == JSON_STRING)
		return str_eq(a->text, b->text);
	if (a->type == JSON_NUMBER)
		return str_eq(a->raw, b->raw) || jschema_number_cmp(a, b) == 0;
	if (a->type == JSON_ARRAY) {
		const struct json *x = a->child, *y = b->child;

		for (; x && jschema_equal(x, y, left); x = x->next)
			y = y->next;
		return !x;
	}
	for (const struct json *x = a->child; x; x = x->next) {
		const struct json *y = b->child;

		for (; y && !str_eq(x->key, y->key); y = y->next)
			*left -= *left > 0;
		if (!y || !jschema_equal(x, y, left))
			return false;
	}
	return true;
}

static bool fits(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at);

/* The same, and nobody hears why not. */
static bool
fits_quietly(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	struct faults *told = r->faults;
	bool ok;

	r->faults = NULL;
	ok = fits(r, n, j, at);
	r->faults = told;
	return ok;
}

static bool
fits_size(struct run *r, const struct jsize *s, size_t n, const char *of,
    const struct place *at)
{
	if ((int64_t)n < s->least)
		return no(r, at, "must have at least %lld %s",
		    (long long)s->least, of);
	return s->most < 0 || (int64_t)n <= s->most ||
	       no(r, at, "must have at most %lld %s", (long long)s->most, of);
}

/* Characters: bytes that begin one. */
static size_t
count_chars(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static bool
is_email(struct str s)
{
	struct str local = str_cut(&s, '@');

	return local.n > 0 && s.n > 0 && !str_has(s, '@') &&
	       !str_has(local, ' ') && !str_has(s, ' ');
}

/* A scheme and something behind it, in visible ASCII. */
static bool
is_uri(struct str s)
{
	size_t i = 0;

	while (i < s.n && (((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z') ||
			      (i > 0 && ((s.p[i] >= '0' && s.p[i] <= '9') ||
					    s.p[i] == '+' || s.p[i] == '-' ||
					    s.p[i] == '.'))))
		i++;
	if (i == 0 || i + 1 >= s.n || s.p[i] != ':')
		return false;
	for (; i < s.n; i++)
		if (s.p[i] <= 0x20 || s.p[i] >= 0x7f ||
		    strchr("\"<>\\^`{|}", s.p[i]))
			return false;
	return true;
}

static bool
is_format(enum format f, struct str s)
{
	struct uuid u;
	int64_t us;

	switch (f) {
	case FORMAT_TIME:
		return time_parse(s, &us, NULL);
	case FORMAT_DATE:
		return time_is_day(s);
	case FORMAT_UUID:
		return uuid_parse(s, &u);
	case FORMAT_URI:
		return is_uri(s);
	case FORMAT_EMAIL:
		return is_email(s);
	case FORMAT_NONE:
		break;
	}
	return true;
}

static bool
fits_string(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	bool ok = true;

	if (n->text.least > 0 || n->text.most >= 0)
		ok = spend(r, j->text.n / 16) &&
		     fits_size(
			 r, &n->text, count_chars(j->text), "characters", at);
	if (n->format && !is_format(n->format, j->text))
		ok = no(r, at, "must have the format %s",
		    JSCHEMA_FORMATS[n->format]);
	if (n->pattern && !pattern_matches(n->pattern, j->text, &r->left)) {
		if (r->left == 0)
			r->over = true;
		ok = no(r, at, "must match the pattern %.*s",
		    (int)(n->pattern_text.n < 80 ? n->pattern_text.n : 80),
		    n->pattern_text.p);
	}
	return ok;
}

static bool
fits_number(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	const struct {
		const struct json *bound;
		int bad[2]; /* how it may not stand to the bound */
		const char *words;
	} rows[] = {
	    {n->min, {-1, 2}, "must be at least"},
	    {n->max, {1, 2}, "must be at most"},
	    {n->above, {-1, 0}, "must be more than"},
	    {n->below, {1, 0}, "must be less than"},
	};
	bool ok = true;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int is =
		    rows[i].bound ? jschema_number_cmp(j, rows[i].bound) : 3;

		if (is == rows[i].bad[0] || is == rows[i].bad[1] || is == 2)
			ok = no(r, at, "%s %.*s", rows[i].words,
			    STR_ARG(rows[i].bound->raw));
	}
	return ok;
}

static bool
fits_unique(struct run *r, const struct json *j, const struct place *at)
{
	size_t i = 0;

	for (const struct json *x = j->child; x; x = x->next, i++)
		for (const struct json *y = j->child; y != x; y = y->next) {
			if (!spend(r, 1))
				return true;
			if (jschema_equal(x, y, &r->left))
				return no(r,
				    &(struct place){at, {.p = NULL}, i},
				    "is there already: all must differ");
		}
	return true;
}

static bool
fits_array(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	bool ok = fits_size(r, &n->array, j->n, "elements", at);
	size_t i = 0;

	for (const struct json *c = j->child; c && !r->over; c = c->next, i++) {
		const struct jnode *of =
		    i < n->prefix.n ? n->prefix.v[i] : n->items;

		if (!of)
			continue;
		ok &= fits(r, of, c, &(struct place){at, {.p = NULL}, i});
	}
	return (!n->unique || fits_unique(r, j, at)) && ok;
}

static const struct jprop *
find_prop(const struct jnode *n, struct str name)
{
	size_t from = 0, to = n->n_props;

	while (from < to) {
		size_t mid = (from + to) / 2;
		int is = str_cmp(name, n->props[mid].name);

		if (is == 0)
			return &n->props[mid];
		if (is < 0)
			to = mid;
		else
			from = mid + 1;
	}
	return NULL;
}

static bool
tell_missing(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	for (size_t i = 0; i < n->n_props && r->faults; i++) {
		const struct jprop *p = &n->props[i];
		struct place here = {at, p->name, 0};

		if (!p->required || !spend(r, 1 + j->n / 8))
			continue;
		if (!json_step(j, p->name))
			(void)no(r, &here, "is required");
	}
	return false;
}

static bool
fits_object(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	bool ok = fits_size(r, &n->object, j->n, "members", at);
	size_t found = 0;

	if (n->n_props == 0 && !n->more)
		return ok;
	for (const struct json *c = j->child; c && spend(r, 1); c = c->next) {
		const struct jprop *p = find_prop(n, c->key);
		struct place here = {at, c->key, 0};
		/* `properties` names it when it has a schema there. */
		const struct jnode *of = p && p->node ? p->node : n->more;

		found += p && p->required;
		if (!of)
			continue;
		if (of == n->more && of->never)
			ok = no(r, &here, "is not allowed");
		else
			ok &= fits(r, of, c, &here);
	}
	return found == n->n_required ? ok : tell_missing(r, n, j, at);
}

static bool
fits_value(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	if (n->is && !jschema_equal(n->is, j, &r->left))
		return no(r, at, "must be %.*s",
		    (int)(n->is->raw.n < 80 ? n->is->raw.n : 80), n->is->raw.p);
	if (n->one_of_these) {
		const struct json *v = n->one_of_these->child;

		while (v && spend(r, 1) && !jschema_equal(v, j, &r->left))
			v = v->next;
		if (!v)
			return no(r, at, "must be one of %.*s",
			    (int)(n->one_of_these->raw.n < 120
				      ? n->one_of_these->raw.n
				      : 120),
			    n->one_of_these->raw.p);
	}
	return true;
}

static bool
fits_lists(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	bool ok = true;
	size_t some = 0, one = 0;

	for (size_t i = 0; i < n->all.n; i++)
		ok &= fits(r, n->all.v[i], j, at);
	for (size_t i = 0; i < n->any.n && some == 0; i++)
		some += fits_quietly(r, n->any.v[i], j, at);
	if (n->any.n > 0 && some == 0)
		ok = no(r, at, "fits none of anyOf");
	for (size_t i = 0; i < n->one.n && one < 2; i++)
		one += fits_quietly(r, n->one.v[i], j, at);
	if (n->one.n > 0 && one != 1)
		ok = no(r, at,
		    one ? "fits more than one of oneOf" : "fits none of oneOf");
	if (n->not &&fits_quietly(r, n->not, j, at))
		ok = no(r, at, "fits what it must not");
	return ok;
}

static bool
tell_type(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	static const char *const NAMES[] = {"null", "boolean", "integer",
	    "number", "string", "array", "object"};
	char text[96] = "";
	size_t used = 0;
	unsigned types = n->types;

	if (types & T_NUMBER)
		types &= ~(unsigned)T_INT;
	for (unsigned i = 0; i < COUNT_OF(NAMES); i++)
		if (types & 1u << i)
			used +=
			    (size_t)snprintf(text + used, sizeof(text) - used,
				"%s%s", used ? " or " : "", NAMES[i]);
	return no(
	    r, at, "must be of type %s, not %s", text, json_type_name(j->type));
}

static bool
fits(struct run *r, const struct jnode *n, const struct json *j,
    const struct place *at)
{
	bool ok = true;

	if (!spend(r, 1) || r->depth >= SCHEMA_DEPTH ||
	    (r->faults && !faults_room(r->faults))) {
		r->over |= r->depth >= SCHEMA_DEPTH;
		return true;
	}
	if (n->never)
		return no(r, at, "is not allowed");
	if (!(n->types & jschema_type(j)))
		return tell_type(r, n, j, at);
	r->depth++;
	if (n->ref)
		ok = fits(r, n->ref, j, at);
	ok &= fits_value(r, n, j, at);
	if (j->type == JSON_STRING)
		ok &= fits_string(r, n, j, at);
	else if (j->type == JSON_NUMBER)
		ok &= fits_number(r, n, j, at);
	else if (j->type == JSON_ARRAY)
		ok &= fits_array(r, n, j, at);
	else if (j->type == JSON_OBJECT)
		ok &= fits_object(r, n, j, at);
	ok &= fits_lists(r, n, j, at);
	r->depth--;
	return ok;
}

void
jschema_check(const struct jschema *s, const struct json *doc, const char *at,
    struct faults *ret)
{
	struct run r = {
	    .at = at,
	    .faults = ret,
	    .left = SCHEMA_WORK + 4 * doc->raw.n,
	};

	(void)fits(&r, s->root, doc, NULL);
	if (r.over) {
		struct err e;

		(void)json_wrong(&e, at,
		    "takes too much work to be checked against its schema");
		faults_add(ret, &e, false);
	}
}
