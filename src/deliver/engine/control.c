#include "deliver/engine/control.h"

#include "base/log/log.h"
#include "deliver/engine/wish.h"
#include "event/envelope.h"
#include "seal/digest.h"
#include "sql.h"

void
control_entry(struct entry *en, const char *type)
{
	*en = (struct entry){
	    .event_id = uuid_v4(),
	    .type = str_of(type),
	    .key = STR_EMPTY,
	    .body = STR_EMPTY,
	    .kind = ENTRY_CONFIG,
	};
	digest_short(uuid_str(&en->event_id), en->hash);
}

int
control_event(struct arena *a, const char *type, struct str key,
    struct str payload, int64_t now_us, struct entry *ret, struct err *e)
{
	struct envelope_opts o = {.now_us = now_us, .own = true};
	struct buf b CLEANUP(buf_done) = BUF(1 * MIB);
	struct event ev;
	struct str text;

	buf_fmt(&b, "{\"eventType\":\"%s\",\"schemaVersion\":1,\"tenantId\":\"",
	    type);
	uuid_add(&b, (struct uuid){{0}}); /* nobody's */
	buf_addz(&b, "\",\"producer\":{\"service\":\"hikyaku\",\"instanceId\":"
		     "\"1\"},\"sequence\":{\"partitionKey\":");
	buf_json(&b, key);
	buf_addz(&b, "},\"payload\":");
	buf_add(&b, payload);
	buf_addc(&b, '}');
	text = b.failed ? STR_EMPTY : arena_dup(a, buf_str(&b));
	TRY(envelope_parse(a, text, &o, &ev, e));
	entry_fill(ret, &ev, text);
	return OK;
}

struct telling {
	struct append_job job;
	struct entry entry;
	struct arena *arena;
};

static void
telling_done(struct append_job *job)
{
	struct telling *t = job->ctx;

	if (job->err.code < 0)
		log_err(LOG_WARN, "an alert could not be stored", &job->err);
	arena_free(t->arena);
	free(t);
}

void
control_tell(
    struct append *append, const char *type, struct str payload, int64_t now_us)
{
	struct telling *t = mem_get(sizeof(*t));
	struct err e = {0};
	int rc;

	t->arena = arena_new(64 * KIB);
	rc = control_event(t->arena, type, STR("subscription"), payload, now_us,
	    &t->entry, &e);
	t->job = (struct append_job){
	    .entries = &t->entry, .n = 1, .ctx = t, .done = telling_done};
	if (rc == OK)
		rc = append_post(append, &t->job, &e);
	if (rc < 0) {
		t->job.err = e;
		telling_done(&t->job);
	}
}

/* Commit thread ------------------------------------------------------------- */

static int
make(struct db *db, struct sub_change *c, struct err *e)
{
	struct sql_sub_insert_row row;
	int made = TRY(sql_sub_insert_one(db, &row, e, .uid = uuid_str(&c->uid),
	    .name = c->name, .url = c->url, .preset = c->preset,
	    .conf = c->conf, .enabled = c->enabled, .managed_by = c->managed_by,
	    .owner = c->owner ? &c->owner : NULL, .tenants = c->tenants,
	    .now = c->now_us));

	if (made)
		c->id = row.id;
	return 1;
}

/* 0: it is not as it was. */
static int
change(struct db *db, struct sub_change *c, struct err *e)
{
	switch (c->kind) {
	case SUB_MAKE:
		return make(db, c, e);
	case SUB_CHANGE:
		return (int)sql_sub_update(db, e, .id = c->id, .name = c->name,
		    .url = c->url, .preset = c->preset, .conf = c->conf,
		    .enabled = c->enabled, .why = c->why, .held = c->held,
		    .tenants = c->tenants, .now = c->now_us,
		    .version = c->version);
	case SUB_HOLD:
		return (int)sql_sub_hold(db, e, .id = c->id, .held = c->held,
		    .now = c->now_us, .version = c->version);
	case SUB_SWITCH:
		return (int)sql_sub_switch(db, e, .id = c->id,
		    .enabled = c->enabled, .why = c->why, .now = c->now_us);
	case SUB_FINISH:
		break;
	}
	return 1;
}

static int
before(struct db *db, void *ctx, struct err *e)
{
	struct sub_change *c = ctx;

	if (c->fill)
		TRY(c->fill(db, c, e));
	if (TRY(change(db, c, e)) == 0)
		return err_set(
		    e, ERR_CONFLICT, "the subscription was changed meanwhile");
	c->entries[0].to_sub = c->id;
	return OK;
}

/* What has to do with its place in the log. 0: it is gone. */
static int
place(struct db *db, const struct sub_change *c, struct err *e)
{
	int64_t seq = c->entries[0].seq;
	int n;

	if (c->kind == SUB_MAKE) {
		if (c->reads && c->from_seq >= 0 && c->from_seq < seq)
			seq = c->from_seq;
		n = TRY((int)sql_sub_from(db, e, .id = c->id, .seq = seq));
		if (n == 0 || !c->reads)
			return n;
		return (int)sql_reader_put(db, e, .sub = c->id, .okey = 0,
		    .rep = 0, .pos = seq, .until_seq = 0);
	}
	if (c->kind == SUB_FINISH) {
		if (TRY((int)sql_sub_until(
			db, e, .id = c->id, .seq = seq, .now = c->now_us)) == 0)
			return 0;
		TRY((int)sql_batch_end(db, e, .sub = c->id));
		TRY((int)sql_batch_kind_end(db, e, .sub = c->id));
	}
	if (c->kind == SUB_CHANGE && c->was_kind >= 0) {
		TRY((int)sql_batch_kind_old(db, e, .sub = c->id));
		TRY((int)sql_batch_kind_put(db, e, .sub = c->id,
		    .until_seq = seq, .kind = c->was_kind));
	}
	return 1;
}

