#include "deliver/engine/detail.h"

#include "deliver/core/core.h"
#include "deliver/limits.h"

struct flush_detail *
detail_new(struct str text, bool own)
{
	struct flush_detail *d = mem_get(sizeof(*d) + text.n);

	d->own = own;
	d->n = text.n;
	if (text.n > 0)
		memcpy(d->text, text.p, text.n);
	return d;
}

struct flush_detail *
detail_dead(const char *error, bool own)
{
	struct flush_detail *d =
	    detail_new(str_chars(str_of(error), DETAIL_ERROR), own);

	str_clean_utf8(d->text, d->n);
	return d;
}

struct flush_detail *
detail_of(const struct buf *b)
{
	return b->failed ? NULL : detail_new(buf_str(b), false);
}

struct flush_detail *
detail_error(struct str error)
{
	struct buf b CLEANUP(buf_done) = BUF(DETAIL_MAX);

	buf_addz(&b, "{\"error\":");
	buf_json(&b, error);
	buf_addz(&b, ",\"requestHeaders\":\"\",\"responseHead\":\"\","
		     "\"responseBody\":\"\"}");
	return detail_of(&b);
}

struct str
detail_said(const struct flush_detail *d, char *to, size_t room)
{
	struct str none = {.p = NULL}, said;
	struct arena *a CLEANUP(arena_freep) = NULL;
	struct json *j = NULL;
	struct err e;

	if (!d || d->n == 0)
		return none;
	a = arena_new(16 * DETAIL_MAX);
	if (json_parse(a, (struct str){d->text, d->n}, &j, &e) < 0 ||
	    !json_is(json_get(j, "error"), JSON_STRING))
		return none;
	said = json_get(j, "error")->text;
	if (said.n == 0 || said.n > room)
		return none;
	memcpy(to, said.p, said.n);
	return (struct str){to, said.n};
}

void
detail_own(struct core_result *r)
{
	struct flush_detail *d =
	    r->detail ? r->detail : detail_new(STR_EMPTY, true);

	d->own = true;
	r->detail = d;
}
