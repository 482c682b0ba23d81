#include "crm/core.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "crm/core_priv.h"
#include "crm/outbox.h"
#include "crm_sql.h"

/* What no event shows: section 7 of the seed. */
static const char *const CORE_SECRET[] = {
    "Amount", "DiscountPercent", "Email", "GrandTotal", "Phone"};

static const struct {
	const char *name;
	bool closed, won;
} STAGES[] = {
    {"Closed Won", true, true},
    {"Closed Lost", true, false},
};

static bool
secret(struct str field)
{
	for (size_t i = 0; i < COUNT_OF(CORE_SECRET); i++)
		if (str_eq(field, str_of(CORE_SECRET[i])))
			return true;
	return false;
}

/* One save ------------------------------------------------------------------ */

struct save {
	struct core *core;
	struct outbox out;
	struct str object, id, owner;
	int64_t version_us;
	char version[TIME_LEN + 1];
};

static struct outbox
begin(struct core *c)
{
	return outbox_begin(c->db, "core-platform", c->tenant);
}

/* A version never stands still, whatever the clock does. */
static void
save_begin(struct save *s, struct core *c, const struct outbox *o,
    struct str object, struct str id, struct str owner, int64_t last_us)
{
	*s = (struct save){.core = c,
	    .out = *o,
	    .object = object,
	    .id = id,
	    .owner = owner,
	    .version_us =
		o->now_us > last_us ? o->now_us : last_us + US_PER_MS};
	time_format(s->version_us, s->version);
}

/* Ends the payload that was begun with "{": the version is in each. */
static int
emit_key(struct save *s, const char *type, struct str key, struct buf *b,
    struct err *e)
{
	struct outbox_event ev = {
	    .type = type, .key = key, .version_us = s->version_us};
	int rc;

	buf_fmt(b, "\"recordVersion\":\"%s\"}", s->version);
	ev.payload = buf_str(b);
	rc = b->failed || !key.p ? err_set(e, ERR_NOMEM, "no memory")
				 : outbox_put(&s->out, &ev, e);
	buf_done(b);
	return rc;
}

static struct str
key_of(struct save *s)
{
	return arena_fmt(s->core->arena, "%.*s:%.*s:%.*s", STR_ARG(s->object),
	    STR_ARG(s->core->tenant), STR_ARG(s->id));
}

static int
emit(struct save *s, const char *type, struct buf *b, struct err *e)
{
	return emit_key(s, type, key_of(s), b, e);
}

static struct buf
payload(const struct save *s)
{
	struct buf b = BUF(64 * KIB);

	buf_addz(&b, "{\"objectName\":");
	buf_json(&b, s->object);
	buf_addz(&b, ",\"recordId\":");
	buf_json(&b, s->id);
	buf_addc(&b, ',');
	return b;
}

static void
add_names(struct buf *b, const struct json *fields)
{
	const char *comma = "";

	buf_addz(b, "\"changedFields\":[");
	for (const struct json *f = fields->child; f; f = f->next) {
		buf_addz(b, comma);
		buf_json(b, f->key);
		comma = ",";
	}
	buf_addz(b, "],");
}

/* NULL unless it is a JSON object. */
static struct json *
parse_object(struct arena *a, struct str text, struct err *e)
{
	struct json *j = NULL;

	if (json_parse(a, text, &j, e) < 0)
		return NULL;
	if (j && j->type == JSON_OBJECT)
		return j;
	(void)err_set(e, ERR_INVALID, "fields must be a JSON object");
	return NULL;
}

/* Creating ------------------------------------------------------------------ */

