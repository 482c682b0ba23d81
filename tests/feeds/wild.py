"""wild.py - what other readers' tests and the web at large hold, by what a person would read in it."""
from single import B, atom, atom03, rss

DAY = "2026-01-05T00:00:00Z"

# what is in an item of RSS 2.0 -> what the item says besides its title
RSS_ITEM = [
    # people
    ("<author>Ann Bee (ann@x.example)</author>", {"author": "Ann Bee"}),
    ('<author>"Bee, Ann" &lt;ann@x.example&gt;</author>', {"author": "Bee, Ann"}),
    ("<author>mailto:ann@x.example</author>", {"author": "ann@x.example"}),
    ("<author>Ann &amp;amp; Bob</author>", {"author": "Ann & Bob"}),
    ("<author><![CDATA[ann@x.example (Ann)]]></author>", {"author": "Ann"}),
    ("<creator>Ann</creator>", {"author": "Ann"}),
    ("<dc:creator>Ann</dc:creator><creator>No</creator>", {"author": "Ann"}),
    ("<dc:creator>  Ann\n Bee </dc:creator>", {"author": "Ann Bee"}),
    ("<dc:contributor>No</dc:contributor>", {}),
    ("<DC:Creator>Ann</DC:Creator>", {"author": "Ann"}),
    # links
    ("<feedburner:origLink>http://x.example/o</feedburner:origLink><link>http://proxy.example/1</link>", {"link": "http://x.example/o"}),
    ('<link>http://proxy.example/1</link><f:origLink xmlns:f="http://rssnamespace.org/feedburner/ext/1.0">http://x.example/o</f:origLink>', {"link": "http://x.example/o"}),
    ('<atom10:link xmlns:atom10="http://www.w3.org/2005/Atom" rel="self" href="http://no.example/"/><link>http://x.example/</link>', {"link": "http://x.example/"}),
    ('<a10:link rel="alternate" href="http://x.example/"/>', {"link": "http://x.example/"}),
    ("<LINK>http://x.example/</LINK>", {"link": "http://x.example/"}),
    ("<link>http://x.example/?a=1&b=2</link>", {"link": "http://x.example/?a=1&b=2"}),
    ("<link>http://x.example/?a=1&copy=2</link>", {"link": "http://x.example/?a=1&copy=2"}),
    ("<link>http://x.example/?a=1&amp;amp;b=2</link>", {"link": "http://x.example/?a=1&amp;b=2"}),
    ("<link>http://x.example/\n  a</link>", {"link": "http://x.example/%20%20a"}),
    ("<link>HTTP://X.example/</link>", {"link": "HTTP://X.example/"}),
    ("<link>#a</link>", {"link": B + "#a"}),
    ("<link>.</link>", {"link": "http://e.example/dir/"}),
    ("<link>data:text/html,x</link><guid>http://x.example/</guid>", {"id": "http://x.example/", "link": "http://x.example/"}),
    ("<guid>/a</guid>", {"id": "/a"}),
    ("<guid isPermaLink='true'>/a</guid>", {"id": "/a", "link": "http://e.example/a"}),
    ("<guid isPermaLink='1'>http://x.example/</guid>", {"id": "http://x.example/", "link": "http://x.example/"}),
    ("<GUID ISPERMALINK='FALSE'>http://x.example/</GUID>", {"id": "http://x.example/"}),
    ("<guid><![CDATA[a&b]]></guid>", {"id": "a&b"}),
    ("<comments>http://no.example/</comments><wfw:commentRss>http://no.example/</wfw:commentRss>", {}),
    # texts
    ("<description>a&nbsp;b &copy; &#8212; &#x2014;</description>", {"summary": "a\u00a0b © — —"}),
    ("<description>&notin;&NotEqualTilde;&bigstar;</description>", {"summary": "∉≂̸★"}),
    ("<description>a &nbsp b</description>", {"summary": "a &nbsp b"}),
    ("<description>1 &amp;lt; 2</description>", {"summary": "1 &lt; 2"}),
    ("<description>a\r\nb\rc</description>", {"summary": "a\nb\nc"}),
    ("<description><![CDATA[a]]&gt;b]]></description>", {"summary": "a]]&gt;b"}),
    ("<description><![CDATA[a]]><b>c</b></description>", {"summary": "a<b>c</b>"}),
    ("<description><p>1 &lt; 2 &amp; 3</p></description>", {"summary": "<p>1 &lt; 2 &amp; 3</p>"}),
    ("<description>a <b>1 &lt; 2</b></description>", {"summary": "a <b>1 &lt; 2</b>"}),
    ("<description>&lt;p&gt;a&lt;/p&gt;<br/>&lt;p&gt;b</description>", {"summary": "<p>a</p><br/><p>b"}),
    ("<description> </description><content:encoded>\n</content:encoded>", {}),
    ("<description><!-- no -->d<?php no ?></description>", {"summary": "d"}),
    ("<description type='html'>d</description>", {"summary": "d"}),
    ("<Description>d</Description>", {"summary": "d"}),
    ('<x:encoded xmlns:x="http://purl.org/rss/1.0/modules/content/">c</x:encoded>', {"content": "c"}),
    ('<content:encoded xmlns:content="http://wrong.example/">c</content:encoded>', {"content": "c"}),
    ("<content:encoded>c</content:encoded><content:encoded>no</content:encoded>", {"content": "c"}),
    ("<fullitem>c</fullitem>", {"content": "c"}),
    ('<div xmlns="http://www.w3.org/1999/xhtml"><p>c</p></div>', {"content": "<p>c</p>"}),
    ('<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml"><xhtml:p class="x">c</xhtml:p></xhtml:body>', {"content": '<p class="x">c</p>'}),
    ("<atom:summary>s</atom:summary>", {"summary": "s"}),
    ('<atom:content type="html">&lt;p&gt;c</atom:content>', {"content": "<p>c"}),
    ("<itunes:subtitle>no</itunes:subtitle><itunes:summary>s</itunes:summary>", {"summary": "s"}),
    ("<itunes:subtitle>s</itunes:subtitle>", {"summary": "s"}),
    ("<media:description>s</media:description>", {"summary": "s"}),
    ("<description>d</description><media:description>no</media:description>", {"summary": "d"}),
    # categories
    ("<category>a &amp;amp; b</category>", {"categories": ["a & b"]}),
    ("<category>\n a\n b </category>", {"categories": ["a b"]}),
    ("<category><![CDATA[a]]></category><dc:subject>b</dc:subject>", {"categories": ["a", "b"]}),
    ('<category domain="http://x.example/">a</category><category>a</category>', {"categories": ["a"]}),
    ('<atom:category term="a" label="A"/>', {"categories": ["A"]}),
    ("<dcterms:subject>a</dcterms:subject>", {"categories": ["a"]}),
    ('<media:category scheme="x">a</media:category>', {"categories": ["a"]}),
    # enclosures
    ('<enclosure url=" http://x.example/a b.mp3 " length=" 7 " type=" audio/mpeg "/>', {"enclosures": [{"url": "http://x.example/a%20b.mp3", "type": "audio/mpeg", "length": 7}]}),
    ('<enclosure url="http://x.example/a" length="0" type="x/y"/>', {"enclosures": [{"url": "http://x.example/a", "type": "x/y", "length": 0}]}),
    ('<enclosure url="http://x.example/a" length="unknown"/>', {"enclosures": [{"url": "http://x.example/a"}]}),
    ('<enclosure url="http://x.example/a" length="7" type="x/y">no</enclosure>', {"enclosures": [{"url": "http://x.example/a", "type": "x/y", "length": 7}]}),
    ('<enclosure url="javascript:alert(1)"/>', {}),
    ('<ENCLOSURE URL="http://x.example/a" LENGTH="7"/>', {"enclosures": [{"url": "http://x.example/a", "length": 7}]}),
    ('<atom:link rel="enclosure" href="a.mp3" type="audio/mpeg" length="7"/>', {"enclosures": [{"url": "http://e.example/dir/a.mp3", "type": "audio/mpeg", "length": 7}]}),
    ('<m:content xmlns:m="http://search.yahoo.com/mrss" url="http://x.example/a.mp4" type="video/mp4"/>', {"enclosures": [{"url": "http://x.example/a.mp4", "type": "video/mp4"}]}),
    ('<media:thumbnail url="http://no.example/a.jpg"/><itunes:image href="http://no.example/b.jpg"/>', {}),
    ('<enclosure url="x.mp3" xml:base="http://b.example/"/>', {"enclosures": [{"url": "http://b.example/x.mp3"}]}),
    # dates
    ("<pubDate>2026-01-05</pubDate><pubDate>2020-01-01</pubDate>", {"published": DAY}),
    ("<published>2026-01-05</published>", {"published": DAY}),
    ("<updated>2026-01-05</updated>", {"updated": DAY}),
    ("<dc:date>2026-01-05</dc:date><dcterms:created>2020-01-01</dcterms:created>", {"published": DAY}),
    ("<dc:modified>2026-01-05</dc:modified>", {"updated": DAY}),
    ("<prism:publicationDate>2026-01-05</prism:publicationDate>", {"published": DAY}),
    ("<pubDate><![CDATA[Mon, 05 Jan 2026 00:00:00 GMT]]></pubDate>", {"published": DAY}),
    ("<pubDate>Lun, 05 Jan 2026 00:00:00 GMT</pubDate>", {"published": DAY}),
    ("<pubDate>Sun, 05 Jan 2026 00:00:00 GMT</pubDate>", {"published": DAY}),
    ("<atom:published>2026-01-05T00:00:00Z</atom:published>", {"published": DAY}),
    ("<pubDate/><dc:date>2026-01-05</dc:date>", {"published": DAY}),
    # what is of others
    ("<source url='http://no.example/'>no</source><media:credit>no</media:credit><geo:lat>1</geo:lat>", {}),
    ("<image><title>no</title><url>http://no.example/</url><link>http://no.example/</link></image>", {}),
    ("<x:title xmlns:x='http://y.example/'>no</x:title><x:link xmlns:x='http://y.example/'>no</x:link>", {}),
]

