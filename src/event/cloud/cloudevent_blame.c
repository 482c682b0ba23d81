#include "base/str.h"
#include "event/cloud/cloudevent.h"

static const struct {
	const char *field; /* of an envelope, its JSON pointer … */
	const char *name;  /* … and the attribute it was made of */
} FIELDS[] = {
    {"/eventId", "id"},
    {"/schemaVersion", "schemaversion"},
    {"/eventType", "type"},
    {"/occurredAt", "time"},
    {"/tenantId", "tenantid"},
    {"/producer/service", "source"},
    {"/producer/instanceId", "instanceid"},
    {"/correlationId", "correlationid"},
    {"/sequence/partitionKey", "partitionkey"},
    {"/sequence/recordVersion", "recordversion"},
};

/* The text begins with the field's last name: it gets the attribute's. */
static void
rename_it(struct err *e, const char *from, const char *prefix, const char *to)
{
	char text[sizeof(e->text)];
	size_t n = strlen(from);

	if (strncmp(e->text, from, n) != 0)
		return;
	(void)snprintf(text, sizeof(text), "%s%s%s", prefix, to, e->text + n);
	str_clean_utf8(text, strlen(text)); /* it may have been cut */
	memcpy(e->text, text, sizeof(text));
}

void
cloudevent_blame(struct err *e, bool binary)
{
	const char *prefix = binary ? "ce-" : "", *last;
	char at[sizeof(e->at)];

	for (size_t i = 0; i < COUNT_OF(FIELDS); i++) {
		if (strcmp(e->at, FIELDS[i].field) != 0)
			continue;
		last = strrchr(FIELDS[i].field, '/') + 1;
		rename_it(e, last, prefix, FIELDS[i].name);
		(void)snprintf(e->at, sizeof(e->at), "%s%s",
		    binary ? "ce-" : "/", FIELDS[i].name);
		return;
	}
	if (strncmp(e->at, "/payload", 8) != 0)
		return;
	if (e->at[8] == '\0')
		rename_it(e, "payload", "", "data");
	(void)snprintf(
	    at, sizeof(at), "%s%s", binary ? "" : "/data", e->at + 8);
	memcpy(e->at, at, sizeof(at));
}
