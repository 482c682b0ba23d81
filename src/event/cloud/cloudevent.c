#include "event/cloud/cloudevent.h"

#include "event/envelope.h"
#include "event/limits.h"
#include "event/type/catalog.h"
#include "http/percent.h"
#include "seal/digest.h"

/* What an envelope is made of; all other attributes are extensions. */
enum at {
	SPECVERSION,
	ID,
	SOURCE,
	TYPE,
	SUBJECT,
	TIME,
	DATACONTENTTYPE,
	TENANTID,
	CORRELATIONID,
	PARTITIONKEY,
	RECORDVERSION,
	SCHEMAVERSION,
	INSTANCEID,
	AT_COUNT
};
static const char *const NAMES[AT_COUNT] = {
    [SPECVERSION] = "specversion",
    [ID] = "id",
    [SOURCE] = "source",
    [TYPE] = "type",
    [SUBJECT] = "subject",
    [TIME] = "time",
    [DATACONTENTTYPE] = "datacontenttype",
    [TENANTID] = "tenantid",
    [CORRELATIONID] = "correlationid",
    [PARTITIONKEY] = "partitionkey",
    [RECORDVERSION] = "recordversion",
    [SCHEMAVERSION] = "schemaversion",
    [INSTANCEID] = "instanceid",
};

#define EXTENSION_MAX 64        /* bytes of a name; CloudEvents asks for 20 */
#define FRAME_MAX     (2 * KIB) /* our names, ids and times */

struct reader {
	struct arena *a;
	struct err *e;
	bool binary;
	struct str v[AT_COUNT]; /* n 0: absent */
	struct buf *more;       /* members of `cloudEvent` */
	struct str data;        /* JSON of an object */
	char eventid[UUID_LEN + 1];
	bool foreign; /* its id is none of ours */
};

static int
wrong(const struct reader *c, struct str name, const char *why)
{
	char at[JSON_POINTER_MAX + 1] = "";

	name = str_chars(name, 20);
	if (c->binary)
		(void)snprintf(at, sizeof(at), "ce-%.*s", STR_ARG(name));
	else
		json_point(at, name);
	return err_at(c->e, ERR_INVALID, at, "%s%.*s %s",
	    c->binary ? "ce-" : "", STR_ARG(name), why);
}

static int
wrong_at(const struct reader *c, enum at at, const char *why)
{
	return wrong(c, str_of(NAMES[at]), why);
}

static int
no_room(const struct reader *c)
{
	return err_set(c->e, ERR_LIMIT, "no room for an event");
}

static bool
good_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((name.p[i] < 'a' || name.p[i] > 'z') &&
		    (name.p[i] < '0' || name.p[i] > '9'))
			return false;
	return name.n >= 1 && name.n <= EXTENSION_MAX;
}

static bool
cloudevent_find(struct str name, enum at *ret)
{
	for (enum at i = 0; i < AT_COUNT; i++)
		if (str_eq(name, str_of(NAMES[i]))) {
			*ret = i;
			return true;
		}
	return false;
}

static void
cloudevent_keep(struct reader *c, struct str name, struct str json)
{
	put_text(c->more, NULL, name);
	buf_addc(c->more, ':');
	buf_add(c->more, json);
}

static void
keep_text(struct reader *c, struct str name, struct str text)
{
	cloudevent_keep(c, name, STR_EMPTY);
	buf_json(c->more, text);
}

/* One attribute: its text, and as JSON when it was that; .p NULL: a text. */
static int
cloudevent_take(
    struct reader *c, struct str name, struct str text, struct str json)
{
	enum at at;