ATOM_ENTRY = [
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a</div><div xmlns="http://www.w3.org/1999/xhtml">b</div></content>', {"content": "<div>a</div><div>b</div>"}),
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml" class="x"> <p>a</p> </div></content>', {"content": "<p>a</p>"}),
    ('<content type="xhtml"><p xmlns="http://www.w3.org/1999/xhtml">a</p></content>', {"content": "<p>a</p>"}),
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a &lt;b&gt; &amp;amp; <![CDATA[<i>]]></div></content>', {"content": "a &lt;b&gt; &amp;amp; &lt;i&gt;"}),
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><a href="x?a=1&amp;b=&quot;2&quot;" title=\'c\'>d</a><img src="e"/></div></content>', {"content": '<a href="x?a=1&amp;b=&quot;2&quot;" title="c">d</a><img src="e"/>'}),
    ('<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><b/><p></p></div></content>', {"content": "<b></b><p></p>"}),
    ('<summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a<br/>b</div></summary>', {"summary": "a<br/>b"}),
    ('<content type="html"><![CDATA[<p>a &amp; b</p>]]></content>', {"content": "<p>a &amp; b</p>"}),
    ('<content type="html; charset=utf-8">&lt;p&gt;a</content>', {"content": "<p>a"}),
    ('<content type="text/plain">a &lt; b</content>', {"content": "a &lt; b"}),
    ('<content type="HTML">&lt;p&gt;a</content>', {"content": "<p>a"}),
    ('<content type="application/xhtml+xml"><div xmlns="http://www.w3.org/1999/xhtml">a</div></content>', {"content": "a"}),
    ('<content type="image/svg+xml"><svg xmlns="http://www.w3.org/2000/svg"><g id="a"/></svg></content>', {"content": '<svg><g id="a"></g></svg>'}),
    ('<content/><summary>s</summary>', {"summary": "s"}),
    ('<link href="http://x.example/" rel=" alternate "/>', {"link": "http://x.example/"}),
    ('<link rel="related" href="http://no.example/"/><link rel="via" href="http://no.example/"/>', {}),
    ('<link rel="alternate" type="application/xhtml+xml" href="http://x.example/"/><link rel="alternate" type="text/html" href="http://no.example/"/>', {"link": "http://x.example/"}),
    ('<link rel="alternate" hreflang="de" href="http://x.example/"/><link rel="alternate" hreflang="fr" href="http://no.example/"/>', {"link": "http://x.example/"}),
    ('<link href="//x.example/a"/>', {"link": "http://x.example/a"}),
    ('<link href="a" xml:base="b/"/>', {"link": "http://e.example/dir/b/a"}),
    ('<id xml:base="http://no.example/">a</id>', {"id": "a"}),
    ('<author><uri>http://no.example/</uri></author>', {}),
    ('<author><name/><email>a@x.example</email></author>', {"author": "a@x.example"}),
    ('<author><email>a@x.example</email><name>Ann</name><uri>http://x.example/</uri></author>', {"author": "Ann"}),
    ('<author><name>Ann</name></author><contributor><name>Bob</name></contributor>', {"author": "Ann"}),
    ('<category scheme="http://x.example/" term="a"/>', {"categories": ["a"]}),
    ('<category term="a" label=""/><category>no</category>', {"categories": ["a"]}),
    ('<updated>2026-01-05T00:00:00.000000Z</updated>', {"updated": DAY}),
    ('<published>2026-01-05</published><updated>2026-01-05</updated>', {"published": DAY, "updated": DAY}),
    ('<pubDate>2026-01-05</pubDate>', {"published": DAY}),
    ('<description>d</description>', {"summary": "d"}),
    ('<media:group xmlns:media="http://search.yahoo.com/mrss/"><media:title>no</media:title><media:content url="http://x.example/v" type="video/mp4"/><media:thumbnail url="http://no.example/"/><media:description>d</media:description></media:group>', {"enclosures": [{"url": "http://x.example/v", "type": "video/mp4"}], "summary": "d"}),
    ('<source><author><name>no</name></author><category term="no"/><link rel="enclosure" href="no"/></source>', {}),
    ('<rights>no</rights><generator>no</generator><logo>no</logo>', {}),
]