static int
created(struct save *s, const struct json *fields, struct err *e)
{
	struct buf b = payload(s);
	const char *comma = "";

	buf_addz(&b, "\"ownerId\":");
	buf_json(&b, s->owner);
	buf_addz(&b, ",\"fields\":{");
	for (const struct json *f = fields->child; f; f = f->next) {
		if (secret(f->key))
			continue;
		buf_addz(&b, comma);
		buf_json(&b, f->key);
		buf_addc(&b, ':');
		buf_add(&b, f->raw);
		comma = ",";
	}
	buf_addz(&b, "},");
	add_names(&b, fields);
	return emit(s, "RecordCreated", &b, e);
}

static int
create(struct core *c, const struct outbox *o, const char *object,
    struct str owner, struct str fields, core_id ret_id, struct err *e)
{
	struct json *j = parse_object(c->arena, fields, e);
	struct save s;

	if (!j)
		return e->code;
	uuid_format(uuid_v4(), ret_id);
	save_begin(&s, c, o, str_of(object), str_of(ret_id), owner, 0);
	if (crm_record_add(
		c->db, s.object, s.id, owner, fields, s.version_us, e) < 0)
		return e->code;
	return created(&s, j, e);
}

int
core_end(struct core *c, int rc, struct err *e)
{
	if (rc == OK)
		rc = lite_commit(c->db, e);
	else
		lite_rollback(c->db);
	arena_reset(c->arena);
	return rc;
}

int
core_create(struct core *c, const char *object, struct str owner,
    struct str fields, core_id ret_id, struct err *e)
{
	int rc = lite_begin(c->db, e);
	struct outbox o;

	if (rc < 0)
		return rc;
	o = begin(c);
	return core_end(c, create(c, &o, object, owner, fields, ret_id, e), e);
}

/* Updating ------------------------------------------------------------------ */

int
core_read(struct lite *db, struct str object, struct str id, struct arena *a,
    struct crm_record *ret, struct err *e)
{
	struct crm_record_get_row row;
	struct lite_rows *rows = NULL;
	struct json *j = NULL;
	int rc = crm_record_get(db, object, id, &rows, e);

	*ret = (struct crm_record){.there = false};
	if (rc == OK)
		rc = lite_next(rows, e);
	if (rc == 1) {
		crm_record_get_get(rows, &row);
		*ret = (struct crm_record){.there = !row.deleted,
		    .owner = arena_dup(a, row.owner_id),
		    .version_us = row.version_us};
		rc = json_parse(a, arena_dup(a, row.fields), &j, e);
		ret->fields = j;
	}
	lite_done(rows);
	return rc;
}

static int
read_live(struct core *c, struct str object, struct str id,
    struct crm_record *ret, struct err *e)
{
	int rc = core_read(c->db, object, id, c->arena, ret, e);

	if (rc == OK && !ret->there)
		return err_set(e, ERR_ABSENT, "no %.*s %.*s", STR_ARG(object),
		    STR_ARG(id));
	return rc;
}

static int
check_locks(struct core *c, struct str object, struct str id,
    struct str changes, struct err *e)
{
	struct crm_locked_field_row row;
	struct lite_rows *rows = NULL;
	int rc = crm_locked_field(c->db, object, id, changes, &rows, e);

	if (rc == OK)
		rc = lite_next(rows, e);
	if (rc == 1) {
		crm_locked_field_get(rows, &row);
		rc = err_set(e, ERR_CONFLICT,
		    "%.*s is locked by approval %.*s until it is decided",
		    STR_ARG(row.field), STR_ARG(row.instance_id));
	}
	lite_done(rows);
	return rc;
}

static int
updated(struct save *s, const struct crm_record *was,
    const struct json *changes, struct err *e)
{
	struct buf b = payload(s);
	const struct json *old;
	const char *comma = "";

	buf_addz(&b, "\"ownerId\":");
	buf_json(&b, s->owner);
	buf_addc(&b, ',');
	add_names(&b, changes);
	buf_addz(&b, "\"fieldChanges\":{");
	for (const struct json *f = changes->child; f; f = f->next) {
		if (secret(f->key))
			continue;
		old = json_step(was->fields, f->key);
		buf_addz(&b, comma);
		buf_json(&b, f->key);
		buf_addz(&b, ":{\"old\":");
		buf_add(&b, old ? old->raw : STR("null"));
		buf_addz(&b, ",\"new\":");
		buf_add(&b, f->raw);
		buf_addc(&b, '}');
		comma = ",";
	}
	buf_addz(&b, "},");
	return emit(s, "RecordUpdated", &b, e);
}

