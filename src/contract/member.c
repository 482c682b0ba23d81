#include "contract/member.h"

#include <stdarg.h>

#include "contract/limits.h"
#include "contract/sub.h"
#include "contract/vars.h"
#include "seal/tenant.h"

void
member_at(char ret[JSON_POINTER_MAX + 1], const char *at, const char *name)
{
	(void)snprintf(ret, JSON_POINTER_MAX + 1, "%s", at);
	json_point(ret, str_of(name));
}

void
member_at_index(char ret[JSON_POINTER_MAX + 1], const char *at, size_t i)
{
	char index[24];

	(void)snprintf(index, sizeof(index), "%zu", i);
	member_at(ret, at, index);
}

const struct json *
member_given(const struct json *o, const char *name)
{
	const struct json *j = json_get(o, name);

	return j && j->type != JSON_NULL ? j : NULL;
}

int
member_wrong(
    struct err *e, const char *at, const char *name, const char *fmt, ...)
{
	char here[JSON_POINTER_MAX + 1], text[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	member_at(here, at, name);
	return json_wrong(e, here, "%s", text);
}

int
member_need(bool there, const char *at, const char *name, struct err *e)
{
	return there ? OK : member_wrong(e, at, name, "is required");
}

int
member_one_line(struct str s, const char *at, struct err *e)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20)
			return json_wrong(
			    e, at, "must not have control characters");
	return OK;
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

/* Its kind (TEXT, LONG or STRING) and bounds are those of `as`. */
static int
read_text(const struct json *j, const char *at, const struct member *as,
    struct arena *a, struct str *ret, struct err *e)
{
	TRY(member_want(j, JSON_STRING, at, e));
	if (j->text.n < (size_t)as->least || j->text.n > (size_t)as->most)
		return json_wrong(e, at, "must be %lld to %lld bytes, not %zu",
		    (long long)as->least, (long long)as->most, j->text.n);
	if (as->kind != MEMBER_STRING &&
	    has_control(j->text, as->kind == MEMBER_LONG))
		return json_wrong(e, at, "must not have control characters");
	*ret = arena_dup(a, j->text);
	return OK;
}

int
member_text(const struct json *j, const char *at, size_t most, struct arena *a,
    struct str *ret, struct err *e)
{
	struct member as = {
	    .kind = MEMBER_TEXT, .least = 1, .most = (int64_t)most};

	return read_text(j, at, &as, a, ret, e);
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
	const struct member as = {.kind = MEMBER_TEXT, .most = SUB_TEXT_MAX};
	struct str s = STR_EMPTY;

	TRY(read_text(j, at, &as, a, &s, e));
	if (!member_pointer_ok(s))
		return json_wrong(e, at, "must be a JSON pointer, /like/this");
	*ret = s;
	return OK;
}

/* A literal, or {"pointer": "/…"}. */
static int
read_value(const struct member_io *io, const struct json *j, const char *at,
    int64_t most, struct sub_value *ret, struct err *e)
{
	static const struct member POINTER[] = {
	    {"pointer", MEMBER_POINTER, offsetof(struct sub_value, text),
		.must = true},
	    {.name = NULL},
	};

	if (j->type == JSON_STRING)
		TRY(member_text(j, at, (size_t)most, io->arena, &ret->text, e));
	else if (j->type == JSON_OBJECT)
		TRY(member_read(io, POINTER, j, at, NULL, ret, e));
	else
		return json_wrong(
		    e, at, "must be a string or {\"pointer\": \"/…\"}");
	ret->pointer = j->type == JSON_OBJECT;
	return OK;
}

static bool
choose(struct str word, const char *const *words, unsigned *ret)
{
	for (unsigned i = 0; words[i]; i++)
		if (str_eq(word, str_of(words[i]))) {
			*ret = i;
			return true;
		}
	return false;
}

static int
no_choice(const char *at, const char *const *words, struct err *e)
{
	char all[160] = "";

	for (unsigned i = 0; words[i]; i++) {
		size_t n = strlen(all);

		(void)snprintf(
		    all + n, sizeof(all) - n, "%s%s", i ? ", " : "", words[i]);
	}
	return json_wrong(e, at, "must be one of %s", all);
}

