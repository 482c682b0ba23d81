#include "ops/backup.h"

#include <unistd.h>

#include "audit/audit.h"
#include "base/put.h"
#include "base/version.h"
#include "cli/out/listing.h"
#include "cli/parcel.h"
#include "cli/pgtool.h"
#include "cli/verbs.h"
#include "ops/limits.h"
#include "ops/restored.h"
#include "sql.h"
#include "store/store.h"

/*
 * `hikyaku backup`: has the store copied, by the server that runs on it or
 * here, then looks whether the copy is sound, marks it as one, and keeps it
 * with a manifest (cli/parcel.h). Where the data is in PostgreSQL its own tools
 * are named, or run.
 */

#define LOOK_MS 100 /* between looks at a server's progress */

struct backing {
	struct cli *cli;
	const char *to;    /* the operand */
	const char *stage; /* the folder that it is made in */
	bool stream, shared;
	int64_t seq, bytes, at_us;
	int version;
	struct audit_walk audit;
	struct str manifest;
};

static void
progress(struct cli *c, const char *what, int64_t done, int64_t all)
{
	if (!isatty(fileno(c->err)))
		return;
	(void)fprintf(c->err, "\r%s: %lld%%   %s", what,
	    (long long)(all > 0 ? done * 100 / all : 100),
	    done >= all ? "\n" : "");
	(void)fflush(c->err);
}

/* The copy, in the data folder ----------------------------------------------- */

static int
copy_by_server(struct cli *c, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	struct json *j = NULL;
	struct str state;

	TRY(reach_ask(c, a, "POST", STR("/v1/backup"), STR_EMPTY, NULL, e));
	for (;;) {
		int64_t pages;

		arena_reset(a);
		TRY(reach_json(
		    c, a, "GET", STR("/v1/backup"), STR_EMPTY, &j, e));
		state = json_text(j, "state");
		pages = json_number(j, "pages");
		if (!str_eq(state, STR("running")))
			break;
		if (pages > 0)
			progress(c, "copying", pages - json_number(j, "left"),
			    pages + 1);
		clock_sleep_us(LOOK_MS * 1000);
	}
	if (!str_eq(state, STR("ready")))
		return err_set(e, ERR_IO,
		    "the server could not copy its store: %.*s",
		    STR_ARG(json_text(j, "error")));
	progress(c, "copying", 1, 1);
	return OK;
}

static int
copy_here(struct cli *c, struct err *e)
{
	char path[4096];
	struct db_copy *copy = NULL;
	struct db_copy_at at = {0};
	int rc;

	TRY(backup_folder(c->conf.data, path, sizeof(path), e));
	TRY(db_copy_begin(c->reach.db, path, &copy, e));
	do {
		rc = db_copy_step(copy, BACKUP_STEP, &at, e);
		progress(c, "copying", at.pages - at.left, at.pages);
	} while (rc > 0);
	db_copy_end(copy);
	return rc;
}

/* What it is ------------------------------------------------------------------ */

static int
note_of(struct backing *x, struct buf *b)
{
	put_open(b, NULL, '{');
	put_time(b, "at", x->at_us);
	put_int(b, "lastSeq", x->seq);
	put_int(b, "bytes", x->bytes);
	put_z(b, "where", x->stream ? "a stream" : x->to);
	put_close(b, '}');
	return OK;
}

static int
mark(struct db *db, void *ctx, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(BACKUP_NOTE_MAX * 4);

	TRY(note_of(ctx, &b));
	return restored_mark(db, buf_str(&b), e);
}

/* The newest entry and the audit, as this db has them. */
static int
look_at(struct backing *x, struct db *db, struct err *e)
{
	struct sql_log_last_row last;

	if (TRY(sql_log_last_one(db, &last, e)) > 0)
		x->seq = last.seq;
	while (!x->audit.done && !x->audit.broken) {
		TRY(audit_walk(db, &x->audit, e));
		progress(
		    x->cli, "checking the audit", x->audit.n, x->audit.head);
	}
	if (x->audit.broken)
		return err_set(e, ERR_INVALID,
		    "the audit is broken at row %lld: %s; hikyaku audit verify says more",
		    (long long)x->audit.broken_n, x->audit.why);
	return OK;
}

