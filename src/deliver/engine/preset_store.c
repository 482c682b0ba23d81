#include "deliver/engine/preset_store.h"

#include "base/log/log.h"
#include "base/str.h"
#include "contract/preset.h"
#include "sql.h"

static int
take(struct presets *ps, const struct sql_presets_all_row *row,
    const struct conf *conf, struct err *e)
{
	const struct preset *p = NULL;
	int rc = preset_parse(row->name, row->conf, conf, &p, e);

	if (rc == OK)
		rc = presets_put(ps, p, e);
	if (rc == OK)
		return rc;
	preset_unref(p);
	if (rc == ERR_NOMEM)
		return rc;
	log_err(LOG_ERROR, "a preset can't be used", e);
	return OK;
}

int
presets_open(
    struct db *db, const struct conf *conf, struct presets **ret, struct err *e)
{
	struct sql_presets_all_row row;
	struct presets *ps = presets_load(conf);
	struct rows *rows = NULL;
	int rc = sql_presets_all(db, &rows, e);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_presets_all_get(rows, &row);
		rc = take(ps, &row, conf, e);
	}
	rows_close(rows);
	if (rc < 0)
		presets_free(ps);
	else
		*ret = ps;
	return rc;
}
