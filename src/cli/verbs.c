#include "cli/verbs.h"

#include "base/limits.h"

static const struct opt SERVE[] = {
    {"listen", OPT_CONF, "HOST:PORT", .help = "where to listen",
	.key = "server.listen"},
    {"roles", OPT_CONF, "LIST", .help = "of api, deliver, fetch, relay",
	.key = "server.roles"},
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
    {"name", OPT_TEXT, "NAME", .help = "the same as NAME without an option"},
    {"scopes", OPT_TEXT, "LIST",
	.help =
	    "of publish, read, consume, manage, admin, submit, query; publish when not given"},
    {"tenants", OPT_TEXT, "LIST",
	.help = "only these tenantIds; all when not given"},
    {"rate", OPT_INT, "N",
	.help = "requests and events a second; key.rate.limit when not given",
	.least = 1, .most = KEY_RATE_MAX},
    {"expires", OPT_TEXT, "SPAN",
	.help = "it ends after 90d, or at 2030-01-31T12:00:00Z"},
    {"json", OPT_FLAG, "", .help = "show all of it as JSON"},
    {.name = NULL},
};

static const struct opt LIST[] = {
    {"json", OPT_FLAG, "", .help = "one JSON object a line"},
    {.name = NULL},
};

static const struct opt FEED_PARSE[] = {
    {"json", OPT_FLAG, "", .help = "all of it as JSON"},
    {"url", OPT_TEXT, "URL", .help = "where it came from, for relative links"},
    {"content-type", OPT_TEXT, "TYPE",
	.help = "the header it came with, for its charset"},
    {.name = NULL},
};

static const struct opt OPML[] = {
    {"user", OPT_TEXT, "NAME",
	.help = "whose: an account's name or an address; admin when not given"},
    {.name = NULL},
};

static const struct opt CONSUMER_PUT[] = {
    {"types", OPT_LIST, "LIST", .member = "types",
	.help = "only these eventTypes; NAME.* takes a family"},
    {"filter", OPT_TEXT, "JQ", .member = "filter",
	.help = "only events that it holds for"},
    {"order", OPT_TEXT, "WORD", .member = "order",
	.help = "key (when not given) or none"},
    {"from", OPT_TEXT, "WHEN", .member = "from",
	.help = "a new one begins at start, or at a time; now when not given"},
    {"ack-wait", OPT_INT, "SECONDS", .member = "ackWaitSeconds",
	.help = "how long a worker may take; 60", .least = 1,
	.most = CONSUMER_WAIT_MAX_S},
    {.name = NULL},
};

static const struct opt CONSUMER_NEXT[] = {
    {"max", OPT_INT, "N", .help = "so many at most; 1 when not given",
	.least = 1, .most = CONSUMER_FETCH_MAX},
    {"wait", OPT_INT, "SECONDS", .help = "wait for one so long", .least = 0,
	.most = WAIT_MAX_S},
    {"ack", OPT_FLAG, "", .help = "they are done once they are printed"},
    {.name = NULL},
};

static const struct opt CONSUMER_NACK[] = {
    {"delay", OPT_INT, "MS", .member = "delayMs",
	.help = "again after so long; by its schedule when not given",
	.least = 0, .most = RETRY_DELAY_MAX_MS},
    {"dead", OPT_FLAG, "", .member = "dead",
	.help = "never again: a dead letter"},
    {"note", OPT_TEXT, "TEXT", .member = "reason", .help = "why"},
    {.name = NULL},
};

static const struct opt USER_ADD[] = {
    {"role", OPT_TEXT, "ROLE",
	.help =
	    "reader (own feeds; when not given), viewer (read), operator (read, consume, manage, publish) or admin"},
    {"generate", OPT_FLAG, "", .help = "make up a password and print it"},
    {.name = NULL},
};

static const struct opt USER_PASSWD[] = {
    {"generate", OPT_FLAG, "", .help = "make up a password and print it"},
    {.name = NULL},
};

static const struct opt STATUS[] = {
    {"json", OPT_FLAG, "", .help = "show all of it as JSON"},
    {.name = NULL},
};

