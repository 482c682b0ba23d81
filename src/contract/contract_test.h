/*
 * contract_test.h - what the tests of requests share: presets, an event, an attempt.
 *
 * For *_test.c only, which have included base/test.h before.
 */
#pragma once

#include "base/conf/conf.h"
#include "contract/request.h"

#define NOW     (INT64_C(1700000000) * US_PER_S + 123456)
#define ID      "0190b8a0-1111-4111-8111-111111111111"
#define EVENT   "0190b8a0-0000-7000-8000-00000000000a"
#define TENANT  "0190b8a0-0000-7000-8000-00000000000b"
#define CORR    "0190b8a0-0000-7000-8000-00000000000c"
#define SECRET  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define PAYLOAD "{\"n\":1.50,\"s\":\"é\"}"
#define ENVELOPE                                                               \
	"{\"eventId\":\"" EVENT "\",\"correlationId\":\"" CORR "\","           \
	"\"producer\":{\"service\":\"core app\",\"instanceId\":\"i\"},"        \
	"\"payload\": " PAYLOAD " }"
#define BASE "\"name\":\"n\",\"url\":\"https://h.example/x\""
#define HUB                                                                    \
	"{\"name\":\"h\",\"preset\":\"hub\",\"url\":\"https://alb/r/\","       \
	"\"hub\":{\"tenant\":\"tenant1\",\"domain\":\"hub.example\","          \
	"\"sharedInternalKey\":\"hush1\",\"eventApiKey\":\"hush3\","           \
	"\"organizationId\":{\"pointer\":\"/payload/org\"},"                   \
	"\"servicePartition\":\"part\",\"sender\":\"pca-id\"%s}}"
#define OTP  ",\"otp\":{\"secret\":\"hush2\"}"
#define USER "{\"payload\":{\"user\":{\"accountId\":\"acc 1\"},\"org\":7}}"

struct world {
	struct conf conf;
	struct presets *presets;
	struct arena *arena;
	struct sub_rules rules;
	struct request_event ev;
	struct request_attempt at;
};

static inline struct uuid
uuid(const char *z)
{
	struct uuid u;

	assert_true(uuid_parse(str_of(z), &u));
	return u;
}

static inline int
setup(void **state)
{
	static struct world w;
	struct err e;

	assert_int_equal(conf_init(&w.conf, &e), OK);
	w.presets = presets_load(&w.conf);
	w.arena = arena_new(64 * MIB);
	w.rules = (struct sub_rules){
	    .presets = w.presets, .conf = &w.conf, .now_us = NOW};
	w.ev = (struct request_event){.event_id = uuid(EVENT),
	    .tenant = uuid(TENANT),
	    .type = STR("cmis.updated"),
	    .key = STR("ké 1"),
	    .received_us = NOW - 1123456,
	    .seq = 42,
	    .body = STR(ENVELOPE)};
	w.at = (struct request_attempt){.delivery_id = uuid(ID),
	    .subscription_id = uuid(TENANT),
	    .number = 1,
	    .now_us = NOW};
	*state = &w;
	return 0;
}

static inline int
teardown(void **state)
{
	struct world *w = *state;

	presets_free(w->presets);
	arena_free(w->arena);
	conf_done(&w->conf);
	return 0;
}

static inline struct sub_conf *
sub(struct world *w, const char *json)
{
	struct sub_conf *s = NULL;
	struct err e;

	if (sub_read(str_of(json), NULL, &w->rules, &s, &e) != OK)
		fail_msg("%s: %s %s", json, e.at, e.text);
	return s;
}

static inline struct sub_conf *
hub(struct world *w, const char *more)
{
	char json[1024], all[512];

	(void)snprintf(all, sizeof(all), "%s%s", more,
	    strstr(more, "\"otp\"") ? "" : ",\"otp\":null");
	(void)snprintf(json, sizeof(json), HUB, all);
	return sub(w, json);
}

/* The whole head as text, nothing masked. */
static inline const char *
head(struct world *w, const struct request *r)
{
	struct buf b = BUF(64 * KIB);
	const char *z;

	buf_fmt(&b, "%.*s %.*s\n", STR_ARG(r->method), STR_ARG(r->url));
	for (size_t i = 0; i < r->n; i++)
		buf_fmt(&b, "%.*s%s: %.*s\n", STR_ARG(r->headers[i].name),
		    r->headers[i].secret ? "*" : "",
		    STR_ARG(r->headers[i].value));
	z = arena_z(w->arena, buf_str(&b));
	buf_done(&b);
	return z;
}

static inline struct request
make(struct world *w, const struct sub_conf *s)
{
	struct request r;
	enum reason reason = REASON_NONE;
	struct err e;

	if (request_make(w->arena, s, &w->ev, &w->at, &r, &reason, &e) != OK)
		fail_msg("%s: %s", reason_name(reason), e.text);
	return r;
}
