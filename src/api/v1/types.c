#include "event/type/types.h"

#include "api/api.h"
#include "api/handlers.h"
#include "api/io.h"
#include "audit/audit.h"
#include "event/append.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "event/type/catalog.h"
#include "event/type/fault.h"
#include "event/type/jschema.h"
#include "http/server/limits.h"
#include "http/server/reply.h"
#include "sql.h"

/*
 * /v1/event-types: the built-in ones (event/type/catalog.h) and those of the store
 * (event/type/types.h), as they are at hand. They belong to no tenant: all may
 * see them, and who is limited to tenants changes none.
 */

/* Those that are shown, one after the other: first the built-in ones. */
struct walk {
	const struct types *types;
	const struct event_type *builtin; /* NULL once they are through */
	size_t own;                       /* the first version of the next */
};

static size_t
end_of(const struct types *t, size_t i)
{
	struct str type = types_at(t, i)->type;

	while (i < types_count(t) && str_eq(types_at(t, i)->type, type))
		i++;
	return i;
}

/* .p NULL: it is through. */
static struct str
walk_name(const struct walk *w)
{
	if (w->builtin)
		return str_of(w->builtin->name);
	return w->own < types_count(w->types) ? types_at(w->types, w->own)->type
					      : (struct str){.p = NULL};
}

static void
walk_on(struct walk *w)
{
	if (w->builtin)
		w->builtin = catalog_each(w->builtin);
	else
		w->own = end_of(w->types, w->own);
}

static struct walk
walk_from(const struct types *t, struct str after)
{
	const struct event_type *b = after.p ? catalog_find(after) : NULL;
	struct walk w = {.types = t};

	if (!after.p || b)
		w.builtin = catalog_each(b);
	else
		w.own = types_find(t, after, INT64_MAX);
	return w;
}

static void
put_version(struct buf *b, const struct type_version *v)
{
	put_open(b, NULL, '{');
	put_int(b, "version", v->version);
	put_bool(b, "strict", v->strict);
	put_bool(b, "deprecated", v->deprecated);
	put_time(b, "createdAt", v->created_us);
	put_time(b, "changedAt", v->changed_us);
	put_close(b, '}');
}

/* The version at `shown`, and which others there are from `first` on. */
static void
put_own(struct buf *b, const struct types *t, size_t first, size_t shown)
{
	const struct type_version *v = types_at(t, shown);

	put_open(b, NULL, '{');
	put_text(b, "type", v->type);
	put_bool(b, "builtin", false);
	put_int(b, "schemaVersion", v->version);
	put_bool(b, "strict", v->strict);
	put_bool(b, "deprecated", v->deprecated);
	put_text(b, "description", v->description);
	put_raw(b, "schema", v->schema);
	if (v->example.p)
		put_raw(b, "example", v->example);
	else
		put_null(b, "example");
	put_open(b, "versions", '[');
	for (size_t i = first; i < end_of(t, first); i++)
		put_version(b, types_at(t, i));
	put_close(b, ']');
	put_close(b, '}');
}

/* In its name or what is said of it, in either case of ASCII. */
static bool
has_words(struct str s, struct str q)
{
	for (size_t i = 0; i + q.n <= s.n; i++)
		if (str_eq_nocase((struct str){s.p + i, q.n}, q))
			return true;
	return false;
}

static bool
walk_fits(const struct walk *w, struct str q)
{
	struct str about;

	if (q.n == 0)
		return true;
	if (w->builtin)
		about = str_of(w->builtin->description);
	else
		about = types_at(w->types, end_of(w->types, w->own) - 1)
			    ->description;
	return has_words(walk_name(w), q) || (about.p && has_words(about, q));
}

struct types_query {
	struct api_page page;
	struct str q;
};

const struct member TYPES_QUERY[] = {
    API_PAGE(struct types_query),
    {"q", MEMBER_STRING, offsetof(struct types_query, q), 0, EVENT_TYPE_MAX,
	.about = "words of the name or description"},
    {.name = NULL},
};

int
api_types_list(struct req *r, struct db *, struct err *e)
{
	const struct api *api = r->app;
	struct types_query q = {.q = STR_EMPTY};
	struct str last = {.p = NULL};
	struct walk w;
	int64_t shown = 0;

	TRY(api_query(r, TYPES_QUERY, &q, e));
	api_list(r);
	for (w = walk_from(types_now(api->types), q.page.after);
	     walk_name(&w).p; walk_on(&w)) {
		if (!walk_fits(&w, q.q))
			continue;
		if (shown == q.page.limit || r->out.n > PAGE_BYTES)
			break;
		if (w.builtin)
			catalog_write(w.builtin, &r->out);
		else
			put_own(&r->out, w.types, w.own,
			    end_of(w.types, w.own) - 1);
		last = walk_name(&w);
		shown++;
	}
	api_list_end(r, walk_name(&w).p ? last : (struct str){.p = NULL});
	return OK;
}

