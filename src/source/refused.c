#include "source/refused.h"

#include "audit/audit.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/verdict.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "event/mask.h"
#include "event/tenants.h"
#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/tenant.h"
#include "source/limits.h"
#include "sql.h"

/* Twice the copy when each byte is escaped, and what stands around it. */
#define BODY_MAX    (2 * REFUSED_COPY_MAX + 16 * KIB)
#define REASON_SHOW 512

static struct uuid
id_of(const struct refused *x)
{
	struct buf b CLEANUP(buf_done) =
	    BUF(EVENT_KEY_MAX + REFUSED_REF_MAX + 128);
	unsigned char digest[DIGEST_LEN];

	digest_sha256(x->copy, digest);
	buf_fmt(&b, "%s %zu ", REFUSED_TYPE, x->source.n);
	buf_add(&b, x->source);
	buf_addc(&b, ' ');
	buf_add(&b, x->ref);
	buf_addc(&b, ' ');
	buf_add(&b, (struct str){(const char *)digest, sizeof(digest)});
	digest_sha256(buf_str(&b), digest);
	return uuid_from_digest(digest);
}

/* Readable as it stands: UTF-8 without control characters but blanks. */
static bool
is_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
		    c == 0x7f)
			return false;
	}
	return str_utf8_bad(s) == s.n;
}

static struct str
masked(struct arena *a, const struct mask *mask, struct str copy)
{
	struct json *j = NULL;
	const struct json *type;
	struct str out;
	struct err e;

	if (!mask || json_parse(a, copy, &j, &e) < 0 || j->type != JSON_OBJECT)
		return copy;
	type = json_get(j, "eventType");
	if (mask_apply(a, mask, type ? type->text : STR_EMPTY, j, &out, &e) < 0)
		return STR_EMPTY; /* better none than one with what it hides */
	return out;
}

static void
add_copy(struct buf *b, struct str copy, size_t came, bool partly)
{
	bool cut = copy.n > REFUSED_COPY_MAX;
	bool text;

	if (cut)
		copy.n = REFUSED_COPY_MAX;
	/* A cut may fall inside a character. */
	for (int i = 0; cut && i < 3 && str_utf8_bad(copy) < copy.n &&
			str_utf8_bad(copy) + 4 > copy.n;
	     i++)
		copy.n--;
	text = is_text(copy);
	put_z(b, "encoding", text ? "text" : "base64");
	put_int(b, "bytes", (int64_t)came);
	put_bool(b, "truncated", cut || partly);
	put_name(b, "copy");
	if (text) {
		buf_json(b, copy);
	} else {
		buf_addc(b, '"');
		base64_add(b, copy);
		buf_addc(b, '"');
	}
}

static void
add_text(struct buf *b, const char *name, struct str s)
{
	put_name(b, name);
	buf_json(b, str_utf8_bad(s) == s.n ? s : STR("?"));
}

int
refused_entry(struct arena *a, const struct refused *x, const struct mask *mask,
    int64_t now_us, struct entry *ret, struct err *e)
{
	struct envelope_opts o = {.now_us = now_us, .own = true};
	struct refused y = *x;
	struct buf b CLEANUP(buf_done) = BUF(BODY_MAX);
	struct event ev;
	struct str text;

	if (y.ref.n > REFUSED_REF_MAX)
		y.ref.n = REFUSED_REF_MAX;
	y.reason = str_chars(y.reason, REASON_SHOW);
	put_open(&b, NULL, '{');
	put_uuid(&b, "eventId", id_of(&y));
	put_z(&b, "eventType", REFUSED_TYPE);
	put_int(&b, "schemaVersion", 1);
	put_uuid(&b, "tenantId", (struct uuid){{0}});
	put_open(&b, "producer", '{');
	put_z(&b, "service", "hikyaku");
	put_z(&b, "instanceId", "1");
	put_close(&b, '}');
	if (y.correlation)
		put_uuid(&b, "correlationId", *y.correlation);
	put_open(&b, "sequence", '{');
	add_text(&b, "partitionKey", y.source);
	put_close(&b, '}');
	put_open(&b, "payload", '{');
	add_text(&b, "source", y.source);
	add_text(&b, "ref", y.ref);
	add_text(&b, "reason", y.reason);
	add_text(&b, "pointer", y.pointer);
	add_copy(&b, masked(a, mask, y.copy), y.copy.n, y.truncated);
	put_close(&b, '}');
	put_close(&b, '}');
	if (b.failed)
		return err_set(e, ERR_LIMIT, "a refused event is too long");
	text = arena_dup(a, buf_str(&b));
	TRY(envelope_parse(a, text, &o, &ev, e));
	entry_fill(ret, &ev, text);
	return OK;
}

bool
refused_is(const struct entry *en)
{
	return str_eq(en->type, STR(REFUSED_TYPE));
}

static int
audit_one(struct db *db, struct arena *a, const struct entry *en,
    int64_t now_us, struct err *e)
{
	char id[UUID_LEN + 1];
	struct refused x;

	TRY(refused_open(a, en->body, &x, e));
	uuid_format(en->event_id, id);
	return audit_put(db,
	    &(struct audit_row){
		.category = AUDIT_SOURCE_REFUSED,
		.at_us = now_us,
		.target_type = STR("source"),
		.object_id = x.ref,
		.object_name = x.source,
		.event_type = en->type,
		.has_result = true,
		.error = x.reason,
		.payload_bytes = (int64_t)x.copy.n,
		.details = arena_fmt(a, "\"eventId\":\"%s\",\"seq\":%lld", id,
		    (long long)en->seq),
	    },
	    e);
}

