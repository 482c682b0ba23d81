"""single.py - one feature or oddity a case: what goes in, what comes out."""

B = "http://e.example/dir/feed.xml"


def rss(item, channel="", attrs=""):
    return (f'<rss version="2.0" {attrs} xmlns:dc="http://purl.org/dc/elements/1.1/" '
            f'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
            f'xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom" '
            f'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
            f'xmlns:dcterms="http://purl.org/dc/terms/">'
            f"<channel>{channel}<item><title>t</title>{item}</item></channel></rss>")


def atom(entry, feed="", attrs=""):
    return (f'<feed xmlns="http://www.w3.org/2005/Atom" {attrs}>{feed}'
            f"<entry><title>t</title>{entry}</entry></feed>")


def atom03(entry):
    return ('<feed version="0.3" xmlns="http://purl.org/atom/ns#">'
            f"<entry><title>t</title>{entry}</entry></feed>")


# what is in an item of RSS 2.0 -> what the item says besides its title
RSS_ITEM = [
    ("<guid>http://x.example/1</guid>", {"id": "http://x.example/1", "link": "http://x.example/1"}),
    ('<guid isPermaLink="true">http://x.example/1</guid>', {"id": "http://x.example/1", "link": "http://x.example/1"}),
    ('<guid isPermaLink="false">http://x.example/1</guid>', {"id": "http://x.example/1"}),
    ('<guid isPermaLink="False">abc</guid>', {"id": "abc"}),
    ("<guid>abc</guid>", {"id": "abc"}),
    ("<guid> \n abc </guid>", {"id": "abc"}),
    ("<guid>http://x.example/1</guid><link>http://y.example/</link>", {"id": "http://x.example/1", "link": "http://y.example/"}),
    ("<guid></guid><link/>", {}),
    ("<link>http://x.example/a b</link>", {"link": "http://x.example/a%20b"}),
    ("<link>\nhttp://x.example/\n</link>", {"link": "http://x.example/"}),
    ("<link>a.html</link>", {"link": "http://e.example/dir/a.html"}),
    ("<link>../a.html</link>", {"link": "http://e.example/a.html"}),
    ("<link>//cdn.example/a</link>", {"link": "http://cdn.example/a"}),
    ("<link>?p=1</link>", {"link": "http://e.example/dir/feed.xml?p=1"}),
    ("<link>javascript:alert(1)</link>", {}),
    ('<link href="http://x.example/h"/>', {"link": "http://x.example/h"}),
    ("<link><![CDATA[http://x.example/?a=1&b=2]]></link>", {"link": "http://x.example/?a=1&b=2"}),
    ('<atom:link rel="self" href="http://x.example/s"/><link>http://x.example/</link>', {"link": "http://x.example/"}),
    ('<link xml:base="http://b.example/">c</link>', {"link": "http://b.example/c"}),
    ("<author>ann@x.example (Ann)</author>", {"author": "Ann"}),
    ("<author>Ann &lt;ann@x.example&gt;</author>", {"author": "Ann"}),
    ("<author>ann@x.example</author>", {"author": "ann@x.example"}),
    ("<author>Ann</author>", {"author": "Ann"}),
    ("<author><name>Ann</name><email>a@x.example</email></author>", {"author": "Ann"}),
    ("<dc:creator>Ann</dc:creator>", {"author": "Ann"}),
    ("<dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator>", {"author": "Ann, Bob"}),
    ("<author>a@x.example</author><dc:creator>Ann</dc:creator>", {"author": "Ann"}),
    ("<itunes:author>Ann</itunes:author>", {"author": "Ann"}),
    ("<itunes:author>No</itunes:author><dc:creator>Ann</dc:creator>", {"author": "Ann"}),
    ("<atom:author><atom:name>Ann</atom:name></atom:author>", {"author": "Ann"}),
    ("<category>a</category><category>b</category><category>a</category>", {"categories": ["a", "b"]}),
    ('<category domain="x">a/b</category>', {"categories": ["a/b"]}),
    ("<category></category>", {}),
    ("<dc:subject>a</dc:subject>", {"categories": ["a"]}),
    ("<itunes:keywords>a, b,,c</itunes:keywords>", {"categories": ["a", "b", "c"]}),
    ("<media:keywords>a,b</media:keywords>", {"categories": ["a", "b"]}),
    ('<enclosure url="a.mp3" length="7" type="audio/mpeg"/>', {"enclosures": [{"url": "http://e.example/dir/a.mp3", "type": "audio/mpeg", "length": 7}]}),
    ('<enclosure url="http://x.example/a" length="" type=""/>', {"enclosures": [{"url": "http://x.example/a"}]}),
    ('<enclosure url="http://x.example/a" length="1,234"/>', {"enclosures": [{"url": "http://x.example/a"}]}),
    ('<enclosure url="http://x.example/a" length="-1"/>', {"enclosures": [{"url": "http://x.example/a"}]}),
    ('<enclosure url="http://x.example/a?b=1&c=2"/>', {"enclosures": [{"url": "http://x.example/a?b=1&c=2"}]}),
    ('<enclosure length="7"/>', {}),
    ('<enclosure url="http://x.example/a"/><enclosure url="http://x.example/b"/>', {"enclosures": [{"url": "http://x.example/a"}, {"url": "http://x.example/b"}]}),
    ('<media:content url="http://x.example/a.jpg" type="image/jpeg" fileSize="9"/>', {"enclosures": [{"url": "http://x.example/a.jpg", "type": "image/jpeg", "length": 9}]}),
    ('<media:group><media:content url="http://x.example/1"/><media:content url="http://x.example/2"/><media:description>d</media:description></media:group>', {"enclosures": [{"url": "http://x.example/1"}, {"url": "http://x.example/2"}], "summary": "d"}),
    ('<media:content url="http://x.example/1"><media:title>no</media:title></media:content>', {"enclosures": [{"url": "http://x.example/1"}]}),
    ('<enclosure url="http://x.example/1"/><media:content url="http://x.example/1"/>', {"enclosures": [{"url": "http://x.example/1"}]}),
    ("<description>a &lt;b&gt;c&lt;/b&gt;</description>", {"summary": "a <b>c</b>"}),
    ("<description><![CDATA[<p>x</p>]]></description>", {"summary": "<p>x</p>"}),
    ("<description><p>x <b>y</b><br/></p></description>", {"summary": "<p>x <b>y</b><br/></p>"}),
    ("<description></description><itunes:summary>s</itunes:summary>", {"summary": "s"}),
    ("<itunes:summary>no</itunes:summary><description>d</description>", {"summary": "d"}),
    ("<dc:description>d</dc:description>", {"summary": "d"}),
    ("<description>d</description><content:encoded>c</content:encoded>", {"summary": "d", "content": "c"}),
    ("<content:encoded><![CDATA[a <b>c</b> &amp; d]]></content:encoded>", {"content": "a <b>c</b> &amp; d"}),
    ('<body xmlns="http://www.w3.org/1999/xhtml"><p title="a&quot;b">x &lt; y</p></body>', {"content": '<p title="a&quot;b">x &lt; y</p>'}),
    ("<source url='http://no/'>no</source>", {}),
    ("<pubDate>not a date</pubDate>", {}),
    ("<pubDate>not a date</pubDate><dc:date>2026-01-05</dc:date>", {"published": "2026-01-05T00:00:00Z"}),
    ("<dc:date>2025-01-05</dc:date><pubDate>Mon, 05 Jan 2026 10:00:00 +0900</pubDate>", {"published": "2026-01-05T01:00:00Z"}),
    ("<dcterms:modified>2026-01-05T10:00:00Z</dcterms:modified>", {"updated": "2026-01-05T10:00:00Z"}),
    ("<atom:updated>2026-01-05T10:00:00Z</atom:updated>", {"updated": "2026-01-05T10:00:00Z"}),
    ("<pubdate>2026-01-05</pubdate>", {"published": "2026-01-05T00:00:00Z"}),
    ("<PUBDATE>2026-01-05</PUBDATE>", {"published": "2026-01-05T00:00:00Z"}),
    ("<description>never closed<pubDate>2026-01-05</pubDate>", {"summary": "never closed", "published": "2026-01-05T00:00:00Z"}),
    ("<link>http://x.example/<guid>1</guid>", {"link": "http://x.example/", "id": "1"}),
    ("<description>a <b>b <i>c</description>", {"summary": "a <b>b <i>c</i></b>"}),
    ("<comments>http://no/</comments><slash:comments>3</slash:comments>", {}),
]

