#include "api/openapi.h"

#include "account/scopes.h"
#include "api/api.h"
#include "api/handlers.h"
#include "api/io.h"
#include "base/version.h"
#include "contract/preset.h"
#include "contract/sub.h"

/* How one proves who one is, and what every answer may have. */
static const char COMPONENTS[] =
    "\"securitySchemes\":{"
    "\"key\":{\"type\":\"http\",\"scheme\":\"bearer\","
    "\"description\":\"An API key, hk_…\"},"
    "\"account\":{\"type\":\"http\",\"scheme\":\"basic\","
    "\"description\":\"The name and password of an account\"},"
    "\"session\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"" SESSION_COOKIE
    "\",\"description\":\"Of a login; changes must come from a page of "
    "this server\"},"
    "\"app\":{\"type\":\"http\",\"scheme\":\"basic\","
    "\"description\":\"A name and an app password; or as the protocol has "
    "it\"}},"
    "\"headers\":{"
    "\"X-Request-Id\":{\"description\":\"The request's id, as in the log; "
    "one that is sent is kept\",\"schema\":{\"type\":\"string\"}},"
    "\"Retry-After\":{\"description\":\"Seconds to wait\","
    "\"schema\":{\"type\":\"integer\",\"minimum\":1}},"
    "\"ETag\":{\"schema\":{\"type\":\"string\"}}}";

/* Headers that a route heeds, by `header Name`. */
static const struct {
	const char *name, *about, *schema;
} HEADERS[] = {
    {"Idempotency-Key",
	"The same key, body and caller are the same events, which are written "
	"once: their ids are made from it where they have none",
	"{\"type\":\"string\",\"maxLength\":255}"},
    {"Last-Event-ID", "The id of the last event one has: goes on behind it",
	"{\"type\":\"string\",\"maxLength\":1024}"},
    {"If-None-Match", "The ETag of what one has: 304 when it is the same",
	"{\"type\":\"string\"}"},
};

/* Bodies that are no JSON object of ours, by media type. */
static const struct {
	const char *type, *schema;
} MEDIA[] = {
    {"application/octet-stream", "{\"type\":\"string\",\"format\":\"binary\"}"},
    {"application/x-ndjson", "{\"type\":\"string\",\"description\":"
			     "\"An event a line\"}"},
    {"application/cloudevents+json", "CloudEvent"},
    {"application/cloudevents-batch+json",
	"{\"type\":\"array\",\"items\":"
	"{\"$ref\":\"#/components/schemas/CloudEvent\"}}"},
};

/* What is not a path's name, but an id of ours. */
static const struct {
	const char *name, *below, *schema;
} PARAMS[] = {
    {"id", "/api/users/me/identities", "{\"type\":\"integer\"}"},
    {"id", "/v1/", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"id", "/api/", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"eventId", "", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"taskId", "", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"deliveryId", "", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"token", "", "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {"", "", "{\"type\":\"string\",\"minLength\":1}"},
};

/* A protocol of others. */
bool
openapi_is_app(const struct route *rt)
{
	return rt->group && rt->group->by_apps;
}

static bool
is_param(struct str segment)
{
	return segment.n > 2 && segment.p[0] == '{';
}

static bool
has_body(const struct route *rt)
{
	return rt->body && rt->body[0] != '\0';
}

/* Writes s as one camel-cased word: "dead-letters" as DeadLetters. */
static void
add_camel(struct buf *b, struct str s)
{
	bool up = true;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool lower = c >= 'a' && c <= 'z';

		if (!str_is_letter(c) && !str_is_digit(c)) {
			up = true;
			continue;
		}
		buf_addc(b, up && lower ? (char)(c - 32) : c);
		up = false;
	}
}

/* GET /v1/events/{eventId} is getV1EventsByEventId. */
static void
add_operation_id(struct buf *b, const struct route *rt, const char *method)
{
	struct str rest = str_of(rt->path);

	put_name(b, "operationId");
	buf_fmt(b, "\"%s", method);
	while (rest.n > 0) {
		struct str segment = str_cut(&rest, '/');

		if (is_param(segment))
			buf_addz(b, "By");
		add_camel(b, segment);
	}
	if (rt->path[1] && str_ends(str_of(rt->path), STR("/")))
		buf_addz(b, "Slash");
	buf_addc(b, '"');
}