ATOM03_ENTRY = [
    ('<content>plain</content>', {"content": "plain"}),
    ('<content type="text/html" mode="escaped"><![CDATA[<p>x</p>]]></content>', {"content": "<p>x</p>"}),
    ('<content type="text/html"><p xmlns="http://www.w3.org/1999/xhtml">x</p></content>', {"content": "<p>x</p>"}),
    ('<content type="application/xhtml+xml" mode="escaped">&lt;p&gt;x&lt;/p&gt;</content>', {"content": "<p>x</p>"}),
    ('<content type="application/octet-stream" mode="base64">PHA+eDwvcD4=</content>', {"content": "<p>x</p>"}),
    ('<content type="text/html" mode="base64">PHA+\n  eDwv\n cD4=</content>', {"content": "<p>x</p>"}),
    ('<content type="multipart/alternative"><content type="text/html" mode="escaped">&lt;p&gt;x</content><content type="text/plain">no</content></content>', {"content": "<p>x"}),
    ('<summary type="application/xhtml+xml"><div xmlns="http://www.w3.org/1999/xhtml">x</div></summary>', {"summary": "x"}),
    ('<link rel="alternate" type="text/html" href="a"/><link rel="service.edit" href="no"/>', {"link": "http://e.example/dir/a"}),
    ('<author><name>Ann</name><url>http://x.example/</url></author>', {"author": "Ann"}),
    ('<issued>2026-01-05T00:00Z</issued><modified>2026-01-05T00:00:00+00:00</modified>', {"published": DAY, "updated": DAY}),
    ('<dc:subject xmlns:dc="http://purl.org/dc/elements/1.1/">a</dc:subject>', {"categories": ["a"]}),
]

