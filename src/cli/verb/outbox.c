#include "source/outbox.h"

#include "cli/verbs.h"

/* An outbox table: how it is made, and whether one is fit. */

int
verb_outbox_schema(struct cli *c, struct err *e)
{
	bool lite = args_flag(&c->args, "sqlite");
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	if (lite && args_flag(&c->args, "postgres"))
		return cli_usage(
		    c, e, "outbox schema is --postgres or --sqlite");
	if (lite && strchr(c->conf.outbox_table, '.'))
		return cli_usage(c, e, "a SQLite file has no schemas");
	TRY(outbox_schema(lite ? OUTBOX_SCHEMA_SQLITE : OUTBOX_SCHEMA_POSTGRES,
	    c->conf.outbox_table, &b, e));
	(void)fwrite(b.p, 1, b.n, c->out);
	return OK;
}

static void
say(void *ctx, bool fault, const char *what, const char *mend)
{
	struct cli *c = ctx;

	(void)fprintf(
	    c->out, "%s: %s\n  %s\n", fault ? "wrong" : "note", what, mend);
}

static int
check_one(struct cli *c, const struct outbox_opts *o, struct err *e)
{
	struct outbox_told t = {.say = say, .ctx = c};
	const char *mode = o->xid ? "xid" : "polling";

	TRY(outbox_check(o, &t, e));
	if (t.faults > 0)
		return err_set(e, ERR_INVALID,
		    "%s is not fit for %s.mode = %s: %d wrong, see above",
		    o->table, o->name, mode, t.faults);
	(void)fprintf(
	    c->out, "%s is fit for %s.mode = %s\n", o->table, o->name, mode);
	return OK;
}

/* All that are set, or the one of that name; the first failure is told last. */
int
verb_outbox_check(struct cli *c, struct err *e)
{
	const char *name = args_text(&c->args, "name");
	bool url = c->conf.origin[CONF_ID_outbox_url].source == CONF_FLAG;
	struct outbox_opts all[OUTBOXES_MAX];
	int n = TRY(outbox_all(&c->conf, all, e)), looked = 0, rc = OK;
	struct err why = {0};

	if (name && url)
		return cli_usage(c, e, "--name and --url are two outboxes");
	for (int i = 0; i < n; i++) {
		const char *label = outbox_label(&all[i]);

		if (name ? strcmp(label, name) != 0 : url && *label)
			continue;
		looked++;
		if (check_one(c, &all[i], &why) < 0 && rc == OK) {
			*e = why;
			rc = e->code;
		}
	}
	if (looked == 0)
		return err_set(e, ERR_INVALID,
		    name ? "outbox.%.64s.url is not set"
			 : "which one? Give --url, or set outbox.url",
		    name);
	return rc;
}