/* The first word of the path that is not a version of it, or a kind. */
static void
add_tag(struct buf *b, const struct route *rt)
{
	static const char *const SKIP[] = {"api", "v1", "users", "me", NULL};
	struct str rest = str_of(rt->path), tag = STR_EMPTY, segment;
	bool skip = true;

	while (skip && rest.n > 0) {
		segment = str_cut(&rest, '/');
		skip = segment.n == 0;
		for (const char *const *s = SKIP; *s && !skip; s++)
			skip = str_eq(segment, str_of(*s));
		if (segment.n > 0 && !is_param(segment))
			tag = segment;
	}
	put_open(b, "tags", '[');
	if (openapi_is_app(rt))
		put_z(b, NULL, "apps");
	else if (!strchr(rt->path + 1, '/')) /* "/", "/healthz" … */
		put_z(b, NULL, "server");
	else if (rt->group && rt->group->by_browsers &&
		 str_eq(tag, STR("subscriptions")))
		put_z(b, NULL, "feeds");
	else
		put_text(b, NULL, tag);
	put_close(b, ']');
}

/* OpenAPI has no word for "and all that follows": {name...} is {name}. */
static void
add_path(struct buf *b, struct str path)
{
	bool all = str_ends(path, STR("...}"));

	put_name(b, NULL);
	if (all)
		path.n -= STR("...}").n;
	/* Ours: letters, digits, slashes, braces. */
	buf_fmt(b, "\"%.*s%s\":{", STR_ARG(path), all ? "}" : "");
}

static void
open_param(struct buf *b, struct str name, const char *in, bool required)
{
	put_open(b, NULL, '{');
	put_text(b, "name", name);
	put_z(b, "in", in);
	put_bool(b, "required", required);
}

static void
add_path_param(struct buf *b, const struct route *rt, struct str name)
{
	size_t i = 0;

	while (PARAMS[i].name[0] &&
	       !(str_eq(name, str_of(PARAMS[i].name)) &&
		   str_starts(str_of(rt->path), str_of(PARAMS[i].below))))
		i++;
	open_param(b, name, "path", true);
	put_raw(b, "schema", str_of(PARAMS[i].schema));
	put_close(b, '}');
}

static void
add_query_param(struct buf *b, const struct member *m)
{
	open_param(b, str_of(m->name), "query", m->must);
	if (m->about)
		put_z(b, "description", m->about);
	if (m->kind == MEMBER_WORDS) { /* with commas between */
		put_z(b, "style", "form");
		put_bool(b, "explode", false);
	}
	openapi_member(b, "schema", m, OPENAPI_ASKED);
	put_close(b, '}');
}

static void
add_header_param(struct buf *b, struct str name)
{
	size_t i = 0;

	while (i < COUNT_OF(HEADERS) && !str_eq(name, str_of(HEADERS[i].name)))
		i++;
	assert(i < COUNT_OF(HEADERS));
	open_param(b, name, "header", false);
	put_z(b, "description", HEADERS[i].about);
	put_raw(b, "schema", str_of(HEADERS[i].schema));
	put_close(b, '}');
}

/* Of protocols that are others', by name alone. */
static void
add_app_params(struct buf *b, struct str names)
{
	while (names.n > 0) {
		open_param(b, str_cut(&names, ' '), "query", false);
		put_raw(b, "schema", STR("{\"type\":\"string\"}"));
		put_close(b, '}');
	}
}

static void
add_parameters(struct buf *b, const struct route *rt)
{
	const struct openapi_route *d = openapi_described(rt);
	struct str rest = str_of(rt->path), all = str_of(d->says), one;

	put_open(b, "parameters", '[');
	while (rest.n > 0) {
		struct str segment = str_cut(&rest, '/');

		if (!is_param(segment))
			continue;
		segment = (struct str){segment.p + 1, segment.n - 2};
		if (str_ends(segment, STR("...")))
			segment.n -= 3;
		add_path_param(b, rt, segment);
	}
	for (const struct member *m = d->query; m->name; m++)
		add_query_param(b, m);
	if (openapi_says(d, STR("query"), &one))
		add_app_params(b, one);
	while (openapi_says_next(&all, STR("header"), &one))
		add_header_param(b, one);
	put_close(b, ']');
}

static void
add_roles(struct buf *b, const char *scheme, unsigned scope)
{
	put_open(b, NULL, '{');
	put_open(b, scheme, '[');
	for (unsigned bit = 1; bit < SCOPES_END; bit <<= 1)
		if (scope & bit && scope_name(bit))
			put_z(b, NULL, scope_name(bit));
	put_close(b, ']');
	put_close(b, '}');
}

