/*
 * world.h - for tests: the real server and `who` hook over SQLite in a
 * temporary folder, with the threads that the program brings, and how to ask
 * it. The account admin has the password "admin secret". Include base/test.h
 * before this.
 */
#ifndef ACCOUNT_WORLD_H
#define ACCOUNT_WORLD_H

#include <curl/curl.h>
#include <dirent.h>
#include <stdatomic.h>
#include <unistd.h>

#include "account/accounts.h"
#include "account/auth.h"
#include "account/keys.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "http/server.h"
#include "store/store.h"

static struct world {
	char dir[64], socket[128];
	struct store *store;
	struct pool *read, *write;
	struct auth *auth;
	struct server *server;
	struct arena *arena; /* the test's own */
	_Atomic int touched;
} w;

struct answer {
	int status;
	long retry_after_s;
	struct json *j; /* NULL when the body is empty */
};

/* Read connections and one writer. */

static void *
enter(void *use)
{
	struct db *db = NULL;
	struct err e;

	if (db_open(w.store, *(enum db_use *)use, &db, &e) < 0)
		fail_msg("%s", e.text);
	return db;
}

static void
leave(void *db)
{
	db_close(db);
}

static void
run_read(struct pool_job *job, void *db)
{
	struct req *r = MAIL_OF(job, struct req, job);

	r->rc = r->route->run(r, db, &r->err);
	req_wake(r);
}

static bool
hook_read(void *arg, struct req *r)
{
	(void)arg;
	r->job.run = run_read;
	return pool_post(w.read, &r->job);
}

struct work {
	struct pool_job job;
	struct req *r;
	handler_fn fn;
};

static int
in_tx(struct db *db, void *ctx, struct err *e)
{
	struct work *k = ctx;

	return k->fn(k->r, db, e);
}

static void
run_write(struct pool_job *job, void *db)
{
	struct work *k = MAIL_OF(job, struct work, job);

	k->r->rc = db_tx(db, in_tx, k, &k->r->err);
	req_wake(k->r);
}

static bool
post_write(struct req *r, handler_fn fn)
{
	struct work *k = arena_alloc(r->arena, sizeof(*k));

	assert_non_null(k);
	*k = (struct work){.job.run = run_write, .r = r, .fn = fn};
	return pool_post(w.write, &k->job);
}