# what is in an entry of Atom 1.0
ATOM_ENTRY = [
    ("<id> tag:x,2026:1 </id>", {"id": "tag:x,2026:1"}),
    ('<link href="a"/>', {"link": "http://e.example/dir/a"}),
    ('<link rel="alternate" href="a"/><link rel="self" href="b"/>', {"link": "http://e.example/dir/a"}),
    ('<link rel="self" href="b"/><link rel="alternate" href="a"/>', {"link": "http://e.example/dir/a"}),
    ('<link rel="self" href="b"/>', {"link": "http://e.example/dir/b"}),
    ('<link rel="edit" href="b"/><link rel="replies" href="c"/>', {}),
    ('<link type="application/json" href="j"/><link type="text/html" href="h"/>', {"link": "http://e.example/dir/h"}),
    ('<link type="application/json" href="j"/>', {"link": "http://e.example/dir/j"}),
    ('<link rel="http://www.iana.org/assignments/relation/alternate" href="a"/>', {"link": "http://e.example/dir/a"}),
    ('<link rel="enclosure" href="a" type="x/y" length="3"/>', {"enclosures": [{"url": "http://e.example/dir/a", "type": "x/y", "length": 3}]}),
    ('<link/>', {}),
    ('<content>plain</content>', {"content": "plain"}),
    ('<content type="text">1 &lt; 2 &amp; 3</content>', {"content": "1 &lt; 2 &amp; 3"}),
    ('<content type="html">&lt;p&gt;x&lt;/p&gt;</content>', {"content": "<p>x</p>"}),
    ('<content type="html"><p>x</p></content>', {"content": "<p>x</p>"}),
    ('<content type="text/html">&lt;p&gt;x</content>', {"content": "<p>x"}),
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x &amp; y</p></div></content>', {"content": "<p>x &amp; y</p>"}),
    ('<content type="xhtml"><div><p>x</p></div></content>', {"content": "<p>x</p>"}),
    ('<content type="xhtml" xmlns:h="http://www.w3.org/1999/xhtml"><h:div><h:p>x<h:br/></h:p></h:div></content>', {"content": "<p>x<br/></p>"}),
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><title>x</title><div>y</div></div></content>', {"content": "<title>x</title><div>y</div>"}),
    ('<content type="image/png">iVBORw0KGgo=</content>', {}),
    ('<content src="http://x.example/c" type="text/html"/>', {"link": "http://x.example/c"}),
    ('<content src="http://x.example/c"/><link href="http://y.example/"/>', {"link": "http://y.example/"}),
    ('<content type="application/xml"><a b="c">d</a></content>', {"content": '<a b="c">d</a>'}),
    ('<summary>s</summary><content>c</content>', {"summary": "s", "content": "c"}),
    ('<published>2026-01-05T10:00:00+09:00</published>', {"published": "2026-01-05T01:00:00Z"}),
    ('<updated>2026-01-05T10:00:00.25Z</updated>', {"updated": "2026-01-05T10:00:00.250Z"}),
    ('<author><name>Ann</name></author><author><name>Bob</name></author>', {"author": "Ann, Bob"}),
    ('<author><email>a@x.example</email></author>', {"author": "a@x.example"}),
    ('<author>Ann</author>', {"author": "Ann"}),
    ('<contributor><name>no</name></contributor>', {}),
    ('<source><title>no</title><id>no</id><link href="no"/><updated>2020-01-01</updated></source><id>1</id>', {"id": "1"}),
    ('<category term="a"/><category term="b" label="B"/><category/>', {"categories": ["a", "B"]}),
    ('<link href="a" xml:base="http://b.example/c/"/>', {"link": "http://b.example/c/a"}),
    ('<dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator>', {"author": "Ann"}),
]

