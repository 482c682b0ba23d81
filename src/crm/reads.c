#include "crm/reads.h"

#include <openssl/crypto.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/uuid.h"
#include "crm/core.h"
#include "crm_sql.h"
#include "http/client/client.h"
#include "http/client/guard.h"
#include "http/server/server.h"

#define KEY_LEN         64 /* 32 random bytes in hex */
#define READ_TIMEOUT_MS 5000

/* Core's side --------------------------------------------------------------- */

#define KEY_WANTED 1 /* a scope: who() judges it */

struct reads {
	struct server *server;
	struct lite *db; /* the http thread's */
	char key[KEY_LEN + 1];
};

static int
who(void *arg, struct req *r, struct err *e)
{
	struct reads *x = arg;
	struct str got = req_header(r, "Authorization");
	const struct str bearer = STR("Bearer ");

	if (!str_starts(got, bearer) || got.n != bearer.n + KEY_LEN ||
	    CRYPTO_memcmp(got.p + bearer.n, x->key, KEY_LEN) != 0)
		return err_set(e, ERR_UNKNOWN, "Core wants its key as Bearer");
	r->who = (struct principal){.kind = WHO_KEY};
	r->app = x;
	return OK;
}

static int
show(struct req *r, struct db *db, struct err *e)
{
	struct reads *x = r->app;
	struct crm_record rec;
	int rc =
	    core_read(x->db, r->params[0], r->params[1], r->arena, &rec, e);

	(void)db;
	if (rc < 0)
		return rc;
	if (!rec.there)
		return err_set(e, ERR_ABSENT, "no such record");
	buf_addz(&r->out, "{\"objectName\":");
	buf_json(&r->out, r->params[0]);
	buf_addz(&r->out, ",\"recordId\":");
	buf_json(&r->out, r->params[1]);
	buf_addz(&r->out, ",\"ownerId\":");
	buf_json(&r->out, rec.owner);
	buf_addz(&r->out, ",\"recordVersion\":\"");
	time_add(&r->out, rec.version_us);
	buf_addz(&r->out, "\",\"fields\":");
	buf_add(&r->out, rec.fields->raw);
	buf_addc(&r->out, '}');
	return OK;
}

/* No route of this server runs elsewhere. */
static bool
nowhere(void *arg, struct req *r)
{
	(void)arg;
	(void)r;
	return false;
}

static void
answered(void *arg, const struct req *r, int status, int64_t took_us)
{
	(void)arg;
	(void)r;
	(void)status;
	(void)took_us;
}

static bool
stopping(void *arg)
{
	(void)arg;
	return false;
}

static const struct route ROUTES[] = {
    {GET, "/crm/records/{object}/{id}", KEY_WANTED, ON_HTTP, show, "",
	.summary = "One record of Core, whole"},
};

int
reads_start(const char *core_path, struct reads **ret, struct err *e)
{
	struct server_opts o = {.listen = "127.0.0.1:0",
	    .threads = 1,
	    .body_max = 4 * KIB,
	    .idle_timeout_s = 60,
	    .request_timeout_s = 10,
	    .connections_max = 64,
	    .routes = ROUTES,
	    .n_routes = COUNT_OF(ROUTES)};
	struct reads *x = calloc(1, sizeof(*x));
	unsigned char bytes[KEY_LEN / 2];
	struct buf hex = BUF(KEY_LEN + 1);
	int rc;

	if (!x)
		return err_set(e, ERR_NOMEM, "no memory for Core's server");
	rand_bytes(bytes, sizeof(bytes));
	buf_hex(&hex, (struct str){(const char *)bytes, sizeof(bytes)});
	rc = hex.n == KEY_LEN ? OK : err_set(e, ERR_NOMEM, "no memory");
	if (rc == OK) {
		memcpy(x->key, hex.p, KEY_LEN);
		rc = lite_open(
		    core_path, CRM_CORE.schemas, CRM_CORE.n_schemas, &x->db, e);
	}
	buf_done(&hex);
	o.hooks = (struct server_hooks){.arg = x,
	    .who = who,
	    .read = nowhere,
	    .write = nowhere,
	    .answered = answered,
	    .stopping = stopping};
	if (rc == OK)
		rc = server_start(&o, &x->server, e);
	if (rc < 0) {
		reads_stop(x);
		return rc;
	}
	*ret = x;
	return OK;
}

void
reads_stop(struct reads *x)
{
	if (!x)
		return;
	if (x->server)
		(void)server_drain(x->server, 1000);
	server_stop(x->server);
	lite_close(x->db);
	free(x);
}

