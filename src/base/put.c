#include "base/put.h"

void
put_name(struct buf *b, const char *name)
{
	if (b->n > 0 && !str_has(STR("{[:,"), b->p[b->n - 1]))
		buf_addc(b, ',');
	if (!name)
		return;
	buf_addc(b, '"');
	buf_addz(b, name);
	buf_addz(b, "\":");
}

void
put_open(struct buf *b, const char *name, char bracket)
{
	put_name(b, name);
	buf_addc(b, bracket);
}

void
put_close(struct buf *b, char bracket)
{
	buf_addc(b, bracket);
}

void
put_null(struct buf *b, const char *name)
{
	put_name(b, name);
	buf_addz(b, "null");
}

void
put_bool(struct buf *b, const char *name, bool v)
{
	put_name(b, name);
	buf_addz(b, v ? "true" : "false");
}

void
put_int(struct buf *b, const char *name, int64_t v)
{
	put_name(b, name);
	buf_int(b, v);
}

void
put_some(struct buf *b, const char *name, int64_t v)
{
	if (v)
		put_int(b, name, v);
	else
		put_null(b, name);
}

void
put_percent(struct buf *b, const char *name, int64_t part, int64_t whole)
{
	int64_t v = whole > 0 ? (part * 20000 + whole) / (2 * whole) : 0;

	put_int(b, name, v / 100);
	if (v % 100 > 0)
		buf_fmt(b, v % 10 ? ".%02lld" : ".%01lld",
		    (long long)(v % 10 ? v % 100 : v % 100 / 10));
}

void
put_text(struct buf *b, const char *name, struct str s)
{
	put_name(b, name);
	if (s.p)
		buf_json(b, s);
	else
		buf_addz(b, "null");
}

void
put_z(struct buf *b, const char *name, const char *z)
{
	put_text(b, name, z ? str_of(z) : (struct str){.p = NULL});
}

void
put_uuid(struct buf *b, const char *name, struct uuid u)
{
	put_name(b, name);
	buf_addc(b, '"');
	uuid_add(b, u);
	buf_addc(b, '"');
}

void
put_time(struct buf *b, const char *name, int64_t us)
{
	put_name(b, name);
	buf_addz(b, us ? "\"" : "null");
	if (!us)
		return;
	time_add(b, us);
	buf_addc(b, '"');
}

void
put_raw(struct buf *b, const char *name, struct str json)
{
	put_name(b, name);
	if (json.p)
		buf_add(b, json);
	else
		buf_addz(b, "null");
}

void
put_texts(struct buf *b, const char *name, const struct str *v, size_t n)
{
	if (n == 0) {
		put_null(b, name);
		return;
	}
	put_open(b, name, '[');
	for (size_t i = 0; i < n; i++)
		put_text(b, NULL, v[i]);
	put_close(b, ']');
}

void
put_uuids(struct buf *b, const char *name, const struct uuid *v, size_t n)
{
	if (n == 0) {
		put_null(b, name);
		return;
	}
	put_open(b, name, '[');
	for (size_t i = 0; i < n; i++)
		put_uuid(b, NULL, v[i]);
	put_close(b, ']');
}