/* A known one has its dead letter, or somebody has decided on it. */
static bool
is_new(const struct entry *en)
{
	return refused_is(en) && en->state == ENTRY_NEW;
}

/* What its copy says that it is: a text, or nothing. */
static struct str
said(const struct json *j, const char *name, size_t most)
{
	const struct json *v = json_get(j, name);

	return json_is(v, JSON_STRING) && v->text.n > 0 && v->text.n <= most
		   ? v->text
		   : (struct str){.p = NULL};
}

static int
put_letter(struct db *db, struct arena *a, const struct entry *en,
    int64_t now_us, struct err *e)
{
	struct json *j = NULL;
	struct refused x;
	struct uuid tenant;
	struct str t;
	struct err odd;

	TRY(refused_open(a, en->body, &x, e));
	if (json_parse(a, x.copy, &j, &odd) < 0)
		j = NULL;
	t = said(j, "tenantId", TENANT_MAX);
	if (!tenant_parse(t, &tenant))
		t = (struct str){.p = NULL};
	else if (!tenant_is_uuid(t))
		TRY(tenants_note(db, tenant, t, e));
	if (t.p)
		t = uuid_str(&tenant);
	return sql_dead_refused(db, e, .seq = en->seq, .reason = REASON_SCHEMA,
		   .at = now_us, .error = x.reason,
		   .event_id = uuid_str(&en->event_id), .source = en->key,
		   .tenant = t, .type = said(j, "eventType", EVENT_TYPE_MAX),
		   .pkey = said(json_get(j, "sequence"), "partitionKey",
		       EVENT_KEY_MAX)) < 0
		   ? (int)e->code
		   : OK;
}

int
refused_store(struct db *db, const struct entry *v, size_t n, int64_t now_us,
    struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(REFUSED_MEM);

	for (size_t i = 0; i < n; i++) {
		if (is_new(&v[i]))
			TRY(put_letter(db, a, &v[i], now_us, e));
		arena_reset(a);
	}
	/* Behind all else (audit.h, LIFE). */
	for (size_t i = 0; i < n; i++) {
		if (is_new(&v[i]))
			TRY(audit_one(db, a, &v[i], now_us, e));
		arena_reset(a);
	}
	return OK;
}

static void
refused_tell(struct arena *a, const struct entry *en)
{
	struct log_line l;
	struct refused x;
	struct err e;

	if (refused_open(a, en->body, &x, &e) < 0)
		return;
	log_begin(&l, LOG_WARN, "source refused");
	log_str(&l, "source", x.source);
	log_str(&l, "ref", x.ref);
	log_str(&l, "pointer", x.pointer);
	log_str(&l, "reason", x.reason);
	log_uuid(&l, "correlationId", en->correlation);
	log_int(&l, "seq", en->seq);
	log_end(&l);
}

size_t
refused_told(const struct entry *v, size_t n)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(REFUSED_MEM);
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_new(&v[i]))
			continue;
		count++;
		refused_tell(a, &v[i]);
		arena_reset(a);
	}
	metric_add(M_SOURCE_REFUSED, (int64_t)count);
	return count;
}

/* By itself ------------------------------------------------------------------ */

static int
store_it(struct db *db, void *ctx, struct err *e)
{
	const struct refused_post *x = ctx;

	return refused_store(db, &x->entry, 1, x->now_us, e);
}

static void
stored(struct append_job *job)
{
	struct refused_post *x = job->ctx;

	if (job->err.code == OK)
		(void)refused_told(&x->entry, 1);
	x->done(x);
}

int
refused_post(struct append *append, struct refused_post *x, struct err *e)
{
	x->job = (struct append_job){
	    .entries = &x->entry,
	    .n = 1,
	    .after = store_it,
	    .ctx = x,
	    .done = stored,
	};
	return append_post(append, &x->job, e);
}

/* Back ------------------------------------------------------------------------ */

static struct str
refused_text_of(const struct json *payload, const char *name)
{
	const struct json *j = json_get(payload, name);

	return j ? j->text : STR_EMPTY;
}

int
refused_open(
    struct arena *a, struct str body, struct refused *ret, struct err *e)
{
	const struct json *payload;
	struct refused x = {0};
	struct json *j;

	TRY(json_parse(a, body, &j, e));
	payload = json_get(j, "payload");
	if (!json_is(json_get(payload, "copy"), JSON_STRING))
		return err_set(e, ERR_STORE, "it has no copy");
	x.source = refused_text_of(payload, "source");
	x.ref = refused_text_of(payload, "ref");
	x.pointer = refused_text_of(payload, "pointer");
	x.reason = refused_text_of(payload, "reason");
	x.copy = refused_text_of(payload, "copy");
	x.truncated = json_is(json_get(payload, "truncated"), JSON_TRUE);
	if (str_eq(refused_text_of(payload, "encoding"), STR("base64"))) {
		char *raw = arena_alloc(a, x.copy.n + 1);
		size_t n = 0;

		if (!base64_read(x.copy, raw, x.copy.n, &n))
			return err_set(e, ERR_STORE, "its copy is damaged");
		x.copy = (struct str){raw, n};
	}
	*ret = x;
	return OK;
}
