/*
 * cloudevent.h - a CloudEvent 1.0 as one of our envelopes.
 *
 * What others publish in the words of CloudEvents becomes the text of an
 * envelope, which then goes the way of all events (envelope.h). It is the
 * inverse of the presets `cloudevents` and `cloudevents-binary`: what one
 * Hikyaku sends with them is the same event when another takes it.
 *
 *   specversion      must be 1.0
 *   id               eventId when it is a UUID; else a UUID made of source and
 *                    id, so that a repeat is the same event
 *   source           producer.service; "/core", one segment and no more, is
 *                    core, with %XX undone: so our presets write it
 *   type             eventType
 *   time             occurredAt; another offset than Z becomes UTC, in ms
 *   subject          sequence.partitionKey, unless `partitionkey` is there;
 *                    without either the payload says it (event/type/catalog.h), or
 *                    the event is in no order
 *   tenantid         tenantId; absent: `tenant`, or as for any event
 *   correlationid    correlationId when it is a UUID, else one made of it
 *   recordversion, schemaversion (1), instanceid ("cloudevents")
 *   data             payload, byte for byte: an object; absent or null: {}
 *   datacontenttype  must be JSON
 *   data_base64      is refused: a payload is an object
 *
 * What has no place in an envelope is kept in its member `cloudEvent`: an id
 * and a source that the envelope does not give back letter by letter; a
 * correlationid that is no UUID; partitionkey, and the subject beside it;
 * dataschema and all other extensions. Our presets send all of it as it came.
 *
 * BINARY MODE. Attributes are headers ce-*, whose values are unquoted and
 * percent-decoded once (HTTP binding, 3.1.3.2); the body is data.
 *
 * ERRORS name the attribute: "/type" in a document, "ce-type" as a header.
 * cloudevent_blame() makes that of what envelope_parse() says of the result.
 *
 * Pure functions; the result is the arena's. Equal input gives equal bytes:
 * the duplicate rule compares them.
 */
#pragma once

#include "base/base.h"

/* `tenant` is for an event that names none; empty: it stays without. */
int cloudevent_structured(struct arena *a, const struct json *tree,
    struct str tenant, struct str *ret, struct err *e) MUST_CHECK;
int cloudevent_binary(struct arena *a, const struct str_pair *headers, size_t n,
    struct str body, struct str tenant, struct str *ret,
    struct err *e) MUST_CHECK;

/* From the envelope's field to the attribute that it was made of. */
void cloudevent_blame(struct err *e, bool binary);