static const struct opt LISTEN[] = {
    {"scheme", OPT_TEXT, "NAME",
	.help =
	    "the preset it should come by, or github or stripe; standard when not given"},
    {"secret", OPT_TEXT, "TEXT",
	.help =
	    "verify with it; HIKYAKU_SECRET of the environment when not given"},
    {"status", OPT_INT, "N",
	.help = "answer with this status; 200 when not given", .least = 200,
	.most = 599},
    {"fail", OPT_INT, "N", .help = "answer the first N with 503", .least = 0,
	.most = 1000000},
    {.name = NULL},
};

static const struct opt VERIFY[] = {
    {"scheme", OPT_TEXT, "NAME",
	.help =
	    "the preset it was sent by, or github or stripe; standard when not given"},
    {"secret", OPT_TEXT, "TEXT",
	.help =
	    "what it was signed with; HIKYAKU_SECRET of the environment when not given"},
    {"at", OPT_TEXT, "TIME",
	.help = "judge its time as of then; now when not given"},
    {"tolerance", OPT_INT, "SECONDS",
	.help = "how far its time may be off; 300 when not given", .least = 0,
	.most = 3153600000},
    {.name = NULL},
};

static const struct opt REPLAY[] = {
    {"subscription", OPT_TEXT, "ID", .member = "subscription",
	.help = "who gets it"},
    {"since", OPT_TEXT, "TIME", .member = "since",
	.help = "what was received from then on: 2030-01-31T12:00:00Z"},
    {"until", OPT_TEXT, "TIME", .member = "until",
	.help = "and before then; now when not given"},
    {"types", OPT_LIST, "LIST", .member = "types",
	.help = "only these eventTypes; NAME.* takes a family"},
    {"rate", OPT_INT, "N", .member = "ratePerSecond",
	.help = "a second; no limit when not given", .least = 1,
	.most = REPLAY_RATE_MAX},
    {"detach", OPT_FLAG, "", .help = "do not wait for its end"},
    {.name = NULL},
};

static const struct opt DEAD_LIST[] = {
    {"subscription", OPT_TEXT, "ID", .help = "only this one's"},
    {"reason", OPT_TEXT, "NAME",
	.help = "only those: HTTP_STATUS, EXHAUSTED, EXPIRED …"},
    {"json", OPT_FLAG, "", .help = "one JSON object a line"},
    {.name = NULL},
};

static const struct opt DEAD_REQUEUE[] = {
    {"subscription", OPT_TEXT, "ID", .help = "all of this one"},
    {"reason", OPT_TEXT, "NAME", .help = "all with this reason"},
    {"all", OPT_FLAG, "", .help = "all there are"},
    {"dry-run", OPT_FLAG, "", .member = "dryRun",
	.help = "say how many, and change nothing"},
    {"note", OPT_TEXT, "TEXT", .member = "reason",
	.help = "why, for the audit"},
    {.name = NULL},
};

static const struct opt DEAD_SKIP[] = {
    {"note", OPT_TEXT, "TEXT", .member = "reason",
	.help = "why, for the audit"},
    {.name = NULL},
};

static const struct opt OUTBOX_SCHEMA[] = {
    {"postgres", OPT_FLAG, "", .help = "for PostgreSQL; also when not given"},
    {"sqlite", OPT_FLAG, "", .help = "for SQLite"},
    {.name = NULL},
};

static const struct opt OUTBOX_CHECK[] = {
    {"url", OPT_CONF, "URL", .help = "the database; outbox.url when not given",
	.key = "outbox.url"},
    {"mode", OPT_CONF, "MODE", .help = "polling or xid", .key = "outbox.mode"},
    {"table", OPT_CONF, "NAME", .help = "the table", .key = "outbox.table"},
    {.name = NULL},
};

static const struct opt FEED_SANITIZE[] = {
    {"base", OPT_TEXT, "URL", .help = "what relative links are relative to"},
    {"tags", OPT_CONF, "LIST", .help = "basic or article",
	.key = "reader.sanitize.tags"},
    {.name = NULL},
};

static const struct opt FEED_DISCOVER[] = {
    {"content-type", OPT_TEXT, "TYPE",
	.help = "the page's Content-Type, for its charset"},
    {"json", OPT_FLAG, "", .help = "one JSON object a line"},
    {.name = NULL},
};

