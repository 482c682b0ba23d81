#include "api/v1/log_page.h"

#include "api/api.h"
#include "base/str.h"
#include "event/cursor.h"
#include "event/limits.h"
#include "event/sealed.h"
#include "http/server/limits.h"
#include "http/server/reply.h"
#include "sql.h"

static int
set_type(struct str type, struct log_filter *f, struct err *e)
{
	if (type.n > EVENT_TYPE_MAX)
		return err_at(e, ERR_INVALID, "type",
		    "type must be 1 to %d characters", EVENT_TYPE_MAX);
	if (str_ends(type, STR(".*")))
		f->prefix = (struct str){type.p, type.n - 1};
	else
		f->type = type;
	return OK;
}

int
log_filter_set(struct log_filter *f, const struct log_words *w, struct err *e)
{
	int rc = w->type.n > 0 ? set_type(w->type, f, e) : OK;

	if (rc < 0)
		return rc;
	if (w->key.n > EVENT_KEY_MAX)
		return err_at(e, ERR_INVALID, "key",
		    "key must be 1 to %d bytes", EVENT_KEY_MAX);
	if (w->key.n > 0)
		f->key = w->key;
	if (w->tenant.n == 0)
		return OK;
	if (!uuid_parse(w->tenant, &f->tenant_id))
		return err_at(
		    e, ERR_INVALID, "tenant", "tenant must be a uuid");
	f->tenant = uuid_str(&f->tenant_id);
	return OK;
}

int
log_filter_read(const struct req *r, struct log_filter *ret, struct err *e)
{
	struct log_words w = {0};
	int rc;

	(void)req_query(r, "type", &w.type);
	(void)req_query(r, "key", &w.key);
	(void)req_query(r, "tenant", &w.tenant);
	rc = log_filter_set(ret, &w, e);
	if (rc < 0)
		return rc;
	if (ret->tenant.p && !api_tenant_ok(&r->who, ret->tenant_id))
		return err_at(e, ERR_DENIED, "tenant",
		    "this key is limited to other tenants");
	if (!ret->tenant.p && r->who.tenants && r->who.n_tenants == 1)
		ret->tenant = uuid_str(&r->who.tenants[0]);
	return OK;
}

int
log_cursor_read(struct str text, const char *name, int64_t *ret, struct err *e)
{
	int rc = cursor_parse(text, ret, e);

	if (rc < 0)
		(void)snprintf(e->at, sizeof(e->at), "%s", name);
	return rc;
}

static bool
visible(const struct principal *who, const struct sql_log_page_row *row)
{
	struct uuid tenant;

	if (!who->tenants)
		return true;
	if (row->tenant.n != sizeof(tenant.b))
		return false;
	memcpy(tenant.b, row->tenant.p, sizeof(tenant.b));
	return api_tenant_ok(who, tenant);
}

static int
last_seq(struct db *db, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_log_last(db, &rows, e);

	*ret = 0;
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static void
add_uuid(struct buf *b, struct str bytes)
{
	struct uuid u = {{0}};

	if (bytes.n == sizeof(u.b))
		memcpy(u.b, bytes.p, bytes.n);
	uuid_add(b, u);
}

/* What can be told of an event that can't be opened. */
static struct str
shut(struct buf *b, const struct sql_log_page_row *row, const struct err *why)
{
	buf_clear(b);
	buf_addz(b, "{\"eventId\":\"");
	add_uuid(b, row->event_id);
	buf_addz(b, "\",\"eventType\":");
	buf_json(b, row->type);
	buf_addz(b, ",\"tenantId\":\"");
	add_uuid(b, row->tenant);
	buf_addz(b, "\",\"error\":");
	http_error_json(b, why);
	buf_addc(b, '}');
	return buf_str(b);
}

/* The body, in `b` when it was sealed. */
static int
body_of(struct keyring *k, const struct sql_log_page_row *row, struct buf *b,
    struct str *ret, struct err *e)
{
	int rc;

	*ret = row->body;
	if (!sealed_is(row->body))
		return OK;
	buf_clear(b);
	buf_add(b, row->body); /* makes the room */
	if (b->failed)
		return err_set(e, ERR_NOMEM, "no memory for an event");
	rc = sealed_open(
	    k, row->tenant, row->event_id, buf_str(b), b->p, ret, e);
	if (rc == ERR_SEALED)
		*ret = shut(b, row, e);
	return rc == ERR_SEALED ? OK : rc;
}

int
log_page_read(struct db *db, struct keyring *k, const struct principal *who,
    const struct log_filter *f,
    void (*show)(struct buf *b, struct str body, int64_t seq,
	int64_t received_us, size_t nth),
    struct buf *out, struct log_page *ret, struct err *e)
{
	struct rows *rows = NULL;
	struct buf plain = BUF(EVENT_STORED_MAX);
	/* What only we can tell apart must not use up the statement's limit. */
	int64_t most = who->tenants && !f->tenant.p ? PAGE_SCAN : f->limit;
	int64_t last, upto;
	bool cut = false;
	int rc = last_seq(db, &last, e);

	if (rc < 0)
		return rc;
	upto = last - f->after > PAGE_SCAN ? f->after + PAGE_SCAN : last;
	*ret = (struct log_page){.next = f->after};
	rc = sql_log_page(db, &rows, e, .after = f->after, .upto = upto,
	    .type = f->type, .prefix = f->prefix, .pkey = f->key,
	    .tenant = f->tenant, .most = most);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		struct sql_log_page_row row;
		struct str body = STR_EMPTY;
		bool mine;

		sql_log_page_get(rows, &row);
		mine = visible(who, &row);
		if (mine && (rc = body_of(k, &row, &plain, &body, e)) < 0)
			break;
		ret->next = row.seq;
		if (mine)
			show(out, body, row.seq, row.received_at, ret->shown++);
		cut = out->n > PAGE_BYTES || (int64_t)ret->shown == f->limit;
		if (cut)
			break;
	}
	rows_close(rows);
	buf_done(&plain);
	if (rc < 0)
		return rc;
	if (!cut && upto > ret->next)
		ret->next = upto;
	ret->at_end = ret->next >= last;
	return OK;
}