int
member_choice(const struct json *j, const char *at, const char *const *words,
    unsigned *ret, struct err *e)
{
	return j->type == JSON_STRING && choose(j->text, words, ret)
		   ? OK
		   : no_choice(at, words, e);
}

static int
read_words(const struct json *j, const char *at, const struct member *m,
    unsigned *ret, struct err *e)
{
	struct str rest = j->text; /* of a query, with commas */
	char here[JSON_POINTER_MAX + 1];
	unsigned bits = 0, i = 0;
	size_t n = 0;

	while (rest.n > 0) {
		if (!choose(str_cut(&rest, ','), m->words, &i))
			return no_choice(at, m->words, e);
		bits |= 1U << i;
	}
	for (const struct json *w = j->child; w; w = w->next, n++) {
		member_at_index(here, at, n);
		if (!json_is(w, JSON_STRING) || !choose(w->text, m->words, &i))
			return no_choice(here, m->words, e);
		bits |= 1U << i;
	}
	if (j->type == JSON_ARRAY && n < (size_t)m->least)
		return no_choice(at, m->words, e);
	*ret = bits;
	return OK;
}

static int
read_chars(const struct json *j, const char *at, const struct member *m,
    struct arena *a, struct str *ret, struct err *e)
{
	if (j->type != JSON_STRING || j->text.n < (size_t)m->least ||
	    str_chars(j->text, (size_t)m->most).n < j->text.n)
		return json_wrong(e, at,
		    "must be a string of %lld to %lld characters",
		    (long long)m->least, (long long)m->most);
	/* PostgreSQL's texts can't hold it. */
	if (memchr(j->text.p, 0, j->text.n))
		return json_wrong(e, at, "must not have a NUL character");
	*ret = arena_dup(a, j->text);
	return OK;
}

static int
read_object(const struct json *j, const char *at, int64_t most,
    const struct json **ret, struct err *e)
{
	TRY(member_want(j, JSON_OBJECT, at, e));
	if (most > 0 && j->raw.n > (size_t)most)
		return json_wrong(
		    e, at, "must have at most %lld bytes", (long long)most);
	*ret = j;
	return OK;
}

int
member_secret_read(const struct member_io *io, const struct json *j,
    const char *at, size_t most, struct str *ret, struct err *e)
{
	struct member as = {
	    .kind = MEMBER_LONG, .least = 1, .most = (int64_t)most};
	struct str s = STR_EMPTY;

	if (io->form == FORM_STORED) {
		TRY(member_want(j, JSON_STRING, at, e));
		return io->seal ? io->seal->unseal(
				      io->seal, io->arena, j->text, ret, e)
				: OK;
	}
	TRY(read_text(j, at, &as, io->arena, &s, e));
	if (io->form != FORM_USER || !str_eq(s, STR(SUB_MASK)))
		*ret = s;
	else if (ret->n == 0)
		return json_wrong(e, at,
		    "is the mask that secrets are shown as; there is none yet");
	return OK;
}

int
member_secret_write(const struct member_io *io, const char *name,
    struct str secret, struct buf *b, struct err *e)
{
	struct str s = secret;

	if (secret.n == 0)
		s.p = NULL;
	else if (io->form == FORM_USER)
		s = STR(SUB_MASK);
	else if (io->form == FORM_STORED)
		TRY(io->seal->seal(io->seal, io->arena, secret, &s, e));
	put_text(b, name, s);
	return OK;
}

