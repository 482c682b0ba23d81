#include "feed/opml.h"

#include "account/tokens.h"
#include "api/api.h"
#include "api/apps/app.h"
#include "base/conf/conf.h"
#include "doc/caged.h"
#include "reader/import.h"

/* Subscriptions out and in. The list is read on a read thread, so that neither
 * http nor the commit thread parses megabytes of XML. */

static int
write_out(struct req *r, struct db *db, int64_t user, struct err *e)
{
	struct sync who = {db, user, r->arena};

	TRY(import_export(&who, clock_now_us(), &r->out, e));
	r->content_type = "text/x-opml; charset=utf-8";
	req_add_header(
	    r, "Content-Disposition", "attachment; filename=\"hikyaku.opml\"");
	return OK;
}

int
api_opml_get(struct req *r, struct db *db, struct err *e)
{
	return write_out(r, db, r->who.user, e);
}

/* Somebody's, for an admin: what `hikyaku opml` asks for. */
int
api_user_opml_get(struct req *r, struct db *db, struct err *e)
{
	int64_t user;

	TRY(tokens_user(db, r->params[0], &user, e));
	return write_out(r, db, user, e);
}

struct importing {
	struct opml *list;
	int64_t user;            /* 0: to be found by the path's name */
	struct str content_type; /* for its charset */
	bool miniflux;           /* how it is answered */
};

/* On the commit thread. */
static int
take_in(struct req *r, struct db *db, struct err *e)
{
	const struct importing *im = r->ctx;
	const struct api *api = r->app;
	struct import_rules rules = {api->guard, api->conf->reader_feeds_max};
	struct sync who = {db, im->user, r->arena};
	struct import_result done;

	TRY(import_opml(&who, &rules, im->list, clock_now_us(), &done, e));
	app_due(r);
	if (im->miniflux) {
		buf_addz(
		    &r->out, "{\"message\":\"Feeds imported successfully\"}");
		r->status = 201;
	} else {
		import_json(&done, &r->out);
	}
	return OK;
}

/* Back on the http thread: the list is read. */
static int
parsed(struct req *r, struct err *e)
{
	return api_write(r, take_in, e);
}

/* On a read thread. Such lists are rare: each has a process of its own for its
 * moment. */
static int
parse(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct importing *im = r->ctx;
	struct caged *c = NULL;
	int rc;

	if (!im->user)
		TRY(tokens_user(db, r->params[0], &im->user, e));
	rc = caged_new("/proc/self/exe", api->fault, &c, e);
	if (rc == OK)
		rc = caged_opml(
		    c, r->arena, r->body, im->content_type, &im->list, e);
	caged_free(c);
	return rc;
}

static int
start_import(struct req *r, int64_t user, bool miniflux, struct err *e)
{
	struct importing *im = arena_alloc(r->arena, sizeof(*im));

	im->miniflux = miniflux;
	im->user = user;
	im->content_type = arena_dup(r->arena, req_header(r, "Content-Type"));
	r->ctx = im;
	api_then(r, parsed);
	return api_read(r, parse, e);
}

int
api_opml_post(struct req *r, struct db *, struct err *e)
{
	return start_import(r, r->who.user, false, e);
}

int
api_mf_import(struct req *r, struct db *, struct err *e)
{
	return start_import(r, r->who.user, true, e);
}

int
api_user_opml_post(struct req *r, struct db *, struct err *e)
{
	return start_import(r, 0, false, e);
}
