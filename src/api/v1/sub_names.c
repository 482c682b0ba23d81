/* sub.h: what the names of a subscription's URLs lead to, before it is saved. */
#include "api/api.h"
#include "api/v1/sub.h"
#include "base/conf/conf.h"
#include "contract/request.h"

/* `old`: what is saved already was judged then, and is again when it is
 * called. */
static void
add_name(struct sub_op *op, struct str url, struct str old, const char *at)
{
	struct sub_names *v = &op->names;

	if (url.n == 0 || str_eq(url, old))
		return;
	assert(v->n < SUB_NAMES_MAX);
	v->at[v->n] = at;
	v->looks[v->n++] = (struct client_look){.url = url};
}

/* Where its health check goes; empty: nowhere, or that depends on the event. */
static struct str
health_url(const struct sub_op *op, const struct sub_conf *s)
{
	static const struct request_event NONE = {
	    .type = {"TEST", 4}, .body = {"{}", 2}};
	static const struct request_attempt FIRST = {.number = 1};
	enum reason reason;
	struct request req;
	struct err e;

	return s && !s->hub.tenant.pointer &&
		       preflight_make(op->r->arena, s, &NONE, &FIRST, &req,
			   &reason, &e) > 0
		   ? req.url
		   : STR_EMPTY;
}

void
sub_op_names(struct sub_op *op, const struct sub_conf *s,
    const struct sub_conf *old, const char *at_url)
{
	op->names.n = 0;
	if (!sub_called(s))
		return;
	add_name(op, s->url, old ? old->url : STR_EMPTY, at_url);
	if (s->auth.type == AUTH_OAUTH2)
		add_name(op, s->auth.token_url,
		    old ? old->auth.token_url : STR_EMPTY, "/auth/tokenUrl");
	add_name(op, health_url(op, s), health_url(op, old),
	    s->hub.health_url.n > 0 ? "/hub/healthUrl"
	    : s->preset->uses_hub   ? "/hub/domain"
				    : "/preset");
}

/* On the caller's thread. */
static void
name_told(struct sub_op *op)
{
	if (--op->names.left == 0)
		api_wake(op->r, &op->names.err);
}

static void
name_judged(struct client_look *l, const struct err *e)
{
	struct sub_op *op = l->arg;
	struct sub_names *v = &op->names;

	if (e && v->err.code == OK) {
		v->err = *e;
		if (e->code != ERR_AWAY)
			(void)err_at(&v->err, ERR_INVALID, v->at[l - v->looks],
			    "%s", e->text);
	}
	name_told(op);
}

static void
look_up(struct call *call, struct client *client)
{
	struct sub_op *op = MAIL_OF(call, struct sub_op, names.call);
	const struct api *api = op->r->app;
	const char *proxy = api->conf->webhook_proxy;
	size_t n = op->names.n;

	op->names.left = n + 1; /* it stays until the last is asked */
	for (size_t i = 0; i < n; i++) {
		struct client_look *l = &op->names.looks[i];

		l->use = GUARD_WEBHOOK;
		l->proxy = proxy[0] ? proxy : NULL;
		l->done = name_judged;
		l->arg = op;
		client_look(client, l);
	}
	name_told(op);
}

int
sub_op_look(
    struct sub_op *op, int (*next)(struct req *r, struct err *e), struct err *e)
{
	const struct api *api = op->r->app;
	struct sub_names *v = &op->names;

	if (v->n == 0 || !api->caller)
		return next(op->r, e);
	v->err = (struct err){.code = OK};
	v->call.run = look_up;
	api_then(op->r, next);
	return caller_post(api->caller, &v->call)
		   ? REQ_WAIT
		   : err_set(e, ERR_AWAY, "the server is stopping");
}
