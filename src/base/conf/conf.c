#include "base/conf/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/near.h"
#include "conf_limits.h"

#define ENV_PREFIX   "HIKYAKU_"
#define ENV_NAME_MAX 80

const struct conf_key CONF_KEYS[] = {
#define CONF(key, field, type, least, most, initial, of, since, help)          \
	{key, CONF_##type, offsetof(struct conf, field), least, most, initial, \
	    of, since, help, CONF_PART},
#include "config.tbl"
#undef CONF
};

/* Names that came from elsewhere, and the key that each stands for. */
static const struct {
	const char *alias, *key;
} ALIASES[] = {
#define CONF(...)
#define CONF_ALIAS(alias, key) {alias, key},
#include "config.tbl"
#undef CONF_ALIAS
#undef CONF
};

/* Of which there may be more, by name. */
static const char *const GROUPS[] = {
#define CONF(...)
#define CONF_NAMED(group) group,
#include "config.tbl"
#undef CONF_NAMED
#undef CONF
};

/* Keys whose names in the environment others have fixed: no prefix. */
static const char *const PLAIN[] = {
#define CONF(...)
#define CONF_PLAIN(key) key,
#include "config.tbl"
#undef CONF_PLAIN
#undef CONF
};

static const struct conf_key *
key_find(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(ALIASES); i++)
		if (str_eq(str_of(ALIASES[i].alias), name))
			name = str_of(ALIASES[i].key);
	for (size_t i = 0; i < CONF_COUNT; i++)
		if (str_eq(str_of(CONF_KEYS[i].name), name))
			return &CONF_KEYS[i];
	return NULL;
}

/* An error with where it is in front. */
static int PRINTF(2, 3) where(struct err *e, const char *fmt, ...)
{
	struct err inner = *e;
	char at[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(at, sizeof(at), fmt, ap);
	va_end(ap);
	return err_set(e, inner.code, "%s: %s", at, inner.text);
}

static int
unknown(struct str key, struct err *e)
{
	struct near n = near_to(key);
	int shown = key.n < 64 ? (int)key.n : 64;

	for (size_t i = 0; i < CONF_COUNT; i++)
		near_try(&n, CONF_KEYS[i].name);
	if (n.best)
		return err_set(e, ERR_INVALID,
		    "unknown key %.*s; did you mean %s?", shown, key.p, n.best);
	return err_set(e, ERR_INVALID,
	    "unknown key %.*s; docs/settings.md lists all keys", shown, key.p);
}

static int
set(struct conf *c, const struct conf_key *k, struct str value,
    enum conf_source source, int line, struct err *e)
{
	TRY(conf_value_read(k, value, c->arena, (char *)c + k->offset, e));
	c->origin[k - CONF_KEYS].source = source;
	c->origin[k - CONF_KEYS].line = line;
	return OK;
}

/* group.x of that group: "x"; else empty */
static struct str
in_group(const char *group, struct str key)
{
	size_t n = strlen(group);

	return str_starts(key, str_of(group)) && key.n > n && key.p[n] == '.'
		   ? str_from(key, n + 1)
		   : STR_EMPTY;
}

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= 'a' && s.p[i] <= 'z') ||
			(s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-'))
			return false;
	return s.n > 0 && s.n <= CONF_NAME_MAX && s.p[0] != '-' &&
	       s.p[s.n - 1] != '-';
}

/* The settings of that name, made with their defaults when there are none. */
static int
named_get(struct conf *c, const char *group, struct str name, struct conf **ret,
    struct err *e)
{
	struct conf_named *n = c->named;

