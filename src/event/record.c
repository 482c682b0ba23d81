#include "event/record.h"

#include "seal/digest.h"
#include "seal/tenant.h"

/* object: its name, or where the payload has it; the others: where. */
struct about {
	const char *type, *object, *id, *part;
};

static const struct about TABLE[] = {
    {"RecordCreated", "/objectName", "/recordId", ""},
    {"RecordUpdated", "/objectName", "/recordId", ""},
    {"RecordDeleted", "/objectName", "/recordId", ""},
    {"OwnerChanged", "/objectName", "/recordId", ""},
    {"StageChanged", "Opportunity", "/opportunityId", ""},
    {"LeadConverted", "Lead", "/leadId", ""},
    {"ApprovalSubmitted", "/target/objectName", "/target/recordId", ""},
    {"ApprovalDecided", "/target/objectName", "/target/recordId", ""},
    {"MetadataChanged", "/objectName", "#config", "/resourceId"},
    {"PermissionChanged", "Permission", "/subject/id", ""},
    {"SharingUpdated", "/objectName", "/recordId", ""},
    {"RoleHierarchyChanged", "Role", "/roleId", ""},
    {"GroupMemberChanged", "Group", "/groupId", "/memberId"},
    {"TeamMemberChanged", "/objectName", "/recordId", "/userId"},
    {"TerritoryAssignmentChanged", "Territory", "/territoryId", "/assignedId"},
    {"SharingConfigChanged", "/objectName", "#config", "/changeType"},
    {"AutomationConfigChanged", "/objectName", "#config", "/automationId"},
    {"ApprovalConfigChanged", "/objectName", "#config", "/processId"},
    {"SharingRebuildCompleted", "/objectName", "#rebuild", "/rebuildJobId"},
    {"CampaignMemberChanged", "Campaign", "/campaignId", "/memberId"},
    {"feed.item.created", "FeedItem", "/item/id", ""},
    {"feed.item.updated", "FeedItem", "/item/id", ""},
};

static const struct about *
record_find(struct str type)
{
	for (size_t i = 0; i < COUNT_OF(TABLE); i++)
		if (str_eq(type, str_of(TABLE[i].type)))
			return &TABLE[i];
	return NULL;
}

/* What stands there, or the word itself; empty: nothing to use. */
static struct str
text_at(const struct json *payload, const char *where)
{
	const struct json *j;

	if (where[0] != '/')
		return str_of(where);
	j = json_at(payload, str_of(where));
	return json_is(j, JSON_STRING) ? j->text : STR_EMPTY;
}

static struct str
plain_id(struct arena *a, struct str id)
{
	char text[UUID_LEN + 1];
	struct uuid u;

	if (!uuid_parse(id, &u))
		return id;
	uuid_format(u, text);
	return arena_dup(a, (struct str){text, UUID_LEN});
}

/* A:tenant:B; the tenant's colons are what makes it sure. A name that has a
 * colon itself is not found so: the whole key is the record's then. */
static void
by_key(struct str key, const struct uuid *tenant, struct record *ret)
{
	const char *colon = memchr(key.p, ':', key.n);
	size_t at = colon ? (size_t)(colon - key.p) : key.n;
	struct str rest = str_from(key, at < key.n ? at + 1 : key.n);
	struct str owner = str_cut(&rest, ':');
	struct uuid u;

	*ret =
	    (struct record){.object = STR_EMPTY, .id = key, .part = STR_EMPTY};
	if (rest.n == 0 || !tenant_parse(owner, &u) || !uuid_eq(u, *tenant))
		return;
	ret->object = (struct str){key.p, at};
	ret->id = rest;
}

struct record
record_of(struct arena *a, struct str type, const struct uuid *tenant,
    struct str key, const struct json *payload)
{
	const struct about *t = payload ? record_find(type) : NULL;
	struct record r = {STR_EMPTY, STR_EMPTY, STR_EMPTY};

	if (t) {
		r.object = text_at(payload, t->object);
		r.id = text_at(payload, t->id);
		r.part = t->part[0] ? text_at(payload, t->part) : STR_EMPTY;
	}
	/* A part may be absent: all assignments of a territory. */
	if (r.object.n == 0 || r.id.n == 0)
		by_key(key, tenant, &r);
	r.id = plain_id(a, r.id);
	r.part = plain_id(a, r.part);
	return r;
}

static void
record_put(char **at, struct str s)
{
	uint64_t n = s.n;

	memcpy(*at, &n, sizeof(n));
	*at += sizeof(n);
	if (s.n > 0)
		memcpy(*at, s.p, s.n);
	*at += s.n;
}

void
record_id(struct arena *a, const struct uuid *tenant, const struct record *r,
    struct str type, unsigned char ret[RECORD_ID_LEN])
{
	const struct str parts[] = {
	    uuid_str(tenant), r->object, r->id, r->part, type};
	unsigned char digest[DIGEST_LEN];
	size_t n = 0;
	char *text, *at;

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		n += sizeof(uint64_t) + parts[i].n;
	text = at = arena_alloc(a, n);
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		record_put(&at, parts[i]);
	digest_sha256((struct str){text, n}, digest);
	memcpy(ret, digest, RECORD_ID_LEN);
}
