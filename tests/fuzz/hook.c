/* The first byte chooses a source, the rest is a request to it: headers, an
 * empty line, the body. Nobody who lacks the secret is verified; what is made
 * of a body is JSON, or refused in words that can be shown. */
#include "source/hook.h"

#include "base/conf/conf.h"
#include "contract/preset.h"
#include "event/envelope.h"
#include "source/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define DEFAULTS                                                               \
	"\"defaults\":{\"tenantId\":\"0198c2f0-7d1e-7a3b-8c4d-5e6f70819203\"," \
	"\"eventType\":\"x.{/type}.{X-A}\",\"partitionKey\":\"{/a/b}\"}"
#define SECRET "\"secret\":\"a secret that nobody guesses\","

static const char *const CONFS[] = {
    "{\"scheme\":\"github\"," SECRET DEFAULTS "}",
    "{\"scheme\":\"stripe\"," SECRET DEFAULTS "}",
    "{\"scheme\":\"standard\",\"secret\":"
    "\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"," DEFAULTS "}",
    "{\"scheme\":\"standard\",\"secret\":"
    "\"whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=\"," DEFAULTS "}",
    "{\"scheme\":\"repository\"," SECRET DEFAULTS "}",
    "{\"scheme\":\"task\"," SECRET DEFAULTS "}",
    "{\"scheme\":\"basic\",\"username\":\"u\"," SECRET DEFAULTS "}",
    "{\"scheme\":\"bearer\"," SECRET DEFAULTS "}",
    "{\"scheme\":\"cloudevents\",\"secret\":"
    "\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"," DEFAULTS "}",
};
static struct hook *hooks[COUNT_OF(CONFS)];

static void
prepare(void)
{
	static struct presets *presets;
	static struct conf conf;
	struct hook_rules rules;
	struct err e;

	if (presets)
		return;
	presets = presets_load(&conf);
	rules = (struct hook_rules){.presets = presets};
	for (size_t i = 0; i < COUNT_OF(CONFS); i++)
		if (hook_read(str_of(CONFS[i]), STR("fuzz"), NULL, &rules,
			&hooks[i], &e) < 0)
			abort();
}

static void
made(struct arena *a, const struct hook_made *m)
{
	const struct envelope_opts o = {.now_us = 1768048496789000};

	for (size_t i = 0; i < m->n; i++) {
		struct event ev;
		struct err e = m->items[i].wrong;

		if (e.code == OK &&
		    envelope_parse(a, m->items[i].text, &o, &ev, &e) == OK)
			continue;
		assert(e.text[0]);
		assert(str_utf8_bad(str_of(e.at)) == strlen(e.at));
	}
	assert(m->n > 0 || m->why);
	assert(str_utf8_bad(m->ref) == m->ref.n && m->ref.n > 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a;
	struct str text = {(const char *)data + 1, n - 1};
	struct hook_request q = {
	    .peer = STR("192.0.2.1"), .now_us = 1614265330000000};
	enum receive_result v = RECEIVE_OK;
	struct hook_made m = {0};
	struct err e = {0};

	if (n < 1)
		return 0;
	prepare();
	a = arena_new(HOOK_SCRATCH_MAX);
	if (receive_parse(a, text, &q.in, &e) == OK) {
		const struct hook *h = hooks[data[0] % COUNT_OF(CONFS)];

		if (hook_verify(h, &q, &v, &e) < 0 || v == RECEIVE_OK)
			abort();
		if (hook_events(h, &q, NULL, a, &m, &e) == OK)
			made(a, &m);
	}
	arena_free(a);
	return 0;
}
