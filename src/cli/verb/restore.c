#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/put.h"
#include "cli/out/listing.h"
#include "cli/parcel.h"
#include "cli/pgtool.h"
#include "cli/verbs.h"
#include "ops/limits.h"
#include "ops/restored.h"
#include "store/store.h"

/*
 * `hikyaku restore`: a backup becomes a data folder, once each of its files is
 * as the manifest has it. `hikyaku resume` gives leave to deliver from it;
 * `hikyaku hold` takes it from a store that came back by other means.
 */

static int
mark(struct db *db, void *ctx, struct err *e)
{
	const struct str *note = ctx;

	return restored_mark(db, *note, e);
}

/* Each backup is marked when it is made; once more does no harm. */
static int
mark_store(const struct store_opts *o, struct str note, struct err *e)
{
	struct db *db = NULL;
	struct store *s = NULL;
	int steps = 0;
	int rc = store_open(o, &s, e);

	if (rc == OK)
		rc = store_migrate(s, &steps, e);
	if (rc == OK)
		rc = db_open(s, DB_WRITE, &db, e);
	if (rc == OK)
		rc = db_tx(db, mark, &note, e);
	db_close(db);
	store_close(s);
	return rc;
}

static struct str
note_of(struct cli *c, const struct json *manifest)
{
	struct buf b CLEANUP(buf_done) = BUF(BACKUP_NOTE_MAX);

	put_open(&b, NULL, '{');
	put_text(&b, "at", json_text(manifest, "at"));
	put_int(&b, "lastSeq", json_number(manifest, "lastSeq"));
	put_time(&b, "restoredAt", clock_now_us());
	put_close(&b, '}');
	return arena_dup(c->arena, buf_str(&b));
}

static int
restore_postgres(struct cli *c, const char *stage, struct err *e)
{
	const char *url = pgtool_url(c->arena, c->conf.database_url);
	const char *file = parcel_path(c->arena, stage, PARCEL_DUMP);
	const char *argv[] = {"pg_restore", "--no-owner", "--exit-on-error",
	    "--single-transaction", "--dbname", url, file, NULL};

	if (!url[0])
		return err_set(e, ERR_INVALID,
		    "this is a backup of PostgreSQL: DATABASE_URL must name an empty database");
	TRY(pgtool_run(argv, e));
	(void)unlink(file);
	return OK;
}

static int
bring_back(struct cli *c, const char *stage, struct json **ret, struct err *e)
{
	const char *from = c->args.operands[0];
	struct arena *a = c->arena;
	struct store_opts o = cli_store(c);

	if (strcmp(from, "-") == 0) {
		TRY(parcel_read(a, STDIN_FILENO, stage, e));
		TRY(parcel_check(a, stage, ret, e));
	} else {
		TRY(parcel_unpack(a, from, stage, ret, e));
	}
	o.dir = stage;
	if (str_eq(json_text(*ret, "store"), STR("postgres")))
		TRY(restore_postgres(c, stage, e));
	else if (c->conf.database_url[0])
		return err_set(e, ERR_INVALID,
		    "this is a backup of SQLite, and database.url names PostgreSQL: unset it");
	(void)unlink(parcel_path(a, stage, PARCEL_MANIFEST));
	return mark_store(&o, note_of(c, *ret), e);
}

static void
tell_once(struct cli *c, const struct json *manifest)
{
	struct str at = json_text(manifest, "at");
	const char *key = c->conf.webhook_encryption_key_file;

	(void)fprintf(c->out, "%s: the log up to seq %lld, as it was at %.*s\n",
	    c->conf.data, json_number(manifest, "lastSeq"), STR_ARG(at));
	if (!key[0] &&
	    strcmp(c->conf.webhook_encryption_key_source, "file") == 0 &&
	    access(parcel_path(c->arena, c->conf.data, PARCEL_KEY), F_OK) < 0)
		(void)fprintf(c->err,
		    "Put the key that seals secrets into %s/" PARCEL_KEY
		    ", mode 0600, before a server starts.\n",
		    c->conf.data);
	(void)fprintf(c->err,
	    "A server on it takes events, and delivers, relays and fetches nothing until hikyaku\n"
	    "resume: what was delivered after that time will be delivered once more.\n");
}

/* The database last: without it the folder has no store. */
static int
move_in(struct cli *c, const char *stage, struct err *e)
{
	static const char *const NAMES[] = {PARCEL_KEY, PARCEL_DB};
	struct arena *a = c->arena;

	for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
		const char *from = parcel_path(a, stage, NAMES[i]);

		if (access(from, F_OK) == 0)
			TRY(parcel_move(
			    from, parcel_path(a, c->conf.data, NAMES[i]), e));
	}
	return OK;
}

/* One that is there already may be a volume: it is filled, not replaced. */
static int
make_folder(const char *data, bool *ret_made, struct err *e)
{
	size_t n = 0;
	DIR *dir;

	*ret_made = mkdir(data, 0700) == 0;
	if (!*ret_made && errno != EEXIST)
		return err_set(e, ERR_IO, "%s: %m", data);
	dir = opendir(data);
	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return dir && n == 2 /* . and .. */
		   ? OK
		   : err_set(e, ERR_CONFLICT,
			 "%s is no empty folder, and nothing is overwritten: name a new one by --data",
			 data);
}

int
verb_restore(struct cli *c, struct err *e)
{
	const char *data = c->conf.data;
	const char *stage = parcel_path(c->arena, data, "restore.part");
	struct json *manifest = NULL;
	bool made = false;
	int rc;

	TRY(make_folder(data, &made, e));
	rc = parcel_folder(stage, e);
	if (rc == OK)
		rc = bring_back(c, stage, &manifest, e);
	if (rc == OK)
		rc = move_in(c, stage, e);
	parcel_drop(c->arena, stage);
	if (rc == OK)
		tell_once(c, manifest);
	else if (made)
		(void)rmdir(data);
	return rc;
}

static int
resume(struct db *db, void *, struct err *e)
{
	return restored_resume(db, STR("local"), e);
}

int
verb_resume(struct cli *c, struct err *e)
{
	TRY(reach_open(c, e));
	TRY(c->reach.client ? reach_ask(c, c->arena, "POST", STR("/v1/resume"),
				  STR_EMPTY, NULL, e)
			    : db_tx(c->reach.db, resume, NULL, e));
	(void)fprintf(c->out,
	    "what waits is delivered from now on, relays and fetches go on\n");
	return OK;
}

int
verb_hold(struct cli *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(BACKUP_NOTE_MAX);
	struct str note;

	TRY(reach_open(c, e));
	if (c->reach.client)
		return err_set(e, ERR_CONFLICT,
		    "a server runs on this data folder and delivers already: stop it first");
	put_open(&b, NULL, '{');
	put_time(&b, "restoredAt", clock_now_us());
	put_close(&b, '}');
	note = buf_str(&b);
	TRY(db_tx(c->reach.db, mark, &note, e));
	(void)fprintf(c->out,
	    "a server delivers nothing from here until hikyaku resume\n");
	return OK;
}