	if (!good_name(name) || str_eq(name, STR("data")))
		return wrong(c, name,
		    "is no attribute: lower-case letters and digits alone");
	if (envelope_has_control(text))
		return wrong(c, name, "must not have control characters");
	if (!cloudevent_find(name, &at)) {
		if (json.p)
			cloudevent_keep(c, name, json);
		else
			keep_text(c, name, text);
		return OK;
	}
	if (text.n == 0)
		return wrong(c, name, "must not be empty");
	if (c->v[at].n > 0)
		return wrong(c, name, "is given twice");
	c->v[at] = text;
	return OK;
}

/* From what was read to an envelope ----------------------------------------- */

static bool
is_json_type(struct str type)
{
	type = str_trim(str_cut(&type, ';'));
	return str_eq_nocase(type, STR("application/json")) ||
	       str_eq_nocase(type, STR("text/json")) ||
	       (type.n > 5 &&
		   str_eq_nocase(str_from(type, type.n - 5), STR("+json")));
}

static int
cloudevent_check(struct reader *c)
{
	static const enum at NEEDED[] = {SPECVERSION, ID, SOURCE, TYPE};

	for (size_t i = 0; i < COUNT_OF(NEEDED); i++)
		if (c->v[NEEDED[i]].n == 0)
			return wrong_at(c, NEEDED[i], "is required");
	if (!str_eq(c->v[SPECVERSION], STR("1.0")))
		return wrong_at(c, SPECVERSION, "must be 1.0");
	if (c->v[ID].n > EVENT_KEY_MAX)
		return wrong_at(c, ID, "is over 512 bytes");
	if (c->v[CORRELATIONID].n > EVENT_KEY_MAX)
		return wrong_at(c, CORRELATIONID, "is over 512 bytes");
	if (c->v[DATACONTENTTYPE].n > 0 && !is_json_type(c->v[DATACONTENTTYPE]))
		return wrong_at(
		    c, DATACONTENTTYPE, "must be JSON: a payload is an object");
	return OK;
}

/* A UUID that the same words give again; `what` keeps the uses apart. */
static void
derive(const char *what, struct str one, struct str two, char ret[UUID_LEN + 1])
{
	struct buf b CLEANUP(buf_done) = BUF(one.n + two.n + 64);
	unsigned char digest[DIGEST_LEN];

	buf_fmt(&b, "%s\n", what);
	buf_add(&b, one);
	buf_addc(&b, '\n'); /* neither has control characters */
	buf_add(&b, two);
	digest_sha256(buf_str(&b), digest);
	uuid_format(uuid_from_digest(digest), ret);
}

static void
write_id(struct reader *c, struct buf *b)
{
	struct uuid u;

	c->foreign = !uuid_parse(c->v[ID], &u);
	if (c->foreign)
		derive("cloudevent", c->v[SOURCE], c->v[ID], c->eventid);
	else
		uuid_format(u, c->eventid);
	/* Also one in capitals: it goes out as it came. */
	if (!str_eq(c->v[ID], str_of(c->eventid)))
		keep_text(c, STR("id"), c->v[ID]);
	put_z(b, "eventId", c->eventid);
}

static int
write_version(const struct reader *c, struct buf *b)
{
	int64_t v = 1;

	if (c->v[SCHEMAVERSION].n > 0 && !str_int(c->v[SCHEMAVERSION], &v))
		return wrong_at(c, SCHEMAVERSION, "must be a whole number");
	put_int(b, "schemaVersion", v);
	return OK;
}

static int
write_time(const struct reader *c, struct buf *b)
{
	char text[TIME_LEN + 1];
	bool utc = false;
	int64_t us;

	if (c->v[TIME].n == 0)
		return OK;
	if (!time_parse(c->v[TIME], &us, &utc))
		return wrong_at(c, TIME, "must be a time as in RFC 3339");
	time_format(us, text);
	put_text(b, "occurredAt", utc ? c->v[TIME] : str_of(text));
	return OK;
}

/* Without one it is as for any event: envelope.h. */
static void
write_tenant(const struct reader *c, struct str tenant, struct buf *b)
{
	if (c->v[TENANTID].n > 0)
		put_text(b, "tenantId", c->v[TENANTID]);
	else if (tenant.n > 0)
		put_text(b, "tenantId", tenant);
}

