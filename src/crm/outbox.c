#include "crm/outbox.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "crm_sql.h"

/* When the newest row was written; 0 when there is none. */
static int64_t
newest(struct lite *db)
{
	struct lite_rows *rows = NULL;
	struct err e;
	int64_t at = 0;

	/* What fails here fails again as the row is written. */
	if (crm_outbox_newest(db, &rows, &e) == OK &&
	    lite_next(rows, &e) == 1 &&
	    !time_parse(lite_str(rows, 0), &at, NULL))
		at = 0;
	lite_done(rows);
	return at;
}

struct outbox
outbox_begin(struct lite *db, const char *service, struct str tenant)
{
	struct outbox o = {.db = db, .service = service, .tenant = tenant};
	int64_t last = newest(db);

	o.now_us = clock_now_us() / US_PER_MS * US_PER_MS;
	if (o.now_us <= last)
		o.now_us = last + US_PER_MS;
	uuid_format(uuid_v4(), o.correlation);
	return o;
}

int
outbox_put(struct outbox *o, const struct outbox_event *ev, struct err *e)
{
	char id[UUID_LEN + 1], at[TIME_LEN + 1], version[TIME_LEN + 1];
	char producer[128];
	int64_t rc;

	uuid_format(uuid_v7(o->now_us), id);
	time_format(o->now_us, at);
	time_format(ev->version_us, version);
	(void)snprintf(producer, sizeof(producer),
	    "{\"service\":\"%s\",\"instanceId\":\"demo\"}", o->service);
	rc = crm_outbox_add(o->db, str_of(id), o->tenant, str_of(ev->type),
	    ev->key, ev->version_us ? str_of(version) : (struct str){0},
	    str_of(o->correlation), str_of(producer), ev->payload, str_of(at),
	    e);
	return rc < 0 ? (int)rc : OK;
}

/* A row as the envelope that it is. */
static void
add_row(struct buf *b, const struct crm_outbox_unpublished_row *r)
{
	buf_addz(b, b->n > 1 ? ",{\"eventId\":" : "{\"eventId\":");
	buf_json(b, r->event_id);
	buf_fmt(b, ",\"schemaVersion\":%lld,\"eventType\":",
	    (long long)r->schema_version);
	buf_json(b, r->event_type);
	buf_addz(b, ",\"occurredAt\":");
	buf_json(b, r->occurred_at);
	buf_addz(b, ",\"tenantId\":");
	buf_json(b, r->tenant_id);
	buf_addz(b, ",\"producer\":");
	buf_add(b, r->producer);
	if (r->correlation_id.p) {
		buf_addz(b, ",\"correlationId\":");
		buf_json(b, r->correlation_id);
	}
	buf_addz(b, ",\"sequence\":{\"partitionKey\":");
	buf_json(b, r->partition_key);
	if (r->record_version.p) {
		buf_addz(b, ",\"recordVersion\":");
		buf_json(b, r->record_version);
	}
	buf_addz(b, "},\"payload\":");
	buf_add(b, r->payload);
	buf_addc(b, '}');
}

struct waiting {
	int64_t *ids;
	size_t n;
	struct buf body;
};

static int
read_rows(struct lite *db, struct arena *a, int64_t most, struct waiting *w,
    struct err *e)
{
	struct crm_outbox_unpublished_row row;
	struct lite_rows *rows = NULL;
	int rc;

	w->ids = arena_array(a, (size_t)most, sizeof(*w->ids));
	if (!w->ids)
		return err_set(e, ERR_NOMEM, "no memory for the outbox");
	buf_addc(&w->body, '[');
	rc = crm_outbox_unpublished(db, 0, most, &rows, e);
	while (rc >= 0 && (rc = lite_next(rows, e)) == 1) {
		crm_outbox_unpublished_get(rows, &row);
		add_row(&w->body, &row);
		w->ids[w->n++] = row.id;
	}
	lite_done(rows);
	buf_addc(&w->body, ']');
	if (rc == OK && w->body.failed)
		rc = err_set(e, ERR_LIMIT, "too much waits in the outbox");
	return rc;
}

/* Those that the server has, up to the first that it refused. */
static int
mark(struct lite *db, const struct waiting *w, const struct json *results,
    int64_t *ret_n, struct err *e)
{
	const struct json *r = results ? results->child : NULL;
	char now[TIME_LEN + 1];
	int rc = lite_begin(db, e);
	int64_t n = 0;
	struct err why = {0};

	time_format(clock_now_us(), now);
	for (size_t i = 0; rc == OK && i < w->n && r; i++, r = r->next) {
		const struct json *m = json_at(r, STR("/error/message"));

		if (!json_get(r, "seq")) {
			(void)err_set(&why, ERR_INVALID,
			    "the server refused an event: %.*s",
			    m ? (int)m->text.n : 0, m ? m->text.p : "");
			break;
		}
		rc = crm_outbox_published(db, w->ids[i], str_of(now), e) < 0
			 ? e->code
			 : OK;
		n++;
	}
	if (rc == OK)
		rc = lite_commit(db, e);
	else
		lite_rollback(db);
	if (rc == OK)
		*ret_n = n;
	if (rc == OK && why.code) {
		*e = why;
		rc = why.code;
	}
	return rc;
}

int
outbox_publish(struct lite *db, const struct crm_server *s, struct arena *a,
    int64_t most, int64_t *ret_n, struct err *e)
{
	struct waiting w = {.body = BUF(4 * MIB)};
	struct json *j = NULL;
	struct str answer;
	int rc = read_rows(db, a, most, &w, e);

	*ret_n = 0;
	if (rc == OK && w.n > 0)
		rc = s->ask(s->arg, "POST", "/v1/events", buf_str(&w.body), a,
		    &answer, e);
	if (rc == OK && w.n > 0)
		rc = json_parse(a, answer, &j, e);
	if (rc == OK && w.n > 0)
		rc = mark(db, &w, json_get(j, "results"), ret_n, e);
	buf_done(&w.body);
	return rc;
}