static int
read_one(const struct member_io *io, const struct member *m,
    const struct json *j, const char *at, void *field, struct err *e)
{
	unsigned i = 0;

	switch (m->kind) {
	case MEMBER_TEXT:
	case MEMBER_LONG:
	case MEMBER_STRING:
		return read_text(j, at, m, io->arena, field, e);
	case MEMBER_SECRET:
		return member_secret_read(io, j, at, (size_t)m->most, field, e);
	case MEMBER_POINTER:
		return read_pointer(j, at, io->arena, field, e);
	case MEMBER_VALUE:
		return read_value(io, j, at, m->most, field, e);
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
		TRY(member_choice(j, at, m->words, &i, e));
		*(bool *)field = i == 1;
		return OK;
	case MEMBER_WORDS:
		if (io->form != FORM_QUERY)
			TRY(member_want(j, JSON_ARRAY, at, e));
		return read_words(j, at, m, field, e);
	case MEMBER_TIME:
		if (j->type != JSON_STRING || !time_parse(j->text, field, NULL))
			return json_wrong(e, at,
			    "must be a time as in RFC 3339, 2030-01-31T12:00:00Z");
		return OK;
	case MEMBER_UUID:
		return j->type == JSON_STRING && uuid_parse(j->text, field)
			   ? OK
			   : json_wrong(e, at, "must be a uuid");
	case MEMBER_TENANT:
		return j->type == JSON_STRING && tenant_parse(j->text, field)
			   ? OK
			   : json_wrong(e, at, "must be " TENANT_WORDS);
	case MEMBER_UUIDS:
	case MEMBER_TENANTS:
		return member_uuids(j, at, m, io->arena, field, e);
	case MEMBER_OBJECT:
		return read_object(j, at, m->most, field, e);
	case MEMBER_CHARS:
		return read_chars(j, at, m, io->arena, field, e);
	case MEMBER_JSON:
		*(const struct json **)field = j;
		return OK;
	case MEMBER_VARS:
		TRY(member_want(j, JSON_STRING, at, e));
		return vars_compile(io->arena, j->text,
		    (enum vars_place)m->least, at, field, e);
	case MEMBER_PART: /* member_read()'s */
	case MEMBER_OWN:
		break;
	}
	return OK;
}

static const size_t SIZES[] = {
    [MEMBER_TEXT] = sizeof(struct str),
    [MEMBER_LONG] = sizeof(struct str),
    [MEMBER_SECRET] = sizeof(struct str),
    [MEMBER_POINTER] = sizeof(struct str),
    [MEMBER_STRING] = sizeof(struct str),
    [MEMBER_CHARS] = sizeof(struct str),
    [MEMBER_VALUE] = sizeof(struct sub_value),
    [MEMBER_BOOL] = sizeof(bool),
    [MEMBER_EITHER] = sizeof(bool),
    [MEMBER_INT] = sizeof(int64_t),
    [MEMBER_TIME] = sizeof(int64_t),
    [MEMBER_CHOICE] = sizeof(unsigned),
    [MEMBER_WORDS] = sizeof(unsigned),
    [MEMBER_UUID] = sizeof(struct uuid),
    [MEMBER_UUIDS] = sizeof(struct member_uuids),
    [MEMBER_TENANT] = sizeof(struct uuid),
    [MEMBER_TENANTS] = sizeof(struct member_uuids),
    [MEMBER_OBJECT] = sizeof(const struct json *),
    [MEMBER_JSON] = sizeof(const struct json *),
    [MEMBER_VARS] = sizeof(struct vars),
    [MEMBER_OWN] = 0,
};

/* What null brings. */
static void
take_initial(const struct member *m, const void *initial, void *base)
{
	const char *from = (const char *)initial + m->offset;
	char *to = (char *)base + m->offset;

	if (m->kind != MEMBER_PART)
		memcpy(to, from, SIZES[m->kind]);
	else
		for (const struct member *p = m->part; p->name; p++)
			take_initial(p, from, to);
}

const struct member *
member_find(const struct member *table, struct str name)
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

	TRY(member_want(object, JSON_OBJECT, at, e));
	for (const struct json *j = object->child; j; j = j->next) {
		const struct member *m = member_find(table, j->key);

		(void)snprintf(here, sizeof(here), "%s", at);
		json_point(here, j->key);
		if (!m)
			return json_wrong(e, here, "is not a known field");
		if (m->kind == MEMBER_OWN && m->read)
			TRY(m->read(io, j, base, e));
		else if (j->type == JSON_NULL && initial)
			take_initial(m, initial, base);
		else if (j->type != JSON_NULL && m->kind == MEMBER_PART)
			TRY(member_read(io, m->part, j, here,
			    initial ? (const char *)initial + m->offset : NULL,
			    (char *)base + m->offset, e));
		else if (j->type != JSON_NULL)
			TRY(read_one(
			    io, m, j, here, (char *)base + m->offset, e));
	}
	for (; table->name; table++)
		if (table->must)
			TRY(member_need(member_given(object, table->name), at,
			    table->name, e));
	return OK;
}