/* %XX undone, once; .p NULL when there is no memory. */
static struct str
unpercent(struct arena *a, struct str s)
{
	char *p = arena_try(a, s.n + 1);
	size_t n = 0;

	if (!p)
		return (struct str){.p = NULL};
	for (size_t i = 0; i < s.n; i++) {
		int hi = -1, lo = -1;

		if (s.p[i] == '%' && i + 2 < s.n) {
			hi = str_hex_digit(s.p[i + 1]);
			lo = str_hex_digit(s.p[i + 2]);
		}
		if (hi >= 0 && lo >= 0) {
			p[n++] = (char)(hi << 4 | lo);
			i += 2;
		} else {
			p[n++] = s.p[i];
		}
	}
	return (struct str){p, n};
}

/* "/core" is how our presets write the service core. */
static int
write_producer(struct reader *c, struct buf *b)
{
	struct str source = c->v[SOURCE], service = source;
	struct str rest = str_from(source, 1);
	struct buf again CLEANUP(buf_done) = BUF(3 * source.n + 1);

	if (source.p[0] == '/' && rest.n > 0 && !str_has(rest, '/')) {
		service = unpercent(c->a, rest);
		if (!service.p)
			return no_room(c);
		if (str_utf8_bad(service) != service.n)
			return wrong_at(
			    c, SOURCE, "must be UTF-8, once decoded");
	}
	buf_addc(&again, '/');
	percent_add(&again, service);
	if (c->foreign || !str_eq(source, buf_str(&again)))
		keep_text(c, STR("source"), source);
	put_open(b, "producer", '{');
	put_text(b, "service", service);
	put_text(b, "instanceId",
	    c->v[INSTANCEID].n > 0 ? c->v[INSTANCEID] : STR("cloudevents"));
	put_close(b, '}');
	return OK;
}

static void
write_correlation(struct reader *c, struct buf *b)
{
	struct str text = c->v[CORRELATIONID];
	char made[UUID_LEN + 1];
	struct uuid u;

	if (text.n == 0)
		return;
	if (!uuid_parse(text, &u)) {
		derive("correlation", text, STR_EMPTY, made);
		keep_text(c, str_of(NAMES[CORRELATIONID]), text);
		text = str_of(made);
	}
	put_text(b, "correlationId", text);
}

static void
write_sequence(struct reader *c, struct buf *b)
{
	struct str key = c->v[PARTITIONKEY];

	if (key.n > 0) {
		keep_text(c, str_of(NAMES[PARTITIONKEY]), key);
		if (c->v[SUBJECT].n > 0)
			keep_text(c, str_of(NAMES[SUBJECT]), c->v[SUBJECT]);
	}
	if (key.n == 0)
		key = c->v[SUBJECT];
	put_open(b, "sequence", '{');
	/* Absent, the payload of a type of the catalog says it. */
	if (key.n > 0 || !catalog_find(c->v[TYPE]))
		put_text(b, "partitionKey", key.n > 0 ? key : STR_EMPTY);
	if (c->v[RECORDVERSION].n > 0)
		put_text(b, "recordVersion", c->v[RECORDVERSION]);
	put_close(b, '}');
}

static int
write_all(struct reader *c, struct str tenant, struct buf *b)
{
	TRY(cloudevent_check(c));
	put_open(b, NULL, '{');
	write_id(c, b);
	TRY(write_version(c, b));
	put_text(b, "eventType", c->v[TYPE]);
	TRY(write_time(c, b));
	write_tenant(c, tenant, b);
	TRY(write_producer(c, b));
	write_correlation(c, b);
	write_sequence(c, b);
	if (c->more->n > 0) {
		put_open(b, "cloudEvent", '{');
		buf_add(b, buf_str(c->more));
		put_close(b, '}');
	}
	put_raw(b, "payload", c->data);
	put_close(b, '}');
	return OK;
}

