#include "cli/ask.h"

#include "cli/limits.h"
#include "cli/out/listing.h"
#include "cli/out/show.h"
#include "http/percent.h"

static bool
is_unset(const struct opt *o)
{
	return strcmp(o->name, "unset") == 0;
}

/* Whether an option says what a member of the file is. */
static bool
overridden(const struct cli *c, struct str key)
{
	for (size_t i = 0; i < c->args.n_given; i++) {
		const struct opt *o = c->args.given[i].opt;

		if (str_eq(str_of(o->member), key) ||
		    (is_unset(o) &&
			str_listed(str_of(c->args.given[i].value), ',', key)))
			return true;
	}
	return false;
}

static int
read_json(struct cli *c, const char *option, const char *path,
    struct json **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(CLI_BODY_MAX);
	struct err why;

	TRY(cli_input(path, &b, e));
	if (json_parse(c->arena, arena_dup(c->arena, buf_str(&b)), ret, &why) <
	    0)
		return err_set(
		    e, ERR_INVALID, "--%s %.64s: %s", option, path, why.text);
	return OK;
}

static int
add_file(struct cli *c, const char *path, struct buf *b, struct err *e)
{
	struct json *j = NULL;

	TRY(read_json(c, "file", path, &j, e));
	if (!json_is(j, JSON_OBJECT))
		return err_set(e, ERR_INVALID,
		    "--file %.64s: must be a JSON object", path);
	for (j = j->child; j; j = j->next) {
		if (overridden(c, j->key))
			continue;
		put_name(b, NULL);
		buf_json(b, j->key);
		buf_addc(b, ':');
		buf_add(b, j->raw);
	}
	return OK;
}

int
ask_body(struct cli *c, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(2 * CLI_BODY_MAX);
	const char *file = args_text(&c->args, "file");
	struct json *j = NULL;
	struct err why;

	put_open(&b, NULL, '{');
	if (file)
		TRY(add_file(c, file, &b, e));
	args_body(&c->args, &b);
	for (size_t i = 0; i < c->args.n_given; i++) {
		const struct opt *o = c->args.given[i].opt;
		struct str rest = str_of(c->args.given[i].value);

		while (is_unset(o) && rest.n > 0) {
			put_name(&b, NULL);
			buf_json(&b, str_trim(str_cut(&rest, ',')));
			buf_addz(&b, ":null");
		}
		if (o->type != OPT_DOC || !o->member)
			continue;
		TRY(read_json(c, o->name, c->args.given[i].value, &j, e));
		put_raw(&b, o->member, j->raw);
	}
	put_close(&b, '}');
	if (b.failed)
		return err_set(e, ERR_LIMIT, "this is too long");
	*ret = arena_dup(c->arena, buf_str(&b));
	if (json_parse(c->arena, *ret, &j, &why) < 0)
		return err_set(e, ERR_INVALID,
		    "a value is no JSON, or is given twice: %s", why.text);
	return OK;
}

int
ask_path(struct cli *c, struct str path, const char *operand, bool all,
    struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	buf_add(&b, str_cut(&path, '{'));
	if (path.n > 0) {
		percent_add(&b, str_of(operand));
		buf_add(&b, str_from(path, 1)); /* behind the } */
	}
	args_query(&c->args, all, &b);
	if (b.failed)
		return err_set(e, ERR_LIMIT, "this is too long");
	*ret = arena_dup(c->arena, buf_str(&b));
	return OK;
}

void
ask_show(struct cli *c, const struct json *j)
{
	if (args_flag(&c->args, "json"))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(j->raw));
	else
		show_doc(c, j);
}

static int
ask_one(struct cli *c, const char *method, struct str path, struct str body,
    const char *operand, struct err *e)
{
	struct json *j = NULL;

	TRY(reach_json(c, c->arena, method, path, body, &j, e));
	if (c->verb->said && !args_flag(&c->args, "json"))
		(void)fprintf(c->out, "%s %s\n", operand, c->verb->said);
	else if (j)
		ask_show(c, j);
	if (c->verb->well &&
	    !json_is(json_at(j, str_of(c->verb->well)), JSON_TRUE))
		return err_set(e, ERR_IO,
		    "it did not work; what came of it is shown above");
	return OK;
}

int
verb_ask(struct cli *c, struct err *e)
{
	struct str path = str_of(c->verb->api), full, body = STR_EMPTY;
	const char *method = arena_z(c->arena, str_cut(&path, ' '));
	bool has_body = method[0] == 'P', each = str_has(path, '{');
	struct listing l = {.columns = c->verb->columns};
	size_t n = each ? c->args.n_operands : 1;

	if (l.columns) {
		TRY(ask_path(c, path, c->args.operands[0], true, &full, e));
		l.path = arena_z(c->arena, full);
		return listing_show(c, &l, e);
	}
	if (has_body)
		TRY(ask_body(c, &body, e));
	for (size_t i = 0; i < n; i++) {
		const char *operand = c->args.operands[i];

		TRY(ask_path(c, path, operand, !has_body, &full, e));
		TRY(ask_one(c, method, full, body, operand, e));
	}
	return OK;
}
