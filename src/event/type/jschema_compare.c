#include <stdarg.h>

#include "event/limits.h"
#include "event/type/fault.h"
#include "event/type/jschema_priv.h"

/* One comparison of two schemas. */
struct diff {
	struct faults *faults; /* NULL: nobody wants to know why */
	size_t left;
};

/* Two places that are being compared: met again, they are as the rest says. */
struct pair {
	const struct pair *up;
	const struct jnode *old, *new;
	struct str name; /* of the member or keyword that led here */
	size_t depth;
};

static void
write_pair(const struct pair *p, char at[JSON_POINTER_MAX + 1])
{
	if (!p)
		return;
	write_pair(p->up, at);
	if (p->name.n > 0)
		json_point(at, p->name);
}

static bool differs(struct diff *d, const struct pair *p, const char *fmt, ...)
    PRINTF(3, 4);

static bool
differs(struct diff *d, const struct pair *p, const char *fmt, ...)
{
	char at[JSON_POINTER_MAX + 1] = "/schema";
	struct err e;
	va_list ap;

	if (!d->faults)
		return false;
	write_pair(p, at);
	e = (struct err){.code = ERR_INVALID};
	va_start(ap, fmt);
	(void)vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	(void)snprintf(e.at, sizeof(e.at), "%s", at);
	faults_add(d->faults, &e, false);
	return false;
}

static bool within(struct diff *d, const struct jnode *old,
    const struct jnode *new, const struct pair *up, struct str name);

static bool
within_quietly(struct diff *d, const struct jnode *old, const struct jnode *new,
    const struct pair *up)
{
	struct faults *told = d->faults;
	bool ok;

	d->faults = NULL;
	ok = within(d, old, new, up, STR_EMPTY);
	d->faults = told;
	return ok;
}

/* Does the old node allow everything? Then so it does what the new one does. */
static bool
is_open(const struct jnode *n)
{
	return n->types == T_ANY && !n->never && !n->is && !n->one_of_these &&
	       !n->min && !n->max && !n->above && !n->below &&
	       n->text.least == 0 && n->text.most < 0 && n->array.least == 0 &&
	       n->array.most < 0 && n->object.least == 0 &&
	       n->object.most < 0 && !n->unique && !n->pattern && !n->format &&
	       n->n_props == 0 && (!n->more || is_open(n->more)) && !n->items &&
	       n->prefix.n + n->all.n + n->any.n + n->one.n == 0 &&
	       !n->not &&!n->ref;
}

static bool
value_known(struct diff *d, const struct jnode *old, const struct json *v)
{
	if (old->is)
		return jschema_equal(old->is, v, &d->left);
	for (const struct json *k = old->one_of_these->child; k; k = k->next)
		if (jschema_equal(k, v, &d->left))
			return true;
	return false;
}

static bool
within_values(struct diff *d, const struct pair *p)
{
	const struct json *v = p->new->is;
	bool ok = true;

	if (!p->old->is && !p->old->one_of_these)
		return true;
	if (!v && !p->new->one_of_these)
		return differs(d, p, "the values are no longer limited");
	if (v)
		return value_known(d, p->old, v) ||
		       differs(d, p, "a value is new");
	for (v = p->new->one_of_these->child; v; v = v->next)
		if (!value_known(d, p->old, v))
			ok = differs(d, p, "the value %.*s is new",
			    (int)(v->raw.n < 60 ? v->raw.n : 60), v->raw.p);
	return ok;
}

/* sign 1: a least, -1: a most. `strict` are the bounds that are excluded. */
static bool
within_bound(const struct json *old, const struct json *old_strict,
    const struct json *new, const struct json *new_strict, int sign)
{
	int is;

	if (old) {
		is = new          ? jschema_number_cmp(new, old)
		     : new_strict ? jschema_number_cmp(new_strict, old)
				  : 2;
		if (is == 2 || is * sign < 0)
			return false;
	}
	if (old_strict) {
		is = new_strict ? jschema_number_cmp(new_strict, old_strict)
		     : new      ? jschema_number_cmp(new, old_strict)
				: 2;
		if (is == 2 || is * sign < 0 || (is == 0 && !new_strict))
			return false;
	}
	return true;
}

static bool
within_size(const struct jsize *old, const struct jsize *new)
{
	return new->least >= old->least &&
	       (old->most < 0 || (new->most >= 0 && new->most <= old->most));
}

static bool
within_scalars(struct diff *d, const struct pair *p)
{
	const struct jnode *o = p->old, *n = p->new;
	bool ok = true;

	if (n->types & ~o->types)
		ok = differs(d, p, "a type is allowed that was not");
	ok &= within_values(d, p);
	if (!within_bound(o->min, o->above, n->min, n->above, 1) ||
	    !within_bound(o->max, o->below, n->max, n->below, -1))
		ok = differs(d, p, "numbers are allowed that were not");
	if (!within_size(&o->text, &n->text) ||
	    !within_size(&o->array, &n->array) ||
	    !within_size(&o->object, &n->object) || (o->unique && !n->unique))
		ok = differs(d, p, "a length is allowed that was not");
	if (o->pattern &&
	    (!n->pattern || !str_eq(o->pattern_text, n->pattern_text)))
		ok = differs(d, p, "the pattern is another");
	if (o->format && o->format != n->format)
		ok = differs(d, p, "the format is another");
	return ok;
}