static bool
hook_write(void *arg, struct req *r)
{
	(void)arg;
	return post_write(r, r->route->run);
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

static bool
hook_post(void *arg, struct pool_job *job)
{
	(void)arg;
	return pool_post(w.read, job);
}

struct touch {
	struct pool_job job;
	int64_t id, now_us;
};

static void
run_touch(struct pool_job *job, void *db)
{
	struct touch *t = MAIL_OF(job, struct touch, job);
	struct err e;

	if (keys_touch(db, t->id, t->now_us, &e) < 0)
		fail_msg("%s", e.text);
	atomic_fetch_add(&w.touched, 1);
	free(t);
}

static void
hook_touch(void *arg, int64_t id, int64_t now_us)
{
	struct touch *t = calloc(1, sizeof(*t));

	(void)arg;
	assert_non_null(t);
	*t = (struct touch){{.run = run_touch}, id, now_us};
	assert_true(pool_post(w.write, &t->job));
}

static void
start_pool(struct pool **ret, const char *name, int threads, enum db_use *use)
{
	struct pool_opts o = {.name = name,
	    .threads = threads,
	    .queue_max = 64,
	    .enter = enter,
	    .leave = leave,
	    .arg = use};
	struct err e;

	assert_int_equal(pool_start(&o, ret, &e), OK);
}

static void
start_server(const struct route *routes, size_t n_routes)
{
	struct auth_opts ao = {
	    .post = hook_post,
	    .touch = hook_touch,
	    .lockout = {.failures_max = 3,
		.window_us = 60 * US_PER_S,
		.first_us = 5 * US_PER_S,
		.lock_us = 60 * US_PER_S},
	};
	struct server_opts so = {
	    .listen = "127.0.0.1:0",
	    .unix_path = w.socket,
	    .threads = 2,
	    .body_max = MIB,
	    .idle_timeout_s = 30,
	    .request_timeout_s = 30,
	    .connections_max = 64,
	    .routes = routes,
	    .n_routes = n_routes,
	    .hooks = {.who = auth_who,
		.read = hook_read,
		.write = hook_write,
		.answered = answered,
		.stopping = stopping},
	};
	struct err e;

	assert_int_equal(auth_new(&ao, &w.auth, &e), OK);
	so.hooks.arg = w.auth;
	assert_int_equal(server_start(&so, &w.server, &e), OK);
}

static void
world_begin(const struct route *routes, size_t n_routes)
{
	static enum db_use use_read = DB_READ, use_write = DB_WRITE;
	char made[PASSWORD_MADE_LEN + 1];
	struct store_opts o = {.dir = w.dir};
	struct db *db;
	struct err e;
	bool first;
	int steps;

	memset(&w, 0, sizeof(w));
	(void)snprintf(w.dir, sizeof(w.dir), "/tmp/world_test.XXXXXX");
	assert_non_null(mkdtemp(w.dir));
	(void)snprintf(w.socket, sizeof(w.socket), "%s/socket", w.dir);
	w.arena = arena_new(16 * MIB);
	assert_non_null(w.arena);
	assert_int_equal(store_open(&o, &w.store, &e), OK);
	assert_int_equal(store_migrate(w.store, &steps, &e), OK);
	assert_int_equal(db_open(w.store, DB_WRITE, &db, &e), OK);
	assert_int_equal(accounts_first(db, STR("admin secret"), clock_now_us(),
			     made, &first, &e),
	    OK);
	db_close(db);
	start_pool(&w.read, "read", 2, &use_read);
	start_pool(&w.write, "commit", 1, &use_write);
	start_server(routes, n_routes);
}

static void
world_end(void)
{
	struct dirent *f;
	DIR *d;

	assert_true(server_drain(w.server, 5000));
	server_stop(w.server);
	pool_stop(w.read);
	auth_free(w.auth);
	pool_stop(w.write);
	store_close(w.store);
	arena_free(w.arena);
	d = opendir(w.dir);
	assert_non_null(d);
	while ((f = readdir(d)))
		(void)unlinkat(dirfd(d), f->d_name, 0);
	(void)closedir(d);
	(void)rmdir(w.dir);
}

/* Asking. */

static size_t
take(char *p, size_t size, size_t n, void *to)
{
	buf_add(to, (struct str){p, size * n});
	return size * n;
}

#define ADMIN "admin:admin secret"
#define LOCAL "unix"

/* who: name:password, hk_…, LOCAL, or NULL for nobody. A fresh connection. */
static struct answer
ask(const char *who, const char *method, const char *path, const char *body)
{
	struct buf out = BUF(MIB);
	struct answer a = {0};
	struct curl_slist *headers = NULL;
	CURL *c = curl_easy_init();
	char url[512], line[256];
	curl_off_t retry = 0;
	struct str text;
	struct err e;
	long status = 0;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s",
	    server_port(w.server), path);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &out);
	headers = curl_slist_append(headers, "Content-Type: application/json");
	if (who && strchr(who, ':')) {
		curl_easy_setopt(c, CURLOPT_USERPWD, who);
	} else if (who && strcmp(who, LOCAL) == 0) {
		curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, w.socket);
	} else if (who) {
		(void)snprintf(
		    line, sizeof(line), "Authorization: Bearer %s", who);
		headers = curl_slist_append(headers, line);
	}
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	if (body)
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	assert_int_equal(curl_easy_perform(c), CURLE_OK);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &retry);
	a.status = (int)status;
	a.retry_after_s = (long)retry;
	text = arena_dup(w.arena, buf_str(&out));
	if (text.n > 0)
		assert_int_equal(json_parse(w.arena, text, &a.j, &e), OK);
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
	buf_done(&out);
	return a;
}

static int
status(const char *who, const char *method, const char *path, const char *body)
{
	return ask(who, method, path, body).status;
}

#endif
