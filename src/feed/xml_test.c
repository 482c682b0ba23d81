#include "feed/xmlfix.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/test.h"
#include "feed/entity.h"

static const struct {
	const char *in, *want;
} ROWS[] = {
    {"<a>b</a>", "<a>b</a>"},
    {"<a>b & c</a>", "<a>b &amp; c</a>"},
    {"<a>b &amp; c</a>", "<a>b &amp; c</a>"},
    {"<a>AT&T &nope; &amp</a>", "<a>AT&amp;T &amp;nope; &amp;amp</a>"},
    {"<a>&nbsp;&eacute;</a>", "<a>\xc2\xa0\xc3\xa9</a>"},
    {"<a>&#146;&#0;&#x41;</a>", "<a>\xe2\x80\x99\xef\xbf\xbd"
				"A</a>"},
    {"<a>1 < 2</a>", "<a>1 &lt; 2</a>"},
    {"<a>I <3 u</a>", "<a>I &lt;3 u</a>"},
    {"<a>x<y</a>", "<a>x&lt;y</a>"},
    {"<a>\x01\x08x\x0b</a>", "<a>x</a>"},
    {"<a><b>x</a>", "<a><b>x</b></a>"},
    {"<a><b><c>x</b></c></a>", "<a><b><c>x</c></b></a>"},
    {"<a><b>x</B></a>", "<a><b>x</b></a>"},
    {"<a></b>x</a>", "<a>x</a>"},
    {"<a><b", "<a></a>"},
    {"<a><b>tex", "<a><b>tex</b></a>"},
    {"<a><!-- x --><b/></a>", "<a><b/></a>"},
    {"<a><!-- x</a>", "<a>&lt;!-- x</a>"},
    {"<a><![CDATA[<p>&]]></a>", "<a>&lt;p&gt;&amp;</a>"},
    {"<a><b><![CDATA[<p>x</b></a>", "<a><b>&lt;p&gt;x</b></a>"},
    {"<a><b><![CDATA[x<![CDATA[y</b>z</a>", "<a><b>x&lt;![CDATA[y</b>z</a>"},
    {"<a><b><![CDATA[x</b><c><![CDATA[y]]></c></a>", "<a><b>x</b><c>y</c></a>"},
    {"<?xml version='1.0'?><a/>", "<a></a>"},
    {"<!DOCTYPE a [<!ENTITY b \">\">]><a>x</a>", "<a>x</a>"},
    {"<a b=c d='e\"f' g>x</a>", "<a b=\"c\" d=\"e&quot;f\" g=\"g\">x</a>"},
    {"<a b=\"1\" b=\"2\"/>", "<a b=\"1\"></a>"},
    {"<a b:=\"1\" b=\"2\" c:d:e=\"3\"/>", "<a b=\"1\"></a>"},
    {"<a b=\"x?y&z\"/>", "<a b=\"x?y&amp;z\"></a>"},
    {"<a><b c=\"d>x</b></a>", "<a><b c=\"d\">x</b></a>"},
    {"<a>x<br>y<img src=z></a>", "<a>x<br/>y<img src=\"z\"/></a>"},
    {"<r><item><t>1<item><t>2</r>",
	"<r><item><t>1</t></item><item><t>2</t></item></r>"},
    {"<r><x><item></x>y</item></x></r>", "<r><x><item>y</item></x></r>"},
    {"<r></r><item>x</item>", "<r><item>x</item></r>"},
    {"<a:b:c>x</a:b:c>", "<a:b_c>x</a:b_c>"},
    {"", ""},
    {"text", ""},
};

static void
mends(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(MIB);

		xmlfix(str_of(ROWS[i].in), &b);
		if (!str_eq(buf_str(&b), str_of(ROWS[i].want)))
			fail_msg("%s: %.*s", ROWS[i].in, STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

/* Deeper than any parser goes, and each level closed. */
static void
is_never_too_deep(void **state)
{
	struct buf in = BUF(MIB), out = BUF(MIB);
	size_t opened = 0, closed = 0;

	(void)state;
	for (int i = 0; i < 5000; i++)
		buf_addz(&in, "<d>");
	buf_addz(&in, "x");
	for (int i = 0; i < 5000; i++)
		buf_addz(&in, "</d>");
	xmlfix(buf_str(&in), &out);
	for (size_t i = 0; i < out.n; i++)
		if (out.p[i] == '<')
			*(out.p[i + 1] == '/' ? &closed : &opened) += 1;
	assert_int_equal(opened, FEED_DEPTH_MAX);
	assert_int_equal(closed, FEED_DEPTH_MAX);
	buf_done(&in);
	buf_done(&out);
}

static void
knows_entities(void **state)
{
	static const char *const NAMES[] = {"amp", "quot", "nbsp", "thetasym",
	    "AElig", "zwnj", "zwj", "hellip", "apos", "yuml", "Aacute"};
	char text[16], ret[ENTITY_UTF8_MAX];
	size_t n;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
		(void)snprintf(text, sizeof(text), "&%s;", NAMES[i]);
		assert_int_equal(
		    entity_read(str_of(text), ret, &n), strlen(text));
		text[strlen(text) - 1] = '\0';
		assert_int_equal(entity_read(str_of(text), ret, &n), 0);
	}
	assert_int_equal(entity_read(STR("&;"), ret, &n), 0);
	assert_int_equal(entity_read(STR("&#;"), ret, &n), 0);
	assert_int_equal(entity_read(STR("&#x;"), ret, &n), 0);
	assert_int_equal(entity_read(STR("&#xd800;"), ret, &n), 8);
	assert_memory_equal(ret, "\xef\xbf\xbd", 3);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(mends),
	    cmocka_unit_test(is_never_too_deep),
	    cmocka_unit_test(knows_entities),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