/* The copy is a database of its own: it is opened as one. */
static int
check_copy(struct backing *x, struct store *s, struct err *e)
{
	struct db *db CLEANUP(db_closep) = NULL;
	int64_t wal = 0;

	TRY(store_version(s, &x->version, e));
	TRY(db_open(s, DB_WRITE, &db, e));
	TRY(db_sound(db, e));
	TRY(look_at(x, db, e));
	TRY(db_tx(db, mark, x, e));
	return db_checkpoint(db, CHECKPOINT_WAIT, &wal, e);
}

static int
check_stage(struct backing *x, struct err *e)
{
	struct store_opts o = {.dir = x->stage};
	struct store *s = NULL;
	int rc = store_open(&o, &s, e);

	if (rc == OK)
		rc = check_copy(x, s, e);
	store_close(s);
	return rc;
}

/* Keeping it ------------------------------------------------------------------ */

static int
add_key(struct backing *x, struct err *e)
{
	const struct conf *c = &x->cli->conf;
	struct arena *a = x->cli->arena;
	const char *file = c->webhook_encryption_key_file;

	if (!args_flag(&x->cli->args, "with-key"))
		return OK;
	if (strcmp(c->webhook_encryption_key_source, "file") != 0)
		return err_set(e, ERR_INVALID,
		    "--with-key: the key is in no file, by webhook.encryption.key.source; keep it where it is");
	return parcel_copy(file[0] ? file : parcel_path(a, c->data, PARCEL_KEY),
	    parcel_path(a, x->stage, PARCEL_KEY), e);
}

static int
seal_parcel(struct backing *x, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(16 * KIB);
	struct buf hash CLEANUP(buf_done) = BUF(2 * DIGEST_LEN + 1);

	TRY(add_key(x, e));
	buf_hex(&hash, DIGEST_STR(x->audit.hash));
	buf_addz(&b, "\"format\":1");
	put_z(&b, "version", HIKYAKU_VERSION);
	put_z(&b, "store", x->shared ? "postgres" : "sqlite");
	put_int(&b, "schema", x->version);
	put_time(&b, "at", x->at_us);
	put_int(&b, "lastSeq", x->seq);
	put_int(&b, "auditRow", x->audit.head);
	put_text(&b, "auditHash", buf_str(&hash));
	return parcel_seal(
	    x->cli->arena, x->stage, buf_str(&b), &x->manifest, e);
}

static int
kept_here(struct db *db, void *ctx, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(BACKUP_NOTE_MAX * 4);

	TRY(note_of(ctx, &b));
	return backup_kept(db, buf_str(&b), STR("local"), e);
}

static int
tell_kept(struct backing *x, struct err *e)
{
	struct cli *c = x->cli;
	struct buf b CLEANUP(buf_done) = BUF(16 * KIB);

	if (!c->reach.client)
		return db_tx(c->reach.db, kept_here, x, e);
	put_open(&b, NULL, '{');
	put_int(&b, "lastSeq", x->seq);
	put_int(&b, "bytes", x->bytes);
	put_z(&b, "where", x->stream ? "a stream" : x->to);
	put_close(&b, '}');
	return reach_ask(
	    c, c->arena, "PUT", STR("/v1/backup"), buf_str(&b), NULL, e);
}

static int
keep_copy(struct backing *x, struct err *e)
{
	struct arena *a = x->cli->arena;
	struct json *j = NULL;

	TRY(seal_parcel(x, e));
	TRY(json_parse(a, x->manifest, &j, e));
	for (j = json_first(j, "files"); j; j = j->next)
		x->bytes += json_number(j, "bytes");
	TRY(x->stream ? parcel_write(a, x->stage, STDOUT_FILENO, e)
		      : parcel_place(x->stage, x->to, e));
	return tell_kept(x, e);
}

static void
tell(const struct backing *x)
{
	struct cli *c = x->cli;
	FILE *to = x->stream ? c->err : c->out;

	if (args_flag(&c->args, "json")) {
		(void)fprintf(to, "%.*s\n", STR_ARG(x->manifest));
		return;
	}
	(void)fprintf(to, "%s: the log up to seq %lld, %lld bytes, checked\n",
	    x->stream ? "the backup was written" : x->to, (long long)x->seq,
	    (long long)x->bytes);
	if (!args_flag(&c->args, "with-key"))
		(void)fprintf(c->err,
		    "The key that seals secrets is not in it: keep a copy of that elsewhere.\n");
}

