#include "markup/xml.h"

#include "base/test.h"
#include "markup/entity.h"
#include "markup/xml_print_test.h"
#include "markup/xml_priv.h"

static const struct {
	const char *in, *want; /* NULL: as it went in */
} ROWS[] = {
    {"<a>b</a>", NULL},
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
    {"<a><!-- x --><b/></a>", "<a><b></b></a>"},
    {"<a><!-- x</a>", "<a>&lt;!-- x</a>"},
    {"<a><![CDATA[<p>&]]></a>", "<a>&lt;p&gt;&amp;</a>"},
    {"<a><b><![CDATA[<p>x</b></a>", "<a><b>&lt;p&gt;x</b></a>"},
    {"<a><b><![CDATA[x<![CDATA[y</b>z</a>", "<a><b>x&lt;![CDATA[y</b>z</a>"},
    {"<a><b><![CDATA[x</b><c><![CDATA[y]]></c></a>", "<a><b>x</b><c>y</c></a>"},
    {"<?xml version='1.0'?><a/>", "<a></a>"},
    {"<!DOCTYPE a [<!ENTITY b \">\">]><a>x</a>", "<a>x</a>"},
    {"<a>x<p>y</p></a>", NULL},
    {"<a><item>x<item>y</item>z</item></a>", NULL},
    {"<a><br>x</br></a>", NULL},
    {"<a>x\r\ny\rz</a>", "<a>x&#10;y&#10;z</a>"},
    {"<a b=' x\n\ty'/>", "<a b=\" x  y\"></a>"},
    {"<a b='&#10;&lt;&eacute;'/>", "<a b=\"&#10;&lt;\xc3\xa9\"></a>"},
    {"<a b='1<2' c=3/>", "<a b=\"1&lt;2\" c=\"3\"></a>"},
    {"<a b='<i>' c=''/>", "<a b=\"&lt;i&gt;\" c=\"\"></a>"},
    {"<a><b c=\"d>x</b><e f=\"/g\"/></a>",
	"<a><b c=\"d\">x</b><e f=\"/g\"></e></a>"},
    {"<A>x</a>", "<A>x</A>"},
    {"<a></a>junk & <p>", "<a></a>"},
    {"<a xmlns='u' xmlns:x='v' x:b='1'><x:c/></a>",
	"<a x:b=\"1\"><x:c></x:c></a>"},
    {"<a>\xef\xbf\xbe\xef\xbb\xbfx\xef\xbc\x91</a>",
	"<a>\xef\xbb\xbfx\xef\xbc\x91</a>"},
    {"<a>&notin; &nGt; &nbsp</a>",
	"<a>\xe2\x88\x89 \xe2\x89\xab\xe2\x83\x92 &amp;nbsp</a>"},
    {"<a b=c d='e\"f' g>x</a>", "<a b=\"c\" d=\"e&quot;f\" g=\"g\">x</a>"},
    {"<a b=\"1\" b=\"2\"/>", "<a b=\"1\"></a>"},
    {"<a b:=\"1\" b=\"2\" c:d:e=\"3\"/>", "<a b=\"1\"></a>"},
    {"<a b=\"x?y&z\"/>", "<a b=\"x?y&amp;z\"></a>"},
    {"<a><b c=\"d>x</b></a>", "<a><b c=\"d\">x</b></a>"},
    {"<a>x<br>y<img src=z></a>", "<a>x<br></br>y<img src=\"z\"></img></a>"},
    {"<r><item><t>1<item><t>2</r>",
	"<r><item><t>1</t></item><item><t>2</t></item></r>"},
    {"<r><x><item></x>y</item></x></r>", "<r><x><item>y</item></x></r>"},
    {"<r></r><item>x</item>", "<r><item>x</item></r>"},
    {"<a:b:c>x</a:b:c>", NULL},
    {"", ""},
    {"text", ""},
};

static void
mends(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const char *want = ROWS[i].want ? ROWS[i].want : ROWS[i].in;
		struct xml_print p;

		xml_print(str_of(ROWS[i].in), STR_EMPTY, &p);
		if (!str_eq(buf_str(&p.to), str_of(want)))
			fail_msg(
			    "%s: %.*s", ROWS[i].in, STR_ARG(buf_str(&p.to)));
		if (!ROWS[i].want && p.faulty)
			fail_msg("%s: has no fault", ROWS[i].in);
		buf_done(&p.to);
	}
}

