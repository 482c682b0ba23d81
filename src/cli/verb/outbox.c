#include "source/outbox.h"

#include "cli/verbs.h"

/* An outbox table: how it is made, and whether one is fit. */

int
verb_outbox_schema(struct cli *c, struct err *e)
{
	bool lite = args_flag(&c->args, "sqlite");

	if (lite && args_flag(&c->args, "postgres"))
		return cli_usage(
		    c, e, "outbox schema is --postgres or --sqlite");
	(void)fputs(
	    lite ? OUTBOX_SCHEMA_SQLITE : OUTBOX_SCHEMA_POSTGRES, c->out);
	return OK;
}

static void
say(void *ctx, bool fault, const char *what, const char *mend)
{
	struct cli *c = ctx;

	(void)fprintf(
	    c->out, "%s: %s\n  %s\n", fault ? "wrong" : "note", what, mend);
}

int
verb_outbox_check(struct cli *c, struct err *e)
{
	struct outbox_opts o = {
	    .url = c->conf.outbox_url,
	    .xid = strcmp(c->conf.outbox_mode, "xid") == 0,
	};
	struct outbox_told t = {.say = say, .ctx = c};

	TRY(outbox_table(c->conf.outbox_table, o.table, e));
	if (!o.url[0])
		return err_set(
		    e, ERR_INVALID, "which one? Give --url, or set outbox.url");
	if (o.xid && outbox_file(o.url))
		return err_set(
		    e, ERR_INVALID, "outbox.mode = xid is for PostgreSQL");
	TRY(outbox_check(&o, &t, e));
	if (t.faults > 0)
		return err_set(e, ERR_INVALID,
		    "%s is not fit for outbox.mode = %s: %d wrong, see above",
		    o.table, c->conf.outbox_mode, t.faults);
	(void)fprintf(c->out, "%s is fit for outbox.mode = %s\n", o.table,
	    c->conf.outbox_mode);
	return OK;
}