static const struct jprop *
find_prop(const struct jnode *n, struct str name)
{
	for (size_t i = 0; i < n->n_props; i++)
		if (str_eq(n->props[i].name, name))
			return &n->props[i];
	return NULL;
}

/* What the node says of a member that it names or does not. NULL: any. */
static const struct jnode *
member_of(const struct jnode *n, const struct jprop *p)
{
	return p && p->node ? p->node : n->more;
}

static bool
within_members(struct diff *d, const struct pair *p)
{
	const struct jnode *o = p->old, *n = p->new;
	bool ok = true;

	for (size_t i = 0; i < o->n_props && d->left > 0; i++) {
		const struct jprop *was = &o->props[i];
		const struct jprop *is = find_prop(n, was->name);
		struct pair here = {p, o, n, was->name, p->depth};

		d->left -= d->left < n->n_props + 1 ? d->left : n->n_props + 1;
		if (was->required && !(is && is->required))
			ok = differs(d, &here, "is no longer required");
		if (was->node)
			ok &= within(
			    d, was->node, member_of(n, is), p, was->name);
	}
	for (size_t i = 0; i < n->n_props && o->more && d->left > 0; i++) {
		const struct jprop *is = &n->props[i];
		const struct jprop *was = find_prop(o, is->name);

		d->left -= d->left < o->n_props + 1 ? d->left : o->n_props + 1;
		if (is->node && !(was && was->node))
			ok &= within(d, o->more, is->node, p, is->name);
	}
	if (o->more)
		ok &=
		    within(d, o->more, n->more, p, STR("additionalProperties"));
	return ok;
}

static bool
within_elements(struct diff *d, const struct pair *p)
{
	const struct jnode *o = p->old, *n = p->new;
	size_t most = o->prefix.n > n->prefix.n ? o->prefix.n : n->prefix.n;
	bool ok = true;

	for (size_t i = 0; i < most; i++) {
		const struct jnode *was =
		    i < o->prefix.n ? o->prefix.v[i] : o->items;
		const struct jnode *is =
		    i < n->prefix.n ? n->prefix.v[i] : n->items;

		if (was)
			ok &= within(d, was, is, p, STR("prefixItems"));
	}
	if (o->items)
		ok &= within(d, o->items, n->items, p, STR("items"));
	return ok;
}

/* Lists and not: as they were, or each of anyOf within one that was. */
static bool
within_lists(struct diff *d, const struct pair *p)
{
	const struct jnode *o = p->old, *n = p->new;
	const struct {
		const char *name;
		bool was;
	} rows[] = {{"oneOf", o->one.n > 0}, {"not", o->not != NULL}};
	bool ok = true;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct json *a = json_get(o->src, rows[i].name);
		const struct json *b = json_get(n->src, rows[i].name);

		if (rows[i].was && !(b && jschema_equal(a, b, &d->left)))
			ok = differs(d, p, "%s is another", rows[i].name);
	}
	for (size_t i = 0; i < o->all.n; i++) {
		bool kept = within_quietly(d, o->all.v[i], n, p);

		for (size_t k = 0; k < n->all.n && !kept; k++)
			kept = within_quietly(d, o->all.v[i], n->all.v[k], p);
		if (!kept)
			ok = differs(d, p, "allOf lacks one that was there");
	}
	if (o->any.n > 0 && n->any.n == 0)
		return differs(d, p, "anyOf is gone");
	for (size_t k = 0; k < n->any.n && o->any.n > 0; k++) {
		bool kept = false;

		for (size_t i = 0; i < o->any.n && !kept; i++)
			kept = within_quietly(d, o->any.v[i], n->any.v[k], p);
		if (!kept)
			ok = differs(d, p, "anyOf has one that was not there");
	}
	return ok;
}

/* A node that is nothing but a reference is what it refers to. */
static const struct jnode *
follow(const struct jnode *n)
{
	while (n && n->ref && n->src->n == 1)
		n = n->ref;
	return n;
}

static bool
within(struct diff *d, const struct jnode *old, const struct jnode *new,
    const struct pair *up, struct str name)
{
	struct pair here = {
	    up, follow(old), follow(new), name, up ? up->depth + 1 : 0};

	assert(here.old);
	if (is_open(here.old) || (here.new &&here.new->never))
		return true;
	if (!here.new)
		return differs(d, &here, "may be anything now");
	for (const struct pair *p = up; p; p = p->up)
		if (p->old == here.old && p->new == here.new)
			return true;
	if (d->left == 0 || here.depth > SCHEMA_DEPTH ||
	    (d->faults && !faults_room(d->faults))) {
		d->left = 0;
		return false;
	}
	d->left--;
	if (here.old->never)
		return differs(d, &here, "is allowed now");
	if (here.old->ref &&
	    !within_quietly(d, here.old->ref,
		here.new->ref ? here.new->ref : here.new, &here))
		return differs(d, &here, "does not keep to the $ref");
	return (int)within_scalars(d, &here) & (int)within_members(d, &here) &
	       (int)within_elements(d, &here) & (int)within_lists(d, &here);
}

void
jschema_compare(
    const struct jschema *old, const struct jschema *new, struct faults *ret)
{
	struct diff d = {.faults = ret, .left = SCHEMA_WORK};

	(void)within(&d, old->root, new->root, NULL, STR_EMPTY);
	if (d.left == 0)
		(void)differs(&d, NULL, "takes too much work to be compared");
}
