"""classes.py - what readers often get wrong, by class: at least five cases each.

A row is (what is in an item or the whole feed, what must come out). Items have
the title "t" besides.
"""
import base64

from single import B, atom, atom03, rss

SITE = "http://x.example/"
DIV = '<div xmlns="http://www.w3.org/1999/xhtml">'


def b64(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


# RFC 4287, 4.1.3.3: what atom:content holds, by its media type
MEDIA_TYPES = [
    (f'<content type="application/octet-stream">{b64("<p>x</p>")}</content>', {"content": "<p>x</p>"}),
    (f'<content type="application/octet-stream">\n {b64("a &amp; b")[:4]}\n {b64("a &amp; b")[4:]}\n</content>', {"content": "a &amp; b"}),
    (f'<content type="Application/X-Article">{b64("日本語")}</content>', {"content": "日本語"}),
    (f'<content type="application/json; charset=utf-8">{b64("[1]")}</content>', {"content": "[1]"}),
    (f'<content type="application/octet-stream">{b64(bytes(range(128, 256)))}</content>', {}),
    (f'<content type="application/octet-stream">{b64("a" + chr(0) + "b")}</content>', {}),
    (f'<content type="image/png">{b64("no")}</content>', {}),
    (f'<content type="Video/mp4">{b64("no")}</content>', {}),
    ('<content type="application/octet-stream"><p>not so</p></content>', {"content": "<p>not so</p>"}),
    ('<content type="text/markdown">a &lt; *b*</content>', {"content": "a &lt; *b*"}),
    ('<content type="TEXT/PLAIN">&lt;b&gt;</content>', {"content": "&lt;b&gt;"}),
    ('<content type="Text/HTML">&lt;b&gt;x&lt;/b&gt;</content>', {"content": "<b>x</b>"}),
    ('<content type="text/xml"><a xmlns="urn:x">1 &lt; 2</a></content>', {"content": "<a>1 &lt; 2</a>"}),
    ('<content type="application/mathml+XML"><m xmlns="urn:m">x</m></content>', {"content": "<m>x</m>"}),
    ('<content type="application/XML">a &lt; b</content>', {"content": "a &lt; b"}),
    ('<content type="markdown">*a*</content>', {"content": "*a*"}),
    (f'<summary type="html">s</summary><content type="application/pdf">{b64(bytes([255, 216, 1]))}</content>', {"summary": "s"}),
]

# where relative links in the HTML of an item lead
BASES = [
    (atom('<content type="html">x</content>'), {"content": "x", "base": B}),
    (atom('<content type="html" xml:base="http://y.example/">x</content>'), {"content": "x", "base": "http://y.example/"}),
    (atom('<content type="html" xml:base="y/">x</content>'), {"content": "x", "base": "http://e.example/dir/y/"}),
    (atom('<content type="html" xml:base="y/">x</content>', attrs='xml:base="http://y.example/a/"'), {"content": "x", "base": "http://y.example/a/y/"}),
    (atom('<summary xml:base="s/">x</summary>'), {"summary": "x", "base": "http://e.example/dir/s/"}),
    (atom('<summary xml:base="s/">x</summary><content xml:base="c/">y</content>'), {"summary": "x", "content": "y", "base": "http://e.example/dir/c/"}),
    (atom('<content xml:base="c/">y</content><summary xml:base="s/">x</summary>'), {"summary": "x", "content": "y", "base": "http://e.example/dir/c/"}),
    (atom(f'<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml" xml:base="/d/"><a href="z">x</a></div></content>'), {"content": '<a href="z">x</a>', "base": "http://e.example/d/"}),
    (atom('<content type="html" xml:base="c/"></content>'), {}),
    (atom('<title xml:base="no/">t</title>'), {}),
    (rss('<description>x</description>', attrs='xml:base="http://y.example/b"'), {"summary": "x", "base": "http://y.example/b"}),
    (rss('<content:encoded xml:base="c/">x</content:encoded><description xml:base="no/">y</description>'), {"content": "x", "summary": "y", "base": "http://e.example/dir/c/"}),
    (rss('<link xml:base="/no/">a</link>'), {"link": "http://e.example/no/a"}),
    (rss('<description>x</description>', attrs='xml:base="javascript:x"'), {"summary": "x"}),
    (rss('<description>x</description>', attrs='xml:base=""'), {"summary": "x"}),
]

# links: those without href, those that are never closed
LINKS = [
    (atom('<link/><link href="http://x.example/"/>'), {"link": SITE}),
    (atom('<link rel="alternate"/><link rel="alternate" href="http://x.example/"/>'), {"link": SITE}),
    (atom('<link rel="alternate" type="text/html"></link><link href="http://x.example/" type="application/json"/>'), {"link": SITE}),
    (atom('<link href=""/><link href="http://x.example/"/>'), {"link": SITE}),
    (atom('<link rel="enclosure"/><link rel="enclosure" href="a"/>'), {"enclosures": [{"url": "http://e.example/dir/a"}]}),
    (atom('<link href="http://x.example/"><id>1</id><summary>s</summary>'), {"link": SITE, "id": "1", "summary": "s"}),
    (atom('<link rel="self" href="http://no.example/"><link href="http://x.example/"><id>1</id>'), {"link": SITE, "id": "1"}),
    (atom('<link><link href="http://x.example/"/><id>1</id>'), {"link": SITE, "id": "1"}),
    (atom('<link>http://x.example/</link>'), {"link": SITE}),
    (atom('<link>\n a \n</link><link rel="self" href="no"/>'), {"link": "http://e.example/dir/a"}),
    (atom('<link>javascript:x</link>'), {}),
    (rss('<atom:link/><link>http://x.example/</link>'), {"link": SITE}),
    (rss('<link/><atom:link href="http://x.example/"/>'), {"link": SITE}),
    (rss('<link></link><guid>http://x.example/</guid>'), {"id": SITE, "link": SITE}),
    (rss('<enclosure type="a/b"/><enclosure url="http://x.example/a"/>'), {"enclosures": [{"url": "http://x.example/a"}]}),
    (rss('<enclosure url="http://x.example/a" type="a/b"><guid isPermaLink="false">1</guid>'), {"id": "1", "enclosures": [{"url": "http://x.example/a", "type": "a/b"}]}),
]

# ids that are addresses, where there is no link
IDS = [
    (atom('<id>http://x.example/</id>'), {"id": SITE, "link": SITE}),
    (atom('<id>https://x.example/a b</id>'), {"id": "https://x.example/a b", "link": "https://x.example/a%20b"}),
    (atom('<id>http://no.example/</id><link href="http://x.example/"/>'), {"id": "http://no.example/", "link": SITE}),
    (atom('<link href="http://x.example/"/><id>http://no.example/</id>'), {"id": "http://no.example/", "link": SITE}),
    (atom('<id>http://no.example/</id><link rel="self" href="http://x.example/"/>'), {"id": "http://no.example/", "link": SITE}),
    (atom('<id>http://x.example/</id><link rel="edit" href="http://no.example/"/>'), {"id": SITE, "link": SITE}),
    (atom('<id>tag:x.example,2026:1</id>'), {"id": "tag:x.example,2026:1"}),
    (atom('<id>urn:uuid:1</id>'), {"id": "urn:uuid:1"}),
    (atom('<id>javascript:x</id>'), {"id": "javascript:x"}),
    (atom('<id>http://</id>'), {"id": "http://"}),
    (atom03('<id>http://x.example/</id>'), {"id": SITE, "link": SITE}),
    (rss('<id>http://x.example/</id>'), {"id": SITE, "link": SITE}),
    (rss('<dc:identifier>http://x.example/</dc:identifier>'), {"id": SITE, "link": SITE}),
    (rss('<guid isPermaLink="false">http://x.example/</guid>'), {"id": SITE}),
    (rss('<guid isPermaLink="false">http://x.example/</guid><atom:link href="http://x.example/"/>'), {"id": SITE, "link": SITE}),
]

# categories of podcasts
CATEGORIES = [
    (rss('<itunes:category text="Arts"/>'), {"categories": ["Arts"]}),
    (rss('<itunes:category text="Arts"><itunes:category text="Design"/></itunes:category>'), {"categories": ["Arts", "Design"]}),
    (rss('<itunes:category text="Arts"/><itunes:category text="Music"/>'), {"categories": ["Arts", "Music"]}),
    (rss('<itunes:category text="News &amp; Politics"/>'), {"categories": ["News & Politics"]}),
    (rss('<itunes:category text=" Arts "></itunes:category><category>Arts</category>'), {"categories": ["Arts"]}),
    (rss('<itunes:category/><itunes:category text=""/>'), {}),
    (rss('<itunes:category text="a"><title>no</title></itunes:category><itunes:keywords>b</itunes:keywords>'), {"categories": ["a", "b"]}),
    (rss('<i:category xmlns:i="http://www.itunes.com/DTDs/PodCast-1.0.dtd" text="Arts"/>'), {"categories": ["Arts"]}),
]

# XHTML as an item's own
BODIES = [
    (rss('<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml"><p>x</p></xhtml:body>'), {"content": "<p>x</p>"}),
    (rss('<xhtml:body><xhtml:p>x</xhtml:p></xhtml:body>'), {"content": "<p>x</p>"}),
    (rss('<body xmlns="http://www.w3.org/1999/xhtml"><p>x<br/>y</p></body>'), {"content": "<p>x<br/>y</p>"}),
    (rss('<h:body xmlns:h="http://www.w3.org/1999/xhtml"><h:title>x</h:title><h:link>y</h:link></h:body>'), {"content": "<title>x</title><link>y</link>"}),
    (rss('<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml">1 &lt; 2 &amp;amp; <xhtml:b>3</xhtml:b></xhtml:body>'), {"content": "1 &lt; 2 &amp;amp; <b>3</b>"}),
    (rss('<description>s</description><xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml"><p>x</p></xhtml:body>'), {"summary": "s", "content": "<p>x</p>"}),
    (rss('<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml"><p>no</p></xhtml:body><content:encoded>x</content:encoded>'), {"content": "x"}),
    (rss('<xhtml:div xmlns:xhtml="http://www.w3.org/1999/xhtml"><p>x</p></xhtml:div>'), {"content": "<p>x</p>"}),
    (rss('<body>&lt;p&gt;x&lt;/p&gt;</body>'), {"content": "<p>x</p>"}),
    (rss('<body><p>x</p></body>'), {"content": "<p>x</p>"}),
    (atom('<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml"><p>x</p></xhtml:body>'), {"content": "<p>x</p>"}),
    (rss('<xhtml:body xmlns:xhtml="http://www.w3.org/1999/xhtml" xml:base="/c/"><p>x</p></xhtml:body>'), {"content": "<p>x</p>", "base": "http://e.example/c/"}),
]

# entities of a title: those of XML, then once more where it is HTML
ONCE = [
    (rss, "AT&amp;amp;T", "AT&T"), (rss, "AT&amp;amp;amp;T", "AT&amp;T"), (rss, "&amp;lt;b&amp;gt;", "<b>"),
    (rss, "&amp;amp;lt;b&amp;amp;gt;", "&lt;b&gt;"), (rss, "<![CDATA[&amp;lt;]]>", "&lt;"), (rss, "&amp;#38;amp;", "&amp;"),
    (atom, "&amp;quot;x&amp;quot;", '"x"'),
]
TYPED_TITLES = [
    ('type="html"', "&amp;amp;lt;", "&lt;"), ('type="html"', "&amp;lt;i&amp;gt;", "<i>"), ('type="html"', "<![CDATA[a &amp;amp; b]]>", "a &amp; b"),
    ('type="text"', "&amp;lt;", "&lt;"), ('type="text"', "&lt;i&gt;", "<i>"), ('type="xhtml"', f"{DIV}&amp;lt;</div>", "&lt;"),
    ('type="xhtml"', f"{DIV}<b>a</b> &lt; b</div>", "a < b"), ('type="text/plain"', "a &amp;amp; b", "a &amp; b"),
]

HTML_DOCTYPES = [
    "<!DOCTYPE html>", "<!doctype HTML>", '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
    '<?xml version="1.0"?>\n<!DOCTYPE html>\n<!-- made by hand -->', '<!DOCTYPE html SYSTEM "about:legacy-compat">', '<!DOCTYPE html [<!ENTITY a "b">]>',
    "\n\n<!DOCTYPE html>\n",
]

# bytes that nobody declares: how they are encoded, and the title
UNDECLARED = [
    ("iso-2022-jp", "日本語のフィード"), ("iso-2022-jp", "東京都"), ("iso-2022-jp", "RSSリーダーの話"), ("iso-2022-jp", "ひらがな"),
    ("iso-2022-jp", "第1回 会議"), ("iso-2022-jp", "「引用」と、句読点。"),
    ("shift_jis", "日本語のフィード"), ("shift_jis", "東京都"), ("shift_jis", "今日のニュース一覧"), ("shift_jis", "表示と予定"),
    ("shift_jis", "ＡＢＣ会議"), ("shift_jis", "「引用」"), ("cp932", "①番 ㈱テスト"), ("shift_jis", "カタカナ ﾊﾝｶｸ ひらがな"), ("shift_jis", "新着情報"),
    ("euc-jp", "日本語のフィード"), ("euc-jp", "ニュース"), ("euc-jp", "今日の天気"), ("euc-jp", "これはテストです"), ("euc-jp", "「引用」と、句読点。の話"),
    # and none of these is Japanese
    ("cp1252", "it’s “fine”"), ("cp1252", "déjà vu – été"), ("cp1252", "Größe"), ("cp1252", "créée, müßig"), ("cp1252", "Straßenfußbälle aus Köln"), ("cp1251", "Новости сегодня"), ("gbk", "中文新闻标题"),
    ("gbk", "今天的天气很好"), ("euc-kr", "한국어 뉴스 제목"), ("big5", "這是一個測試用的新聞標題"), ("cp1252", "naïve café"), ("koi8-r", "Новости сегодня"),
]
# the same with a language that says Japanese
JAPANESE = [("euc-jp", "東京都"), ("euc-jp", "新着情報"), ("shift_jis", "東京"), ("shift_jis", "表紙"), ("iso-2022-jp", "表"), ("euc-jp", "会")]


def item(out, url=B):
    return {"title": "t", "base": url, **out}


def one(fmt, out):
    return {"format": fmt, "items": [item(out)]}


def kind(body):
    return "rss2" if body.startswith("<rss") else "atom03" if 'version="0.3"' in body[:40] else "atom1"


def cases():
    for inner, out in MEDIA_TYPES:
        yield f"media type: {inner}", atom(inner).encode(), B, "", one("atom1", out)
    for name, rows in (("base", BASES), ("link", LINKS), ("id", IDS), ("category", CATEGORIES), ("body", BODIES)):
        for body, out in rows:
            want = one(kind(body), out)
            if 'xml:base="http://y.example/b"' in body:
                want["items"][0]["base"] = "http://y.example/b"
            yield f"{name}: {body}", body.encode(), B, "", want
    for make, title, out in ONCE:
        body = make("").replace("<title>t<", f"<title>{title}<")
        yield f"once: {title}", body.encode(), B, "", one(kind(body), {"title": out})
    for attrs, title, out in TYPED_TITLES:
        body = atom("").replace("<title>t<", f"<title {attrs}>{title}<")
        yield f"once: {attrs} {title}", body.encode(), B, "", one("atom1", {"title": out})
    for doctype in HTML_DOCTYPES:
        for make, fmt in ((rss, "rss2"), (atom, "atom1")):
            yield f"{fmt} behind {doctype}", (doctype + make("")).encode(), B, "", one(fmt, {})
    for lang, rows in (("", UNDECLARED), ("<language>ja</language>", JAPANESE)):
        for charset, title in rows:
            body = f"<rss><channel>{lang}<title>{title}</title></channel></rss>".encode(charset)
            want = {"format": "rss2", "title": title, "items": []}
            yield (f"undeclared {charset}: {title}", body, B, "", {**want, "language": "ja"} if lang else want)
            yield (f"undeclared {charset} as utf-8: {title}", body, B, "text/xml; charset=utf-8",
                   {**want, "language": "ja"} if lang else want)
    yield ("id of the feed", b'<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>http://x.example/</id></feed>', B, "",
           {"format": "atom1", "title": "T", "link": SITE, "items": []})
    yield ("id of the feed is the feed", b'<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>http://x.example/f</id>'
           b'<link rel="self" href="http://x.example/f"/></feed>', B, "", {"format": "atom1", "title": "T", "items": []})