/* One of the store as it is shown: the version, or the newest for 0. */
static int
show_own(struct req *r, int64_t version, struct err *e)
{
	const struct api *api = r->app;
	const struct types *t = types_now(api->types);
	struct str type = r->params[0];
	size_t first = types_find(t, type, 0), at;

	if (first >= types_count(t) || !str_eq(types_at(t, first)->type, type))
		return err_set(e, ERR_ABSENT, "there is no such event type");
	at = version ? types_find(t, type, version) : end_of(t, first) - 1;
	if (at >= end_of(t, first) ||
	    (version && types_at(t, at)->version != version))
		return err_set(e, ERR_ABSENT, "there is no version %lld of it",
		    (long long)version);
	put_own(&r->out, t, first, at);
	return OK;
}

struct version_query {
	int64_t version;
};
const struct member VERSION_QUERY[] = {
    {"version", MEMBER_INT, offsetof(struct version_query, version), 1,
	INT32_MAX, .about = "that one, and not the newest"},
    {.name = NULL},
};

int
api_types_get(struct req *r, struct db *, struct err *e)
{
	const struct event_type *b = catalog_find(r->params[0]);
	struct version_query q = {.version = 0};

	TRY(api_query(r, VERSION_QUERY, &q, e));
	if (!b)
		return show_own(r, q.version, e);
	if (q.version > CATALOG_VERSION)
		return err_set(e, ERR_ABSENT, "there is no such version of it");
	catalog_write(b, &r->out);
	return OK;
}

/* Changes ------------------------------------------------------------------ */

struct type_op {
	struct type_version v;
	bool made;
	/* the body */
	const struct json *schema, *example;
	bool compatible;
};

#define OP(field) offsetof(struct type_op, field)
const struct member TYPE_BODY[] = {
    {"schema", MEMBER_JSON, OP(schema), .schema = "JsonSchema",
	.about = "JSON Schema 2020-12 of the payload; absent: that which the "
		 "version has"},
    {"version", MEMBER_INT, OP(v.version), 1, INT32_MAX,
	.about = "schemaVersion of its events; absent: 1"},
    {"strict", MEMBER_BOOL, OP(v.strict),
	.about = "what does not fit is refused, whatever event.schema.mode "
		 "says"},
    {"description", MEMBER_LONG, OP(v.description), 0, TYPE_TEXT_MAX},
    {"deprecated", MEMBER_BOOL, OP(v.deprecated),
	.about = "who publishes it is told"},
    {"example", MEMBER_JSON, OP(example), .schema = "Anything",
	.about = "a payload that fits"},
    {"compatible", MEMBER_BOOL, OP(compatible),
	.about = "false: it may allow what the version before does not"},
    {.name = NULL},
};

static int
may_change(const struct req *r, struct err *e)
{
	struct str type = r->params[0];
	const char *why = envelope_type_wrong(type);

	if (why)
		return err_set(e, ERR_INVALID, "an event type %s", why);
	why = envelope_type_ours(type);
	if (why)
		return err_set(e, ERR_CONFLICT,
		    "types that begin with %s are the server's", why);
	if (catalog_find(type))
		return err_set(e, ERR_CONFLICT,
		    "%.*s is built in and can't be changed; take another name",
		    STR_ARG(type));
	return OK;
}

static int
types_refuse(struct req *r, const struct faults *f, int code, const char *what,
    struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);
	struct err one = {.code = (enum err_code)code};

	assert(f->first);
	put_open(&b, NULL, '[');
	for (const struct fault *x = f->first; x; x = x->next) {
		(void)snprintf(
		    one.text, sizeof(one.text), "%.*s", STR_ARG(x->text));
		(void)snprintf(one.at, sizeof(one.at), "%.*s", STR_ARG(x->at));
		put_name(&b, NULL);
		http_error_json(&b, &one);
	}
	put_close(&b, ']');
	r->errors = arena_dup(r->arena, buf_str(&b));
	(void)snprintf(one.at, sizeof(one.at), "%.*s", STR_ARG(f->first->at));
	return err_at(
	    e, one.code, one.at, "%s: %.*s", what, STR_ARG(f->first->text));
}