static int
finish(struct reader *c, size_t bytes, struct str tenant, struct str *ret)
{
	struct buf b CLEANUP(buf_done) = BUF(2 * bytes + FRAME_MAX);

	TRY(write_all(c, tenant, &b));
	if (b.failed || c->more->failed)
		return no_room(c);
	*ret = arena_dup(c->a, buf_str(&b));
	return OK;
}

/* The structured mode ------------------------------------------------------- */

static int
take_data(struct reader *c, const struct json *j)
{
	if (j->type == JSON_NULL)
		return OK;
	if (j->type != JSON_OBJECT)
		return json_wrong(c->e, "/data", "must be an object, not %s",
		    json_type_name(j->type));
	c->data = j->raw;
	return OK;
}

static int
take_member(struct reader *c, const struct json *j)
{
	enum at at;

	if (str_eq(j->key, STR("data")))
		return take_data(c, j);
	if (j->type == JSON_NULL)
		return OK;
	if (str_eq(j->key, STR("data_base64")))
		return json_wrong(c->e, "/data_base64",
		    "can't be taken: a payload is a JSON object, in data");
	if (j->type == JSON_OBJECT || j->type == JSON_ARRAY)
		return wrong(
		    c, j->key, "must be a text, a number or a boolean");
	if (j->type == JSON_STRING)
		return cloudevent_take(c, j->key, j->text, j->raw);
	if (cloudevent_find(j->key, &at) &&
	    (at != SCHEMAVERSION || j->type != JSON_NUMBER))
		return wrong_at(c, at,
		    at == SCHEMAVERSION ? "must be a whole number"
					: "must be a text");
	return cloudevent_take(c, j->key, j->raw, j->raw);
}

int
cloudevent_structured(struct arena *a, const struct json *tree,
    struct str tenant, struct str *ret, struct err *e)
{
	struct buf more CLEANUP(buf_done) = BUF(2 * tree->raw.n + FRAME_MAX);
	struct reader c = {.a = a, .e = e, .more = &more, .data = STR("{}")};

	if (tree->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID,
		    "a CloudEvent must be an object, not %s%s",
		    json_type_name(tree->type),
		    tree->type == JSON_ARRAY
			? "; a batch is application/cloudevents-batch+json"
			: "");
	for (const struct json *j = tree->child; j; j = j->next)
		TRY(take_member(&c, j));
	return finish(&c, tree->raw.n, tenant, ret);
}

/* The binary mode ------------------------------------------------------------ */

static bool
is_header(struct str name)
{
	return name.n > 3 && str_eq_nocase((struct str){name.p, 3}, STR("ce-"));
}

/* A quoted string without its quotes and backslashes; else as it is. */
static struct str
unquote(struct arena *a, struct str s)
{
	char *p;
	size_t n = 0;

	if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
		return s;
	p = arena_try(a, s.n);
	if (!p)
		return (struct str){.p = NULL};
	for (size_t i = 1; i + 1 < s.n; i++) {
		if (s.p[i] == '\\' && i + 2 < s.n)
			i++;
		p[n++] = s.p[i];
	}
	return (struct str){p, n};
}

static int
take_header(struct reader *c, const struct str_pair *h)
{
	struct str name = arena_dup(c->a, str_from(h->name, 3));
	struct str value = unquote(c->a, h->value);
	char *p = (char *)(uintptr_t)name.p;

	if (value.p)
		value = unpercent(c->a, value);
	if (!value.p)
		return no_room(c);
	for (size_t i = 0; i < name.n; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] = (char)(p[i] - 'A' + 'a');
	if (str_utf8_bad(name) != name.n)
		return err_set(
		    c->e, ERR_INVALID, "a header ce-* has a name that is none");
	if (str_utf8_bad(value) != value.n)
		return wrong(c, name, "must be UTF-8, once decoded");
	if (str_eq(name, str_of(NAMES[DATACONTENTTYPE])))
		return wrong(
		    c, name, "must not be given: Content-Type says it");
	return cloudevent_take(c, name, value, (struct str){.p = NULL});
}

