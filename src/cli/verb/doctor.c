#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#include "account/scopes.h"
#include "cli/out/listing.h"
#include "cli/verbs.h"
#include "ops/backup.h"
#include "ops/restored.h"
#include "source/outbox.h"
#include "store/store.h"

#define BACKUP_OLD_H (7 * 24)
#define WAL_LARGE    (256 * MIB) /* four times what a restart leaves */

/*
 * Is this installation healthy, and who may see what is not theirs? A line for
 * each finding: `ok`, `look` (somebody should know) or `bad` (it must be
 * mended, and the exit status says so).
 */
struct visit {
	struct cli *c;
	size_t bad;
	const struct outbox_opts *outbox; /* that is looked at */
};

static void say(struct visit *v, const char *how, const char *what,
    const char *fmt, ...) PRINTF(4, 5);
static void
say(struct visit *v, const char *how, const char *what, const char *fmt, ...)
{
	va_list args;

	if (strcmp(how, "bad") == 0)
		v->bad++;
	(void)fprintf(v->c->out, "%-5s %-8s ", how, what);
	va_start(args, fmt);
	(void)vfprintf(v->c->out, fmt, args);
	va_end(args);
	(void)fputc('\n', v->c->out);
}

static void
look_store(struct visit *v)
{
	struct err e = {0};
	int version = 0;

	if (v->c->reach.client)
		say(v, "ok", "store", "a server runs on it and answers");
	else if (store_version(v->c->reach.store, &version, &e) < 0)
		say(v, "bad", "store", "%s", e.text);
	else
		say(v, "ok", "store", "version %d; no server runs on it",
		    version);
}

/* The keys must open what they sealed: without them secrets are lost. */
static void
look_seal(struct visit *v)
{
	struct err e = {0};
	int rc = v->c->reach.client ? reach_ask(v->c, v->c->arena, "GET",
					  STR("/v1/seal"), STR_EMPTY, NULL, &e)
				    : reach_keyring(v->c, &e);

	say(v, rc < 0 ? "bad" : "ok", "seal", "%s",
	    rc < 0 ? e.text : "the keys that seal secrets are there");
}

static void
look_disk(struct visit *v)
{
	int64_t least = v->c->conf.disk_free_min, free_bytes;
	struct statvfs fs;

	if (statvfs(v->c->conf.data, &fs) < 0)
		return;
	free_bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	say(v,
	    free_bytes < least       ? "bad"
	    : free_bytes / 2 < least ? "look"
				     : "ok",
	    "disk", "%lld MiB free, disk.free.min is %lld MiB",
	    (long long)(free_bytes / (int64_t)MIB),
	    (long long)(least / (int64_t)MIB));
}

static void
look_folder(struct visit *v)
{
	struct stat st;

	if (stat(v->c->conf.data, &st) < 0)
		return;
	say(v,
	    st.st_mode & 022   ? "bad"
	    : st.st_mode & 077 ? "look"
			       : "ok",
	    "data", "%.180s has the rights %03o", v->c->conf.data,
	    (unsigned)(st.st_mode & 0777));
}

/* What the store knows of its backups: as GET /v1/backup tells it. */
static int
ask_backup(struct visit *v, struct json **ret, struct err *e)
{
	struct cli *c = v->c;
	struct str last, held;

	if (c->reach.client)
		return reach_json(
		    c, c->arena, "GET", STR("/v1/backup"), STR_EMPTY, ret, e);
	TRY(backup_last(c->reach.db, c->arena, &last, e));
	TRY(restored_look(c->reach.db, c->arena, &held, e));
	last = last.p ? last : STR("null");
	held = held.p ? held : STR("null");
	return json_parse(c->arena,
	    arena_fmt(c->arena,
		"{\"online\":%s,\"last\":%.*s,\"restored\":%.*s}",
		store_shared(c->reach.store) ? "false" : "true", STR_ARG(last),
		STR_ARG(held)),
	    ret, e);
}

static void
look_backup(struct visit *v, const struct json *j)
{
	const struct json *last = json_get(j, "last");
	int64_t at_us = 0, hours;

	if (json_is(json_get(j, "restored"), JSON_OBJECT))
		say(v, "look", "held",
		    "this store was restored: nothing is delivered, relayed or fetched until hikyaku resume");
	if (!json_true(j, "online"))
		say(v, "look", "standby",
		    "a PostgreSQL that fails over to an asynchronous standby loses events that were answered: synchronous_standby_names avoids that");
	if (!time_parse(json_text(last, "at"), &at_us, NULL)) {
		say(v, "look", "backup",
		    "no backup is known: hikyaku backup DIR");
		return;
	}
	hours = (clock_now_us() - at_us) / US_PER_HOUR;
	say(v, hours > BACKUP_OLD_H ? "look" : "ok", "backup",
	    "the last one is %lld hours old: %.*s, up to seq %lld",
	    (long long)hours, STR_ARG(str_chars(json_text(last, "where"), 200)),
	    json_number(last, "lastSeq"));
}

