#include "api/v1/log_page.h"

#include "api/api.h"
#include "event/cursor.h"
#include "event/envelope.h"
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
	if (w->type.n > 0)
		TRY(set_type(w->type, f, e));
	if (w->key.n > EVENT_KEY_MAX)
		return err_at(e, ERR_INVALID, "key",
		    "key must be 1 to %d bytes", EVENT_KEY_MAX);
	if (w->key.n > 0)
		f->key = w->key;
	if (w->correlation.n > 0) {
		if (!uuid_parse(w->correlation, &f->correlation))
			return err_at(e, ERR_INVALID, "correlationId",
			    "correlationId must be a uuid");
		f->correlated = true;
		uuid_format(f->correlation, f->low);
		for (size_t i = 0; i <= UUID_LEN; i++)
			f->up[i] = f->low[i] >= 'a' && f->low[i] <= 'f'
				       ? (char)(f->low[i] - 'a' + 'A')
				       : f->low[i];
	}
	if (w->tenant.n == 0)
		return OK;
	if (!tenant_parse(w->tenant, &f->tenant_id))
		return err_at(
		    e, ERR_INVALID, "tenant", "tenant must be " TENANT_WORDS);
	f->tenant = uuid_str(&f->tenant_id);
	return OK;
}

int
log_filter_read(const struct req *r, const struct log_words *w,
    struct log_filter *ret, struct err *e)
{
	TRY(log_filter_set(ret, w, e));
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

/* What can be told of an event that can't be opened. */
static struct str
shut(struct buf *b, const struct sql_log_page_row *row, const struct err *why)
{
	buf_clear(b);
	put_open(b, NULL, '{');
	put_uuid(b, "eventId", uuid_of(row->event_id));
	put_text(b, "eventType", row->type);
	put_uuid(b, "tenantId", uuid_of(row->tenant));
	put_name(b, "error");
	http_error_json(b, why);
	put_close(b, '}');
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
		return err_set(e, ERR_LIMIT, "an event is too large");
	rc = sealed_open(
	    k, row->tenant, row->event_id, buf_str(b), b->p, ret, e);
	if (rc == ERR_SEALED)
		*ret = shut(b, row, e);
	return rc == ERR_SEALED ? OK : rc;
}

/* The row is one of a correlation that is looked for, if any is. */
static bool
correlates(const struct log_filter *f, struct str body)
{
	struct uuid id;

	return !f->correlated ||
	       (envelope_correlation(body, &id) && uuid_eq(id, f->correlation));
}

int
log_page_read(struct db *db, const struct log_view *v, struct buf *out,
    struct log_page *ret, struct err *e)
{
	const struct log_filter *f = v->filter;
	struct sql_log_last_row newest = {0};
	struct sql_log_page_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct buf plain CLEANUP(buf_done) = BUF(EVENT_STORED_MAX);
	/* What only we can tell apart must not use up the statement's limit. */
	bool ours = (v->who->tenants && !f->tenant.p) || f->correlated;
	int64_t most = ours ? PAGE_SCAN : f->limit;
	struct str none = {.p = NULL};
	size_t read = 0;
	int64_t last, upto;
	bool cut = false;

	TRY(sql_log_last_one(db, &newest, e));
	last = newest.seq;
	upto = last - f->after > PAGE_SCAN ? f->after + PAGE_SCAN : last;
	*ret = (struct log_page){.next = f->after};
	TRY(sql_log_page(db, &rows, e, .after = f->after, .upto = upto,
	    .type = f->type, .prefix = f->prefix, .pkey = f->key,
	    .tenant = f->tenant, .low = f->correlated ? str_of(f->low) : none,
	    .up = f->correlated ? str_of(f->up) : none, .most = most));
	while (!cut && TRY(sql_log_page_next(rows, &row, e)) > 0) {
		struct str body = STR_EMPTY;

		if (api_tenant_ok(v->who, uuid_of(row.tenant))) {
			TRY(body_of(v->keyring, &row, &plain, &body, e));
			read += f->correlated ? body.n : 0;
			if (correlates(f, body))
				v->show(out, body, row.seq, row.received_at,
				    ret->shown++);
		}
		ret->next = row.seq;
		cut = out->n > PAGE_BYTES || (int64_t)ret->shown == f->limit ||
		      read > 8 * PAGE_BYTES;
	}
	if (!cut && upto > ret->next)
		ret->next = upto;
	ret->at_end = ret->next >= last;
	return OK;
}