int
member_query(const struct member_io *io, const struct member *m,
    struct str value, void *base, struct err *e)
{
	struct json j = {.type = JSON_STRING, .raw = value, .text = value};
	char here[JSON_POINTER_MAX + 1];
	int rc;

	if (m->kind == MEMBER_INT)
		j.type = JSON_NUMBER;
	else if (m->kind == MEMBER_BOOL && str_eq(value, STR("true")))
		j.type = JSON_TRUE;
	else if (m->kind == MEMBER_BOOL && str_eq(value, STR("false")))
		j.type = JSON_FALSE;
	member_at(here, "", m->name);
	rc = read_one(io, m, &j, here, (char *)base + m->offset, e);
	if (rc < 0)
		(void)snprintf(e->at, sizeof(e->at), "%s", m->name);
	return rc;
}

/* Where an empty one is out of range it stands for "not given". */
static void
write_text(struct buf *b, const char *name, struct str s, bool empty_ok)
{
	put_text(b, name, s.n > 0 || empty_ok ? s : (struct str){.p = NULL});
}

static void
write_value(struct buf *b, const char *name, const struct sub_value *v)
{
	if (v->pointer)
		put_open(b, name, '{');
	write_text(b, v->pointer ? "pointer" : name, v->text, v->pointer);
	if (v->pointer)
		put_close(b, '}');
}

static void
write_words(struct buf *b, const struct member *m, unsigned bits)
{
	put_open(b, m->name, '[');
	for (unsigned i = 0; m->words[i]; i++)
		if (bits & 1U << i)
			put_z(b, NULL, m->words[i]);
	put_close(b, ']');
}

static int
write_one(const struct member_io *io, const struct member *m, const void *field,
    struct buf *b, struct err *e)
{
	const struct member_uuids *list = field;
	const struct sub_value *value = field;

	switch (m->kind) {
	case MEMBER_TEXT:
	case MEMBER_LONG:
	case MEMBER_STRING:
	case MEMBER_CHARS:
	case MEMBER_POINTER:
		write_text(b, m->name, *(const struct str *)field,
		    m->least == 0 && m->most > 0);
		break;
	case MEMBER_SECRET:
		return member_secret_write(
		    io, m->name, *(const struct str *)field, b, e);
	case MEMBER_VALUE:
		write_value(b, m->name, value);
		break;
	case MEMBER_BOOL:
		put_bool(b, m->name, *(const bool *)field);
		break;
	case MEMBER_INT:
		/* Where 0 is out of range it stands for "not given". */
		(m->least > 0 ? put_some : put_int)(
		    b, m->name, *(const int64_t *)field);
		break;
	case MEMBER_EITHER:
		put_z(b, m->name, m->words[*(const bool *)field]);
		break;
	case MEMBER_CHOICE:
		put_z(b, m->name, m->words[*(const unsigned *)field]);
		break;
	case MEMBER_WORDS:
		write_words(b, m, *(const unsigned *)field);
		break;
	case MEMBER_TIME:
		put_time(b, m->name, *(const int64_t *)field);
		break;
	case MEMBER_UUID:
	case MEMBER_TENANT:
		put_uuid(b, m->name, *(const struct uuid *)field);
		break;
	case MEMBER_UUIDS:
		put_uuids(b, m->name, list->v, list->n);
		break;
	case MEMBER_TENANTS:
		put_texts(b, m->name, list->names, list->n);
		break;
	case MEMBER_PART:
		put_open(b, m->name, '{');
		TRY(member_write(io, m->part, field, b, e));
		put_close(b, '}');
		break;
	case MEMBER_OBJECT:
	case MEMBER_JSON:
	case MEMBER_VARS:
	case MEMBER_OWN:
		break; /* the caller's */
	}
	return OK;
}

int
member_write(const struct member_io *io, const struct member *table,
    const void *base, struct buf *b, struct err *e)
{
	for (; table->name; table++)
		if (table->write)
			TRY(table->write(io, base, b, e));
		else
			TRY(write_one(io, table,
			    (const char *)base + table->offset, b, e));
	return OK;
}