/* The version itself, or the one before it; NULL: it is the first. */
static const struct type_version *
type_before(const struct types *t, const struct type_version *v)
{
	size_t i = types_find(t, v->type, v->version + 1);

	return i > 0 && str_eq(types_at(t, i - 1)->type, v->type)
		   ? types_at(t, i - 1)
		   : NULL;
}

static int
check_schema(struct req *r, struct type_op *op, struct err *e)
{
	const struct api *api = r->app;
	const struct type_version *old =
	    type_before(types_now(api->types), &op->v);
	struct faults f = {.arena = r->arena};
	struct jschema *s = NULL;

	op->made = !old || old->version != op->v.version;
	if (!op->schema && !op->made) {
		struct json *tree = NULL;

		TRY(json_parse(
		    r->arena, arena_dup(r->arena, old->schema), &tree, e));
		op->schema = tree;
	}
	if (!op->schema)
		return json_wrong(e, "/schema", "is required");
	TRY(jschema_compile(r->arena, op->schema, "/schema", &s, e));
	op->v.schema = op->schema->raw;
	if (op->example) {
		op->v.example = op->example->raw;
		jschema_check(s, op->example, "/example", &f);
		if (f.n > 0)
			return types_refuse(r, &f, ERR_INVALID,
			    "the example does not fit the schema", e);
	}
	if (op->v.schema.n + op->v.example.n > TYPE_BODY_MAX)
		return json_wrong(e, "/schema",
		    "must have at most %zu bytes, with its example",
		    (size_t)TYPE_BODY_MAX);
	if (!old || !old->compiled || !op->compatible)
		return OK;
	jschema_compare(old->compiled, s, &f);
	return f.n == 0 ? OK
			: types_refuse(r, &f, ERR_CONFLICT,
			      "it allows what the version before does not; "
			      "\"compatible\": false lets it through",
			      e);
}

static int
type_audit(struct req *r, struct db *db, enum audit_category what,
    const struct type_op *op, struct err *e)
{
	struct audit_row row = {
	    .category = what,
	    .at_us = clock_now_us(),
	    .actor = api_actor(r),
	    .target_type = STR("event-type"),
	    .object_name = r->params[0],
	    .details = op->v.version ? arena_fmt(r->arena, "\"version\":%lld",
					   (long long)op->v.version)
				     : STR_EMPTY,
	};

	return audit_put(db, &row, e);
}

/* On the commit thread. */
static int
type_write(struct req *r, struct db *db, struct err *e)
{
	const struct type_op *op = r->ctx;

	TRY(types_put(db, &op->v, clock_now_us(), e));
	return type_audit(r, db, AUDIT_EVENT_TYPE_CHANGED, op, e);
}

static int
type_remove(struct req *r, struct db *db, struct err *e)
{
	const struct type_op *op = r->ctx;

	if (TRY(types_delete(db, r->params[0], op->v.version, e)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such event type");
	return type_audit(r, db, AUDIT_EVENT_TYPE_DELETED, op, e);
}

/* There too: from now on this node goes by it. */
static int
type_reload(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;

	return types_reload(api->types, db, e);
}

static int
type_put_said(struct req *r, struct err *e)
{
	const struct type_op *op = r->ctx;

	r->status = op->made ? 201 : 200;
	return show_own(r, op->v.version, e);
}

static int
type_put_done(struct req *r, struct err *e)
{
	api_then(r, type_put_said);
	return api_write(r, type_reload, e);
}

static int
type_deleted(struct req *r, struct err *)
{
	return api_gone(r);
}

static int
type_delete_done(struct req *r, struct err *e)
{
	api_then(r, type_deleted);
	return api_write(r, type_reload, e);
}

int
api_types_put(struct req *r, struct db *, struct err *e)
{
	struct type_op *op = arena_alloc(r->arena, sizeof(*op));

	op->v.type = r->params[0];
	op->v.version = 1;
	op->compatible = true;
	r->ctx = op;
	TRY(may_change(r, e));
	TRY(api_query_none(r, e));
	TRY(api_body(r, TYPE_BODY, NULL, op, e));
	TRY(check_schema(r, op, e));
	api_then(r, type_put_done);
	return api_write(r, type_write, e);
}

int
api_types_delete(struct req *r, struct db *, struct err *e)
{
	struct type_op *op = arena_alloc(r->arena, sizeof(*op));
	struct version_query q = {.version = 0};

	r->ctx = op;
	TRY(may_change(r, e));
	TRY(api_query(r, VERSION_QUERY, &q, e));
	op->v.version = q.version;
	api_then(r, type_delete_done);
	return api_write(r, type_remove, e);
}