	for (; n < c->named + c->n_named; n++)
		if (strcmp(n->group, group) == 0 &&
		    str_eq(str_of(n->name), name)) {
			*ret = n->own;
			return OK;
		}
	if (!is_name(name))
		return err_set(e, ERR_INVALID,
		    "%s.%.*s: a name is 1 to %d of a-z, 0-9 and -, not - at its ends",
		    group, name.n < 64 ? (int)name.n : 64, name.p,
		    CONF_NAME_MAX);
	if (c->n_named == CONF_NAMED_MAX)
		return err_set(e, ERR_LIMIT,
		    "%s.%.*s: there may be %d with a name", group,
		    STR_ARG(name), CONF_NAMED_MAX);
	c->n_named++;
	n->group = group;
	(void)snprintf(n->name, sizeof(n->name), "%.*s", STR_ARG(name));
	n->own = arena_alloc(c->arena, sizeof(*n->own));
	n->own->arena = c->arena;
	for (size_t i = 0; i < CONF_COUNT; i++)
		if (in_group(group, str_of(CONF_KEYS[i].name)).n > 0)
			TRY(set(n->own, &CONF_KEYS[i],
			    str_of(CONF_KEYS[i].initial), CONF_DEFAULT, 0, e));
	*ret = n->own;
	return OK;
}

/* group.NAME.x is the key group.x of the settings of that name. */
static int
find_named(
    struct conf **c, struct str key, const struct conf_key **ret, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(GROUPS); i++) {
		struct str x = in_group(GROUPS[i], key);
		struct str name = str_cut(&x, '.');
		char plain[64];

		if (x.n == 0)
			continue;
		(void)snprintf(plain, sizeof(plain), "%s.%.*s", GROUPS[i],
		    x.n < 32 ? (int)x.n : 32, x.p);
		*ret = key_find(str_of(plain));
		return *ret ? named_get(*c, GROUPS[i], name, c, e)
			    : unknown(key, e);
	}
	return unknown(key, e);
}

/* The key, and the settings that it belongs to. */
static int
find(
    struct conf **c, struct str key, const struct conf_key **ret, struct err *e)
{
	*ret = key_find(key);
	return *ret ? OK : find_named(c, key, ret, e);
}

int
conf_set(struct conf *c, struct str key, struct str value,
    enum conf_source source, struct err *e)
{
	const struct conf_key *k = NULL;

	TRY(find(&c, key, &k, e));
	return set(c, k, value, source, 0, e);
}

int
conf_init(struct conf *c, struct err *e)
{
	*c = (struct conf){.arena = arena_new(CONF_MEM_MAX)};
	for (size_t i = 0; i < CONF_COUNT; i++) {
		int rc = set(c, &CONF_KEYS[i], str_of(CONF_KEYS[i].initial),
		    CONF_DEFAULT, 0, e);

		assert(rc == OK); /* else its own key refuses a default */
	}
	return OK;
}

void
conf_done(struct conf *c)
{
	arena_free(c->arena);
	*c = (struct conf){.arena = NULL};
}

/*
 * What stands behind the `=`: quoted with escapes, or up to a comment. The
 * result is in *b when there were quotes.
 */
static int
read_value(struct str s, struct buf *b, struct str *ret, struct err *e)
{
	size_t i = 1;

	s = str_trim(s);
	if (s.n == 0 || s.p[0] != '"') {
		for (size_t at = 0; at < s.n; at++)
			if (s.p[at] == '#' && (at == 0 || s.p[at - 1] == ' ' ||
						  s.p[at - 1] == '\t'))
				s.n = at;
		*ret = str_trim(s);
		return OK;
	}
	buf_clear(b);
	for (; i < s.n && s.p[i] != '"'; i++) {
		if (s.p[i] == '\\' && i + 1 < s.n)
			i++;
		buf_addc(b, s.p[i]);
	}
	if (i >= s.n)
		return err_set(e, ERR_SYNTAX, "the closing quote is missing");
	s = str_trim(str_from(s, i + 1));
	if (s.n > 0 && s.p[0] != '#')
		return err_set(
		    e, ERR_SYNTAX, "something stands behind the closing quote");
	if (b->failed)
		return err_set(e, ERR_LIMIT, "the value is too long");
	*ret = buf_str(b);
	return OK;
}

static int
read_line(struct conf *c, struct str line, int number, struct buf *scratch,
    struct err *e)
{
	struct str value, key;
	const struct conf_key *k = NULL;

