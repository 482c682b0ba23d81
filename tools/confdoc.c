/* confdoc - writes docs/settings.md from the rooms' settings.tbl: `make docs`. */

#include "base/conf/conf.h"

static const char HEAD[] =
    "# Settings\n\n"
    "<!-- Made from the settings.tbl of the rooms in src/ by `make docs`; edit those. -->\n\n"
    "Every key works in the settings file (`hikyaku serve --config FILE`, lines\n"
    "`key = value`, `#` begins a comment, quotes are optional) and as environment\n"
    "variable: `HIKYAKU_` and the key in upper case, `.` and `-` to `_`;\n"
    "`http.body.max` is `HIKYAKU_HTTP_BODY_MAX`. Keys marked with * have a name that\n"
    "others know, and work without the prefix too: `DATABASE_URL`. Other names\n"
    "without it are taken with a warning until the next version, `DATA` never.\n"
    "The environment wins over the file, a flag over both. `hikyaku serve\n"
    "--print-config` shows every value and where it came from. A wrong value or an\n"
    "unknown key stops the start.\n\n"
    "Durations: `500ms`, `10s`, `5m`, `24h`, `30d`, or a bare number in the key's\n"
    "unit. Sizes: bytes, `KB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB`,\n"
    "`TiB` (powers of 1024).\n";

static void
add_key(struct buf *b, const struct conf_key *k)
{
	buf_fmt(b, "| `%s`%s | ", k->name, conf_plain(k->name) ? " *" : "");
	buf_fmt(b, k->initial[0] ? "`%s` | " : "empty%s | ", k->initial);
	conf_value_allowed(k, b);
	buf_fmt(b, " | %s | %s |\n", k->help, k->since);
}

int
main(void)
{
	struct buf b = BUF(MIB);
	const char *part = "";
	bool bad;

	buf_addz(&b, HEAD);
	for (size_t i = 0; i < CONF_COUNT; i++) {
		if (strcmp(CONF_KEYS[i].part, part) != 0)
			buf_fmt(&b,
			    "\n## %s\n\n"
			    "| key | default | takes | meaning | since |\n"
			    "|---|---|---|---|---|\n",
			    CONF_KEYS[i].part);
		part = CONF_KEYS[i].part;
		add_key(&b, &CONF_KEYS[i]);
	}
	bad = b.failed || fwrite(b.p, 1, b.n, stdout) != b.n ||
	      fflush(stdout) != 0;
	buf_done(&b);
	return bad;
}
