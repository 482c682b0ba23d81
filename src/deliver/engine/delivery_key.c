#include "deliver/engine/delivery_key.h"

#include "base/buf.h"
#include "base/str.h"
#include "seal/base64.h"
#include "sql.h"

#define NAME STR("delivery_id_key")

static int
find(struct db *db, struct delivery_id_key *ret, struct err *e)
{
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = sql_meta_get(db, &rows, e, .name = NAME);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0 && (!base64_read(rows_str(rows, 0), (char *)ret->b,
			   sizeof(ret->b), &n) ||
			  n != sizeof(ret->b)))
		rc = err_set(e, ERR_STORE,
		    "meta delivery_id_key is no key of deliveryIds");
	rows_close(rows);
	return rc;
}

int
delivery_key(struct db *db, struct delivery_id_key *ret, struct err *e)
{
	struct buf text = BUF(BASE64_LEN(DELIVERY_ID_KEY_LEN));
	int rc = find(db, ret, e);

	if (rc != 0)
		return rc < 0 ? rc : OK;
	rand_bytes(ret->b, sizeof(ret->b));
	base64_add(&text, (struct str){(char *)ret->b, sizeof(ret->b)});
	/* Of two nodes that start at once the first one's stays. */
	rc = sql_meta_add(db, e, .name = NAME, .value = buf_str(&text)) < 0
		 ? (int)e->code
		 : OK;
	buf_done(&text);
	if (rc == OK)
		rc = find(db, ret, e);
	return rc < 0 ? rc : OK;
}
