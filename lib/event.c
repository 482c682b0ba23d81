#include "hk_priv.h"
#include "seal/tenant.h"

/* From an envelope's JSON to a struct that a handler can read. */

struct held {
	struct hk_event ev; /* first: whoever has it has the whole */
	struct arena *arena;
};

static int
broken(struct hk_error *e, const char *pointer, const char *what)
{
	(void)hk_fail(e, HK_INVALID, "%s", what);
	lib_text(e->pointer, sizeof(e->pointer), str_of(pointer));
	return HK_INVALID;
}

/* "" when it is absent or no text; NULL when there is no memory. */
static const char *
text(struct arena *a, const struct json *j)
{
	return json_is(j, JSON_STRING) ? arena_z(a, j->text) : "";
}

/* In one spelling: it is a key in the consumer's tables. */
static const char *
id(struct arena *a, const struct json *j)
{
	char form[UUID_LEN + 1];
	struct uuid u;

	if (!json_is(j, JSON_STRING) || !uuid_parse(j->text, &u))
		return NULL;
	uuid_format(u, form);
	return arena_z(a, str_of(form));
}

int
hk_tenant_id(const char *name, char ret[HK_ID_LEN + 1], struct hk_error *e)
{
	struct uuid u;
	LIB_ERROR(e);

	if (!name || !tenant_parse(str_of(name), &u))
		return hk_fail(e, HK_INVALID, "a tenant is " TENANT_WORDS);
	uuid_format(u, ret);
	return HK_OK;
}

/* {object}:{tenant}:{record}; false when the key is none of that form. */
static bool
by_key(struct arena *a, struct str key, const char *of, struct hk_event *ret)
{
	struct str object = str_cut(&key, ':'), owner = str_cut(&key, ':');
	struct uuid mine, its;

	if (object.n == 0 || key.n == 0 || !tenant_parse(owner, &its) ||
	    !uuid_parse(str_of(of), &mine) || !uuid_eq(mine, its))
		return false;
	ret->object_name = arena_z(a, object);
	ret->record_id = arena_z(a, key);
	return true;
}

static void
name_record(struct arena *a, const struct json *payload, struct hk_event *ret)
{
	const struct json *object = json_get(payload, "objectName");
	const struct json *record = json_get(payload, "recordId");

	if (by_key(a, str_of(ret->key), ret->tenant_id, ret))
		return;
	if (json_is(object, JSON_STRING) && json_is(record, JSON_STRING)) {
		ret->object_name = text(a, object);
		ret->record_id = text(a, record);
		return;
	}
	ret->object_name = ret->key;
	ret->record_id = "";
	/* Of no key and no record: no other event is of the same. */
	if (ret->key[0] == '\0')
		ret->record_version = NULL;
}

static int
read_version(struct arena *a, const struct json *j, struct hk_event *ret,
    struct hk_error *e)
{
	if (!j || j->type == JSON_NULL)
		return HK_OK;
	if (j->type != JSON_STRING ||
	    !time_parse(j->text, &ret->record_version_us, NULL))
		return broken(e, "/sequence/recordVersion",
		    "recordVersion must be a time as in RFC 3339");
	ret->record_version = text(a, j);
	return HK_OK;
}

int
lib_event_read(struct arena *a, const struct json *j, struct hk_event *ret,
    struct hk_error *e)
{
	const struct json *payload = json_get(j, "payload");
	const struct json *sequence = json_get(j, "sequence");
	struct hk_event ev = {.json = j->raw.p, .json_n = j->raw.n};
	char form[HK_ID_LEN + 1];
	int rc;

	ev.event_id = id(a, json_get(j, "eventId"));
	ev.tenant = text(a, json_get(j, "tenantId"));
	if (!ev.event_id)
		return broken(e, "/eventId", "an event has a UUID there");
	if (!ev.tenant || hk_tenant_id(ev.tenant, form, e) < 0)
		return broken(e, "/tenantId", "an event has a tenant there");
	ev.tenant_id = arena_z(a, str_of(form));
	if (!json_is(payload, JSON_OBJECT))
		return broken(e, "/payload", "payload must be an object");
	ev.payload = payload->raw.p;
	ev.payload_n = payload->raw.n;
	ev.event_type = text(a, json_get(j, "eventType"));
	ev.correlation_id = text(a, json_get(j, "correlationId"));
	ev.occurred_at = text(a, json_get(j, "occurredAt"));
	ev.key = text(a, json_get(sequence, "partitionKey"));
	ev.cursor = text(a, json_get(j, "cursor"));
	ev.delivery_id = text(a, json_get(j, "deliveryId"));
	if (!json_int(json_get(j, "schemaVersion"), &ev.schema_version))
		ev.schema_version = 0;
	if (!json_int(json_get(j, "seq"), &ev.seq))
		ev.seq = 0;
	if (!json_int(json_get(j, "attempt"), &ev.attempt))
		ev.attempt = 1;
	rc = read_version(a, json_get(sequence, "recordVersion"), &ev, e);
	if (rc < 0)
		return rc;
	if (!ev.event_type || !ev.key || !ev.cursor || !ev.tenant_id)
		return lib_nomem(e);
	ev.deleted = strcmp(ev.event_type, "RecordDeleted") == 0 ||
		     json_is(json_get(payload, "deleted"), JSON_TRUE);
	name_record(a, payload, &ev);
	if (!ev.object_name || !ev.record_id)
		return lib_nomem(e);
	*ret = ev;
	return HK_OK;
}

int
hk_event_read(
    const char *json, size_t n, struct hk_event **ret, struct hk_error *e)
{
	struct arena *a;
	struct json *j = NULL;
	struct held *h;
	struct str copy;
	struct err why;
	int rc;
	LIB_ERROR(e);

	if (n > LIB_EVENT_MAX)
		return hk_fail(e, HK_INVALID, "an event of %zu bytes", n);
	a = arena_new(LIB_ARENA_MAX);
	h = a ? arena_alloc(a, sizeof(*h)) : NULL;
	copy = h ? arena_dup(a, (struct str){json, n}) : STR_EMPTY;
	if (!h || !copy.p)
		rc = lib_nomem(e);
	else if (json_parse(a, copy, &j, &why) < 0)
		rc = lib_from(&why, e);
	else if (j->type != JSON_OBJECT)
		rc = broken(e, "", "an event is a JSON object");
	else
		rc = lib_event_read(a, j, &h->ev, e);
	if (rc < 0) {
		arena_free(a);
		return rc;
	}
	h->arena = a;
	*ret = &h->ev;
	return HK_OK;
}

void
hk_event_free(struct hk_event *ev)
{
	if (ev)
		arena_free(((struct held *)(void *)ev)->arena);
}
