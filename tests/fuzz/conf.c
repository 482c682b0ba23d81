/* A settings file from anybody: refused in words, or read; and what is read is
 * printed so that reading that again gives the same. */
#include "base/conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
print(const struct conf *c, struct buf *b)
{
	conf_print(c, b);
	assert(!b->failed);
}

/* Lines without where they came from: "  # file line 3". */
static bool
same_values(struct str a, struct str b)
{
	while (a.n > 0 || b.n > 0) {
		struct str x = str_cut(&a, '\n'), y = str_cut(&b, '\n');

		while (x.n > 0 && x.p[x.n - 1] != '#')
			x.n--;
		while (y.n > 0 && y.p[y.n - 1] != '#')
			y.n--;
		/* A secret was a comment, and is at its default again. */
		if (!str_starts(x, STR("# ")) && !str_eq(x, y))
			return false;
	}
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct buf first = BUF(MIB), second = BUF(MIB);
	struct conf c, d;
	struct err e;
	int rc = conf_init(&c, &e);

	assert(rc == OK);
	rc = conf_read(&c, "fuzz", text, &e);
	if (rc < 0) {
		assert(str_starts(str_of(e.text), STR("fuzz:")));
		conf_done(&c);
		return 0;
	}
	print(&c, &first);
	rc = conf_init(&d, &e);
	assert(rc == OK);
	rc = conf_read(&d, "printed", buf_str(&first), &e);
	assert(rc == OK);
	print(&d, &second);
	assert(same_values(buf_str(&first), buf_str(&second)));
	conf_done(&c);
	conf_done(&d);
	buf_done(&first);
	buf_done(&second);
	return 0;
}
