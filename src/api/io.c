#include "api/io.h"

const struct member API_NONE[] = {{.name = NULL}};
const struct member API_PAGE_ONLY[] = {API_PAGE_AT(0), {.name = NULL}};

int
api_body(struct req *r, const struct member *table, const void *initial,
    void *ret, struct err *e)
{
	const struct member_io io = {.form = FORM_USER, .arena = r->arena};
	struct json *j = NULL;

	TRY(json_parse(r->arena, r->body, &j, e));
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

struct headers {
	struct str_pair *list; /* NULL: they are counted */
	size_t n;
};

static bool
add_header(void *arg, struct str name, struct str value)
{
	struct headers *h = arg;

	if (h->list)
		h->list[h->n] = (struct str_pair){name, value};
	h->n++;
	return true;
}

struct str_pair *
api_headers(const struct req *r, struct arena *a, size_t *ret_n)
{
	struct headers h = {.n = 0};

	req_each_header(r, add_header, &h);
	h.list = arena_array(a, h.n + 1, sizeof(*h.list));
	h.n = 0;
	req_each_header(r, add_header, &h);
	*ret_n = h.n;
	return h.list;
}

/* Shown to whoever sent it, in the text of an error. */
#define SHOWN(s) (int)((s).n < 64 ? (s).n : 64), (s).p

int
api_query(struct req *r, const struct member *table, void *ret, struct err *e)
{
	const struct member_io io = {.form = FORM_QUERY, .arena = r->arena};

	for (const struct member *m = table; m->name; m++)
		if (m->kind == MEMBER_INT)
			*(int64_t *)(void *)((char *)ret + m->offset) =
			    m->absent;
	for (size_t i = 0; i < r->n_query; i++) {
		struct str name = r->query[i].name;
		const struct member *m = member_find(table, name);

		if (!m)
			return err_set(e, ERR_INVALID,
			    "there is no parameter %.*s", SHOWN(name));
		for (size_t k = 0; k < i; k++)
			if (str_eq(r->query[k].name, name))
				return err_at(e, ERR_INVALID, m->name,
				    "parameter %s is given twice", m->name);
		TRY(member_query(&io, m, r->query[i].value, ret, e));
	}
	return OK;
}

int
api_query_none(struct req *r, struct err *e)
{
	return api_query(r, API_NONE, NULL, e);
}

int
api_no_cursor(struct err *e)
{
	return err_at(
	    e, ERR_INVALID, "after", "after is no cursor of this list");
}

int
api_scan(struct req *r, const struct member *table, void *query,
    struct api_scan *ret, struct err *e)
{
	TRY(api_query(r, table, query, e));
	ret->batch = ret->page.limit + 1;
	api_list(r);
	return OK;
}

bool
api_scan_more(const struct api_scan *s)
{
	return s->full || s->batch > s->page.limit;
}

bool
api_scan_on(struct api_scan *s)
{
	if (s->full || !api_scan_more(s) || s->looked >= PAGE_SCAN)
		return false;
	s->batch = 0;
	return true;
}

bool
api_scan_row(struct api_scan *s, const struct req *r)
{
	s->full = s->shown == s->page.limit || r->out.n > PAGE_BYTES;
	if (s->full)
		return false;
	s->batch++;
	s->looked++;
	return true;
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
