/* miniflux.h: which feeds an address names. The fetcher looks. */
#include "api/api.h"
#include "api/apps/apps.h"
#include "api/apps/miniflux.h"
#include "api/people/feed_register.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "feed/discover.h"
#include "reader/fetch/fetcher.h"

struct looking {
	struct registration reg;
	struct req *r;
};

static void
done(struct registration *reg)
{
	req_wake(MAIL_OF(reg, struct looking, reg)->r);
}

/* As Miniflux says it: 404 when there is none, 500 when nobody could look. */
static int
not_found(struct req *r, const struct err *why, struct err *e)
{
	const char *word = why->word ? why->word : "";

	*e = *why;
	if (strcmp(word, "FEED_NOT_DETECTED") == 0)
		return err_set(e, ERR_ABSENT, "%.300s", why->text);
	if (strcmp(word, "FEED_UNREACHABLE") != 0 &&
	    strcmp(word, "FEED_UNREADABLE") != 0)
		return e->code;
	buf_addz(&r->out, "{\"error_message\":");
	buf_json(&r->out, str_of(why->text));
	buf_addc(&r->out, '}');
	r->status = 500;
	return OK;
}

static int
looked(struct req *r, struct err *e)
{
	const struct looking *l = r->ctx;
	const struct registration *reg = &l->reg;

	buf_clear(&r->out);
	if (reg->err.code != OK)
		return not_found(r, &reg->err, e);
	buf_addc(&r->out, '[');
	for (size_t i = 0; i < reg->n_found; i++) {
		const struct discover_feed *f = &reg->found[i];

		buf_addz(&r->out, i ? ",{\"title\":" : "{\"title\":");
		buf_json(&r->out, f->title.n > 0 ? f->title : f->url);
		buf_addz(&r->out, ",\"url\":");
		buf_json(&r->out, f->url);
		buf_fmt(&r->out, ",\"type\":\"%s\"}",
		    f->kind == DISCOVER_XML ? "rss"
					    : discover_kind_name(f->kind));
	}
	buf_addc(&r->out, ']');
	return OK;
}

int
api_mf_discover(struct req *r, struct db *db, struct err *e)
{
	struct looking *l = arena_alloc(r->arena, sizeof(*l));
	const struct json *url;
	struct json *j = NULL;
	int rc = l ? mf_body(r, &j, e)
		   : err_set(e, ERR_NOMEM, "no memory for a request");

	(void)db;
	if (rc < 0)
		return rc;
	url = json_get(j, "url");
	if (!json_is(url, JSON_STRING) || str_trim(url->text).n == 0 ||
	    url->text.n > URL_MAX)
		return err_set(e, ERR_SYNTAX,
		    "url must be an address of 1 to %d bytes", URL_MAX);
	l->r = r;
	l->reg = (struct registration){
	    .url = url->text, .look = r->arena, .done = done};
	r->ctx = l;
	r->then = looked;
	return feed_register(r, &l->reg, e);
}