ATOM03_ENTRY = [
    ('<content type="text/html" mode="escaped">&lt;p&gt;x</content>', {"content": "<p>x"}),
    ('<content type="application/xhtml+xml" mode="xml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x</p></div></content>', {"content": "<p>x</p>"}),
    ('<content type="text/html" mode="base64">PHA+eDwvcD4=</content>', {"content": "<p>x</p>"}),
    ('<issued>2026-01-05</issued><created>2020-01-01</created>', {"published": "2026-01-05T00:00:00Z"}),
    ('<created>2020-01-01</created>', {"published": "2020-01-01T00:00:00Z"}),
    ('<modified>2026-01-05T01:02:03Z</modified>', {"updated": "2026-01-05T01:02:03Z"}),
]

JSON_ITEM = [
    ('"id":"1"', {"id": "1"}),
    ('"id":1', {"id": "1"}),
    ('"id":"1","url":"a"', {"id": "1", "link": "http://e.example/dir/a"}),
    ('"id":"http://x.example/"', {"id": "http://x.example/", "link": "http://x.example/"}),
    ('"id":"1","external_url":"http://x.example/"', {"id": "1", "link": "http://x.example/"}),
    ('"id":"1","content_text":"a < b"', {"id": "1", "content": "a &lt; b"}),
    ('"id":"1","content_html":"<p>","content_text":"no"', {"id": "1", "content": "<p>"}),
    ('"id":"1","summary":"s"', {"id": "1", "summary": "s"}),
    ('"id":"1","author":{"name":"Ann"}', {"id": "1", "author": "Ann"}),
    ('"id":"1","authors":[{"name":"Ann"},{"name":"Bob"}]', {"id": "1", "author": "Ann, Bob"}),
    ('"id":"1","author":"Ann"', {"id": "1", "author": "Ann"}),
    ('"id":"1","tags":["a","b",3,"a"]', {"id": "1", "categories": ["a", "b"]}),
    ('"id":"1","tags":"a"', {"id": "1"}),
    ('"id":"1","attachments":[{"url":"a","mime_type":"x/y","size_in_bytes":5}]', {"id": "1", "enclosures": [{"url": "http://e.example/dir/a", "type": "x/y", "length": 5}]}),
    ('"id":"1","date_published":"2026-01-05T10:00:00-05:00","date_modified":"bad"', {"id": "1", "published": "2026-01-05T15:00:00Z"}),
    ('"id":"1","title":null,"url":{}', {"id": "1"}),
    ('"id":"1",', {"id": "1"}),
    ('"id":"a\nb\x01"', {"id": "a b"}),
    ('"id":"\\ud83d!"', {"id": "\ufffd!"}),
    ('"id":"1" /* note */', {"id": "1"}),
]

