/* json.h, second half: looking into a tree, and saying what is wrong in it. */
#include <stdarg.h>

#include "base/base.h"

struct json *
json_get(const struct json *j, const char *name)
{
	return j && j->type == JSON_OBJECT ? json_step(j, str_of(name)) : NULL;
}

struct json *
json_step(const struct json *j, struct str segment)
{
	struct json *c = j ? j->child : NULL;
	int64_t i;

	if (!c)
		return NULL;
	if (j->type == JSON_OBJECT) {
		while (c && !str_eq(c->key, segment))
			c = c->next;
		return c;
	}
	/* RFC 6901: an index has no sign and no leading zero. */
	if (segment.p[0] == '-' || (segment.p[0] == '0' && segment.n > 1) ||
	    !str_int(segment, &i))
		return NULL;
	while (c && i-- > 0)
		c = c->next;
	return c;
}

/* The segment still has its ~0 and ~1; any other ~ matches nothing. */
static bool
same_key(struct str key, struct str seg)
{
	size_t k = 0;

	for (size_t i = 0; i < seg.n; i++, k++) {
		char c = seg.p[i];

		if (c == '~') {
			i++;
			if (i == seg.n || (seg.p[i] != '0' && seg.p[i] != '1'))
				return false;
			c = seg.p[i] == '0' ? '~' : '/';
		}
		if (k >= key.n || key.p[k] != c)
			return false;
	}
	return k == key.n;
}

struct json *
json_at(const struct json *j, struct str pointer)
{
	if (pointer.n > 0 && pointer.p[0] != '/')
		return NULL;
	while (j && pointer.n > 0) {
		struct str rest = str_from(pointer, 1), seg = rest;

		while (rest.n > 0 && rest.p[0] != '/')
			rest = str_from(rest, 1);
		seg.n -= rest.n;
		pointer = rest;
		if (j->type != JSON_OBJECT) {
			j = json_step(j, seg);
			continue;
		}
		j = j->child;
		while (j && !same_key(j->key, seg))
			j = j->next;
	}
	/* As strchr() does: who may write to the tree may write to its parts. */
	return (struct json *)(uintptr_t)j;
}

bool
json_is(const struct json *j, enum json_type type)
{
	return j && j->type == type;
}

bool
json_is_bool(const struct json *j)
{
	return json_is(j, JSON_TRUE) || json_is(j, JSON_FALSE);
}

bool
json_int(const struct json *j, int64_t *ret)
{
	return json_is(j, JSON_NUMBER) && str_int(j->raw, ret);
}

struct str
json_text(const struct json *j, const char *name)
{
	const struct json *v = json_get(j, name);

	return json_is(v, JSON_STRING) ? v->text : STR_EMPTY;
}

long long
json_number(const struct json *j, const char *name)
{
	int64_t n = 0;

	return json_int(json_get(j, name), &n) ? n : 0;
}

bool
json_true(const struct json *j, const char *name)
{
	return json_is(json_get(j, name), JSON_TRUE);
}

struct json *
json_first(const struct json *j, const char *name)
{
	const struct json *list = json_get(j, name);

	return list ? list->child : NULL;
}

const char *
json_type_name(enum json_type type)
{
	static const char *const NAMES[] = {
	    [JSON_NULL] = "null",
	    [JSON_FALSE] = "false",
	    [JSON_TRUE] = "true",
	    [JSON_NUMBER] = "a number",
	    [JSON_STRING] = "a string",
	    [JSON_ARRAY] = "an array",
	    [JSON_OBJECT] = "an object",
	};

	return NAMES[type];
}

void
json_point(char at[JSON_POINTER_MAX + 1], struct str segment)
{
	size_t n = strlen(at), whole;

	if (n < JSON_POINTER_MAX)
		at[n++] = '/';
	for (size_t i = 0; i < segment.n && n < JSON_POINTER_MAX; i++) {
		char c = segment.p[i];

		if (c != '~' && c != '/') {
			at[n++] = c;
		} else if (n + 1 < JSON_POINTER_MAX) {
			at[n++] = '~';
			at[n++] = c == '~' ? '0' : '1';
		} else {
			break;
		}
	}
	/* A character that was cut in two goes as a whole. */
	whole = str_utf8_bad((struct str){at, n});
	at[whole] = '\0';
}

#undef json_wrong
int
json_wrong(struct err *e, const char *at, const char *fmt, ...)
{
	const char *leaf = strrchr(at, '/');
	char why[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_at(e, ERR_INVALID, at, "%.*s %s", (int)JSON_POINTER_MAX,
	    leaf ? leaf + 1 : "the document", why);
}

int
json_known(const struct json *j, const char *at, const char *const *names,
    struct err *e)
{
	char here[JSON_POINTER_MAX + 1];

	for (const struct json *c = j->child; c; c = c->next) {
		const char *const *n = names;

		while (*n && !str_eq(c->key, str_of(*n)))
			n++;
		if (*n)
			continue;
		(void)snprintf(here, sizeof(here), "%s", at);
		json_point(here, c->key);
		return json_wrong(e, here, "is not a known field");
	}
	return OK;
}

bool
json_line(struct str *rest, struct str *ret_line)
{
	while (rest->n > 0) {
		struct str line = str_trim(str_cut(rest, '\n'));

		if (line.n == 0)
			continue;
		*ret_line = line;
		return true;
	}
	return false;
}
