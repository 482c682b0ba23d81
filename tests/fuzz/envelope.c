/* The first line is a mask, the rest an event. Whatever is taken: its body is
 * taken again with the same ids and bytes, and is shown as valid JSON. Whatever
 * is refused: in words that can be shown. */
#include "event/envelope.h"

#include "event/mask.h"
#include "event/type/fault.h"
#include "seal/tenant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
same(const struct event *a, const struct event *b)
{
	assert(uuid_eq(a->event_id, b->event_id));
	assert(uuid_eq(a->tenant, b->tenant));
	assert(uuid_eq(a->correlation, b->correlation));
	assert(str_eq(a->type, b->type) && str_eq(a->key, b->key));
	assert(str_eq(a->tenant_name, b->tenant_name));
	assert(a->schema_version == b->schema_version);
	assert(a->has_rv == b->has_rv && a->rv_us == b->rv_us);
	assert(str_eq(a->body, b->body));
	assert(str_eq(a->payload_raw, b->payload_raw));
}

static void
shown(struct arena *a, const struct event *ev)
{
	struct buf b = BUF(4 * MIB);
	struct json *j = NULL;
	struct err e;

	envelope_show_all(&b, ev->body, 7, 0, STR("[]"));
	assert(!b.failed);
	if (json_parse(a, buf_str(&b), &j, &e) < 0)
		abort();
	assert(str_eq(json_get(j, "seq")->raw, STR("7")));
	assert(json_is(json_get(j, "deliveries"), JSON_ARRAY));
	buf_done(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a = arena_new(16 * MIB);
	struct str event = {(const char *)data, n};
	struct str first = str_cut(&event, '\n');
	const struct event_defaults d = {.tenant = tenant_default(),
	    .tenant_name = STR(TENANT_DEFAULT),
	    .producer = STR("{\"service\":\"fuzz\"}")};
	struct faults f = {.n = 0};
	struct envelope_opts o = {
	    .now_us = 1768048496789000, .defaults = &d, .faults = &f};
	struct event ev = {0}, again = {0};
	struct mask *m = NULL;
	struct err e = {0};

	if (mask_parse(a, first, &m, &e) == OK)
		o.mask = m;
	o.own = first.n % 2 == 1;
	if (envelope_parse(a, event, &o, &ev, &e) < 0) {
		assert(!ev.body.p && e.text[0]);
		assert(str_utf8_bad(str_of(e.at)) == strlen(e.at));
		assert(str_utf8_bad(str_of(e.text)) == strlen(e.text));
		assert(e.code != ERR_INVALID || !e.at[0] || f.n > 0);
	} else {
		assert(!ev.faults || ev.faults->n > 0);
		if (envelope_parse(a, ev.body, &o, &again, &e) < 0)
			abort();
		same(&ev, &again);
		shown(a, &ev);
	}
	o.strict = true;
	if (envelope_parse(a, event, &o, &again, &e) == OK)
		assert(ev.body.p && !ev.faults);
	arena_free(a);
	return 0;
}