static const struct opt DEMO[] = {
    {"seconds", OPT_INT, "N", .help = "publish for so long; 5 when not given",
	.least = 1, .most = 600},
    {"force", OPT_FLAG, "", .help = "also on a store that has events"},
    {.name = NULL},
};

static const struct verb TABLE[] = {
    {.name = "serve",
	.operands = "",
	.summary = "run the server",
	.text =
	    "Takes events over HTTP and keeps them in the log. Data lives in the data\n"
	    "folder (SQLite), or in PostgreSQL when database.url is set. The first run makes\n"
	    "the account admin and shows its password once, on a terminal; without one it\n"
	    "is in first-password in the data folder until it is changed. SIGTERM and SIGINT\n"
	    "stop it after everything accepted was answered.\n",
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
	.least = 0,
	.most = 1,
	.summary = "make an API key",
	.text =
	    "Makes an API key and prints it, alone, so that a script can take it. It is\n"
	    "shown this once: only its hash is kept. --json shows the secret that signs\n"
	    "webhooks for it too, also this once.\n",
	.own = KEY_CREATE,
	.run = verb_key_create},
    {.name = "key list",
	.operands = "",
	.summary = "list the API keys",
	.text =
	    "Shows id, name, scopes, when it was made and last used; never the key.\n",
	.own = LIST,
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
	.own = USER_PASSWD,
	.run = verb_user_passwd},
    {.name = "user list",
	.operands = "",
	.summary = "list the accounts",
	.text = "Shows name, role, and when it was made.\n",
	.own = LIST,
	.run = verb_user_list},
    {.name = "user remove",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "remove an account",
	.text =
	    "The account can't log in any more. API keys that it made stay: `key list` shows\n"
	    "them, `key revoke` ends them. The last admin can't be removed.\n",
	.run = verb_user_remove},
    {.name = "doctor",
	.operands = "",
	.summary = "is it healthy, and who may see what",
	.text =
	    "Looks at the store, the keys that seal secrets, the data folder and its disk,\n"
	    "and lists the accounts that are more than readers and the keys that see or\n"
	    "take events. Lines begin with ok, look or bad; exits with 1 when one is bad.\n",
	.run = verb_doctor},
    {.name = "seal status",
	.operands = "",
	.summary = "show the keys that seal secrets",
	.text =
	    "Shows the id of each key, how many secrets it has sealed, and which keys can\n"
	    "go because they have sealed none; never a key itself. With event.seal.payload\n"
	    "also from when on each has sealed events: those keep their key until retention\n"
	    "has taken them.\n",
	.own = STATUS,
	.run = verb_seal_status},
    {.name = "seal rotate",
	.operands = "",
	.summary = "replace the key that seals secrets",
	.text =
	    "Puts a new key into the key file and seals every secret anew with it, a few at\n"
	    "a time, beside everything else. The old key stays in the file until you take it\n"
	    "out; the last line says when it can go: events of the log are not sealed anew,\n"
	    "so one that sealed some stays until retention has taken them. Broken off, it\n"
	    "goes on when it is run again, or when the server starts. With keys from the\n"
	    "environment or a KMS the new key is set there, and the server does the rest at\n"
	    "its next start; without a server, a KMS is asked for a new data key.\n",
	.run = verb_seal_rotate},
    {.name = "audit verify",
	.operands = "",
	.summary = "check that no audit row was edited",
	.text =
	    "Walks the audit from its oldest row to its newest and names the first row that\n"
	    "was edited or is missing. Prints how many rows are good, and the newest hash:\n"
	    "one that you keep elsewhere proves what was there by then.\n",
	.run = verb_audit_verify},
    {.name = "replay",
	.operands = "",
	.summary = "deliver a stretch of the log once more",
	.text =
	    "Sends a subscription what was received in a time once more, in order, under new\n"
	    "deliveryIds, beside its other deliveries. Shows how far it is and waits for the\n"
	    "end. Interrupted, or with --detach, the server goes on with it.\n",
	.own = REPLAY,
	.run = verb_replay},
    {.name = "consumer list",
	.operands = "",
	.summary = "list the pull consumers",
	.text =
	    "Shows each consumer, how many entries of the log it is behind and since when.\n",
	.own = LIST,
	.run = verb_consumer_list},
    {.name = "consumer show",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "show one pull consumer",
	.text =
	    "Shows its settings, its lag, and what its workers have, as JSON.\n",
	.run = verb_consumer_show},
    {.name = "consumer put",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "make or change a pull consumer",
	.text =
	    "What is not given gets its default, also when the consumer is there already;\n"
	    "where one begins is said when it is made.\n",
	.own = CONSUMER_PUT,
	.run = verb_consumer_put},
    {.name = "consumer next",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "fetch events, as a worker does",
	.text =
	    "Prints events, one JSON object a line. Each has a cursor, for ack or nack; one\n"
	    "that is not answered in time goes to the next worker.\n",
	.own = CONSUMER_NEXT,
	.run = verb_consumer_next},
    {.name = "consumer ack",
	.operands = "NAME CURSOR...",
	.least = 2,
	.most = ARGS_MAX,
	.summary = "these events are done",
	.text =
	    "Fails, and tells which, when another worker has one of them by now.\n",
	.run = verb_consumer_ack},
    {.name = "consumer nack",
	.operands = "NAME CURSOR...",
	.least = 2,
	.most = ARGS_MAX,
	.summary = "these events failed",
	.text =
	    "They come again later; after the last try each is a dead letter.\n",
	.own = CONSUMER_NACK,
	.run = verb_consumer_nack},
    {.name = "consumer delete",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "end a pull consumer",
	.text = "What waits for it is dropped; events stay in the log.\n",
	.run = verb_consumer_delete},
    {.name = "dead list",
	.operands = "",
	.summary = "list the dead letters",
	.text =
	    "Shows what could not be delivered and waits for a decision, newest first.\n",
	.own = DEAD_LIST,
	.run = verb_dead_list},
    {.name = "dead requeue",
	.operands = "[ID]...",
	.most = ARGS_MAX,
	.summary = "send dead letters again",
	.text =
	    "Sends them again under their own ids, with all tries before them: those named,\n"
	    "or all that a filter finds. By a filter each is sent again three times at most.\n"
	    "--dry-run counts first.\n",
	.own = DEAD_REQUEUE,
	.run = verb_dead_requeue},
    {.name = "dead skip",
	.operands = "ID...",
	.least = 1,
	.most = ARGS_MAX,
	.summary = "give dead letters up",
	.text =
	    "They no longer wait; what stands behind one of a subscription with onDead block\n"
	    "goes on. This can't be undone.\n",
	.own = DEAD_SKIP,
	.run = verb_dead_skip},
    {.name = "source list",
	.operands = "",
	.summary = "list the sources of incoming webhooks",
	.text =
	    "Shows name, path, scheme, and whether it takes requests; never a secret.\n",
	.own = LIST,
	.run = verb_source_list},
    {.name = "source put",
	.operands = "NAME [FILE]",
	.least = 1,
	.most = 2,
	.summary = "make or change a source",
	.text =
	    "FILE, or the standard input, holds the source as JSON, as for PUT\n"
	    "/v1/sources/NAME. Prints the path that the provider posts to and, when the\n"
	    "source is new, its secret: this once.\n",
	.run = verb_source_put},
    {.name = "source remove",
	.operands = "NAME",
	.least = 1,
	.most = 1,
	.summary = "remove a source",
	.text = "What is posted to it from now on is answered with 404.\n",
	.run = verb_source_remove},
    {.name = "opml import",
	.operands = "[FILE]",
	.least = 0,
	.most = 1,
	.summary = "subscribe to all feeds of an OPML file",
	.text =
	    "FILE, or the standard input, is what another reader exported. Folders\n"
	    "become categories. The feeds are fetched by the server that runs on this\n"
	    "data folder. Prints how many were added and known, and on the standard\n"
	    "error each that was refused, with the reason.\n",
	.own = OPML,
	.run = verb_opml_import},
    {.name = "opml export",
	.operands = "",
	.least = 0,
	.most = 0,
	.summary = "print the subscriptions as OPML",
	.text = "OPML 2.0, which every reader takes.\n",
	.own = OPML,
	.run = verb_opml_export},
    {.name = "outbox check",
	.operands = "",
	.summary = "see whether a table is fit to be an outbox",
	.text =
	    "Looks at the table that the relay would read: its columns and their types,\n"
	    "indexes, the sequence behind its id, and what this user may do with it. Says\n"
	    "what is wrong and the statement that mends it; fails when anything is. Nothing\n"
	    "is changed.\n",
	.own = OUTBOX_CHECK,
	.run = verb_outbox_check},
    {.name = "outbox schema",
	.operands = "",
	.summary = "print the SQL that makes an outbox",
	.text =
	    "Prints the table with its indexes, an optional trigger that wakes the relay, and\n"
	    "a sample of writing a record and its event in one transaction.\n",
	.own = OUTBOX_SCHEMA,
	.run = verb_outbox_schema},
    {.name = "feed parse",
	.operands = "FILE...",
	.least = 1,
	.most = OPERANDS_MAX,
	.summary = "show what a feed says, in any format",
	.text =
	    "Reads a feed from FILE (- is the standard input): RSS 0.90 to 2.0, Atom 0.3 and\n"
	    "1.0 or JSON Feed, also when it is broken, and shows what is in it; with --json\n"
	    "all of it, in the same form for every format, one line for each FILE. Links\n"
	    "are resolved; the HTML is the feed's own, not made safe. Nothing is fetched.\n"
	    "Fails when there is no feed in it, and says what is there instead.\n",
	.own = FEED_PARSE,
	.run = verb_feed_parse},
    {.name = "feed sanitize",
	.operands = "[FILE]",
	.most = 1,
	.summary = "clean the HTML of an article",
	.text =
	    "Prints what the reader would show of the HTML in FILE, or in the standard input:\n"
	    "elements and attributes of a short list, read as a browser reads them and\n"
	    "written anew. Relative links are left out unless --base says where they lead.\n",
	.own = FEED_SANITIZE,
	.run = verb_feed_sanitize},
    {.name = "feed discover",
	.operands = "URL [FILE]",
	.least = 1,
	.most = 2,
	.summary = "find the feeds that a page names",
	.text =
	    "Reads the page of URL from FILE or the standard input, and prints its feeds, the\n"
	    "best first, and its icons. Nothing is fetched. Fails when it names no feed.\n",
	.own = FEED_DISCOVER,
	.run = verb_feed_discover},
    {.name = "demo",
	.operands = "",
	.summary = "show what it does, with events and a receiver",
	.text =
	    "Makes an API key and two subscriptions on the server that runs on the data\n"
	    "folder, publishes events each second, and takes the deliveries itself: each is\n"
	    "told with whether its signature holds. One endpoint is down at first, so that\n"
	    "retries are seen. In the end the subscriptions are switched off; the events and\n"
	    "the key stay. The server must be started with webhook.url.allow.private =\n"
	    "127.0.0.0/8, as ./dev run does. A store that has events is left alone unless\n"
	    "--force is given.\n",
	.own = DEMO,
	.run = verb_demo},
    {.name = "listen",
	.operands = "[PORT]",
	.most = 1,
	.summary = "show the webhooks that come, and verify them",
	.text =
	    "Takes requests on 127.0.0.1, port 9000 or PORT (0: a free one), shows each with\n"
	    "whether it is verified and why not, and answers 200 or what --status says. For\n"
	    "trying things out: --fail makes the first ones fail, so that retries can be\n"
	    "seen. With --scheme hub the secret is the one-time code's, and the health check\n"
	    "is answered. SIGINT ends it.\n",
	.own = LISTEN,
	.run = verb_listen},
    {.name = "verify",
	.operands = "[FILE]",
	.most = 1,
	.summary = "verify a captured webhook",
	.text =
	    "FILE, or the standard input, holds a request as it came: perhaps a request\n"
	    "line, headers, an empty line, the body byte for byte. Says whether it was\n"
	    "signed with the secret, or why it can't have been; then it fails.\n",
	.own = VERIFY,
	.run = verb_verify},
};

const struct verbs VERBS = {.v = TABLE, .n = COUNT_OF(TABLE)};
