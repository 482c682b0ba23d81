#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "account/scopes.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "source/outbox.h"
#include "store/store.h"

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
