/* openapi.h: what describe.tbl says, and answers. */
#include "account/scopes.h"
#include "api/handlers.h"
#include "api/io.h"
#include "api/openapi.h"

const struct openapi_route OPENAPI_ROUTES[] = {
#define TABLE(table)
#define DESCRIBE(run, body, query, says) {run, body, query, says},
#include "api/describe.tbl"
#undef DESCRIBE
#undef TABLE
    {.run = NULL},
};

const struct openapi_route *
openapi_find(handler_fn run)
{
	for (const struct openapi_route *d = OPENAPI_ROUTES; d->run; d++)
		if (d->run == run)
			return d;
	return NULL;
}

/* What a route that is not described says. */
const struct openapi_route *
openapi_described(const struct route *rt)
{
	static const struct openapi_route NOTHING = {
	    NULL, API_NONE, API_NONE, ""};
	const struct openapi_route *d = openapi_find(rt->run);

	return d ? d : &NOTHING;
}

/* The next of what it says that begins with `word`; the rest of it. */
bool
openapi_says_next(struct str *rest, struct str word, struct str *ret)
{
	while (rest->n > 0) {
		struct str one = str_trim(str_cut(rest, ','));
		struct str first = str_cut(&one, ' ');

		*ret = str_trim(one);
		if (str_eq(first, word))
			return true;
	}
	return false;
}

bool
openapi_says(const struct openapi_route *d, struct str word, struct str *ret)
{
	struct str rest = str_of(d->says);

	return openapi_says_next(&rest, word, ret);
}

static bool
has_param(const struct route *rt)
{
	return strchr(rt->path, '{') != NULL;
}

/* {"data":[…],"next":cursor} */
static void
add_page(struct buf *b, struct str item)
{
	put_open(b, "schema", '{');
	put_z(b, "type", "object");
	put_open(b, "properties", '{');
	put_open(b, "data", '{');
	put_z(b, "type", "array");
	openapi_ref(b, "items", item);
	put_close(b, '}');
	put_raw(b, "next",
	    STR("{\"type\":[\"string\",\"null\"],\"description\":\"The `after` "
		"of the next page; null: there is none\"}"));
	put_close(b, '}');
	put_raw(b, "required", STR("[\"data\",\"next\"]"));
	put_bool(b, "additionalProperties", false);
	put_close(b, '}');
}

static void
add_content(struct buf *b, struct str what)
{
	bool json = !str_has(what, '/');

	put_text(b, NULL, json ? STR("application/json") : what);
	buf_addc(b, ':');
	put_open(b, NULL, '{');
	if (!json)
		put_raw(b, "schema", STR("{\"type\":\"string\"}"));
	else if (what.p[0] == '[')
		add_page(b, (struct str){what.p + 1, what.n - 2});
	else
		openapi_ref(b, "schema", what);
	put_close(b, '}');
}

static const char *
meaning(int64_t status)
{
	switch (status) {
	case 200:
		return "Well";
	case 201:
		return "Made";
	case 202:
		return "Taken";
	case 204:
		return "Done; there is nothing to tell";
	case 302:
		return "Go on there";
	case 304:
		return "It is what one has";
	default:
		return "Done";
	}
}

/* A success with all that it may look like. */
static void
add_success(struct buf *b, const struct openapi_route *d, struct str status)
{
	struct str rest = str_of(d->says), what = STR_EMPTY, none;
	int64_t n = 0;
	bool etag = openapi_says(d, STR("304"), &none);

	(void)str_int(status, &n);
	put_text(b, NULL, status);
	buf_addc(b, ':');
	put_open(b, NULL, '{');
	put_z(b, "description", meaning(n));
	put_open(b, "headers", '{');
	openapi_ref(b, "X-Request-Id",
	    STR("{\"$ref\":\"#/components/headers/X-Request-Id\"}"));
	if (etag)
		openapi_ref(
		    b, "ETag", STR("{\"$ref\":\"#/components/headers/ETag\"}"));
	put_close(b, '}');
	if (openapi_says(d, status, &what) && what.n > 0) {
		put_open(b, "content", '{');
		while (openapi_says_next(&rest, status, &what))
			add_content(b, what);
		put_close(b, '}');
	}
	put_close(b, '}');
}

static void
add_error(struct buf *b, const struct route *rt, const char *status)
{
	const char *form =
	    rt->group && rt->group->schema ? rt->group->schema : "Error";
	bool later = strcmp(status, "429") == 0 || strcmp(status, "503") == 0;

	put_name(b, status);
	buf_fmt(b, "{\"$ref\":\"#/components/responses/%s%s\"}", form,
	    later ? "Later" : "");
}

static void
add_errors(struct buf *b, const struct route *rt)
{
	const struct openapi_route *d = openapi_described(rt);
	const bool asks_who = rt->scope != SCOPE_OPEN,
		   person = rt->group && rt->group->by_browsers;
	const struct {
		const char *status;
		bool may;
	} errors[] = {
	    {"400", true},
	    {"401", asks_who},
	    {"403", asks_who || (person && rt->method != GET)},
	    {"404", has_param(rt)},
	    {"409", false},
	    {"410", false},
	    {"413", true},
	    {"414", true},
	    {"415", true},
	    {"422", !person},
	    {"429", asks_who || rt->limit || rt->pushed},
	    {"431", true},
	    {"500", true},
	    {"503", true},
	};
	struct str none;

	for (size_t i = 0; i < COUNT_OF(errors); i++)
		if (errors[i].may ||
		    openapi_says(d, str_of(errors[i].status), &none))
			add_error(b, rt, errors[i].status);
}

void
openapi_responses(struct buf *b, const struct route *rt)
{
	static const char *const GOOD[] = {
	    "200", "201", "202", "204", "302", "304", NULL};
	const struct openapi_route *d = openapi_described(rt);
	struct str none;

	put_open(b, "responses", '{');
	if (openapi_is_app(rt)) {
		put_raw(b, "default",
		    STR("{\"description\":\"As the protocol has it\"}"));
	} else {
		for (const char *const *s = GOOD; *s; s++)
			if (openapi_says(d, str_of(*s), &none))
				add_success(b, d, str_of(*s));
		add_errors(b, rt);
	}
	put_close(b, '}');
}

/* Each shape of an error, and the same for what may be tried again. */
void
openapi_errors(struct buf *b)
{
	static const char *const FORMS[] = {
	    "Error", "PersonError", "MinifluxError", NULL};

	put_open(b, "responses", '{');
	for (const char *const *f = FORMS; *f; f++)
		for (int later = 0; later < 2; later++) {
			put_name(b, NULL);
			buf_fmt(b, "\"%s%s\":", *f, later ? "Later" : "");
			put_open(b, NULL, '{');
			put_z(b, "description",
			    later ? "Not now: try again later"
				  : "What went wrong");
			put_open(b, "headers", '{');
			put_raw(b, "X-Request-Id",
			    STR("{\"$ref\":\"#/components/headers/X-Request-Id\"}"));
			if (later)
				put_raw(b, "Retry-After",
				    STR("{\"$ref\":\"#/components/headers/Retry-After\"}"));
			put_close(b, '}');
			put_open(b, "content", '{');
			add_content(b, str_of(*f));
			put_close(b, '}');
			put_close(b, '}');
		}
	put_close(b, '}');
}
