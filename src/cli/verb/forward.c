#include "cli/verb/forward.h"

#include <time.h>
#include <unistd.h>

#include "api/limits.h"
#include "cli/client.h"
#include "cli/limits.h"
#include "cli/out/show.h"
#include "cli/out/term.h"
#include "contract/request.h"
#include "http/url.h"
#include "seal/digest.h"

#define FETCH_MAX    20
/* Short: whoever is gone is handed events as long as it would have waited. */
#define FETCH_WAIT_S 2
#define PAUSE_MIN_MS 250
#define PAUSE_MAX_MS 8000
#define ANSWER_S     15L /* as preset standard */
#define EXPIRE_US    (INT64_C(86400) * US_PER_S)
#define REFRESH_US   (INT64_C(3600) * US_PER_S)

struct forwarder {
	struct cli *cli;
	const char *url;
	struct str path; /* /v1/consumers/NAME */
	struct client *to;
	struct presets *presets;
	struct sub_conf *sub;
	struct uuid id;      /* the consumer's, as a subscription */
	struct arena *arena; /* of what was fetched */
	sigset_t signals;
	bool stop;
	bool told; /* that somebody is away */
	int64_t wait_ms, lease_ms, leased_at_ms, refresh_at_us;
};

/* Waiting --------------------------------------------------------------------- */

