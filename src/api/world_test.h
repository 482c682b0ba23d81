/*
 * world_test.h - for tests: the whole API over a store of its own, with the threads
 * that the program brings, and how to ask it. The account admin has the
 * password "admin secret". Include base/test.h before this.
 */
#pragma once

#include <curl/curl.h>

#include "account/accounts.h"
#include "account/auth.h"
#include "account/limiter.h"
#include "account/limits.h"
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/sources.h"
#include "api/v1/sub.h"
#include "base/conf/conf.h"
#include "event/append.h"
#include "event/mask.h"
#include "event/tail.h"
#include "loop/pool.h"
#include "ops/reseal.h"
#include "ops/sealing.h"
#include "seal/keyring.h"
#include "source/limits.h"
#include "store/fixture_test.h"

static struct world {
	struct fixture fixture;
	char socket[128];
	struct conf conf;
	struct api api;
	struct server *server;
	struct arena *arena; /* the test's own */
} w;

struct answer {
	int status;
	long retry_after_s;
	struct json *j; /* NULL when the body is empty */
};

static void
committed(void *, int64_t last_seq)
{
	tail_committed(w.api.tail, last_seq);
}

static void
start_threads(void)
{
	struct append_opts ao = {.store = w.api.store, .committed = committed};
	struct pool_opts po = {.name = "read",
	    .threads = 2,
	    .queue_max = READ_QUEUE_MAX,
	    .enter = api_reader_enter,
	    .leave = api_reader_leave,
	    .arg = w.api.store};
	struct pool_opts co = {.name = "check",
	    .threads = 1,
	    .queue_max = CHECK_QUEUE_MAX,
	    .enter = api_checker_enter,
	    .leave = api_checker_leave,
	    .arg = &w.api};
	struct pool_opts ho = {.name = "hooks",
	    .threads = 1,
	    .queue_max = HOOK_QUEUE_MAX,
	    .enter = api_hooks_enter,
	    .leave = api_hooks_leave,
	    .arg = &w.api};
	struct auth_opts uo = {
	    .session = w.api.session,
	    .life = session_life(&w.conf),
	    .lockout = {.failures_max = 3,
		.window_us = 60 * US_PER_S,
		.first_us = 5 * US_PER_S,
		.lock_us = 60 * US_PER_S},
	};
	struct mask *mask = NULL;
	struct err e;

	assert_int_equal(tail_start(w.api.store, &w.api.tail, &e), OK);
	assert_int_equal(append_start(&ao, &w.api.append, &e), OK);
	w.api.resealer = resealer_new(w.api.append, w.api.keyring, &w.conf);
	assert_non_null(w.api.resealer);
	assert_int_equal(pool_start(&po, &w.api.read, &e), OK);
	assert_int_equal(pool_start(&co, &w.api.check, &e), OK);
	assert_int_equal(pool_start(&ho, &w.api.hooks, &e), OK);
	uo.read = w.api.read;
	uo.append = w.api.append;
	assert_int_equal(auth_new(&uo, &w.api.auth, &e), OK);
	assert_int_equal(mask_parse(w.arena, STR_EMPTY, &mask, &e), OK);
	w.api.mask = mask;
	w.api.limiter = limiter_new(LIMITER_MAX, 1);
	assert_non_null(w.api.limiter);
	w.api.people = limiter_new(LIMITER_PEOPLE_MAX, 60);
	assert_non_null(w.api.people);
	w.api.networks = limiter_new(LIMITER_NETWORK_MAX, 60);
	assert_non_null(w.api.networks);
}

static void
start_server(void)
{
	struct server_opts so = {
	    .listen = "127.0.0.1:0",
	    .unix_path = w.socket,
	    .threads = 2,
	    .body_max = MIB,
	    .idle_timeout_s = 30,
	    .request_timeout_s = 30,
	    .connections_max = 64,
	    .routes = API_ROUTES,
	    .n_routes = API_ROUTE_COUNT,
	    .hooks = api_hooks(&w.api),
	};
	struct err e;

	assert_int_equal(server_start(&so, &w.server, &e), OK);
}

static int
world_begin(void **)
{
	char made[PASSWORD_MADE_LEN + 1];
	struct db *db;
	struct err e;
	bool first;

	memset(&w, 0, sizeof(w));
	fixture_open(&w.fixture, STORE_SQLITE, NULL);
	(void)snprintf(
	    w.socket, sizeof(w.socket), "%s/hikyaku.sock", w.fixture.dir);
	w.arena = arena_new(16 * MIB);
	assert_non_null(w.arena);
	w.conf.webhook_max_payload_size = MIB;
	w.conf.session_max_age_ms = 3600000;
	w.conf.session_max_total_ms = 7200000;
	w.conf.data = w.fixture.dir;
	w.conf.webhook_encryption_enabled = true;
	w.conf.webhook_encryption_key_source = "file";
	w.conf.webhook_encryption_key_file = "";
	w.conf.webhook_encryption_key_env_name = "";
	w.api.conf = &w.conf;
	w.api.store = w.fixture.store;
	assert_int_equal(db_open(w.api.store, DB_WRITE, &db, &e), OK);
	assert_int_equal(sealing_open(db, &w.conf, &w.api.keyring, &e), OK);
	assert_int_equal(accounts_first(db, STR("admin secret"), clock_now_us(),
			     made, &first, &e),
	    OK);
	assert_int_equal(
	    session_key_open(db, w.api.keyring, "", &w.api.session, &e), OK);
	db_close(db);
	start_threads();
	start_server();
	return 0;
}

static int
world_end(void **)
{
	atomic_store(&w.api.stopping, true);
	tail_hurry(w.api.tail);
	assert_true(server_drain(w.server, 5000));
	server_stop(w.server);
	pool_stop(w.api.hooks);
	pool_stop(w.api.check);
	pool_stop(w.api.read);
	auth_free(w.api.auth);
	resealer_end(w.api.resealer);
	append_stop(w.api.append);
	resealer_free(w.api.resealer);
	keyring_close(w.api.keyring);
	tail_stop(w.api.tail);
	limiter_free(w.api.limiter);
	limiter_free(w.api.people);
	limiter_free(w.api.networks);
	arena_free(w.arena);
	fixture_close(&w.fixture);
	return 0;
}

#define WITH_SERVER(f)                                                         \
	cmocka_unit_test_setup_teardown(f, world_begin, world_end)

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
