#include "account/keys.h"
#include "account/limits.h"
#include "cli/out/listing.h"
#include "cli/verbs.h"
#include "http/server/limits.h"
#include "seal/tenant.h"
#include "store/store.h"

static int
read_scopes(struct str list, struct key *k, struct err *e)
{
	while (list.n > 0) {
		struct str word = str_trim(str_cut(&list, ','));
		unsigned bit = scope_of(word);

		if (!bit)
			return err_set(e, ERR_INVALID,
			    "--scopes: %.*s is not " SCOPE_WORDS,
			    STR_ARG(word));
		k->scopes |= bit;
	}
	return OK;
}

static int
read_tenants(struct str list, struct arena *a, struct key *k, struct err *e)
{
	struct uuid *ids = arena_array(a, KEY_TENANTS_MAX, sizeof(*ids));
	struct str *names = arena_array(a, KEY_TENANTS_MAX, sizeof(*names));

	while (list.n > 0) {
		struct str id = str_trim(str_cut(&list, ','));

		if (k->n_tenants == KEY_TENANTS_MAX)
			return err_set(e, ERR_LIMIT,
			    "--tenants takes at most %d", KEY_TENANTS_MAX);
		names[k->n_tenants] = id;
		if (!tenant_parse(id, &ids[k->n_tenants++]))
			return err_set(e, ERR_INVALID,
			    "--tenants: %.*s is not " TENANT_WORDS,
			    STR_ARG(id));
	}
	k->tenants = ids;
	k->tenant_names = names;
	return OK;
}

/* A span from now, 90d, or a time. */
static int
read_expiry(struct cli *c, struct str text, int64_t now_us, int64_t *ret_us,
    struct err *e)
{
	static const struct conf_key span = {
	    .name = "--expires",
	    .type = CONF_DURATION,
	    .least = 1000,
	    .most = INT64_C(3650) * 86400 * 1000,
	    .of = "d",
	};
	int64_t ms = 0;

	if (time_parse(text, ret_us, NULL))
		return OK;
	TRY(conf_value_read(&span, text, c->arena, &ms, e));
	*ret_us = now_us + ms * US_PER_MS;
	return OK;
}

/* The key that the options ask for. */
static int
read_key(struct cli *c, int64_t now_us, struct key *k, struct err *e)
{
	const char *name = args_text(&c->args, "name");
	const char *scopes = args_text(&c->args, "scopes");
	const char *tenants = args_text(&c->args, "tenants");
	const char *expires = args_text(&c->args, "expires");
	const char *secret = args_text(&c->args, "webhook-secret");

	if (!name && c->args.n_operands > 0)
		name = c->args.operands[0];
	k->name = str_of(name);
	k->created_by = STR("local");
	if (secret)
		k->webhook_secret = str_of(secret);
	k->rate_per_second = args_int(&c->args, "rate", 0);
	TRY(read_scopes(scopes ? str_of(scopes) : STR("publish"), k, e));
	if (tenants)
		TRY(read_tenants(str_of(tenants), c->arena, k, e));
	if (expires)
		TRY(read_expiry(c, str_of(expires), now_us, &k->expires_us, e));
	return key_check(k, now_us, e);
}

/* The request that asks the server for the key. */
static void
ask_json(const struct cli *c, const struct key *k, struct buf *b)
{
	put_open(b, NULL, '{');
	put_text(b, "name", k->name);
	if (!args_text(&c->args, "scopes"))
		put_raw(b, "scopes", STR("[\"publish\"]"));
	args_body(&c->args, b);
	if (k->expires_us)
		put_time(b, "expiresAt", k->expires_us);
	put_close(b, '}');
}

/* What is done to the store itself, in one transaction. */
struct change {
	struct cli *cli;
	struct key *key; /* is made; NULL: `id` is revoked */
	struct uuid id;
	int64_t now_us;
	struct key_made made;
};

static int
change_here(struct db *db, void *ctx, struct err *e)
{
	struct change *ch = ctx;

	return ch->key ? keys_create(db, ch->cli->reach.keyring, ch->key,
			     ch->now_us, ch->cli->arena, &ch->made, e)
		       : keys_revoke(db, ch->id, STR("local"), ch->now_us, e);
}

