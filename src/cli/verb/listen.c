#include <signal.h>

#include "cli/limits.h"
#include "cli/out/term.h"
#include "cli/receiver.h"
#include "cli/scheme.h"
#include "cli/verb/forward.h"
#include "cli/verbs.h"
#include "contract/limits.h"
#include "contract/receive.h"
#include "seal/otp.h"

/*
 * `hikyaku listen`: a receiver to try things out with. It shows what comes,
 * says whether it is verified, and can fail on purpose. On loopback only, one
 * thread, nothing is kept but the ids that tell a repeat.
 */

#define IDS_MAX 65536

struct listener {
	struct cli *cli;
	struct scheme scheme;
	struct receiver *receiver;
	int64_t status, fails; /* the answer; how many fail before it */
	struct map *seen;
	struct arena *ids;
};

/* The scheme hub proves itself by a one-time code with the usual settings. */
static const char *
check_code(const struct listener *l, const struct received *r)
{
	struct otp o = {.secret = l->scheme.secret,
	    .hash = OTP_SHA1,
	    .step_s = 30,
	    .digits = 8};
	struct str code = receive_header(r, "authorization");

	if (code.n == 0)
		return "not verified: there is no one-time code";
	return otp_check(&o, STR_EMPTY, code, clock_now_us(), NULL)
		   ? "verified"
		   : "not verified: the one-time code is wrong or too old";
}

static const char *
judge(const struct listener *l, struct arena *a, const struct received *r)
{
	enum receive_result result = RECEIVE_WRONG;
	struct str text;
	struct err e;

	if (l->scheme.secret.n == 0)
		return "not checked: no secret was given";
	if (l->scheme.preset->uses_hub)
		return check_code(l, r);
	if (scheme_verify(&l->scheme, a, r, clock_now_us(), RECEIVE_TOLERANCE_S,
		&result, &e) < 0)
		text = arena_fmt(a, "not checked: %s", e.text);
	else if (result == RECEIVE_OK)
		return "verified";
	else
		text = arena_fmt(a, "not verified: %s", receive_text(result));
	return text.p;
}

/* What names the delivery, in any scheme. */
static struct str
id_of(const struct received *r)
{
	static const char *const NAMES[] = {
	    "webhook-id", "x-webhook-id", "x-nemakiware-delivery", NULL};
	struct str id = STR_EMPTY;

	for (const char *const *n = NAMES; *n && id.n == 0; n++)
		id = receive_header(r, *n);
	return id;
}

/* True when it came before; from now on it has. */
static bool
repeated(struct listener *l, struct str id)
{
	if (id.n == 0 || map_find(l->seen, id))
		return id.n > 0;
	if (map_count(l->seen) < IDS_MAX) /* past that a repeat isn't told */
		map_set(l->seen, arena_dup(l->ids, id), l);
	return false;
}

static void
show_text(FILE *out, struct str text, struct arena *a)
{
	(void)fprintf(out, "%.*s\n", STR_ARG(term_clean(a, text, true)));
}

static void
listen_show(struct listener *l, const char *method, const char *url,
    const struct received *r, unsigned status, struct arena *a)
{
	FILE *out = l->cli->out;
	struct str id = id_of(r);
	char now[TIME_LEN + 1];

	time_format(clock_now_us(), now);
	(void)fprintf(out, "%s %s ", now, method);
	show_text(out, str_of(url), a);
	for (size_t i = 0; i < r->n; i++) {
		(void)fprintf(out, "  %.*s: ", STR_ARG(r->headers[i].name));
		show_text(out, r->headers[i].value, a);
	}
	show_text(out, r->body, a);
	(void)fprintf(out, "  -> %u, %s%s\n\n", status, judge(l, a, r),
	    repeated(l, id) ? ", came before" : "");
	(void)fflush(out);
}

static unsigned
listen_take(void *arg, const char *method, const char *url,
    const struct received *r, struct arena *a)
{
	struct listener *l = arg;
	unsigned status = (unsigned)l->status;

	if (l->fails > 0) {
		l->fails--;
		status = 503;
	}
	listen_show(l, method, url, r, status, a);
	return status;
}

static int
start(struct listener *l, struct err *e)
{
	const char *operand = l->cli->args.operands[0];
	struct receiver_opts o = {.port = 9000, .take = listen_take, .arg = l};
	int rc;

	if (operand && (!str_int(str_of(operand), &o.port) || o.port < 0 ||
			   o.port > 65535))
		return err_set(e, ERR_INVALID,
		    "PORT must be a whole number from 0 to 65535, not %.64s",
		    operand);
	rc = receiver_start(&o, &l->receiver, e);
	if (rc < 0)
		return rc;
	(void)fprintf(l->cli->err, "listening on http://127.0.0.1:%u\n",
	    receiver_port(l->receiver));
	(void)fflush(l->cli->err);
	return OK;
}

int
verb_listen(struct cli *c, struct err *e)
{
	struct listener l = {.cli = c,
	    .status = args_int(&c->args, "status", 200),
	    .fails = args_int(&c->args, "fail", 0)};
	sigset_t stop;
	int rc, got;

	if (args_text(&c->args, "forward"))
		return forward(c, e);
	l.seen = map_new(IDS_MAX);
	l.ids = arena_new(CLI_ARENA_MAX);
	cli_signals(&stop);
	rc = scheme_open(c, &l.scheme, e);
	if (rc == OK)
		rc = start(&l, e);
	if (rc == OK)
		(void)sigwait(&stop, &got);
	receiver_stop(l.receiver);
	scheme_close(&l.scheme);
	map_free(l.seen);
	arena_free(l.ids);
	return rc;
}
