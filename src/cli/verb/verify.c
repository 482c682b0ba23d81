#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/scheme.h"
#include "cli/verbs.h"
#include "contract/limits.h"
#include "contract/receive.h"

/*
 * `hikyaku verify`: was this captured request signed with this secret? Needs
 * neither server nor store.
 */

/* The time to judge by: now, or what --at says. */
static int
judged_at(struct cli *c, int64_t *ret, struct err *e)
{
	const char *at = args_text(&c->args, "at");

	*ret = clock_now_us();
	if (at && !time_parse(str_of(at), ret, NULL))
		return err_set(e, ERR_INVALID,
		    "--at must be a time as in RFC 3339, 2026-01-10T12:34:56Z");
	return OK;
}

int
verb_verify(struct cli *c, struct err *e)
{
	enum receive_result result = RECEIVE_WRONG;
	struct buf b = BUF(REQUEST_BODY_MAX + MIB);
	struct received r;
	struct scheme s;
	int64_t now_us = 0;
	int rc = scheme_open(c, &s, e);

	if (rc == OK && s.secret.n == 0)
		rc = err_set(e, ERR_INVALID,
		    "--secret is needed, or the environment's HIKYAKU_SECRET");
	if (rc == OK)
		rc = cli_input(c->args.operands[0], &b, e);
	if (rc == OK)
		rc = judged_at(c, &now_us, e);
	if (rc == OK)
		rc = receive_parse(c->arena, buf_str(&b), &r, e);
	if (rc == OK)
		rc = scheme_verify(&s, c->arena, &r, now_us,
		    args_int(&c->args, "tolerance", RECEIVE_TOLERANCE_S),
		    &result, e);
	if (rc == OK && result == RECEIVE_OK)
		(void)fprintf(c->out, "verified\n");
	if (rc == OK && result != RECEIVE_OK)
		rc = err_set(
		    e, ERR_DENIED, "not verified: %s", receive_text(result));
	scheme_close(&s);
	buf_done(&b);
	return rc;
}
