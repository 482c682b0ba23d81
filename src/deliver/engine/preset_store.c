#include "deliver/engine/preset_store.h"

#include "base/log/log.h"
#include "contract/preset.h"
#include "sql.h"

static void
take_preset(struct presets *ps, const struct sql_presets_all_row *row,
    const struct conf *conf, struct err *e)
{
	const struct preset *p = NULL;
	int rc = preset_parse(row->name, row->conf, conf, &p, e);

	if (rc == OK)
		rc = presets_put(ps, p, e);
	if (rc == OK)
		return;
	preset_unref(p);
	log_err(LOG_ERROR, "a preset can't be used", e);
}

int
presets_open(
    struct db *db, const struct conf *conf, struct presets **ret, struct err *e)
{
	struct sql_presets_all_row row;
	struct presets *ps = presets_load(conf);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int rc = sql_presets_all(db, &rows, e);

	while (rc >= 0 && (rc = sql_presets_all_next(rows, &row, e)) > 0)
		take_preset(ps, &row, conf, e);
	if (rc < 0)
		presets_free(ps);
	else
		*ret = ps;
	return rc;
}

int
presets_reload(
    struct db *db, const struct conf *conf, struct presets **ps, struct err *e)
{
	struct presets *fresh = NULL;

	TRY(presets_open(db, conf, &fresh, e));
	presets_free(*ps);
	*ps = fresh;
	return OK;
}