/* A little longer each time; a signal ends it. */
static void
rest(struct forwarder *f)
{
	int64_t ms = f->wait_ms < PAUSE_MIN_MS ? PAUSE_MIN_MS : f->wait_ms;
	struct timespec t = {
	    .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	f->wait_ms = 2 * ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : 2 * ms;
	if (sigtimedwait(&f->signals, NULL, &t) > 0)
		f->stop = true;
}

static void
away(struct forwarder *f, const struct err *e)
{
	if (!f->told)
		(void)fprintf(f->cli->err, "%s; trying again\n", e->text);
	f->told = true;
	rest(f);
}

static void
back(struct forwarder *f)
{
	f->told = false;
	f->wait_ms = 0;
}

/*
 * Asks the server until it answers. ERR_AWAY: interrupted. What it refuses is
 * an error; that it is down, or too busy, is not.
 */
static int
forward_ask(struct forwarder *f, const char *method, struct str path,
    struct str body, struct json **ret, struct err *e)
{
	do {
		int rc =
		    reach_json(f->cli, f->arena, method, path, body, ret, e);

		if (rc == ERR_AWAY)
			f->stop = true;
		if (rc != ERR_IO) {
			if (rc == OK)
				back(f);
			return rc;
		}
		away(f, e);
	} while (!f->stop);
	return err_set(e, ERR_AWAY, "interrupted");
}

/* The consumer ------------------------------------------------------------------ */

/* Letters, digits, dots and dashes of it, some of them. */
static void
add_word(struct buf *b, const char *word)
{
	buf_addc(b, '-');
	for (size_t i = 0; word && word[i] && i < 24; i++)
		buf_addc(b, str_is_letter(word[i]) || str_is_digit(word[i])
				? word[i]
				: '.');
}

static void
default_name(struct forwarder *f, struct buf *b)
{
	unsigned char sum[DIGEST_LEN];
	char host[64] = "";

	(void)gethostname(host, sizeof(host) - 1);
	digest_sha256(str_of(f->url), sum);
	buf_addz(b, "listen");
	add_word(b, getenv("USER"));
	add_word(b, host);
	buf_addc(b, '-');
	buf_hex(b, (struct str){(const char *)sum, 4});
}

static int
put_consumer(struct forwarder *f, bool first, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(ARGS_JSON_MAX);
	const struct args *a = &f->cli->args;
	int64_t now_us = clock_now_us();
	struct json *j = NULL;

	put_open(&b, NULL, '{');
	args_body(a, &b);
	if (!args_text(a, "order"))
		put_z(&b, "order", "none");
	if (!args_text(a, "ack-wait"))
		put_int(&b, "ackWaitSeconds", f->lease_ms / 1000);
	put_int(&b, "maxAttempts", RETRY_DELAYS_MAX);
	put_time(&b, "expiresAt", now_us + EXPIRE_US);
	put_close(&b, '}');
	if (b.failed)
		return err_set(e, ERR_LIMIT, "this is too long");
	f->refresh_at_us = now_us + REFRESH_US;
	/* At the start a mistake is told at once. */
	TRY(first ? reach_json(
			f->cli, f->arena, "PUT", f->path, buf_str(&b), &j, e)
		  : forward_ask(f, "PUT", f->path, buf_str(&b), &j, e));
	if (!uuid_parse(json_text(j, "id"), &f->id))
		return err_set(e, ERR_IO, "the answer can't be understood");
	return OK;
}

/* Tells what became of events from `item` on, or of it alone. */
static int
settle(struct forwarder *f, const char *how, const struct json *item, bool all,
    struct str *ret_status, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(MIB);
	struct json *j = NULL;

	buf_addz(&b, "{\"cursors\":[");
	do {
		put_text(&b, NULL, json_text(item, "cursor"));
		item = item->next;
	} while (all && item);
	put_close(&b, ']');
	if (all)
		put_int(&b, "seconds", f->lease_ms / 1000);
	put_close(&b, '}');
	TRY(forward_ask(f, "POST",
	    arena_fmt(f->arena, "%.*s/%s", STR_ARG(f->path), how), buf_str(&b),
	    &j, e));
	*ret_status = json_text(json_first(j, "results"), "status");
	return OK;
}

/* True while what is held is ours: leases are renewed in time. */
static bool
holds(struct forwarder *f, const struct json *item)
{
	struct str status = STR_EMPTY;
	struct err e;

	if (clock_mono_ms() - f->leased_at_ms < f->lease_ms / 3)
		return true;
	f->leased_at_ms = clock_mono_ms();
	return settle(f, "extend", item, true, &status, &e) == OK &&
	       str_eq(status, STR("extended"));
}

/* One event ---------------------------------------------------------------------- */

/* The event as it was published: what the API adds stands behind it. */
static int
read_event(struct forwarder *f, const struct json *item,
    struct request_event *ret, struct request_attempt *at, struct err *e)
{
	static const struct str MARK = STR(",\"seq\":");
	const struct json *seq = json_get(item, "seq");
	size_t n;

	*at = (struct request_attempt){.subscription_id = f->id,
	    .number = (unsigned)json_number(item, "attempt"),
	    .now_us = clock_now_us()};
	*ret = (struct request_event){.type = json_text(item, "eventType"),
	    .key = json_text(json_get(item, "sequence"), "partitionKey"),
	    .seq = json_number(item, "seq")};
	(void)time_parse(
	    json_text(item, "receivedAt"), &ret->received_us, NULL);
	(void)uuid_parse(json_text(item, "tenantId"), &ret->tenant);
	if (!seq || !uuid_parse(json_text(item, "eventId"), &ret->event_id) ||
	    !uuid_parse(json_text(item, "deliveryId"), &at->delivery_id) ||
	    seq->raw.p < item->raw.p + MARK.n ||
	    memcmp(seq->raw.p - MARK.n, MARK.p, MARK.n) != 0)
		return err_set(e, ERR_IO, "an event can't be understood");
	n = (size_t)(seq->raw.p - item->raw.p) - MARK.n;
	ret->body = arena_fmt(f->arena, "%.*s}", (int)n, item->raw.p);
	return OK;
}

/* ERR_IO: nobody answered. */
static int
post_event(struct forwarder *f, const struct json *item, int *ret_status,
    int64_t *ret_ms, struct err *e)
{
	struct buf answer CLEANUP(buf_done) = BUF(CLI_ANSWER_MAX);
	struct client_call k = {.method = "POST", .path = ""};
	struct request_event ev;
	struct request_attempt at;
	struct request r;
	struct str_pair *headers;
	enum reason reason;
	int64_t began = clock_mono_ms();
	int rc;

	TRY(read_event(f, item, &ev, &at, e));
	TRY(request_make(f->arena, f->sub, &ev, &at, &r, &reason, e));
	headers = arena_array(f->arena, r.n, sizeof(*headers));
	for (size_t i = 0; i < r.n; i++)
		headers[i] =
		    (struct str_pair){r.headers[i].name, r.headers[i].value};
	k.headers = headers;
	k.n_headers = r.n;
	k.body = r.body;
	rc = client_send(f->to, &k, &answer, ret_status, e);
	*ret_ms = clock_mono_ms() - began;
	return rc == ERR_LIMIT ? OK : rc; /* more than anybody reads */
}

static void
tell(struct forwarder *f, const struct json *item, int status, int64_t ms,
    const char *more)
{
	struct cli *c = f->cli;
	char now[TIME_LEN + 1];
	bool well = status / 100 == 2;

	time_format(clock_now_us(), now);
	(void)fprintf(c->out, "%.8s  ", now + 11);
	term_tint(c, TINT_HEAD);
	(void)fprintf(c->out, "%.*s",
	    STR_ARG(show_value(f->arena, json_get(item, "eventType"))));
	term_tint(c, TINT_NONE);
	(void)fprintf(c->out, "  %.*s  ",
	    STR_ARG(show_value(f->arena, json_get(item, "eventId"))));
	term_tint(c, well ? TINT_GOOD : TINT_BAD);
	(void)fprintf(c->out, "%d", status);
	term_tint(c, TINT_NONE);
	(void)fprintf(c->out, "  %lld ms%s\n", (long long)ms, more);
	(void)fflush(c->out);
}

/* ERR_AWAY: interrupted, or no longer ours: it comes again. */
static int
forward_one(struct forwarder *f, const struct json *item, struct err *e)
{
	struct str came = STR_EMPTY;
	int status = 0, rc;
	int64_t ms = 0;
	bool well;

	for (;;) {
		if (!holds(f, item))
			return err_set(e, ERR_AWAY, "its lease ended");
		rc = post_event(f, item, &status, &ms, e);
		if (rc != ERR_IO)
			break;
		away(f, e);
		if (f->stop)
			return ERR_AWAY;
	}
	TRY(rc);
	back(f);
	well = status / 100 == 2;
	TRY(settle(f, well ? "ack" : "nack", item, false, &came, e));
	tell(f, item, status, ms,
	    str_eq(came, STR("expired")) ? ", too late: it comes again"
	    : str_eq(came, STR("dead"))  ? ", given up: a dead letter"
	    : well                       ? ""
					 : ", it comes again");
	return OK;
}

/* All of it ---------------------------------------------------------------------- */

/*
 * A fetch is not broken off: what it would have got would be leased to nobody.
 * It is short; and what it brought is forwarded before a signal counts.
 */
static int
forward_some(struct forwarder *f, struct err *e)
{
	struct client *server = f->cli->reach.client;
	struct timespec none = {0};
	struct json *j = NULL;
	int rc;

	arena_reset(f->arena);
	if (clock_now_us() > f->refresh_at_us)
		TRY(put_consumer(f, false, e));
	client_signals(server, false);
	rc = forward_ask(f, "GET",
	    arena_fmt(f->arena, "%.*s/events?max=%d&wait=%d", STR_ARG(f->path),
		FETCH_MAX, FETCH_WAIT_S),
	    STR_EMPTY, &j, e);
	client_signals(server, true);
	TRY(rc);
	f->leased_at_ms = clock_mono_ms();
	if (sigtimedwait(&f->signals, NULL, &none) > 0)
		f->stop = true;
	for (j = json_first(j, "data"); j && rc == OK; j = j->next)
		rc = forward_one(f, j, e);
	return rc == ERR_AWAY ? OK : rc;
}

static int
forward_start(struct forwarder *f, struct err *e)
{
	struct cli *c = f->cli;
	struct buf name CLEANUP(buf_done) = BUF(KIB);
	struct buf b CLEANUP(buf_done) = BUF(ARGS_JSON_MAX);
	struct sub_rules rules = {.conf = &c->conf, .now_us = clock_now_us()};
	struct client_at at = {.url = f->url,
	    .near = true,
	    .answer_s = f->lease_ms < 2000 * ANSWER_S ? f->lease_ms / 2000 + 1
						      : ANSWER_S};
	const char *secret = args_text(&c->args, "secret");

	if (!secret)
		secret = getenv("HIKYAKU_SECRET");
	put_open(&b, NULL, '{');
	put_z(&b, "name", "listen");
	put_z(&b, "url", f->url);
	if (secret)
		put_z(&b, "secret", secret);
	put_close(&b, '}');
	f->presets = presets_load(&c->conf);
	rules.presets = f->presets;
	TRY(sub_read(buf_str(&b), NULL, &rules, &f->sub, e));
	TRY(client_open_at(&at, &f->to, e));
	TRY(reach_server(c, e));
	client_signals(f->to, true);
	client_signals(c->reach.client, true);
	if (args_text(&c->args, "name"))
		buf_addz(&name, args_text(&c->args, "name"));
	else
		default_name(f, &name);
	for (size_t i = 0; i < name.n; i++)
		if (!str_is_letter(name.p[i]) && !str_is_digit(name.p[i]) &&
		    !str_has(STR("._-"), name.p[i]))
			return cli_usage(c, e,
			    "--name has letters, digits, dots, dashes and underscores");
	f->path =
	    arena_fmt(c->arena, "/v1/consumers/%.*s", STR_ARG(buf_str(&name)));
	TRY(put_consumer(f, true, e));
	(void)fprintf(c->err,
	    "forwarding to %s as consumer %.*s; signed with %.*s\n", f->url,
	    STR_ARG(buf_str(&name)), STR_ARG(f->sub->secrets[0].text));
	(void)fflush(c->err);
	return OK;
}

/* The consumer goes, unless it is kept; its end is near in any case. */
static void
forward_end(struct forwarder *f)
{
	struct timespec none = {0};
	struct err e;

	while (sigtimedwait(&f->signals, NULL, &none) > 0)
		;
	if (args_flag(&f->cli->args, "keep"))
		return;
	client_signals(f->cli->reach.client, false);
	if (reach_ask(
		f->cli, f->arena, "DELETE", f->path, STR_EMPTY, NULL, &e) < 0)
		(void)fprintf(f->cli->err,
		    "the consumer stays for a day, then it ends: %s\n", e.text);
}

int
forward(struct cli *c, struct err *e)
{
	struct forwarder f = {.cli = c,
	    .url = args_text(&c->args, "forward"),
	    .lease_ms = args_int(&c->args, "ack-wait", 30) * 1000,
	    .arena = arena_new(CLI_ARENA_MAX)};
	struct url u;
	int rc = OK;

	cli_signals(&f.signals);
	if (c->args.n_operands > 0)
		rc = cli_usage(c, e, "--forward takes no PORT");
	if (rc == OK)
		rc = url_parse(str_of(f.url), &u, e);
	if (rc == OK)
		rc = forward_start(&f, e);
	while (rc == OK && !f.stop && !ferror(c->out))
		rc = forward_some(&f, e);
	if (rc == ERR_AWAY && f.stop)
		rc = OK;
	if (rc == OK)
		forward_end(&f);
	client_close(f.to);
	sub_free(f.sub);
	presets_free(f.presets);
	arena_free(f.arena);
	return rc;
}