# the whole feed
FEEDS = [
    ("rss without version", "<rss><channel><title>T</title></channel></rss>", {"format": "rss2", "title": "T", "items": []}),
    ("channel alone", "<channel><title>T</title><item><title>a</title></item></channel>", {"format": "rss2", "title": "T", "items": [{"title": "a"}]}),
    ("rss without channel", "<rss><title>no</title><item><title>a</title></item></rss>", {"format": "rss2", "items": [{"title": "a"}]}),
    ("items beside the channel", '<rss version="0.91"><channel><title>T</title></channel><item><title>a</title></item></rss>', {"format": "rss09x", "title": "T", "items": [{"title": "a"}]}),
    ("atom without namespace", '<feed><title>T</title><entry><title>a</title><link href="/x"/></entry></feed>', {"format": "atom1", "title": "T", "items": [{"title": "a", "link": "http://e.example/x"}]}),
    ("atom with prefix", '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>T</a:title><a:entry><a:id>1</a:id></a:entry></a:feed>', {"format": "atom1", "title": "T", "items": [{"id": "1"}]}),
    ("entry alone", '<entry xmlns="http://www.w3.org/2005/Atom"><title>a</title></entry>', {"format": "atom1", "items": [{"title": "a"}]}),
    ("rss with a namespace", '<rss version="2.0" xmlns="http://backend.userland.com/rss2"><channel><title>T</title></channel></rss>', {"format": "rss2", "title": "T", "items": []}),
    ("rss with a namespace of its own", '<rss version="2.0" xmlns="http://own.example/"><channel><title>T</title></channel></rss>', {"format": "rss2", "title": "T", "items": []}),
    ("capital rss", '<RSS version="2.0"><CHANNEL><TITLE>T</TITLE><ITEM><TITLE>a</TITLE></ITEM></CHANNEL></RSS>', {"format": "rss2", "title": "T", "items": [{"title": "a"}]}),
    ("dates of the feed", "<rss><channel><pubDate>2020-01-01</pubDate><lastBuildDate>2026-01-05</lastBuildDate></channel></rss>", {"format": "rss2", "updated": "2026-01-05T00:00:00Z", "items": []}),
    ("date of the feed", "<rss><channel><title>T</title><pubDate>2020-01-01</pubDate></channel></rss>", {"format": "rss2", "title": "T", "updated": "2020-01-01T00:00:00Z", "items": []}),
    ("image", "<rss><channel><image><title>no</title><link>no</link></image><title>T</title></channel></rss>", {"format": "rss2", "title": "T", "items": []}),
    ("text input", "<rss><channel><textInput><title>no</title><description>no</description></textInput><title>T</title></channel></rss>", {"format": "rss2", "title": "T", "items": []}),
    ("empty rss", "<rss/>", {"format": "rss2", "items": []}),
    ("bases", '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.example/x/"><entry xml:base="y/"><link href="z"/></entry></feed>', {"format": "atom1", "items": [{"link": "http://b.example/x/y/z", "base": "http://b.example/x/y/"}]}),
    ("base relative to the url", '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="x/"><entry><link href="z"/></entry></feed>', {"format": "atom1", "items": [{"link": "http://e.example/dir/x/z", "base": "http://e.example/dir/x/"}]}),
    ("author of the feed", '<feed xmlns="http://www.w3.org/2005/Atom"><author><name>Ann</name></author><entry><id>1</id></entry><entry><id>2</id><author><name>Bob</name></author></entry></feed>', {"format": "atom1", "items": [{"id": "1", "author": "Ann"}, {"id": "2", "author": "Bob"}]}),
    ("html title", '<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">a &amp;lt; &lt;b&gt;b&lt;/b&gt;</title></feed>', {"format": "atom1", "title": "a < b", "items": []}),
    ("xhtml title", '<feed xmlns="http://www.w3.org/2005/Atom"><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b> &amp; c</div></title></feed>', {"format": "atom1", "title": "a b & c", "items": []}),
    ("text title", '<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">a &lt;b&gt; &amp;amp;</title></feed>', {"format": "atom1", "title": "a <b> &amp;", "items": []}),
    ("language", '<rss xml:lang="de"><channel><language>en-us</language></channel></rss>', {"format": "rss2", "language": "en-us", "items": []}),
    ("xml:lang", '<rss xml:lang="de"><channel><title>T</title></channel></rss>', {"format": "rss2", "title": "T", "language": "de", "items": []}),
    ("json feed 1.0", '{"version":"https://jsonfeed.org/version/1","title":"T","home_page_url":"http://x.example/","description":"d","items":[]}', {"format": "json", "title": "T", "link": "http://x.example/", "description": "d", "items": []}),
    ("json feed 1.1", '{"version":"https://jsonfeed.org/version/1.1","title":"T","language":"en","authors":[{"name":"Ann"}],"items":[{"id":"1"}]}', {"format": "json", "title": "T", "language": "en", "items": [{"id": "1", "author": "Ann"}]}),
    ("json feed cut", '{"version":"https://jsonfeed.org/version/1","title":"T","items":[{"id":"1","title":"a"},{"id":"2","title":"b', {"format": "json", "title": "T", "items": [{"id": "1", "title": "a"}, {"id": "2"}]}),
    ("json feed with a mark", '\ufeff{"title":"T","items":[]}', {"format": "json", "title": "T", "items": []}),
]


