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

void
detail_own(struct core_result *r)
{
	struct flush_detail *d =
	    r->detail ? r->detail : detail_new(STR_EMPTY, true);

	d->own = true;
	r->detail = d;
}