static int
create(struct cli *c, struct key *k, int64_t now_us, struct str *ret_answer,
    struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(KIB * 16);
	struct change ch = {.cli = c, .key = k, .now_us = now_us};

	TRY(reach_open(c, e));
	if (c->reach.client) {
		ask_json(c, k, &b);
		TRY(reach_ask(c, c->arena, "POST", STR("/v1/keys"), buf_str(&b),
		    ret_answer, e));
	} else {
		TRY(reach_keyring(c, e));
		TRY(db_tx(c->reach.db, change_here, &ch, e));
		key_json(k, &ch.made, &b);
		*ret_answer = arena_dup(c->arena, buf_str(&b));
	}
	return OK;
}

int
verb_key_create(struct cli *c, struct err *e)
{
	int64_t now_us = clock_now_us();
	struct key k = {0};
	struct str answer = STR_EMPTY;
	struct json *j = NULL;

	if (c->args.n_operands == 0 && !args_text(&c->args, "name"))
		return cli_usage(c, e, "key create needs a name");
	TRY(read_key(c, now_us, &k, e));
	TRY(create(c, &k, now_us, &answer, e));
	TRY(json_parse(c->arena, answer, &j, e));
	if (args_flag(&c->args, "json")) {
		(void)fprintf(c->out, "%.*s\n", STR_ARG(answer));
		return OK;
	}
	(void)fprintf(c->out, "%.*s\n", STR_ARG(json_text(j, "key")));
	(void)fprintf(c->err,
	    "key %.*s has the id %.*s; the key itself is shown this once\n"
	    "its webhooks are signed with %.*s, which is shown this once too\n",
	    STR_ARG(k.name), STR_ARG(json_text(j, "id")),
	    STR_ARG(json_text(j, "webhookSecret")));
	return OK;
}

static int
all(struct db *db, struct arena *a, struct buf *b, struct err *e)
{
	struct key *list = NULL;
	size_t n = 0;

	TRY(keys_list(db, 0, PAGE_SCAN, a, &list, &n, e));
	for (size_t i = 0; i < n; i++)
		key_json(&list[i], NULL, b);
	return OK;
}

static struct str
state(const struct json *k)
{
	int64_t end_us = 0;

	if (json_text(k, "revokedAt").n)
		return STR("revoked");
	if (time_parse(json_text(k, "expiresAt"), &end_us, NULL) &&
	    end_us <= clock_now_us())
		return STR("expired");
	return STR("good");
}

static const struct column COLUMNS[] = {
    {"ID", .at = "/id"},
    {"NAME", .at = "/name"},
    {"KEY", .at = "/prefix"},
    {"SCOPES", .at = "/scopes"},
    {"TENANTS", .at = "/tenants"},
    {"RATE", .at = "/ratePerSecond"},
    {"CREATED", .at = "/createdAt"},
    {"LAST USED", .at = "/lastUsedAt"},
    {"EXPIRES", .at = "/expiresAt"},
    {"STATE", .cell = state},
    {.head = NULL},
};

const struct listing LISTING_KEYS = {
    .path = "/v1/keys", .all = all, .columns = COLUMNS};

int
verb_key_list(struct cli *c, struct err *e)
{
	return listing_show(c, &LISTING_KEYS, e);
}

int
verb_key_revoke(struct cli *c, struct err *e)
{
	const char *id = c->args.operands[0];
	struct change ch = {.now_us = clock_now_us()};

	if (!uuid_parse(str_of(id), &ch.id))
		return err_set(e, ERR_INVALID,
		    "%.64s is no key's id; `hikyaku key list` shows them", id);
	TRY(reach_open(c, e));
	TRY(c->reach.client ? reach_ask(c, c->arena, "DELETE",
				  arena_fmt(c->arena, "/v1/keys/%s", id),
				  STR_EMPTY, NULL, e)
			    : db_tx(c->reach.db, change_here, &ch, e));
	(void)fprintf(c->err, "key %s is revoked\n", id);
	return OK;
}