/* Codes, leases, signatures and times of events rest on it. */
static void
look_clock(struct visit *v)
{
	struct timex t = {.modes = 0};

	if (adjtimex(&t) < 0)
		return;
	say(v, t.status & STA_UNSYNC ? "look" : "ok", "clock", "%s",
	    t.status & STA_UNSYNC ? "nobody keeps it right: run an NTP client"
				  : "it is kept right");
}

static void
look_wal(struct visit *v)
{
	const char *path =
	    arena_fmt(v->c->arena, "%s/hikyaku.db-wal", v->c->conf.data).p;
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	say(v, st.st_size > (off_t)WAL_LARGE ? "look" : "ok", "wal",
	    "%lld MiB of changes wait to be copied into the database",
	    (long long)(st.st_size / (off_t)MIB));
}

/* What is open by these settings; a server's own may be others. */
static void
look_guard(struct visit *v)
{
	const struct conf *c = &v->c->conf;

	if (c->webhook_url_allow_private[0])
		say(v, "look", "guard", "webhooks may reach %.100s",
		    c->webhook_url_allow_private);
	if (c->fetch_url_allow_private[0])
		say(v, "look", "guard", "feeds may come from %.100s",
		    c->fetch_url_allow_private);
	if (c->webhook_url_allow_http)
		say(v, "look", "guard",
		    "webhooks may go over http, which anybody on the way reads");
	if (c->webhook_proxy_resolves)
		say(v, "look", "guard",
		    "addresses behind names are the proxy's to refuse");
	if (c->metrics_open)
		say(v, "look", "guard", "anybody may read /metrics");
}

static void
look_account(struct visit *v, const struct json *u)
{
	enum role role = role_of(json_text(u, "role"));

	if (role != ROLE_READER)
		say(v, "look", "account", "%.*s is %s: %.*s",
		    STR_ARG(json_text(u, "name")), role_name(role),
		    STR_ARG(scopes_text(v->c->arena, role_scopes(role))));
}

/* Keys that see events, or take them from a consumer's other workers. */
static void
look_key(struct visit *v, const struct json *k)
{
	const struct json *list = json_first(k, "scopes");
	unsigned scopes = 0;
	int64_t end_us = 0;

	if (json_text(k, "revokedAt").n ||
	    (time_parse(json_text(k, "expiresAt"), &end_us, NULL) &&
		end_us <= clock_now_us()))
		return;
	for (; list; list = list->next)
		scopes |= scope_of(list->text);
	if (!(scopes & scopes_of(STR("read consume manage admin"))))
		return;
	say(v, "look", "key", "%.*s: %.*s; of %s",
	    STR_ARG(str_chars(json_text(k, "name"), 60)),
	    STR_ARG(scopes_text(v->c->arena, scopes)),
	    json_is(json_get(k, "tenants"), JSON_ARRAY) ? "its tenants"
							: "all tenants");
}

static void
outbox_fault(void *ctx, bool fault, const char *what, const char *)
{
	struct visit *v = ctx;

	say(v, fault ? "bad" : "look", "outbox", "%s: %s", v->outbox->name,
	    what);
}

/* What the relays of a server with these settings would find. */
static void
look_outboxes(struct visit *v)
{
	struct outbox_opts all[OUTBOXES_MAX];
	struct err e = {0};
	int n = outbox_all(&v->c->conf, all, &e);

	if (n < 0)
		say(v, "bad", "outbox", "%s", e.text);
	for (int i = 0; i < n; i++) {
		struct outbox_told t = {.say = outbox_fault, .ctx = v};

		v->outbox = &all[i];
		if (outbox_check(&all[i], &t, &e) < 0)
			say(v, "bad", "outbox", "%s: %s", all[i].name, e.text);
		else if (t.faults == 0)
			say(v, "ok", "outbox", "%s: %s is fit", all[i].name,
			    all[i].table);
	}
}

int
verb_doctor(struct cli *c, struct err *e)
{
	struct visit v = {.c = c};
	struct json *j = NULL;

	TRY(reach_open(c, e));
	look_store(&v);
	look_seal(&v);
	look_folder(&v);
	look_disk(&v);
	look_wal(&v);
	look_clock(&v);
	look_guard(&v);
	TRY(ask_backup(&v, &j, e));
	look_backup(&v, j);
	look_outboxes(&v);
	TRY(listing_read(c, &LISTING_USERS, &j, e));
	for (; j; j = j->next)
		look_account(&v, j);
	TRY(listing_read(c, &LISTING_KEYS, &j, e));
	for (; j; j = j->next)
		look_key(&v, j);
	if (v.bad)
		c->status = EXIT_FAILED;
	return OK;
}