def cases():
    for i, (inner, out) in enumerate(RSS_ITEM):
        yield f"rss item {i}: {inner}", rss(inner).encode(), B, "", {"format": "rss2", "items": [{"title": "t", **out}]}
    for i, (inner, out) in enumerate(ATOM_ENTRY):
        yield f"atom entry {i}: {inner}", atom(inner).encode(), B, "", {"format": "atom1", "items": [{"title": "t", **out}]}
    for i, (inner, out) in enumerate(ATOM03_ENTRY):
        yield f"atom 0.3 entry {i}: {inner}", atom03(inner).encode(), B, "", {"format": "atom03", "items": [{"title": "t", **out}]}
    for i, (inner, out) in enumerate(JSON_ITEM):
        body = '{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{%s}]}' % inner
        yield f"json item {i}: {inner}", body.encode(), B, "", {"format": "json", "title": "T", "items": [out]}
    for name, body, out in FEEDS:
        yield name, body.encode(), B, "", out
    # Without --url a feed may say itself where it is from.
    yield ("own link as base", b"<rss><channel><link>http://x.example/a/</link><item><link>b</link></item></channel></rss>",
           "", "", {"format": "rss2", "link": "http://x.example/a/", "items": [{"link": "http://x.example/a/b", "base": "http://x.example/a/"}]})
    yield ("no base at all", b"<rss><channel><item><link>/b</link></item></channel></rss>",
           "", "", {"format": "rss2", "items": [{"link": "/b"}]})


REFUSED = [
    ("nothing", b"", "nothing in it"),
    ("blanks", b" \n\t ", "nothing in it"),
    ("a mark alone", b"\xef\xbb\xbf", "nothing in it"),
    ("a page", b"<!DOCTYPE html><html><head><title>x</title></head></html>", "HTML page"),
    ("a page without doctype", b"<html><body><rss></rss></body></html>", "HTML page"),
    ("a page with declaration", b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html/>', "HTML page"),
    ("an image", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "<svg>"),
    ("a list of feeds", b"<opml version='1.0'><body/></opml>", "<opml>"),
    ("a site map", b'<?xml version="1.0"?><urlset><url/></urlset>', "<urlset>"),
    ("text", b"hello", "neither XML nor JSON"),
    ("bytes", bytes(range(256)) * 4, "not a feed"),
    ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a feed"),
    ("json", b'{"a":1}', "no JSON Feed"),
    ("a list", b"[1,2]", "no JSON Feed"),
    ("broken json", b'{"a" 1}', "JSON"),
    ("RDF", b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description/></rdf:RDF>', "no feed"),
]