static int
after(struct db *db, void *ctx, struct err *e)
{
	struct sub_change *c = ctx;

	if (TRY(place(db, c, e)) == 0)
		return err_set(e, ERR_ABSENT, "the subscription is gone");
	return c->audit.at_us ? audit_put(db, &c->audit, e) : OK;
}

int
control_post(struct append *append, struct sub_change *c, struct err *e)
{
	control_entry(&c->entries[0], "subscription");
	c->job.entries = c->entries;
	c->job.n = 1 + (c->has_event ? 1 : 0);
	c->job.fn = before;
	c->job.after = after;
	c->job.ctx = c;
	return append_post(append, &c->job, e);
}

/* Presets ------------------------------------------------------------------- */

static int
in_use(struct db *db, struct str name, struct err *e)
{
	struct sql_preset_user_row row;
	struct arena *a CLEANUP(arena_freep) = arena_new(4 * KIB);

	if (TRY(sql_preset_user_one(db, a, &row, e, .name = name)) == 0)
		return OK;
	return err_set(e, ERR_CONFLICT, "the subscription %.*s uses it",
	    row.name.n < 64 ? (int)row.name.n : 64, row.name.p);
}

static int
preset_before(struct db *db, void *ctx, struct err *e)
{
	struct preset_change *c = ctx;

	if (c->conf.p)
		TRY((int)sql_preset_put(
		    db, e, .name = c->name, .conf = c->conf, .now = c->now_us));
	else
		TRY(in_use(db, c->name, e));
	if (!c->conf.p && TRY((int)sql_preset_del(db, e, .name = c->name)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such preset");
	return OK;
}

static int
preset_after(struct db *db, void *ctx, struct err *e)
{
	struct preset_change *c = ctx;

	return audit_put(db, &c->audit, e);
}

int
control_preset(struct append *append, struct preset_change *c, struct err *e)
{
	control_entry(&c->entry, "preset");
	c->entry.key = c->name;
	c->job.entries = &c->entry;
	c->job.n = 1;
	c->job.fn = preset_before;
	c->job.after = preset_after;
	c->job.ctx = c;
	return append_post(append, &c->job, e);
}

/* Gone for good --------------------------------------------------------------- */

struct gone {
	struct sub_change change;
	struct arena *arena;
};

static void
gone_done(struct append_job *job)
{
	const struct sub_change *c = job->ctx;
	struct gone *g = c->arg;

	if (job->err.code < 0 && job->err.code != ERR_CONFLICT)
		log_err(LOG_ERROR, "a subscription could not be disabled",
		    &job->err);
	arena_free(g->arena);
	free(g);
}

/* Several may have been under way: one of them disables and tells of it. */
static int
still_enabled(struct db *db, struct sub_change *c, struct err *e)
{
	const struct gone *g = c->arg;
	struct sql_subs_page_row row;

	if (TRY(sql_subs_one_one(db, g->arena, &row, e, .id = c->id)) > 0 &&
	    row.enabled)
		return OK;
	return err_set(e, ERR_CONFLICT, "it is disabled already");
}

void
control_gone(
    struct append *append, const struct wish *w, bool tell, int64_t now)
{
	static const char WHY[] = "the receiver answered 410 Gone";
	struct gone *g = mem_get(sizeof(*g));
	struct sub_change *c = &g->change;
	struct arena *a = arena_new(64 * KIB);
	struct buf b CLEANUP(buf_done) = BUF(1 * KIB);
	char *id = arena_alloc(a, UUID_LEN + 1);
	struct err e = {0};
	int rc;

	uuid_format(w->uid, id);
	g->arena = a;
	*c = (struct sub_change){
	    .kind = SUB_SWITCH,
	    .id = w->core.id,
	    .why = STR(WHY),
	    .now_us = now,
	    .fill = still_enabled,
	    .job = {.ctx = c, .done = gone_done},
	    .arg = g, /* gone_done() frees it */
	    .audit =
		{
		    .category = AUDIT_SUBSCRIPTION_DISABLED,
		    .at_us = now,
		    .target_type = STR("subscription"),
		    .webhook_id = str_of(id),
		    .has_result = true,
		    .status = 410,
		    .error = STR(WHY),
		},
	};
	buf_fmt(&b, "{\"subscriptionId\":\"%s\",\"reason\":\"%s\"}", id, WHY);
	rc = control_event(a, "ops.endpoint.disabled", STR("subscription"),
	    buf_str(&b), now, &c->entries[1], &e);
	c->has_event = tell;
	if (rc == OK)
		rc = control_post(append, c, &e);
	if (rc < 0) {
		c->job.err = e;
		gone_done(&c->job);
	}
}