static void
add_security(struct buf *b, const struct route *rt)
{
	put_open(b, "security", '[');
	if (rt->scope & SCOPE_METRICS) /* nothing is needed with metrics.open */
		put_raw(b, NULL, STR("{}"));
	if (rt->scope == SCOPE_OPEN) {
		put_close(b, ']');
		return;
	}
	if (openapi_is_app(rt))
		add_roles(b, "app", 0);
	else if (!(rt->scope & SCOPE_USER))
		add_roles(b, "key", rt->scope);
	if (!openapi_is_app(rt)) {
		add_roles(b, "session", rt->scope);
		add_roles(b, "account", rt->scope);
	}
	put_close(b, ']');
}

/* A body of this type. */
static void
add_media(struct buf *b, const struct openapi_route *d, struct str type)
{
	struct str schema = STR_EMPTY;
	size_t i = 0;

	put_text(b, NULL, type);
	buf_addc(b, ':');
	put_open(b, NULL, '{');
	while (i < COUNT_OF(MEDIA) && !str_eq(type, str_of(MEDIA[i].type)))
		i++;
	if (i < COUNT_OF(MEDIA))
		openapi_ref(b, "schema", str_of(MEDIA[i].schema));
	else if (!str_eq(type, STR("application/json")))
		put_raw(b, "schema", STR("{\"type\":\"string\"}"));
	else if (!openapi_says(d, STR("body"), &schema))
		openapi_object(b, "schema", d->body, OPENAPI_TAKEN, false);
	else
		openapi_ref(
		    b, "schema", str_has(schema, '/') ? STR("{}") : schema);
	put_close(b, '}');
}

/* Media types, with commas and blanks between them. A route that takes any says
 * which are meant, or has no use for a body. */
static void
add_body(struct buf *b, const struct route *rt)
{
	const struct openapi_route *d = openapi_described(rt);
	struct str types = str_of(rt->body), rest = str_of(d->says), one;
	bool any = str_eq(types, STR("*/*"));

	if (any && !openapi_says(d, STR("body"), &one) && !d->body->name)
		return;
	put_open(b, "requestBody", '{');
	put_bool(b, "required", !openapi_says(d, STR("body?"), &one));
	put_open(b, "content", '{');
	if (any && d->body->name)
		add_media(b, d, STR("application/json"));
	while (any && openapi_says_next(&rest, STR("body"), &one))
		add_media(b, d, one);
	while (!any && types.n > 0)
		add_media(b, d, str_trim(str_cut(&types, ',')));
	put_close(b, '}');
	put_close(b, '}');
}

static void
add_operation(struct buf *b, const struct route *rt)
{
	char method[16] = "";
	const char *name = method_name(rt->method);

	for (size_t i = 0; name[i] && i + 1 < sizeof(method); i++)
		method[i] = (char)(name[i] + 32);
	put_open(b, method, '{');
	add_operation_id(b, rt, method);
	add_tag(b, rt);
	put_z(b, "summary", rt->summary);
	add_parameters(b, rt);
	add_security(b, rt);
	if (has_body(rt))
		add_body(b, rt);
	openapi_responses(b, rt);
	put_close(b, '}');
}

static bool
same_path(const struct route *a, const struct route *b)
{
	return strcmp(a->path, b->path) == 0;
}

static void
add_paths(struct buf *out, const struct route *routes, size_t n)
{
	put_open(out, "paths", '{');
	for (size_t i = 0; i < n; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= same_path(&routes[k], &routes[i]);
		if (seen)
			continue;
		add_path(out, str_of(routes[i].path));
		for (size_t k = i; k < n; k++)
			if (same_path(&routes[k], &routes[i]))
				add_operation(out, &routes[k]);
		put_close(out, '}');
	}
	put_close(out, '}');
}

void
openapi_write(const struct route *routes, size_t n, struct buf *out)
{
	buf_addz(out,
	    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Hikyaku\","
	    "\"version\":\"" HIKYAKU_VERSION "\",\"description\":"
	    "\"Hikyaku carries change to whoever needs to know: events, "
	    "subscriptions, deliveries; and a reader of feeds.\","
	    "\"license\":{\"name\":\"Apache 2.0\",\"identifier\":"
	    "\"Apache-2.0\"}},\"servers\":[{\"url\":\"/\"}]");
	add_paths(out, routes, n);
	put_open(out, "components", '{');
	openapi_schemas(out);
	openapi_errors(out);
	buf_addc(out, ',');
	buf_addz(out, COMPONENTS);
	put_close(out, '}');
	put_close(out, '}');
}