/* Deeper than we go, and each level closed. */
static void
is_never_too_deep(void **)
{
	struct buf in = BUF(MIB);
	struct xml_print p;

	for (int i = 0; i < 5000; i++)
		buf_addz(&in, "<d>");
	buf_addz(&in, "x");
	for (int i = 0; i < 5000; i++)
		buf_addz(&in, "</d>");
	xml_print(buf_str(&in), STR_EMPTY, &p);
	assert_int_equal(p.deepest, FEED_DEPTH_MAX);
	buf_done(&in);
	buf_done(&p.to);
}

static bool
last_start(void *ctx, const struct xml_tag *t)
{
	*(struct xml_tag *)ctx = *t;
	return true;
}

static void
last_text(void *ctx, struct str text, bool bare)
{
	(void)ctx, (void)text, (void)bare;
}

static void
last_end(void *ctx, const struct xml_tag *t)
{
	(void)ctx, (void)t;
}

/* Namespaces of this test, by what they end with; the prefix counts too. */
enum { SPACE_NONE, SPACE_ATOM, SPACE_DC, SPACE_OTHER };

static int
last_space(struct str uri, struct str prefix)
{
	if (str_ends(uri, STR("/Atom")))
		return SPACE_ATOM;
	if (str_ends(uri, STR("/1.1/")) || str_eq(prefix, STR("dc")))
		return SPACE_DC;
	return prefix.n > 0 ? SPACE_OTHER : SPACE_NONE;
}

static const struct xml_calls LAST = {
    last_start, last_text, last_end, last_space};

static void
knows_namespaces(void **)
{
	static const struct {
		const char *in, *uri;
		int want; /* of the last element */
	} SPACED[] = {
	    {"<a/>", "", SPACE_NONE},
	    {"<a xmlns='http://www.w3.org/2005/Atom'><b/></a>",
		"http://www.w3.org/2005/Atom", SPACE_ATOM},
	    {"<a xmlns='http://www.w3.org/2005/Atom'><b xmlns='x'/><c/></a>",
		"http://www.w3.org/2005/Atom", SPACE_ATOM},
	    {"<a xmlns:x='http://purl.org/dc/elements/1.1/'><x:b/></a>",
		"http://purl.org/dc/elements/1.1/", SPACE_DC},
	    {"<a><x:b xmlns:x='http://purl.org/dc/elements/1.1/'/><x:c/></a>",
		"", SPACE_OTHER},
	    {"<a><dc:c/></a>", "", SPACE_DC},
	    {"<x:a xmlns:x='http://www.w3.org/2005/Atom'><b/></x:a>", "",
		SPACE_NONE},
	};

	for (size_t i = 0; i < COUNT_OF(SPACED); i++) {
		struct xml_tag last = {.space = SPACE_OTHER};
		bool faulty;

		assert_int_equal(xml_read(str_of(SPACED[i].in), STR_EMPTY,
				     false, &LAST, &last, &faulty),
		    OK);
		assert_int_equal(last.space, SPACED[i].want);
		assert_true(str_eq(last.uri, str_of(SPACED[i].uri)));
	}
}

