#include "api/io.h"

#include "base/arena.h"
#include "base/str.h"

const struct member API_PAGE_ONLY[] = {API_PAGE_AT(0), {.name = NULL}};

int
api_body(struct req *r, const struct member *table, const void *initial,
    void *ret, struct err *e)
{
	const struct member_io io = {.form = FORM_USER, .arena = r->arena};
	struct json *j = NULL;
	int rc = json_parse(r->arena, r->body, &j, e);

	if (rc < 0)
		return rc;
	if (!json_is(j, JSON_OBJECT))
		return err_at(
		    e, ERR_INVALID, "", "the body must be a JSON object");
	return member_read(&io, table, j, "", initial, ret, e);
}

int
api_body_maybe(struct req *r, const struct member *table, const void *initial,
    void *ret, struct err *e)
{
	if (r->body.n == 0)
		r->body = STR("{}");
	return api_body(r, table, initial, ret, e);
}

/* Shown to whoever sent it, in the text of an error. */
#define SHOWN(s) (int)((s).n < 64 ? (s).n : 64), (s).p

int
api_query(struct req *r, const struct member *table, void *ret, struct err *e)
{
	const struct member_io io = {.form = FORM_QUERY, .arena = r->arena};
	int rc = OK;

	for (const struct member *m = table; m->name; m++)
		if (m->kind == MEMBER_INT)
			*(int64_t *)(void *)((char *)ret + m->offset) =
			    m->absent;
	for (size_t i = 0; rc == OK && i < r->n_query; i++) {
		struct str name = r->query[i].name;
		const struct member *m = member_find(table, name);

		if (!m)
			return err_set(e, ERR_INVALID,
			    "there is no parameter %.*s", SHOWN(name));
		for (size_t k = 0; k < i; k++)
			if (str_eq(r->query[k].name, name))
				return err_at(e, ERR_INVALID, m->name,
				    "parameter %s is given twice", m->name);
		rc = member_query(&io, m, r->query[i].value, ret, e);
	}
	return rc;
}

int
api_query_none(struct req *r, struct err *e)
{
	static const struct member NONE[] = {{.name = NULL}};

	return api_query(r, NONE, NULL, e);
}

int
api_no_cursor(struct err *e)
{
	return err_at(
	    e, ERR_INVALID, "after", "after is no cursor of this list");
}

void
api_list(struct req *r)
{
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
}

void
api_list_end(struct req *r, struct str next)
{
	put_close(&r->out, ']');
	put_text(&r->out, "next", next);
	put_close(&r->out, '}');
}

void
api_list_end_uuid(struct req *r, bool more, struct uuid last)
{
	char text[UUID_LEN + 1];

	uuid_format(last, text);
	api_list_end(r, more ? str_of(text) : (struct str){.p = NULL});
}