static int
owner_changed(struct save *s, struct str old, struct err *e)
{
	struct buf b = payload(s);

	buf_addz(&b, "\"oldOwnerId\":");
	buf_json(&b, old);
	buf_addz(&b, ",\"newOwnerId\":");
	buf_json(&b, s->owner);
	buf_addc(&b, ',');
	return emit(s, "OwnerChanged", &b, e);
}

static const char *
truth(bool v)
{
	return v ? "true" : "false";
}

static void
add_stage(struct buf *b, const char *side, struct str stage)
{
	bool closed = false, won = false;

	for (size_t i = 0; i < COUNT_OF(STAGES); i++)
		if (str_eq(stage, str_of(STAGES[i].name))) {
			closed = STAGES[i].closed;
			won = STAGES[i].won;
		}
	buf_fmt(b, "\"%sStageName\":", side);
	buf_json(b, stage);
	buf_fmt(b, ",\"%sIsClosed\":%s,\"%sIsWon\":%s,", side, truth(closed),
	    side, truth(won));
}

static int
stage_changed(struct save *s, const struct crm_record *was, struct str stage,
    struct err *e)
{
	struct buf b = BUF(4 * KIB);

	buf_addz(&b, "{\"opportunityId\":");
	buf_json(&b, s->id);
	buf_addz(&b, ",\"accountId\":");
	buf_json(&b, crm_field(was, "AccountId"));
	buf_addz(&b, ",\"closeDate\":");
	buf_json(&b, crm_field(was, "CloseDate"));
	buf_addc(&b, ',');
	add_stage(&b, "old", crm_field(was, "StageName"));
	add_stage(&b, "new", stage);
	return emit(s, "StageChanged", &b, e);
}

/* Those that the changes make besides RecordUpdated. */
static int
derived(struct save *s, const struct crm_record *was,
    const struct json *changes, struct err *e)
{
	const struct json *stage = json_get(changes, "StageName");
	int rc = OK;

	if (!str_eq(was->owner, s->owner))
		rc = owner_changed(s, was->owner, e);
	if (rc == OK && str_eq(s->object, STR("Opportunity")) &&
	    json_is(stage, JSON_STRING) &&
	    !str_eq(stage->text, crm_field(was, "StageName")))
		rc = stage_changed(s, was, stage->text, e);
	return rc;
}

int
core_save(struct core *c, const char *object, struct str id, struct str changes,
    struct str owner, struct err *e)
{
	struct crm_record was;
	struct outbox o = begin(c);
	struct json *j = parse_object(c->arena, changes, e);
	struct save s;
	int rc;

	if (!j)
		return e->code;
	rc = read_live(c, str_of(object), id, &was, e);
	if (rc == OK)
		rc = check_locks(c, str_of(object), id, changes, e);
	if (rc < 0)
		return rc;
	save_begin(&s, c, &o, str_of(object), id, owner.n ? owner : was.owner,
	    was.version_us);
	if (crm_record_change(
		c->db, s.object, id, s.owner, changes, s.version_us, e) < 0)
		return e->code;
	rc = updated(&s, &was, j, e);
	return rc < 0 ? rc : derived(&s, &was, j, e);
}

int
core_update(struct core *c, const char *object, struct str id,
    struct str changes, struct str owner, struct err *e)
{
	int rc = lite_begin(c->db, e);

	return rc < 0 ? rc
		      : core_end(
			    c, core_save(c, object, id, changes, owner, e), e);
}