# a title of RSS and what it says
TITLES = [
    ("&lt;b&gt;a&lt;/b&gt; &amp;amp; b", "a & b"), ("a &lt; b", "a < b"), ("a &amp;lt; b", "a < b"),
    ("a&lt;br /&gt;b", "ab"), ("&lt;img src='x'&gt; a", "a"), ("use &lt;b&gt; wisely", "use <b> wisely"),
    ("AT&amp;T", "AT&T"), ("AT&amp;amp;T", "AT&T"), ("&amp;eacute;&amp;#233;&amp;#xe9;", "ééé"), ("a &nbsp b", "a \u00a0 b"),
    ("&amp;hellip;&amp;notin;", "…∉"), ("<![CDATA[a &amp; b]]>", "a & b"), ("<![CDATA[<i>a</i>]]>", "a"),
    ("C&amp;#43;&amp;#43;", "C++"), ("a&#x85;b", "a…b"), ("&#150; &#x96;", "– –"), ("a &amp b", "a & b"), ("R&amp;D;", "R&D;"),
]

ENTITIES = [
    ('<!DOCTYPE rss [<!ENTITY a "Ann">]>', "&a;", "Ann"),
    ('<!DOCTYPE rss [\n<!ENTITY % HTML PUBLIC "x" "y">\n%HTML;\n<!ENTITY a "Ann &amp; B">\n]>', "&a;", "Ann & B"),
    ('<!DOCTYPE rss [<!ENTITY nbsp "&#160;"><!ENTITY a "1">]>', "x&nbsp;&a;", "x\u00a01"),
    ('<!DOCTYPE rss SYSTEM "http://no.example/x.dtd" [<!ENTITY a \'Ann\'>]>', "&a;&b;", "Ann&b;"),
    ('<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "x&a;", "x&a;"),
    ('<!DOCTYPE rss [<!ENTITY a "&b;"><!ENTITY b "&a;">]>', "x&a;", "x&a;"),
    ('<!DOCTYPE rss [<!ENTITY a "1"><!ENTITY b "&a;2">]>', "&b;", "12"),
    ('<!DOCTYPE rss [<!ELEMENT rss ANY><!ATTLIST rss a CDATA "]>"><!ENTITY a "1">]>', "&a;", "1"),
]

T = {"format": "rss2", "title": "T"}
FEEDS = [
    ("prefix of its own", '<x:rss xmlns:x="http://purl.org/rss/1.0/"><x:channel><x:title>T</x:title><x:item><x:title>a</x:title></x:item></x:channel></x:rss>', {**T, "items": [{"title": "a"}]}),
    ("lang of the channel", '<rss version="2.0"><channel xml:lang="de"><title>T</title></channel></rss>', {**T, "language": "de", "items": []}),
    ("dc language", '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>T</title><dc:language>de</dc:language></channel></rss>', {**T, "language": "de", "items": []}),
    ("self is no link", '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link rel="self" href="http://no.example/"/><title>T</title></channel></rss>', {**T, "items": []}),
    ("alternate is one", '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link rel="alternate" href="http://x.example/"/><title>T</title></channel></rss>', {**T, "link": "http://x.example/", "items": []}),
    ("link beside self", '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link rel="self" href="http://no.example/"/><title>T</title><link>http://x.example/</link></channel></rss>', {**T, "link": "http://x.example/", "items": []}),
    ("rss 0.91 by version", '<rss version="0.91"><channel><title>T</title></channel></rss>', {"format": "rss09x", "title": "T", "items": []}),
    ("rss 2.0.1", '<rss version="2.0.1"><channel><title>T</title></channel></rss>', {**T, "items": []}),
    ("rss 1.0, about alone", '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="http://x.example/"><title>T</title><items><rdf:Seq><rdf:li rdf:resource="http://x.example/1"/></rdf:Seq></items></channel><item rdf:about="http://x.example/1"><title>a</title></item></rdf:RDF>', {"format": "rss1", "title": "T", "items": [{"id": "http://x.example/1", "title": "a", "link": "http://x.example/1"}]}),
    ("rss 1.0, items in the channel", '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title><item><title>a</title></item></channel></rdf:RDF>', {"format": "rss1", "title": "T", "items": [{"title": "a"}]}),
    ("rss 1.0, image and input", '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel><image><title>no</title><link>http://no/</link></image><textinput><title>no</title></textinput></rdf:RDF>', {"format": "rss1", "title": "T", "items": []}),
    ("atom, upper case", '<FEED xmlns="http://www.w3.org/2005/Atom"><TITLE>T</TITLE><ENTRY><ID>1</ID></ENTRY></FEED>', {"format": "atom1", "title": "T", "items": [{"id": "1"}]}),
    ("atom 0.3 without version", '<feed xmlns="http://purl.org/atom/ns#"><title>T</title></feed>', {"format": "atom03", "title": "T", "items": []}),
    ("atom 0.3 without namespace", '<feed version="0.3"><title>T</title><tagline>D</tagline></feed>', {"format": "atom03", "title": "T", "description": "D", "items": []}),
    ("atom with https in its namespace", '<feed xmlns="https://www.w3.org/2005/Atom"><title>T</title></feed>', {"format": "atom1", "title": "T", "items": []}),
    ("atom, subtitle of html", '<feed xmlns="http://www.w3.org/2005/Atom"><subtitle type="html">a &lt;b&gt;b&lt;/b&gt;</subtitle><title>T</title></feed>', {"format": "atom1", "title": "T", "description": "a <b>b</b>", "items": []}),
    ("atom, html title with markup", '<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">a &lt;em&gt;b&lt;/em&gt; &amp;amp; c</title></feed>', {"format": "atom1", "title": "a b & c", "items": []}),
    ("atom, authors of the feed", '<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><author><name>A</name></author><author><name>B</name></author><entry><id>1</id></entry></feed>', {"format": "atom1", "title": "T", "items": [{"id": "1", "author": "A, B"}]}),
    ("atom, bases on all levels", '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a.example/"><title>T</title><entry xml:base="b/"><link xml:base="c/" href="d"/></entry></feed>', {"format": "atom1", "title": "T", "items": [{"link": "http://a.example/b/c/d", "base": "http://a.example/b/"}]}),
    ("rss with a base", '<rss xml:base="http://a.example/x/"><channel><title>T</title><link>y</link><item><link>z</link></item></channel></rss>', {**T, "link": "http://a.example/x/y", "items": [{"link": "http://a.example/x/z", "base": "http://a.example/x/"}]}),
    ("feed of no items behind a comment", '<!-- x --><rss><channel><title>T</title></channel></rss><!-- y -->', {**T, "items": []}),
    ("html within without end tags", '<rss><channel><title>T</title><item><description><p>a<p>b<br>c<img src=d></description><title>a</title></item></channel></rss>', {**T, "items": [{"title": "a", "summary": '<p>a<p>b<br/>c<img src="d"/></p></p>'}]}),
    ("cut in the middle of a tag", '<rss><channel><title>T</title><item><title>a</title></item><item><title>b</tit', {**T, "items": [{"title": "a"}, {"title": "b"}]}),
    ("jsonp", 'cb({"version":"https://jsonfeed.org/version/1","title":"T","items":[{"id":"1"}]});', {"format": "json", "title": "T", "items": [{"id": "1"}]}),
    ("jsonp behind a comment", '/**/a.b_c$1 ( {"title":"T","items":[]} )', {"format": "json", "title": "T", "items": []}),
    ("json dates as numbers", '{"title":"T","items":[{"id":"1","date_published":1767571200}]}', {"format": "json", "title": "T", "items": [{"id": "1", "published": DAY}]}),
    ("itunes", '<rss xmlns:itunes="http://www.itunes.com/DTDs/Podcast-1.0.dtd"><channel><title>T</title><itunes:summary>D</itunes:summary><itunes:author>no</itunes:author></channel></rss>', {**T, "description": "D", "items": []}),
]


# language, charset of bytes that nobody declares, title
LANGUAGES = [
    ("cs", "cp1250", "Příliš žluťoučký kůň"), ("tr-TR", "cp1254", "İstanbul'da güneş doğdu, hakkında"),
    ("th", "cp874", "หัวข้อข่าวเกี่ยวกับเศรษฐกิจ"), ("ar", "cp1256", "هذا عنوان خبر"), ("el", "cp1253", "Ελλάδα"),
    ("ru", "koi8-r", "Новости сегодня"), ("ja", "euc-jp", "日本語のフィード"), ("fr", "latin-1", "déjà été"),
]


def cases():
    for rows, make, fmt in ((RSS_ITEM, rss, "rss2"), (ATOM_ENTRY, atom, "atom1"), (ATOM03_ENTRY, atom03, "atom03")):
        for i, (inner, out) in enumerate(rows):
            yield f"{fmt} {i}: {inner}", make(inner).encode(), B, "", {"format": fmt, "items": [{"title": "t", **out}]}
    for title, out in TITLES:
        yield (f"title: {title}", f"<rss><channel><item><title>{title}</title></item></channel></rss>".encode(), B, "",
               {"format": "rss2", "items": [{"title": out}]})
    for doctype, title, out in ENTITIES:
        yield (f"entities: {doctype}", f"{doctype}<rss><channel><title>{title}</title></channel></rss>".encode(), B, "",
               {"format": "rss2", "title": out, "items": []})
    for name, body, out in FEEDS:
        yield name, body.encode(), B, "", out
    for lang, charset, title in LANGUAGES:
        yield (f"undeclared: {lang}", f"<rss><channel><language>{lang}</language><title>{title}</title></channel></rss>".encode(charset),
               B, "", {"format": "rss2", "title": title, "language": lang, "items": []})
