#include "api/openapi.h"

#include "account/scopes.h"
#include "base/str.h"
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

/* Which routes may answer which errors, besides those all may. */
enum cause { ALWAYS, WITH_SCOPE, WITH_PARAM, WITH_BODY };
static const struct {
	int status;
	enum cause cause;
} ERRORS[] = {
    {400, ALWAYS},
    {401, WITH_SCOPE},
    {403, WITH_SCOPE},
    {404, WITH_PARAM},
    {413, WITH_BODY},
    {415, WITH_BODY},
    {422, ALWAYS},
    {429, WITH_SCOPE},
    {503, ALWAYS},
};

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

		if (!lower && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9')) {
			up = true;
			continue;
		}
		buf_addc(b, up && lower ? (char)(c - 32) : c);
		up = false;
	}
}

/* GET /v1/events/{eventId} is getV1EventsByEventId. */
static void
add_operation_id(struct buf *b, const struct route *rt)
{
	const char *method = method_name(rt->method);
	struct str rest = str_of(rt->path);

	buf_addz(b, "\"operationId\":\"");
	for (; *method; method++)
		buf_addc(b, (char)(*method + 32));
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
	if (str_ends(path, STR("...}"))) {
		path.n -= STR("...}").n;
		buf_addc(b, '"');
		buf_add(b, path); /* ours: letters, digits, slashes, braces */
		buf_addz(b, "}\"");
	} else {
		buf_json(b, path);
	}
}

static void
add_parameters(struct buf *b, const struct route *rt)
{
	struct str rest = str_of(rt->path);
	const char *sep = "";

	buf_addz(b, ",\"parameters\":[");
	while (rest.n > 0) {
		struct str segment = str_cut(&rest, '/');

		if (!is_param(segment))
			continue;
		buf_addz(b, sep);
		sep = ",";
		buf_addz(b, "{\"name\":");
		segment = (struct str){segment.p + 1, segment.n - 2};
		if (str_ends(segment, STR("...")))
			segment.n -= 3;
		buf_json(b, segment);
		buf_addz(b, ",\"in\":\"path\",\"required\":true,"
			    "\"schema\":{\"type\":\"string\"}}");
	}
	buf_addc(b, ']');
}

static void
add_roles(struct buf *b, const char *scheme, unsigned scope)
{
	const char *sep = "";

	buf_fmt(b, "{\"%s\":[", scheme);
	for (unsigned bit = 1; bit < SCOPES_END; bit <<= 1)
		if (scope & bit && scope_name(bit)) {
			buf_fmt(b, "%s\"%s\"", sep, scope_name(bit));
			sep = ",";
		}
	buf_addz(b, "]}");
}

static void
add_security(struct buf *b, unsigned scope)
{
	buf_addz(b, ",\"security\":[");
	if (scope & SCOPE_METRICS)
		buf_addz(b, "{},"); /* nothing is needed with metrics.open */
	if (scope != SCOPE_OPEN) {
		add_roles(b, "key", scope);
		buf_addc(b, ',');
		add_roles(b, "account", scope);
	}
	buf_addc(b, ']');
}

static void
add_body(struct buf *b, const char *types)
{
	struct str all = str_of(types);
	const char *sep = "";

	buf_addz(b, ",\"requestBody\":{\"required\":true,\"content\":{");
	while (all.n > 0) {
		struct str some = str_cut(&all, ',');

		while (some.n > 0) {
			struct str type = str_cut(&some, ' ');

			if (type.n == 0)
				continue;
			buf_addz(b, sep);
			sep = ",";
			buf_json(b, type);
			buf_addz(b, ":{}");
		}
	}
	buf_addz(b, "}}");
}

static bool
applies(enum cause cause, const struct route *rt)
{
	switch (cause) {
	case ALWAYS:
		return true;
	case WITH_SCOPE:
		return rt->scope != SCOPE_OPEN;
	case WITH_PARAM:
		return has_param(rt);
	case WITH_BODY:
		return has_body(rt);
	}
	return false;
}

static void
add_responses(struct buf *b, const struct route *rt)
{
	buf_addz(b, ",\"responses\":{\"2XX\":{\"description\":\"Done\"}");
	for (size_t i = 0; i < COUNT_OF(ERRORS); i++)
		if (applies(ERRORS[i].cause, rt))
			buf_fmt(b,
			    ",\"%d\":{\"$ref\":"
			    "\"#/components/responses/Error\"}",
			    ERRORS[i].status);
	buf_addz(
	    b, ",\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
}

static void
add_operation(struct buf *b, const struct route *rt)
{
	const char *method = method_name(rt->method);

	buf_addc(b, '"');
	for (; *method; method++)
		buf_addc(b, (char)(*method + 32));
	buf_addz(b, "\":{");
	add_operation_id(b, rt);
	buf_addz(b, ",\"summary\":");
	buf_json(b, str_of(rt->summary));
	if (has_param(rt))
		add_parameters(b, rt);
	add_security(b, rt->scope);
	if (has_body(rt))
		add_body(b, rt->body);
	add_responses(b, rt);
	buf_addc(b, '}');
}

static bool
same_path(const struct route *a, const struct route *b)
{
	return strcmp(a->path, b->path) == 0;
}

void
openapi_write(const struct route *routes, size_t n, struct buf *out)
{
	const char *sep = "";

	buf_addz(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Hikyaku\","
		      "\"version\":\"" HIKYAKU_VERSION "\"},\"paths\":{");
	for (size_t i = 0; i < n; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= same_path(&routes[k], &routes[i]);
		if (seen)
			continue;
		buf_addz(out, sep);
		sep = ",";
		add_path(out, str_of(routes[i].path));
		buf_addz(out, ":{");
		for (size_t k = i; k < n; k++)
			if (same_path(&routes[k], &routes[i])) {
				if (k > i)
					buf_addc(out, ',');
				add_operation(out, &routes[k]);
			}
		buf_addc(out, '}');
	}
	buf_addz(out, "},");
	buf_addz(out, COMPONENTS);
	buf_addc(out, '}');
}