	line = str_trim(line);
	if (line.n == 0 || line.p[0] == '#')
		return OK;
	if (!str_has(line, '='))
		return err_set(e, ERR_SYNTAX, "expected `key = value`");
	key = str_trim(str_cut(&line, '='));
	TRY(find(&c, key, &k, e));
	if (c->origin[k - CONF_KEYS].source == CONF_FILE)
		return err_set(e, ERR_INVALID,
		    "%.*s is set already, in line %d", STR_ARG(key),
		    c->origin[k - CONF_KEYS].line);
	TRY(read_value(line, scratch, &value, e));
	if (set(c, k, value, CONF_FILE, number, e) == OK)
		return OK;
	return str_eq(key, str_of(k->name)) ? (int)e->code
					    : where(e, "%.*s", STR_ARG(key));
}

int
conf_read(struct conf *c, const char *name, struct str text, struct err *e)
{
	struct buf scratch CLEANUP(buf_done) = BUF(2 * CONF_TEXT_MAX);

	for (int number = 1; text.n > 0; number++)
		if (read_line(c, str_cut(&text, '\n'), number, &scratch, e) < 0)
			return where(e, "%s:%d", name, number);
	return OK;
}

static int
read_file(struct conf *c, const char *file, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(CONF_FILE_MAX);
	int rc, fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && buf_read(&b, fd))
		rc = conf_read(c, file, buf_str(&b), e);
	else if (b.failed)
		rc = err_set(e, ERR_LIMIT,
		    "the settings file %s is over %zu bytes", file,
		    CONF_FILE_MAX);
	else
		rc = err_set(e, ERR_IO, "can't read the settings file %s: %s",
		    file, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static void
env_name(const char *key, char *ret)
{
	size_t i = 0;

	assert(strlen(key) < ENV_NAME_MAX - sizeof(ENV_PREFIX));
	for (; key[i]; i++) {
		char ch = key[i];

		if (ch >= 'a' && ch <= 'z')
			ret[i] = (char)(ch - 'a' + 'A');
		else
			ret[i] = ch == '.' || ch == '-' ? '_' : ch;
	}
	ret[i] = '\0';
}

static const char *
env_find(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, n) == 0 &&
		    (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

bool
conf_plain(const char *key)
{
	for (size_t i = 0; i < COUNT_OF(PLAIN); i++)
		if (strcmp(PLAIN[i], key) == 0)
			return true;
	return false;
}

/* A name without its prefix that nobody has fixed: for one version more. */
static bool
env_old(struct conf *c, const char *key, const char *name)
{
	bool taken = strcmp(key, "data") != 0; /* DATA is anybody's */

	c->env_old =
	    arena_fmt(c->arena, "%s%s%s%s", c->env_old ? c->env_old : "",
		c->env_old ? ", " : "", name, taken ? "" : " (ignored)")
		.p;
	return taken;
}

/* By this name of the key, unless another one was there already. */
static int
env_take(
    struct conf *c, char *const *environment, const char *key, struct err *e)
{
	const struct conf_key *k = key_find(str_of(key));
	char prefixed[ENV_NAME_MAX] = ENV_PREFIX;
	char *name = prefixed + sizeof(ENV_PREFIX) - 1;
	const char *value;

	env_name(key, name);
	value = env_find(environment, prefixed);
	if (value) {
		name = prefixed;
	} else {
		value = env_find(environment, name);
		if (value && !conf_plain(key) && !env_old(c, key, name))
			return OK;
	}
	if (value && c->origin[k - CONF_KEYS].source != CONF_ENV &&
	    set(c, k, str_of(value), CONF_ENV, 0, e) < 0)
		return where(e, "environment variable %s", name);
	return OK;
}

/* OUTBOX_SHOP_URL, of the key outbox.url: "SHOP"; else empty */
static struct str
env_named(struct str name, const char *group, const struct conf_key *k)
{
	char head[ENV_NAME_MAX], tail[ENV_NAME_MAX];
	struct str x = in_group(group, str_of(k->name));

	if (x.n == 0)
		return STR_EMPTY;
	/* The group with its dot, which becomes _. */
	env_name(k->name, head);
	head[x.p - k->name] = '\0';
	env_name(x.p, tail);
	if (str_starts(name, STR("HIKYAKU_")))
		name = str_from(name, strlen("HIKYAKU_"));
	if (!str_starts(name, str_of(head)))
		return STR_EMPTY;
	name = str_from(name, strlen(head));
	if (!str_ends(name, str_of(tail)) || name.n < strlen(tail) + 2 ||
	    name.p[name.n - strlen(tail) - 1] != '_')
		return STR_EMPTY;
	name.n -= strlen(tail) + 1;
	return name;
}

/* One variable, when it is a key of a group under a name. */
static int
env_take_named(
    struct conf *c, const char *var, const char *group, struct err *e)
{
	struct str value = str_of(var), name = str_cut(&value, '=');

	for (size_t i = 0; i < CONF_COUNT; i++) {
		struct str upper = env_named(name, group, &CONF_KEYS[i]);
		char low[ENV_NAME_MAX];
		struct conf *own = NULL;
		size_t n = 0;

		if (upper.n == 0)
			continue;
		for (; n < upper.n && n < sizeof(low) - 1; n++)
			low[n] = upper.p[n] == '_' ? '-'
				 : upper.p[n] >= 'A' && upper.p[n] <= 'Z'
				     ? (char)(upper.p[n] | 0x20)
				     : upper.p[n];
		if (named_get(c, group, (struct str){low, n}, &own, e) < 0 ||
		    (own->origin[i].source != CONF_ENV &&
			set(own, &CONF_KEYS[i], value, CONF_ENV, 0, e) < 0))
			return where(e, "environment variable %.*s",
			    name.n < 80 ? (int)name.n : 80, name.p);
		return OK;
	}
	return OK;
}

int
conf_env(struct conf *c, char *const *environment, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(GROUPS); i++)
		for (char *const *var = environment; *var; var++)
			TRY(env_take_named(c, *var, GROUPS[i], e));
	for (size_t i = 0; i < CONF_COUNT; i++)
		TRY(env_take(c, environment, CONF_KEYS[i].name, e));
	for (size_t i = 0; i < COUNT_OF(ALIASES); i++)
		TRY(env_take(c, environment, ALIASES[i].alias, e));
	return OK;
}

int
conf_load(
    struct conf *c, const char *file, char *const *environment, struct err *e)
{
	int rc = conf_init(c, e);

	if (rc == OK && file)
		rc = read_file(c, file, e);
	if (rc == OK)
		rc = conf_env(c, environment, e);
	if (rc < 0)
		conf_done(c);
	return rc;
}

static void
print_key(const struct conf *c, size_t i, const char *group, const char *name,
    struct buf *b)
{
	static const char *const SOURCES[] = {"default", "file", "env", "flag"};
	const struct conf_key *k = &CONF_KEYS[i];
	const void *field = (const char *)c + k->offset;

	buf_addz(b, conf_value_masked(k, field) ? "# " : "");
	if (group)
		buf_fmt(b, "%s.%s%s = ", group, name, k->name + strlen(group));
	else
		buf_fmt(b, "%s = ", k->name);
	conf_value_write(k, field, b);
	buf_fmt(b, "  # %s", SOURCES[c->origin[i].source]);
	if (c->origin[i].source == CONF_FILE)
		buf_fmt(b, " line %d", c->origin[i].line);
	buf_addc(b, '\n');
}

void
conf_print(const struct conf *c, struct buf *b)
{
	for (size_t i = 0; i < CONF_COUNT; i++)
		print_key(c, i, NULL, NULL, b);
	for (size_t n = 0; n < c->n_named; n++)
		for (size_t i = 0; i < CONF_COUNT; i++)
			if (in_group(
				c->named[n].group, str_of(CONF_KEYS[i].name))
				.n > 0)
				print_key(c->named[n].own, i, c->named[n].group,
				    c->named[n].name, b);
}
