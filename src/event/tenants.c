#include "event/tenants.h"

#include "event/entry.h"
#include "sql.h"
#include "store/store.h"

int
tenants_note(struct db *db, struct uuid id, struct str name, struct err *e)
{
	return sql_tenant_put(db, e, .id = uuid_str(&id), .name = name) < 0
		   ? (int)e->code
		   : OK;
}

static int
note_entry(struct db *db, void *ctx, struct err *e)
{
	const struct entry *en = ctx;

	return tenants_note(db, en->tenant, en->tenant_name, e);
}

int
tenants_note_all(struct tenants_noted *noted, struct db *db, struct entry **v,
    size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct uuid id = v[i]->tenant;
		struct uuid *place =
		    &noted->v[(id.b[0] | (unsigned)id.b[1] << 8) %
			      TENANTS_NOTED];

		if (v[i]->tenant_name.n == 0 || uuid_eq(*place, id))
			continue;
		TRY(db_tx(db, note_entry, v[i], e));
		*place = id;
	}
	return OK;
}

int
tenants_put(struct db *db, struct buf *b, const char *member, struct str id,
    struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(KIB);
	struct uuid u = uuid_of(id);
	struct sql_tenant_get_row row;

	if (!id.p)
		put_null(b, member);
	/* Only UUIDs of that version are made of names. */
	else if (u.b[6] >> 4 == 5 &&
		 TRY(sql_tenant_get_one(db, a, &row, e, .id = id)) > 0)
		put_text(b, member, row.name);
	else
		put_uuid(b, member, u);
	return OK;
}
