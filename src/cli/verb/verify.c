#include "cli/scheme.h"
#include "cli/verbs.h"
#include "contract/limits.h"
#include "contract/receive.h"

/*
 * `hikyaku verify`: was this captured request signed with this secret? Needs
 * neither server nor store.
 */

int
verb_verify(struct cli *c, struct err *e)
{
	enum receive_result result = RECEIVE_WRONG;
	struct buf b CLEANUP(buf_done) = BUF(REQUEST_BODY_MAX + MIB);
	struct scheme s CLEANUP(scheme_close) = {.presets = NULL};
	const char *at = args_text(&c->args, "at");
	int64_t now_us = clock_now_us();
	struct received r;

	TRY(scheme_open(c, &s, e));
	if (s.secret.n == 0)
		return err_set(e, ERR_INVALID,
		    "--secret is needed, or the environment's HIKYAKU_SECRET");
	TRY(cli_input(c->args.operands[0], &b, e));
	if (at && !time_parse(str_of(at), &now_us, NULL))
		return err_set(e, ERR_INVALID,
		    "--at must be a time as in RFC 3339, 2026-01-10T12:34:56Z");
	TRY(receive_parse(c->arena, buf_str(&b), &r, e));
	TRY(scheme_verify(&s, c->arena, &r, now_us,
	    args_int(&c->args, "tolerance", RECEIVE_TOLERANCE_S), &result, e));
	if (result != RECEIVE_OK)
		return err_set(
		    e, ERR_DENIED, "not verified: %s", receive_text(result));
	(void)fprintf(c->out, "verified\n");
	return OK;
}