/* Deleting ------------------------------------------------------------------ */

static int
delete_(struct core *c, const char *object, struct str id, struct err *e)
{
	struct outbox o = begin(c);
	struct crm_record was;
	struct save s;
	struct buf b;
	int rc = read_live(c, str_of(object), id, &was, e);

	if (rc < 0)
		return rc;
	save_begin(&s, c, &o, str_of(object), id, was.owner, was.version_us);
	if (crm_record_delete(c->db, s.object, id, s.version_us, e) < 0 ||
	    crm_members_drop(c->db, s.object, id, e) < 0)
		return e->code;
	b = payload(&s);
	buf_addz(&b, "\"deleted\":true,");
	return emit(&s, "RecordDeleted", &b, e);
}

int
core_delete(struct core *c, const char *object, struct str id, struct err *e)
{
	int rc = lite_begin(c->db, e);

	return rc < 0 ? rc : core_end(c, delete_(c, object, id, e), e);
}

/* A lead is converted ------------------------------------------------------- */

static int
lead_converted(
    struct save *s, const core_id made[3], struct str by, struct err *e)
{
	struct buf b = BUF(4 * KIB);

	buf_addz(&b, "{\"leadId\":");
	buf_json(&b, s->id);
	buf_fmt(&b, ",\"convertedAt\":\"%s\",\"convertedBy\":", s->version);
	buf_json(&b, by);
	buf_fmt(&b,
	    ",\"accountId\":\"%s\",\"contactId\":\"%s\",\"opportunityId\":\"%s\",",
	    made[0], made[1], made[2]);
	return emit(s, "LeadConverted", &b, e);
}

/* A field as it is written in JSON. */
static struct str
raw_of(const struct crm_record *r, const char *name)
{
	const struct json *v = json_get(r->fields, name);

	return v ? v->raw : STR("null");
}

static int
convert(struct core *c, struct str lead, struct str by, struct err *e)
{
	const struct str CHANGE = STR("{\"IsConverted\":true}");
	struct outbox o = begin(c);
	struct arena *a = c->arena;
	struct crm_record was;
	struct json *j = parse_object(c->arena, CHANGE, e);
	struct save s;
	struct str name, email;
	core_id made[3];
	int rc;

	if (!j)
		return e->code;
	rc = read_live(c, STR("Lead"), lead, &was, e);
	if (rc < 0)
		return rc;
	name = raw_of(&was, "Name");
	email = raw_of(&was, "Email");
	rc = create(c, &o, "Account", was.owner,
	    arena_fmt(a, "{\"Name\":%.*s}", STR_ARG(name)), made[0], e);
	if (rc == OK)
		rc = create(c, &o, "Contact", was.owner,
		    arena_fmt(a,
			"{\"Name\":%.*s,\"Email\":%.*s,\"AccountId\":\"%s\"}",
			STR_ARG(name), STR_ARG(email), made[0]),
		    made[1], e);
	if (rc == OK)
		rc = create(c, &o, "Opportunity", was.owner,
		    arena_fmt(a,
			"{\"Name\":%.*s,\"StageName\":\"Qualification\",\"Amount\":1000,\"CloseDate\":\"2026-12-31\",\"AccountId\":\"%s\"}",
			STR_ARG(name), made[0]),
		    made[2], e);
	if (rc < 0)
		return rc;
	save_begin(&s, c, &o, STR("Lead"), lead, was.owner, was.version_us);
	if (crm_record_change(
		c->db, s.object, lead, s.owner, CHANGE, s.version_us, e) < 0)
		return e->code;
	rc = updated(&s, &was, j, e);
	return rc < 0 ? rc : lead_converted(&s, made, by, e);
}

int
core_convert(struct core *c, struct str lead, struct str by, struct err *e)
{
	int rc = lite_begin(c->db, e);

	return rc < 0 ? rc : core_end(c, convert(c, lead, by, e), e);
}
