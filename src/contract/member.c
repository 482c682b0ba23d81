#include "contract/member.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/sub.h"

void
member_at(char ret[JSON_POINTER_MAX + 1], const char *at, const char *name)
{
	if (ret != at)
		(void)snprintf(ret, JSON_POINTER_MAX + 1, "%s", at);
	json_point(ret, str_of(name));
}

int
member_want(
    const struct json *j, enum json_type type, const char *at, struct err *e)
{
	if (j->type == type)
		return OK;
	return json_wrong(e, at, "must be %s, not %s", json_type_name(type),
	    json_type_name(j->type));
}

static bool
has_control(struct str s, bool lines)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (lines && (c == '\n' || c == '\r' || c == '\t'))
			continue;
		if (c < 0x20 || c == 0x7f)
			return true;
	}
	return false;
}

static int
read_text(const struct json *j, const char *at, int64_t least, int64_t most,
    bool lines, struct arena *a, struct str *ret, struct err *e)
{
	int rc = member_want(j, JSON_STRING, at, e);

	if (rc < 0)
		return rc;
	if (j->text.n < (size_t)least || j->text.n > (size_t)most)
		return json_wrong(e, at, "must be %lld to %lld bytes, not %zu",
		    (long long)least, (long long)most, j->text.n);
	if (has_control(j->text, lines))
		return json_wrong(e, at, "must not have control characters");
	*ret = arena_dup(a, j->text);
	return OK;
}

int
member_text(const struct json *j, const char *at, size_t most, struct arena *a,
    struct str *ret, struct err *e)
{
	return read_text(j, at, 1, (int64_t)most, false, a, ret, e);
}

int
member_int(const struct json *j, const char *at, int64_t least, int64_t most,
    int64_t *ret, struct err *e)
{
	int64_t v = 0;

	if (!json_int(j, &v) || v < least || v > most)
		return json_wrong(e, at,
		    "must be a whole number from %lld to %lld",
		    (long long)least, (long long)most);
	*ret = v;
	return OK;
}

bool
member_pointer_ok(struct str p)
{
	if (p.n > 0 && p.p[0] != '/')
		return false;
	for (size_t i = 0; i < p.n; i++)
		if (p.p[i] == '~' &&
		    (i + 1 == p.n || (p.p[i + 1] != '0' && p.p[i + 1] != '1')))
			return false;
	return true;
}

bool
member_token_ok(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!str_is_tchar(s.p[i]))
			return false;
	return s.n > 0;
}

static int
read_pointer(const struct json *j, const char *at, struct arena *a,
    struct str *ret, struct err *e)
{
	struct str s = STR_EMPTY;
	int rc = read_text(j, at, 0, SUB_TEXT_MAX, false, a, &s, e);

	if (rc < 0)
		return rc;
	if (!member_pointer_ok(s))
		return json_wrong(e, at, "must be a JSON pointer, /like/this");
	*ret = s;
	return OK;
}

/* A literal, or {"pointer": "/…"}. */
static int
read_value(const struct json *j, const char *at, int64_t most, struct arena *a,
    struct sub_value *ret, struct err *e)
{
	static const char *const NAMES[] = {"pointer", NULL};
	char here[JSON_POINTER_MAX + 1];
	const struct json *p;
	int rc;

	if (j->type != JSON_OBJECT) {
		if (j->type != JSON_STRING)
			return json_wrong(
			    e, at, "must be a string or {\"pointer\": \"/…\"}");
		rc = read_text(j, at, 1, most, false, a, &ret->text, e);
		if (rc == OK)
			ret->pointer = false;
		return rc;
	}
	rc = json_known(j, at, NAMES, e);
	if (rc < 0)
		return rc;
	member_at(here, at, "pointer");
	p = json_get(j, "pointer");
	if (!p)
		return json_wrong(e, here, "is required");
	rc = read_pointer(p, here, a, &ret->text, e);
	if (rc == OK)
		ret->pointer = true;
	return rc;
}

int
member_choice(const struct json *j, const char *at, const char *const *words,
    unsigned *ret, struct err *e)
{
	char all[160] = "";

	for (unsigned i = 0; words[i]; i++) {
		size_t n = strlen(all);

		if (j->type == JSON_STRING &&
		    str_eq(j->text, str_of(words[i]))) {
			*ret = i;
			return OK;
		}
		(void)snprintf(
		    all + n, sizeof(all) - n, "%s%s", i ? ", " : "", words[i]);
	}
	return json_wrong(e, at, "must be one of %s", all);
}

int
member_secret_read(const struct member_io *io, const struct json *j,
    const char *at, size_t most, struct str *ret, struct err *e)
{
	struct str s = STR_EMPTY;
	int rc;

	if (io->form == FORM_STORED) {
		rc = member_want(j, JSON_STRING, at, e);
		if (rc < 0 || !io->seal)
			return rc;
		return io->seal->unseal(
		    io->seal->arg, io->arena, j->text, ret, e);
	}
	rc = read_text(j, at, 1, (int64_t)most, true, io->arena, &s, e);
	if (rc < 0)
		return rc;
	if (io->form == FORM_USER && str_eq(s, STR(SUB_MASK))) {
		if (ret->n == 0)
			return json_wrong(e, at,
			    "is the mask that secrets are shown as; there is none yet");
		return OK;
	}
	*ret = s;
	return OK;
}

