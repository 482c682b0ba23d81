/* A preset on the first line, `own` to the subscription behind it. Whatever is
 * taken: stored and loaded it is the same, shown and sent back it is taken
 * again, and a request is made or refused in words. Whatever is refused: in
 * words that can be shown. */

#include "base/conf/conf.h"
#include "contract/limits.h"
#include "contract/request.h"
#include "contract/sub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* "~" in front is a seal that is good enough to tell sealed from plain. */
static int
seal(const struct sub_seal *, struct arena *a, struct str plain,
    struct str *ret, struct err *e)
{
	*ret = arena_fmt(a, "~%.*s", STR_ARG(plain));
	return ret->p ? OK : err_set(e, ERR_LIMIT, "no memory");
}

static int
unseal(const struct sub_seal *, struct arena *a, struct str sealed,
    struct str *ret, struct err *e)
{
	if (!str_starts(sealed, STR("~")))
		return err_set(e, ERR_INVALID, "not sealed");
	*ret = arena_dup(a, str_from(sealed, 1));
	return ret->p ? OK : err_set(e, ERR_LIMIT, "no memory");
}

static const struct sub_seal SEAL = {.seal = seal, .unseal = unseal};

static void
words(const struct err *e)
{
	assert(e->text[0]);
	assert(str_utf8_bad(str_of(e->at)) == strlen(e->at));
	assert(str_utf8_bad(str_of(e->text)) == strlen(e->text));
}

static struct str
stored(struct arena *a, const struct sub_conf *s)
{
	struct str text = STR_EMPTY;
	struct err e;

	if (sub_store(s, &SEAL, a, &text, &e) < 0)
		assert(e.code == ERR_LIMIT);
	return text;
}

static void
send_back(
    struct arena *a, const struct sub_rules *rules, const struct sub_conf *s)
{
	struct buf b = BUF(2 * SUB_STORED_MAX);
	struct sub_conf *t = NULL;
	struct err e;

	buf_addc(&b, '{');
	sub_show(s, false, &b);
	buf_addc(&b, '}');
	if (!b.failed && b.n <= SUB_STORED_MAX) {
		if (sub_read(buf_str(&b), s, rules, &t, &e) < 0)
			abort();
		assert(stored(a, t).n > 0);
	}
	sub_free(t);
	buf_done(&b);
}

static void
use(struct arena *a, const struct sub_conf *s)
{
	struct request_event ev = {.type = STR("user.created"),
	    .key = STR("k"),
	    .body = STR("{\"payload\":{\"user\":{\"accountId\":\"a\"}}}")};
	struct request_attempt at = {
	    .number = 1, .now_us = 1700000000000000, .access_token = STR("t")};
	enum reason reason = REASON_NONE;
	struct request r;
	struct str key;
	struct err e = {0};
	struct buf b = BUF(64 * KIB);

	if (request_make(a, s, &ev, &at, &r, &reason, &e) == OK) {
		for (size_t i = 0; i < r.n; i++)
			assert(!str_has(r.headers[i].value, '\n') &&
			       !str_has(r.headers[i].value, '\r'));
		request_head(&r, &b);
		assert(b.n <= REQUEST_HEAD_MAX);
	} else {
		words(&e);
		assert(e.code == ERR_LIMIT || reason != REASON_NONE);
	}
	if (request_key(a, s, &ev, &s->preset->order_key, &key, &e) < 0)
		words(&e);
	if (preflight_make(a, s, &ev, &at, &r, &reason, &e) < 0)
		words(&e);
	buf_done(&b);
}

static void
taken(struct arena *a, const struct sub_rules *rules, struct sub_conf *s)
{
	struct str one = stored(a, s);
	struct sub_conf *t = NULL;
	struct err e;

	if (one.n > 0) {
		if (sub_load(one, rules->presets, &SEAL, &t, &e) < 0)
			abort();
		assert(str_eq(one, stored(a, t)));
		send_back(a, rules, s);
		sub_free(t);
	}
	use(a, s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a = arena_new(64 * MIB);
	struct str text = {(const char *)data, n};
	struct str first = str_cut(&text, '\n');
	const struct preset *own = NULL;
	struct presets *presets = NULL;
	struct sub_rules rules;
	struct sub_conf *s = NULL;
	struct conf conf;
	struct err e = {0};

	if (conf_init(&conf, &e) < 0)
		abort();
	presets = presets_load(&conf);
	if (preset_parse(STR("own"), first, &conf, &own, &e) < 0)
		words(&e);
	else if (presets_put(presets, own, &e) < 0)
		abort();
	rules = (struct sub_rules){.presets = presets, .conf = &conf};
	if (sub_read(text, NULL, &rules, &s, &e) < 0)
		words(&e);
	else
		taken(a, &rules, s);
	sub_free(s);
	presets_free(presets);
	conf_done(&conf);
	arena_free(a);
	return 0;
}
