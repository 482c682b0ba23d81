#include "cli/verbs.h"

static const struct opt SERVE[] = {
    {"listen", OPT_CONF, "HOST:PORT", .help = "where to listen",
	.key = "server.listen"},
    {"fault", OPT_TEXT, "NAME:NTH", .help = "for tests: fail at this point"},
    {.name = NULL},
};

static const struct opt TAIL[] = {
    {"after", OPT_TEXT, "CURSOR", .help = "begin behind this cursor"},
    {"from-start", OPT_FLAG, "", .help = "begin with the oldest event kept"},
    {"type", OPT_TEXT, "TYPE",
	.help = "only this eventType; NAME.* takes a family"},
    {"key", OPT_TEXT, "KEY", .help = "only this partitionKey"},
    {"tenant", OPT_TEXT, "UUID", .help = "only this tenantId"},
    {"limit", OPT_INT, "N", .help = "end after N events", .least = 1,
	.most = INT64_MAX},
    {.name = NULL},
};

static const struct opt KEY_CREATE[] = {
    {"scopes", OPT_TEXT, "LIST",
	.help = "of publish, read, manage, admin; publish when not given"},
    {"tenants", OPT_TEXT, "LIST",
	.help = "only these tenantIds; all when not given"},
    {.name = NULL},
};

static const struct opt USER_ADD[] = {
    {"scopes", OPT_TEXT, "LIST",
	.help = "of publish, read, manage, admin; read when not given"},
    {.name = NULL},
};

static const struct verb TABLE[] = {
    {.name = "serve",
	.operands = "",
	.summary = "run the server",
	.text =
	    "Takes events over HTTP and keeps them in the log. Data lives in the data\n"
	    "folder (SQLite), or in PostgreSQL when database.url is set. The first run makes\n"
	    "the account admin and prints its password once. SIGTERM and SIGINT stop it\n"
	    "after everything accepted was answered.\n",
	.own = SERVE,
	.run = verb_serve},
    {.name = "migrate",
	.operands = "",
	.summary = "bring the store to this version",
	.text =
	    "Applies the schema changes that the store lacks, one transaction each. serve\n"
	    "does so by itself at the start; run this first when several nodes share one\n"
	    "database.\n",
	.run = verb_migrate},
    {.name = "event publish",
	.operands = "[FILE]",
	.most = 1,
	.summary = "publish events from a file",
	.text =
	    "Publishes the events in FILE, or in the standard input when FILE is - or\n"
	    "absent: one envelope, a JSON array of them, or one a line (NDJSON). Shows one\n"
	    "line for each: its eventId and seq, or what is wrong with it. Fails when one\n"
	    "was refused.\n",
	.run = verb_event_publish},
    {.name = "event tail",
	.operands = "",
	.summary = "follow the log",
	.text =
	    "Shows each new event as one line of JSON until it is interrupted. It begins at\n"
	    "the end of the log unless told otherwise.\n",
	.own = TAIL,
	.run = verb_event_tail},
    {.name = "key create",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "make an API key",
	.text =
	    "Makes an API key and prints it. It is shown this once: only its hash is kept.\n",
	.own = KEY_CREATE,
	.run = verb_key_create},
    {.name = "key list",
	.operands = "",
	.summary = "list the API keys",
	.text =
	    "Shows id, name, scopes, when it was made and last used; never the key.\n",
	.run = verb_key_list},
    {.name = "key revoke",
	.operands = "ID",
	.least = 1,
	.most = 1,
	.summary = "revoke an API key",
	.text = "From now on the key is refused. This can't be undone.\n",
	.run = verb_key_revoke},
    {.name = "user add",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "make an account",
	.text =
	    "Makes an account. The password is the first line of the standard input; at a\n"
	    "terminal it is asked for, without showing it.\n",
	.own = USER_ADD,
	.run = verb_user_add},
    {.name = "user passwd",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "change an account's password",
	.text =
	    "Takes the new password as `user add` does, and lifts a lock on the account.\n",
	.run = verb_user_passwd},
    {.name = "user list",
	.operands = "",
	.summary = "list the accounts",
	.text = "Shows name, scopes, and when it was made.\n",
	.run = verb_user_list},
};

const struct verbs VERBS = {.v = TABLE, .n = COUNT_OF(TABLE)};