int
member_secret_write(
    const struct member_io *io, struct str secret, struct buf *b, struct err *e)
{
	struct str s = secret;
	int rc = OK;

	if (secret.n == 0) {
		buf_addz(b, "null");
		return OK;
	}
	if (io->form == FORM_USER)
		s = STR(SUB_MASK);
	if (io->form == FORM_STORED)
		rc = io->seal->seal(io->seal->arg, io->arena, secret, &s, e);
	if (rc == OK)
		buf_json(b, s);
	return rc;
}

static int
read_one(const struct member_io *io, const struct member *m,
    const struct json *j, const char *at, void *field, struct err *e)
{
	unsigned i = 0;
	int rc;

	switch (m->kind) {
	case MEMBER_TEXT:
	case MEMBER_LONG:
		return read_text(j, at, m->least, m->most,
		    m->kind == MEMBER_LONG, io->arena, field, e);
	case MEMBER_SECRET:
		return member_secret_read(io, j, at, (size_t)m->most, field, e);
	case MEMBER_POINTER:
		return read_pointer(j, at, io->arena, field, e);
	case MEMBER_VALUE:
		return read_value(j, at, m->most, io->arena, field, e);
	case MEMBER_BOOL:
		if (!json_is_bool(j))
			return json_wrong(e, at, "must be true or false");
		*(bool *)field = j->type == JSON_TRUE;
		return OK;
	case MEMBER_INT:
		return member_int(j, at, m->least, m->most, field, e);
	case MEMBER_CHOICE:
		return member_choice(j, at, m->words, field, e);
	case MEMBER_EITHER:
		rc = member_choice(j, at, m->words, &i, e);
		if (rc == OK)
			*(bool *)field = i == 1;
		return rc;
	case MEMBER_OWN:
		break;
	}
	return OK;
}

static size_t
size_of(enum member_kind kind)
{
	switch (kind) {
	case MEMBER_TEXT:
	case MEMBER_LONG:
	case MEMBER_SECRET:
	case MEMBER_POINTER:
		return sizeof(struct str);
	case MEMBER_VALUE:
		return sizeof(struct sub_value);
	case MEMBER_BOOL:
	case MEMBER_EITHER:
		return sizeof(bool);
	case MEMBER_INT:
		return sizeof(int64_t);
	case MEMBER_CHOICE:
		return sizeof(unsigned);
	case MEMBER_OWN:
		break;
	}
	return 0;
}

static const struct member *
find(const struct member *table, struct str name)
{
	for (; table->name; table++)
		if (str_eq(name, str_of(table->name)))
			return table;
	return NULL;
}

int
member_read(const struct member_io *io, const struct member *table,
    const struct json *object, const char *at, const void *initial, void *base,
    struct err *e)
{
	char here[JSON_POINTER_MAX + 1];
	int rc = member_want(object, JSON_OBJECT, at, e);

	for (const struct json *j = object->child; rc == OK && j; j = j->next) {
		const struct member *m = find(table, j->key);
		void *field;

		(void)snprintf(here, sizeof(here), "%s", at);
		json_point(here, j->key);
		if (!m)
			return json_wrong(e, here, "is not a known field");
		field = (char *)base + m->offset;
		if (j->type == JSON_NULL)
			memcpy(field, (const char *)initial + m->offset,
			    size_of(m->kind));
		else
			rc = read_one(io, m, j, here, field, e);
	}
	return rc;
}

static void
write_text(struct buf *b, struct str s)
{
	if (s.n > 0)
		buf_json(b, s);
	else
		buf_addz(b, "null");
}

static void
write_value(struct buf *b, const struct sub_value *v)
{
	if (v->pointer)
		buf_addz(b, "{\"pointer\":");
	if (v->pointer)
		buf_json(b, v->text);
	else
		write_text(b, v->text);
	if (v->pointer)
		buf_addc(b, '}');
}

static int
write_one(const struct member_io *io, const struct member *m, const void *field,
    struct buf *b, struct err *e)
{
	switch (m->kind) {
	case MEMBER_TEXT:
	case MEMBER_LONG:
	case MEMBER_POINTER:
		write_text(b, *(const struct str *)field);
		break;
	case MEMBER_SECRET:
		return member_secret_write(
		    io, *(const struct str *)field, b, e);
	case MEMBER_VALUE:
		write_value(b, field);
		break;
	case MEMBER_BOOL:
		buf_addz(b, *(const bool *)field ? "true" : "false");
		break;
	case MEMBER_INT:
		/* Where 0 is out of range it stands for "not given". */
		if (*(const int64_t *)field == 0 && m->least > 0)
			buf_addz(b, "null");
		else
			buf_int(b, *(const int64_t *)field);
		break;
	case MEMBER_EITHER:
		buf_json(b, str_of(m->words[*(const bool *)field]));
		break;
	case MEMBER_CHOICE:
		buf_json(b, str_of(m->words[*(const unsigned *)field]));
		break;
	case MEMBER_OWN:
		break;
	}
	return OK;
}

int
member_write(const struct member_io *io, const struct member *table,
    const void *base, struct buf *b, struct err *e)
{
	bool first = true;
	int rc = OK;

	for (; rc == OK && table->name; table++) {
		if (table->kind == MEMBER_OWN)
			continue;
		buf_addz(b, first ? "\"" : ",\"");
		buf_addz(b, table->name);
		buf_addz(b, "\":");
		first = false;
		rc = write_one(
		    io, table, (const char *)base + table->offset, b, e);
	}
	return rc;
}
