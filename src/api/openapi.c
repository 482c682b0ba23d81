#include "api/openapi.h"

#include "account/scopes.h"
#include "base/version.h"

/* The error of http/server/reply.h, and how one proves who one is. */
static const char COMPONENTS[] =
    "\"components\":{\"schemas\":{\"Error\":{\"type\":\"object\","
    "\"required\":[\"error\",\"traceId\"],\"properties\":{"
    "\"error\":{\"type\":\"object\",\"required\":[\"code\",\"message\"],"
    "\"properties\":{\"code\":{\"type\":\"string\"},"
    "\"message\":{\"type\":\"string\"},"
    "\"pointer\":{\"type\":\"string\","
    "\"description\":\"JSON pointer to the value that is wrong\"}}},"
    "\"traceId\":{\"type\":\"string\"}}}},"
    "\"responses\":{\"Error\":{\"description\":\"What went wrong\","
    "\"content\":{\"application/json\":{\"schema\":"
    "{\"$ref\":\"#/components/schemas/Error\"}}}}},"
    "\"securitySchemes\":{"
    "\"key\":{\"type\":\"http\",\"scheme\":\"bearer\","
    "\"description\":\"An API key, hk_…\"},"
    "\"account\":{\"type\":\"http\",\"scheme\":\"basic\"}}}";

static bool
is_param(struct str segment)
{
	return segment.n > 2 && segment.p[0] == '{';
}

static bool
has_param(const struct route *rt)
{
	return strchr(rt->path, '{') != NULL;
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
add_parameters(struct buf *b, const struct route *rt)
{
	struct str rest = str_of(rt->path);

	put_open(b, "parameters", '[');
	while (rest.n > 0) {
		struct str segment = str_cut(&rest, '/');

		if (!is_param(segment))
			continue;
		segment = (struct str){segment.p + 1, segment.n - 2};
		if (str_ends(segment, STR("...")))
			segment.n -= 3;
		put_open(b, NULL, '{');
		put_text(b, "name", segment);
		put_z(b, "in", "path");
		put_bool(b, "required", true);
		put_raw(b, "schema", STR("{\"type\":\"string\"}"));
		put_close(b, '}');
	}
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
add_security(struct buf *b, unsigned scope)
{
	put_open(b, "security", '[');
	if (scope & SCOPE_METRICS) /* nothing is needed with metrics.open */
		put_raw(b, NULL, STR("{}"));
	if (scope != SCOPE_OPEN) {
		add_roles(b, "key", scope);
		add_roles(b, "account", scope);
	}
	put_close(b, ']');
}

/* Media types, with commas and blanks between them. */
static void
add_body(struct buf *b, struct str types)
{
	put_open(b, "requestBody", '{');
	put_bool(b, "required", true);
	put_open(b, "content", '{');
	while (types.n > 0) {
		struct str type = str_trim(str_cut(&types, ','));

		put_text(b, NULL, type);
		buf_addz(b, ":{}");
	}
	put_close(b, '}');
	put_close(b, '}');
}

static void
add_responses(struct buf *b, const struct route *rt)
{
	const struct str error =
	    STR("{\"$ref\":\"#/components/responses/Error\"}");
	const bool asks_who = rt->scope != SCOPE_OPEN, takes = has_body(rt);
	const struct {
		const char *status;
		bool may;
	} errors[] = {
	    {"400", true},
	    {"401", asks_who},
	    {"403", asks_who},
	    {"404", has_param(rt)},
	    {"413", takes},
	    {"415", takes},
	    {"422", true},
	    {"429", asks_who},
	    {"503", true},
	};

	put_open(b, "responses", '{');
	put_raw(b, "2XX", STR("{\"description\":\"Done\"}"));
	for (size_t i = 0; i < COUNT_OF(errors); i++)
		if (errors[i].may)
			put_raw(b, errors[i].status, error);
	put_raw(b, "default", error);
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
	put_z(b, "summary", rt->summary);
	if (has_param(rt))
		add_parameters(b, rt);
	add_security(b, rt->scope);
	if (has_body(rt))
		add_body(b, str_of(rt->body));
	add_responses(b, rt);
	put_close(b, '}');
}

static bool
same_path(const struct route *a, const struct route *b)
{
	return strcmp(a->path, b->path) == 0;
}

void
openapi_write(const struct route *routes, size_t n, struct buf *out)
{
	buf_addz(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Hikyaku\","
		      "\"version\":\"" HIKYAKU_VERSION "\"},\"paths\":{");
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
	buf_addz(out, "},");
	buf_addz(out, COMPONENTS);
	buf_addc(out, '}');
}