static void
expands_what_is_defined(void **)
{
	static const struct {
		const char *dtd, *in, *want;
	} DEFINED[] = {
	    {"<!ENTITY b \"c d\">", "&b;", "c d"},
	    {"<!ENTITY b 'c'><!ENTITY b 'd'>", "&b;&b;", "cc"},
	    {"<!ENTITY b '&#65;&lt;&eacute;'>", "&b;", "A&lt;\xc3\xa9"},
	    {"<!ENTITY b 'x'><!ENTITY c '&b;&b;'>", "&c;", "xx"},
	    {"<!ENTITY c '&b;'><!ENTITY b 'x'>", "&c;", "&amp;c;"},
	    {"<!ENTITY b '&b;'>", "&b;", "&amp;b;"},
	    {"<!ENTITY b SYSTEM 'file:///etc/passwd'>", "&b;", "&amp;b;"},
	    {"<!ENTITY % b 'x'>", "&b;", "&amp;b;"},
	    {"<!ENTITY b 'x", "&b;", "x"},
	    {"<!ENTITY b ''>", "[&b;]", "[]"},
	    {"<!ENTITY nbsp '_'>", "&nbsp;", "_"},
	    {"<!ENTITY lt '_'>", "&lt;", "&lt;"},
	    {"<!ENTITY b 'a\001b'>", "&b;", "a b"},
	};

	for (size_t i = 0; i < COUNT_OF(DEFINED); i++) {
		struct buf in = BUF(MIB), want = BUF(MIB);
		struct xml_print p;

		buf_fmt(&in, "<a>%s</a>", DEFINED[i].in);
		buf_fmt(&want, "<a>%s</a>", DEFINED[i].want);
		xml_print(buf_str(&in), str_of(DEFINED[i].dtd), &p);
		if (!str_eq(buf_str(&p.to), buf_str(&want)))
			fail_msg("%s: %.*s", DEFINED[i].dtd,
			    STR_ARG(buf_str(&p.to)));
		buf_done(&in);
		buf_done(&want);
		buf_done(&p.to);
	}
}

/* One kilobyte that is asked for a thousand times and more. */
static void
spends_little(void **)
{
	struct xml_dtd *d = calloc(1, sizeof(*d));
	struct buf doctype = BUF(MIB);
	struct str ret = STR_EMPTY;
	size_t n = 0;

	assert_non_null(d);
	buf_fmt(&doctype, "<!ENTITY b '%0*d'><!ENTITY c '%0*d'>", DTD_VALUE_MAX,
	    1, DTD_VALUE_MAX + 1, 1);
	xml_dtd_read(d, buf_str(&doctype));
	assert_false(xml_dtd_find(d, STR("c"), &ret));
	while (xml_dtd_find(d, STR("b"), &ret))
		n += ret.n;
	assert_int_equal(n, DTD_SPEND_MAX);
	buf_done(&doctype);
	free(d);
}

static void
knows_entities(void **)
{
	static const char *const NAMES[] = {"amp", "quot", "nbsp", "thetasym",
	    "AElig", "zwnj", "hellip", "apos", "Aacute",
	    "CounterClockwiseContourIntegral", "NotEqualTilde"};
	char text[64], ret[ENTITY_MAX];
	size_t n;

	for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
		(void)snprintf(text, sizeof(text), "&%s;", NAMES[i]);
		assert_int_equal(
		    entity_read(str_of(text), ENTITY_IN_XML, ret, &n),
		    strlen(text));
		text[strlen(text) - 1] = '\0';
		assert_int_equal(
		    entity_read(str_of(text), ENTITY_IN_XML, ret, &n), 0);
	}
	assert_int_equal(entity_read(STR("&;"), ENTITY_IN_XML, ret, &n), 0);
	assert_int_equal(entity_read(STR("&#;"), ENTITY_IN_XML, ret, &n), 0);
	assert_int_equal(entity_read(STR("&#x;"), ENTITY_IN_XML, ret, &n), 0);
	assert_int_equal(entity_read(STR("&#65"), ENTITY_IN_XML, ret, &n), 0);
	assert_int_equal(entity_read(STR("&#65"), ENTITY_IN_HTML, ret, &n), 4);
	assert_int_equal(
	    entity_read(STR("&copy=1"), ENTITY_IN_ATTR, ret, &n), 0);
	assert_int_equal(
	    entity_read(STR("&copy=1"), ENTITY_IN_HTML, ret, &n), 5);
	assert_int_equal(
	    entity_read(STR("&#xd800;"), ENTITY_IN_XML, ret, &n), 8);
	assert_memory_equal(ret, "\xef\xbf\xbd", 3);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(mends),
	    cmocka_unit_test(is_never_too_deep),
	    cmocka_unit_test(knows_namespaces),
	    cmocka_unit_test(expands_what_is_defined),
	    cmocka_unit_test(spends_little),
	    cmocka_unit_test(knows_entities),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