int
reads_port(const struct reads *x)
{
	return server_port(x->server);
}

const char *
reads_key(const struct reads *x)
{
	return x->key;
}

/* A consumer's side --------------------------------------------------------- */

struct asker {
	struct guard *guard;
	struct client *client;
	int port;
	char bearer[KEY_LEN + 16];
};

/* One question, and what came of it. */
struct question {
	struct client_send send; /* first: done() gets it */
	struct arena *arena;
	enum client_result result;
	int status;
	struct str body;
	bool done;
};

static int
loopback_guard(struct guard **ret, struct err *e)
{
	struct conf c = {0};
	int rc = conf_init(&c, e);

	if (rc < 0)
		return rc;
	rc = conf_set(&c, STR("webhook.url.allow.private"), STR("127.0.0.0/8"),
	    CONF_FLAG, e);
	if (rc == OK)
		rc = guard_new(&c, ret, e);
	conf_done(&c);
	return rc;
}

int
asker_new(int port, const char *key, struct asker **ret, struct err *e)
{
	struct asker *q = calloc(1, sizeof(*q));
	struct client_opts o = {.dns_timeout_ms = 1000,
	    .connections_max = 4,
	    .connections_each = 4,
	    .body_max = MIB};
	int rc;

	if (!q)
		return err_set(e, ERR_NOMEM, "no memory");
	q->port = port;
	(void)snprintf(q->bearer, sizeof(q->bearer), "Bearer %s", key);
	rc = loopback_guard(&q->guard, e);
	o.guard = q->guard;
	if (rc == OK)
		rc = client_new(&o, &q->client, e);
	if (rc < 0) {
		asker_free(q);
		return rc;
	}
	*ret = q;
	return OK;
}

void
asker_free(struct asker *q)
{
	if (!q)
		return;
	client_free(q->client);
	guard_free(q->guard);
	free(q);
}

static void
ended(struct client_send *s, const struct client_answer *a)
{
	struct question *q = (struct question *)s;

	q->result = a->result;
	q->status = a->status;
	q->body = arena_dup(q->arena, a->body);
	q->done = true;
}

static int
read_answer(
    struct str body, struct arena *a, struct crm_record *ret, struct err *e)
{
	struct json *j = NULL;
	const struct json *owner, *version;
	int rc = body.p ? json_parse(a, body, &j, e)
			: err_set(e, ERR_NOMEM, "no memory");

	if (rc < 0)
		return rc;
	owner = json_get(j, "ownerId");
	version = json_get(j, "recordVersion");
	*ret =
	    (struct crm_record){.there = true, .fields = json_get(j, "fields")};
	if (!json_is(owner, JSON_STRING) || !json_is(version, JSON_STRING) ||
	    !json_is(ret->fields, JSON_OBJECT) ||
	    !time_parse(version->text, &ret->version_us, NULL))
		return err_set(e, ERR_AWAY, "Core answers strangely");
	ret->owner = owner->text;
	return OK;
}

static int
ask(void *arg, struct str object, struct str record, struct arena *a,
    struct crm_record *ret, struct err *e)
{
	struct asker *q = arg;
	struct client_header auth = {
	    .name = STR("Authorization"), .value = str_of(q->bearer)};
	struct question x = {.arena = a,
	    .send = {.method = GET,
		.url = arena_fmt(a, "http://127.0.0.1:%d/crm/records/%.*s/%.*s",
		    q->port, STR_ARG(object), STR_ARG(record)),
		.headers = &auth,
		.n_headers = 1,
		.body = STR_EMPTY,
		.use = GUARD_WEBHOOK,
		.connect_ms = 1000,
		.total_ms = READ_TIMEOUT_MS,
		.keep_max = MIB,
		.done = ended}};

	if (!x.send.url.p)
		return err_set(e, ERR_NOMEM, "no memory");
	client_start(q->client, &x.send);
	while (!x.done)
		(void)client_wait(q->client, READ_TIMEOUT_MS);
	*ret = (struct crm_record){.there = false};
	if (x.result != CLIENT_ANSWERED)
		return err_set(e, ERR_AWAY, "Core does not answer: %s",
		    client_result_name(x.result));
	if (x.status == 404)
		return OK;
	if (x.status != 200)
		return err_set(e, ERR_AWAY, "Core answered %d", x.status);
	return read_answer(x.body, a, ret, e);
}

struct crm_fetch
asker_fetch(struct asker *q)
{
	return (struct crm_fetch){.get = ask, .arg = q};
}
