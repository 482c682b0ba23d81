#include "http/client/caller.h"

#include "base/test.h"
#include "http/client/client_test.h"
#include "loop/thread.h"

static struct guard *guard;
static struct script_server server;

/* /silent never answers; all else is answered at once. */
static void
script(struct peer *p)
{
	while (read_request(p)) {
		if (strcmp(p->path, "/silent") == 0)
			(void)peer_more(p);
		else
			(void)answer(p, "200 OK", "", STR("hello"));
	}
}

static int
setup(void **)
{
	server.script = script;
	script_start(&server);
	guard = test_guard("127.0.0.0/8", false);
	return 0;
}

static int
teardown(void **)
{
	script_stop(&server);
	guard_free(guard);
	return 0;
}

static struct caller *
start(void)
{
	struct client_opts o = {.guard = guard,
	    .dns_timeout_ms = 1000,
	    .connections_max = 8,
	    .connections_each = 8,
	    .body_max = MIB};
	struct caller *c = NULL;
	struct err e;

	if (caller_start(&o, &c, &e) < 0)
		fail_msg("%s", e.text);
	return c;
}

/* One call: `times` sends, one after the other. */
struct errand {
	struct call call;
	struct client_send send;
	struct client *client;
	char url[64];
	int times;
	enum client_result last;
	_Atomic int done;
};

static void
went(struct client_send *s, const struct client_answer *a)
{
	struct errand *t = MAIL_OF(s, struct errand, send);

	t->last = a->result;
	if (a->result == CLIENT_ANSWERED && --t->times > 0)
		client_start(t->client, &t->send);
	else
		atomic_store(&t->done, 1);
}

static void
go(struct call *call, struct client *client)
{
	struct errand *t = MAIL_OF(call, struct errand, call);

	t->client = client;
	client_start(client, &t->send);
}

static void
prepare(struct errand *t, const char *path, int times)
{
	*t = (struct errand){.call = {.run = go},
	    .times = times,
	    .send = {.method = GET,
		.use = GUARD_WEBHOOK,
		.connect_ms = 5000,
		.total_ms = 20000,
		.keep_max = 100,
		.done = went}};
	(void)snprintf(
	    t->url, sizeof(t->url), "http://127.0.0.1:%d%s", server.port, path);
	t->send.url = str_of(t->url);
}

enum { THREADS = 4, EACH = 25 };

struct poster {
	struct caller *caller;
	struct errand errands[EACH];
};

static void
post(void *arg)
{
	struct poster *p = arg;

	for (int i = 0; i < EACH; i++) {
		prepare(&p->errands[i], "/x", 3);
		if (!caller_post(p->caller, &p->errands[i].call))
			abort();
	}
}

/* Posted by many, each is run, and sends follow one another. */
static void
test_many(void **)
{
	static struct poster posters[THREADS];
	struct thread *threads[THREADS];
	struct caller *c = start();
	int64_t until = clock_mono_ms() + 30000;
	struct err e;

	for (int i = 0; i < THREADS; i++) {
		posters[i].caller = c;
		assert_int_equal(
		    thread_start("post", post, &posters[i], &threads[i], &e),
		    OK);
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	for (int i = 0; i < THREADS * EACH; i++) {
		struct errand *t = &posters[i / EACH].errands[i % EACH];

		while (!atomic_load(&t->done) && clock_mono_ms() < until)
			(void)poll(NULL, 0, 5);
		assert_int_equal(atomic_load(&t->done), 1);
		assert_int_equal(t->last, CLIENT_ANSWERED);
		assert_int_equal(t->times, 0);
	}
	caller_stop(c);
}

/* Whoever waits when it is stopped is told; whoever comes later is refused. */
static void
test_stop(void **)
{
	struct errand waits, late;
	struct caller *c = start();

	prepare(&waits, "/silent", 1);
	prepare(&late, "/silent", 1);
	assert_true(caller_post(c, &waits.call));
	(void)poll(NULL, 0, 100);
	assert_int_equal(atomic_load(&waits.done), 0);
	assert_true(caller_post(c, &late.call));
	caller_stop(c);
	assert_int_equal(atomic_load(&waits.done), 1);
	assert_int_equal(waits.last, CLIENT_CANCELLED);
	assert_int_equal(atomic_load(&late.done), 1);
	assert_int_equal(late.last, CLIENT_CANCELLED);
	caller_stop(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