/* PostgreSQL ------------------------------------------------------------------ */

static int
back_up_postgres(struct backing *x, struct err *e)
{
	struct cli *c = x->cli;
	struct store_opts o = cli_store(c);
	struct arena *a = c->arena;
	const char *url = pgtool_url(a, c->conf.database_url);
	const char *file = parcel_path(a, x->stage, PARCEL_DUMP);
	const char *argv[] = {"pg_dump", "--format=custom", "--no-owner",
	    "--file", file, "--dbname", url, NULL};
	struct db *db = NULL;
	struct store *s = c->reach.store;
	int rc = OK;

	if (!url[0])
		return err_set(e, ERR_INVALID,
		    "the server's data is in PostgreSQL: set DATABASE_URL as the server has it");
	if (!args_flag(&c->args, "run")) {
		(void)fprintf(c->out,
		    "The data is in PostgreSQL, whose own tools back it up while everything runs:\n"
		    "  pg_dump --format=custom --no-owner --file=hikyaku.dump --dbname=%s\n"
		    "or, to go back to any moment, pg_basebackup and its archived WAL. Keep the key that\n"
		    "seals secrets apart from it. Back: pg_restore into an empty database, then mark it\n"
		    "by hikyaku hold before a server starts on it.\n",
		    url);
		return err_set(e, ERR_INVALID,
		    "nothing was backed up: --run has hikyaku run pg_dump");
	}
	if (!s)
		TRY(store_open(&o, &s, e));
	rc = store_version(s, &x->version, e);
	if (rc == OK)
		rc = db_open(s, DB_READ, &db, e);
	if (rc == OK)
		rc = look_at(x, db, e);
	if (rc == OK)
		rc = pgtool_run(argv, e);
	db_close(db);
	if (s != c->reach.store)
		store_close(s);
	return rc;
}

/* The whole ------------------------------------------------------------------- */

static int
make(struct backing *x, struct err *e)
{
	struct cli *c = x->cli;
	struct arena *a = c->arena;

	if (x->shared)
		return back_up_postgres(x, e);
	TRY(c->reach.client ? copy_by_server(c, e) : copy_here(c, e));
	TRY(parcel_move(
	    parcel_path(a, c->conf.data, BACKUP_FOLDER "/" PARCEL_DB),
	    parcel_path(a, x->stage, PARCEL_DB), e));
	(void)rmdir(parcel_path(a, c->conf.data, BACKUP_FOLDER));
	x->at_us = clock_now_us();
	return check_stage(x, e);
}

static int
is_shared(struct cli *c, bool *ret, struct err *e)
{
	struct json *j = NULL;

	TRY(reach_open(c, e));
	if (!c->reach.client) {
		*ret = store_shared(c->reach.store);
		return OK;
	}
	TRY(reach_json(
	    c, c->arena, "GET", STR("/v1/backup"), STR_EMPTY, &j, e));
	*ret = !json_true(j, "online");
	return OK;
}

int
verb_backup(struct cli *c, struct err *e)
{
	struct str to = str_of(c->args.operands[0]);
	struct backing x = {.cli = c, .at_us = clock_now_us()};
	int rc;

	while (to.n > 1 && str_ends(to, STR("/")))
		to.n--;
	x.to = arena_z(c->arena, to);
	x.stream = strcmp(x.to, "-") == 0;
	if (x.stream && isatty(STDOUT_FILENO))
		return cli_usage(c, e, "a backup is nothing for a terminal");
	if (!x.stream && access(x.to, F_OK) == 0)
		return err_set(e, ERR_CONFLICT,
		    "%s is there already, and nothing is overwritten", x.to);
	TRY(is_shared(c, &x.shared, e));
	x.stage = arena_fmt(c->arena, "%s.part",
	    x.stream ? parcel_path(c->arena, c->conf.data, "backup") : x.to)
		      .p;
	rc = parcel_folder(x.stage, e);
	if (rc == ERR_CONFLICT)
		return err_set(e, ERR_CONFLICT,
		    "%s is there: another backup is being made, or one was broken off; then remove it",
		    x.stage);
	TRY(rc);
	rc = make(&x, e);
	if (rc == OK)
		rc = keep_copy(&x, e);
	if (rc < 0 || x.stream)
		parcel_drop(c->arena, x.stage);
	if (rc == OK)
		tell(&x);
	return rc;
}