static bool
named_twice(const struct str_pair *headers, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (str_eq_nocase(headers[k].name, headers[i].name))
			return true;
	return false;
}

static int
take_body(struct reader *c, struct str body)
{
	struct json *tree;

	body = str_trim(body);
	if (body.n == 0)
		return OK;
	TRY(json_parse(c->a, body, &tree, c->e));
	if (tree->type != JSON_OBJECT)
		return err_set(c->e, ERR_INVALID,
		    "the data of a CloudEvent must be an object here, not %s",
		    json_type_name(tree->type));
	c->data = tree->raw;
	return OK;
}

int
cloudevent_binary(struct arena *a, const struct str_pair *headers, size_t n,
    struct str body, struct str tenant, struct str *ret, struct err *e)
{
	struct buf more CLEANUP(buf_done) = BUF(0);
	struct reader c = {
	    .a = a, .e = e, .binary = true, .more = &more, .data = STR("{}")};
	size_t bytes = body.n;

	for (size_t i = 0; i < n; i++)
		bytes += headers[i].name.n + headers[i].value.n + 8;
	more.limit = 2 * bytes + FRAME_MAX;
	for (size_t i = 0; i < n; i++) {
		if (!is_header(headers[i].name))
			continue;
		if (named_twice(headers, i))
			return wrong(
			    &c, str_from(headers[i].name, 3), "is given twice");
		TRY(take_header(&c, &headers[i]));
	}
	TRY(take_body(&c, body));
	return finish(&c, bytes, tenant, ret);
}

/* Errors ------------------------------------------------------------------------ */

static const struct {
	const char *field; /* of an envelope, its JSON pointer … */
	const char *name;  /* … and the attribute it was made of */
} FIELDS[] = {
    {"/eventId", "id"},
    {"/schemaVersion", "schemaversion"},
    {"/eventType", "type"},
    {"/occurredAt", "time"},
    {"/tenantId", "tenantid"},
    {"/producer/service", "source"},
    {"/producer/instanceId", "instanceid"},
    {"/correlationId", "correlationid"},
    {"/sequence/partitionKey", "partitionkey"},
    {"/sequence/recordVersion", "recordversion"},
};

/* The text begins with the field's last name: it gets the attribute's. */
static void
rename_it(struct err *e, const char *from, const char *prefix, const char *to)
{
	char text[sizeof(e->text)];
	size_t n = strlen(from);

	if (strncmp(e->text, from, n) != 0)
		return;
	(void)snprintf(text, sizeof(text), "%s%s%s", prefix, to, e->text + n);
	str_clean_utf8(text, strlen(text)); /* it may have been cut */
	memcpy(e->text, text, sizeof(text));
}

void
cloudevent_blame(struct err *e, bool binary)
{
	const char *prefix = binary ? "ce-" : "", *last;
	char at[sizeof(e->at)];

	for (size_t i = 0; i < COUNT_OF(FIELDS); i++) {
		if (strcmp(e->at, FIELDS[i].field) != 0)
			continue;
		last = strrchr(FIELDS[i].field, '/') + 1;
		rename_it(e, last, prefix, FIELDS[i].name);
		(void)snprintf(e->at, sizeof(e->at), "%s%s",
		    binary ? "ce-" : "/", FIELDS[i].name);
		return;
	}
	if (strncmp(e->at, "/payload", 8) != 0)
		return;
	if (e->at[8] == '\0')
		rename_it(e, "payload", "", "data");
	(void)snprintf(
	    at, sizeof(at), "%s%s", binary ? "" : "/data", e->at + 8);
	memcpy(e->at, at, sizeof(at));
}
