"""matrix.py - every XML format with every fault that a reader must survive.

A small feed is written in each format, as it should be; a fault is then put
into it. What must come out is made here from the same model, never from the
program: where a fault loses nothing for a person, nothing may be lost.
"""
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
CONTENT = 'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
ATOM = "http://www.w3.org/2005/Atom"
ATOM03 = "http://purl.org/atom/ns#"

SITE, D = "http://site.example/", "About it"
P1, P2 = "2026-01-05T10:00:00Z", "2026-01-06T23:30:05Z"
R1, R2 = "Mon, 05 Jan 2026 10:00:00 GMT", "Tue, 06 Jan 2026 23:30:05 GMT"
FORMATS = ("rss090", "rss091", "rss092", "rss093", "rss094", "rss10", "rss20", "atom03", "atom10")


def rss(version, title, second):
    full = version == "2.0"
    more = (f'<guid isPermaLink="false">id-1</guid><dc:creator>Ann</dc:creator>'
            f'<category>red</category><category>blue</category>'
            f'<content:encoded><![CDATA[<p>Long</p>]]></content:encoded>') if full else ""
    file = '<enclosure url="http://site.example/a.mp3" type="audio/mpeg" length="42"/>' \
        if version > "0.91" else ""
    date = f"<pubDate>{R1}</pubDate>" if version > "0.92" else ""
    spaces = f" {DC} {CONTENT}" if full else ""
    return (f'<rss version="{version}"{spaces}><channel><title>Site</title><link>{SITE}</link>\n'
            f'<description>{D}</description><language>en</language>\n'
            f'<item><title>{title}</title><link>{SITE}1?a=1&amp;b=2</link>'
            f'<description>&lt;p&gt;Short&lt;/p&gt;</description>{date}{more}{file}</item>\n'
            f'<item><title>{second}</title><link>/2</link></item>\n</channel></rss>\n')


def rdf(space, title, second):
    v1 = space.endswith("1.0/")
    about = [f' rdf:about="{SITE}{i}"' if v1 else "" for i in ("", "1", "2")]
    more = f'<description>&lt;p&gt;Short&lt;/p&gt;</description><dc:date>2026-01-05T11:00:00+01:00' \
        f'</dc:date><dc:creator>Ann</dc:creator><dc:subject>red</dc:subject>' if v1 else ""
    lang = "<dc:language>en</dc:language>" if v1 else ""
    return (f'<rdf:RDF {RDF} xmlns="{space}" {DC}>\n<channel{about[0]}><title>Site</title>'
            f'<link>{SITE}</link><description>{D}</description>{lang}</channel>\n'
            f'<item{about[1]}><title>{title}</title><link>{SITE}1?a=1&amp;b=2</link>{more}</item>\n'
            f'<item{about[2]}><title>{second}</title><link>/2</link></item>\n</rdf:RDF>\n')


def atom(old, title, second):
    upd, pub, sub = ("modified", "issued", "tagline") if old else ("updated", "published", "subtitle")
    html = 'type="text/html" mode="escaped"' if old else 'type="html"'
    xmlns = ATOM03 if old else ATOM
    more = "" if old else '<category term="red"/><category term="b" label="blue"/>' \
        '<link rel="enclosure" href="a.mp3" type="audio/mpeg" length="42"/>'
    version = ' version="0.3"' if old else ""
    return (f'<feed xmlns="{xmlns}"{version} xml:lang="en" xml:base="{SITE}"><title>Site</title>'
            f'<link rel="alternate" type="text/html" href="{SITE}"/><{sub}>{D}</{sub}>'
            f'<id>urn:feed</id><{upd}>{P2}</{upd}>\n'
            f'<entry><title>{title}</title><link rel="alternate" href="1?a=1&amp;b=2"/><id>urn:1</id>'
            f'<{pub}>{P1}</{pub}><{upd}>2026-01-06T15:30:05-08:00</{upd}><author><name>Ann</name></author>'
            f'<summary {html}>&lt;p&gt;Short&lt;/p&gt;</summary>'
            f'<content {html}><![CDATA[<p>Long</p>]]></content>{more}</entry>\n'
            f'<entry><title>{second}</title><link href="/2"/><id>urn:2</id></entry>\n</feed>\n')


def text(fmt, title="First", second="Second"):
    if fmt == "rss090":
        return rdf("http://my.netscape.com/rdf/simple/0.9/", title, second)
    if fmt == "rss10":
        return rdf("http://purl.org/rss/1.0/", title, second)
    if fmt.startswith("atom"):
        return atom(fmt == "atom03", title, second)
    return rss(fmt[3] + "." + fmt[4:], title, second)


def want(fmt, title="First", second="Second"):
    """What must come out, for --url http://site.example/feed"""
    a = {"title": title, "link": SITE + "1?a=1&b=2"}
    b = {"title": second, "link": SITE + "2"}
    f = {"title": "Site", "link": SITE, "description": D, "items": [a, b]}
    f["format"] = {"rss20": "rss2", "rss10": "rss1", "atom03": "atom03", "atom10": "atom1"}.get(fmt, "rss09x")
    if fmt != "rss090":
        a["summary"] = "<p>Short</p>"
        f["language"] = "en"
    if fmt in ("rss092", "rss093", "rss094", "rss20", "atom10"):
        a["enclosures"] = [{"url": SITE + "a.mp3", "type": "audio/mpeg", "length": 42}]
    if fmt in ("rss20", "rss10", "atom10"):
        a["categories"] = ["red"] if fmt == "rss10" else ["red", "blue"]
    if fmt in ("rss10", "rss20", "rss093", "rss094", "atom03", "atom10"):
        a["published"] = P1
    if fmt in ("rss10", "rss20", "atom03", "atom10"):
        a["author"] = "Ann"
    if fmt in ("rss20", "atom03", "atom10"):
        a["content"] = "<p>Long</p>"
    if fmt == "rss20":
        a["id"] = "id-1"
    if fmt == "rss10":
        a["id"], b["id"] = SITE + "1", SITE + "2"
    if fmt.startswith("atom"):
        a["id"], b["id"], a["updated"], f["updated"] = "urn:1", "urn:2", P2, P2
        a["base"] = b["base"] = SITE
    return f


def head(charset):
    return f'<?xml version="1.0" encoding="{charset}"?>\n'


# name: (the title as the feed has it, the title as it must come out)
TITLES = {
    "ampersand": ("Q & A", "Q & A"),
    "ampersand in a word": ("AT&T", "AT&T"),
    "ampersand last": ("this &", "this &"),
    "ampersand amp without semicolon": ("a &amp b", "a & b"),
    "html entities": ("caf&eacute;&hellip; &mdash; x", "café… — x"),
    "unknown entity": ("a &nothing; b", "a &nothing; b"),
    "windows numbers": ("it&#146;s", "it’s"),
    "number of no character": ("a&#1;b", "a\ufffdb"),
    "number too large": ("a&#x110000;b", "a\ufffdb"),
    "surrogate number": ("a&#xD83D;b", "a\ufffdb"),
    "less than": ("1 < 2", "1 < 2"),
    "heart": ("I <3 feeds", "I <3 feeds"),
    "arrow": ("a <- b", "a <- b"),
    "less than a letter": ("x<y", "x<y"),
    "control characters": ("a\x01b\x0bc\x1f", "abc"),
    "no characters": ("a\ufffeb\uffff", "ab"),
    "cdata": ("<![CDATA[Q & A <3]]>", "Q & A <3"),
    "cdata twice": ("<![CDATA[a]]><![CDATA[b]]>", "ab"),
    "cdata never ends": ("<![CDATA[a & b", "a & b"),
    "comment within": ("a<!-- no & -->b", "ab"),
    "comment with hyphens": ("a<!-- x -- y -->b", "ab"),
    "instruction within": ("a<?php echo 1 ?>b", "ab"),
    "escaped twice": ("Q &amp;amp; A", "Q & A"),
    "escaped numbers": ("it&amp;#8217;s", "it’s"),
    "escaped tags": ("&lt;b&gt;Bold&lt;/b&gt; x", "Bold x"),
    "tags": ("<b>Bold</b> x", "Bold x"),
    "tags mis-nested": ("<b><i>Bold</b></i> x", "Bold x"),
    "void tag": ("a<br>b", "ab"),
    "lines and blanks": ("\n   two\n\t words  ", "two words"),
    "wrong end tag": ("First</titel>", "First"),
    "end tag twice": ("First</title>", "First"),
    "greater than": ("a > b ]]> c", "a > b ]]> c"),
    "astral": ("\U0001f600 &#x1F600;", "\U0001f600 \U0001f600"),
    "quotes": ("\"a\" 'b' &quot;&apos;", "\"a\" 'b' \"'"),
}

JP, RU, ZH, TW, KR = "日本語のフィード", "Новости сегодня", "中文新闻标题", "中文新聞標題", "한국어 뉴스 제목"
# name: (title, charset of the bytes, what the declaration says or None, Content-Type)
CHARSETS = {
    "utf-8": (JP, "utf-8", "utf-8", ""),
    "utf-8 undeclared": (JP, "utf-8", None, ""),
    "utf-8 by the header": (JP, "utf-8", None, "text/xml; charset=utf-8"),
    "utf-8 that says latin": ("café", "utf-8", "iso-8859-1", ""),
    "utf-8 that the header says latin": (JP, "utf-8", "utf-8", "text/xml; charset=ISO-8859-1"),
    "utf-8 that says utf-16": (JP, "utf-8", "utf-16", ""),
    "utf-8 that says nonsense": (JP, "utf-8", "x-nonsense", ""),
    "utf-8 mark": (JP, "utf-8-sig", "utf-8", ""),
    "utf-8 mark that says latin": (JP, "utf-8-sig", "iso-8859-1", ""),
    "latin": ("café", "latin-1", "iso-8859-1", ""),
    "latin undeclared": ("café", "latin-1", None, ""),
    "latin that says utf-8": ("café", "latin-1", "utf-8", ""),
    "latin that says ascii": ("café", "latin-1", "us-ascii", ""),
    "latin by the header": ("café", "latin-1", None, "text/xml;charset='iso-8859-1'"),
    "windows quotes as latin": ("“café” – x", "cp1252", "ISO-8859-1", ""),
    "windows quotes as utf-8": ("“x” – y", "cp1252", "utf-8", ""),
    "windows-1251": (RU, "cp1251", "windows-1251", ""),
    "windows-1251 undeclared": (RU, "cp1251", None, ""),
    "koi8-r": (RU, "koi8-r", "KOI8-R", ""),
    "koi8-r undeclared": (RU, "koi8-r", None, ""),
    "iso-8859-2": ("Zażółć gęślą", "iso-8859-2", "iso-8859-2", ""),
    "iso-8859-15": ("5 €", "iso-8859-15", "iso-8859-15", ""),
    "shift_jis": (JP, "shift_jis", "Shift_JIS", ""),
    "shift_jis undeclared": (JP, "shift_jis", None, ""),
    "shift_jis by the header": (JP, "shift_jis", None, "text/xml; charset=x-sjis"),
    "euc-jp": (JP, "euc-jp", "EUC-JP", ""),
    "euc-jp undeclared": (JP, "euc-jp", None, ""),
    "iso-2022-jp": (JP, "iso-2022-jp", "iso-2022-jp", ""),
    "gb2312": (ZH, "gb2312", "gb2312", ""),
    "gb18030": (ZH + "\U00020000", "gb18030", "GB18030", ""),
    "gbk undeclared": (ZH, "gbk", None, ""),
    "big5": (TW, "big5", "Big5", ""),
    "euc-kr": (KR, "euc-kr", "euc-kr", ""),
    "euc-kr undeclared": (KR, "euc-kr", None, ""),
    "big5 undeclared": ("這是一個測試用的新聞標題", "big5", None, ""),
    "windows-1255 undeclared": ("זוהי כותרת חדשות לבדיקה", "cp1255", None, ""),
    "windows-1253 undeclared": ("Αυτή είναι μια είδηση για την οικονομία", "cp1253", None, ""),
    "utf-16": (JP, "utf-16", "utf-16", ""),
    "utf-16le without mark": (JP, "utf-16-le", "utf-16", ""),
    "utf-16be without mark": (JP, "utf-16-be", "utf-16", ""),
    "utf-16 that says utf-8": (JP, "utf-16", "utf-8", "text/xml; charset=utf-8"),
    "utf-32": (JP, "utf-32", "utf-32", ""),
    "utf-32be without mark": (JP, "utf-32-be", "utf-32", ""),
    "ebcdic": ("First", "cp037", "ibm037", ""),
    "koi8-u": ("Їжак і ґанок", "koi8-u", "KOI8-U", ""),
    "windows-1250": ("Zażółć gęślą jaźń", "cp1250", "windows-1250", ""),
    "windows-1253": ("Ελλάδα", "cp1253", "windows-1253", ""),
    "iso-8859-7": ("Ελλάδα", "iso-8859-7", "ISO-8859-7", ""),
    "windows-1254": ("İstanbul ağaç", "cp1254", "iso-8859-9", ""),
    "windows-1255": ("שלום עולם", "cp1255", "windows-1255", ""),
    "iso-8859-8-i": ("שלום", "iso-8859-8", "iso-8859-8-i", ""),
    "windows-1256": ("مرحبا", "cp1256", "windows-1256", ""),
    "windows-1257": ("Žemaitė ūkis", "cp1257", "windows-1257", ""),
    "windows-1258": ("Đông ơn", "cp1258", "windows-1258", ""),
    "tis-620": ("ภาษาไทย", "tis-620", "TIS-620", ""),
    "iso-8859-5": (RU, "iso-8859-5", "iso-8859-5", ""),
    "cp866": (RU, "cp866", "ibm866", ""),
    "mac roman": ("café", "mac-roman", "macintosh", ""),
    "cp949 as euc-kr": ("똠방각하", "cp949", "euc-kr", ""),
    "cp932 as shift_jis": ("①㈱", "cp932", "shift_jis", ""),
    "gbk as gb2312": ("朱镕基", "gbk", "gb2312", ""),
    "big5-hkscs": ("中文", "big5hkscs", "big5-hkscs", ""),
    "win-1251": (RU, "cp1251", "win-1251", ""),
    "declared with blanks": (RU, "cp1251", " windows-1251 ", ""),
    "windows-1251 that the header says latin": (RU, "cp1251", "windows-1251", "text/xml; charset=ISO-8859-1"),
    "windows-1251 by the header": (RU, "cp1251", "utf-8", "text/xml; charset=windows-1251"),
    "text/xml without charset": (RU, "cp1251", "windows-1251", "text/xml"),
    "latin that says utf-16": ("café", "latin-1", "utf-16", ""),
    "latin of unknown name": ("café", "latin-1", "x-unknown", ""),
    "latin that the header says nonsense": ("café", "latin-1", "iso-8859-1", "text/xml; charset=nonsense"),
    "utf-16 that the header says latin": (JP, "utf-16", "utf-16", "text/xml; charset=iso-8859-1"),
    "utf-32le without mark": (JP, "utf-32-le", "utf-32", ""),
    "utf-8 that says utf-7": (JP, "utf-8", "utf-7", ""),
    "utf-8 that says cp1252": ("“café”", "utf-8", "windows-1252", ""),
}


# name: (the title's bytes, in a feed of UTF-8; the title as it must come out)
BYTES = {
    "cesu-8": (b"a \xed\xa0\xbd\xed\xb8\x80 \xc3\xa9", "a \U0001f600 é"),
    "half of a pair": (b"\xc3\xa9 \xed\xa0\xbd \xc3\xa9", "é \ufffd é"),
    "windows byte in utf-8": (b"\xe6\x97\xa5\xe6\x9c\xac it\x92s", "日本 it’s"),
    "cut character": (b"\xe6\x97\xa5 \xe6\x9c", "日 æœ"),
    "overlong": (b"\xe6\x97\xa5\xe6\x9c\xac \xc0\xbcb", "日本 À¼b"),
}


def bomb():
    rows = "".join(f'<!ENTITY l{i} "{"&l%d;" % (i - 1) * 10}">' for i in range(1, 10))
    return f'<!DOCTYPE rss [<!ENTITY l0 "lol">{rows}]>'


EXTERNAL = '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY % p SYSTEM "http://127.0.0.1:9/d">%p;]>'
NETSCAPE = '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" ' \
    '"http://my.netscape.com/publish/formats/rss-0.91.dtd">'


def tags(fmt):
    item = "entry" if fmt.startswith("atom") else "item"
    return item, {"rss": "rss", "ato": "feed"}[fmt[:3]] if fmt not in ("rss090", "rss10") else "rdf:RDF"


# name: what it does to a whole feed; what comes out is the same
WHOLE = {
    "none": lambda t, f: head("utf-8") + t,
    "no declaration": lambda t, f: t,
    "blanks first": lambda t, f: "\n\n  " + head("utf-8") + t,
    "text first": lambda t, f: "Warning: x in y.php\n" + head("utf-8") + t,
    "tags first": lambda t, f: "<br />\n<b>Notice</b>: x<br />" + head("utf-8") + t,
    "comment first": lambda t, f: head("utf-8") + "<!-- made by <rss> -->" + t,
    "style sheet": lambda t, f: head("utf-8") + '<?xml-stylesheet href="x.xsl" type="text/xsl"?>' + t,
    "two declarations": lambda t, f: head("utf-8") + head("utf-8") + t,
    "declaration without end": lambda t, f: '<?xml version="1.0">' + t,
    "version 1.1": lambda t, f: '<?xml version="1.1"?>' + t,
    "doctype": lambda t, f: NETSCAPE + t,
    "bomb": lambda t, f: head("utf-8") + bomb() + t.replace("Site<", "Site&l9;<"),
    "external": lambda t, f: head("utf-8") + EXTERNAL + t.replace("Site<", "Site&x;<"),
    "text last": lambda t, f: t + "\n<!-- 0.1 s --> & bye",
    "tags last": lambda t, f: t + "<script>if (a < b && c) x()</script>",
    "end tag missing": lambda t, f: t.rstrip()[:t.rstrip().rindex("</")],
    "cut in the last tag": lambda t, f: t.rstrip()[:-3],
    "end tags missing": lambda t, f: t.replace("</channel>", "").rstrip().rsplit("</", 1)[0],
    "item not closed": lambda t, f: t.replace(f"</{tags(f)[0]}>", "", 1),
    "no item closed": lambda t, f: t.replace(f"</{tags(f)[0]}>", ""),
    "title not closed": lambda t, f: t.replace("First</title>", "First", 1),
    "stray end tags": lambda t, f: t.replace("First</title>", "First</title></p></div></b>", 1),
    "root closed early": lambda t, f: t.replace(f"</{tags(f)[0]}>", f"</{tags(f)[0]}></{tags(f)[1]}>", 1),
    "line ends of Windows": lambda t, f: t.replace("\n", "\r\n"),
    "nul bytes": lambda t, f: t.replace("<title>", "<title>\0"),
    "unknown elements": lambda t, f: t.replace("<title>", "<x:y z='1'><w>no</w></x:y><title>"),
    "attribute without quotes": lambda t, f: t.replace("<title>", "<title lang=en>"),
    "attribute twice": lambda t, f: t.replace("<title>", '<title a="1" a="2">'),
    "attribute without value": lambda t, f: t.replace("<title>", "<title nowrap>"),
    "attribute with ampersand": lambda t, f: t.replace("<title>", '<title a="b&c">'),
    "attribute without end": lambda t, f: t.replace("<title>", '<title a="b>'),
    "blanks in tags": lambda t, f: t.replace("<title>", "<title\n >").replace("</title>", "</title\n>"),
    "capital letters": lambda t, f: t.replace("<title>", "<TITLE>").replace("</title>", "</TITLE>"),
    "capital and small": lambda t, f: t.replace("<title>", "<Title>"),
    "undeclared prefixes": lambda t, f: t.replace(DC, "").replace(CONTENT, ""),
    "image of its own": lambda t, f: t if f.startswith("atom") else t.replace(
        "<language>en", "<image><title>no</title><link>http://no/</link><url>x</url></image><language>en"),
    "empty items": lambda t, f: t.replace(f"<{tags(f)[0]}", f"<{tags(f)[0]}/><{tags(f)[0]}", 1),
    "cdata around": lambda t, f: t.replace(">First<", "><![CDATA[First]]><"),
    "title twice": lambda t, f: t.replace("First</title>", "First</title><title>No</title>", 1),
}


def changed(name, fmt, w):
    """What is different all the same."""
    if name == "bomb":
        w["title"] = "Site&l9;"
    if name == "external":
        w["title"] = "Site&x;"
    return w


def cases():
    """(name, bytes, url, content type, what must come out)"""
    url = SITE + "feed"
    for fmt in FORMATS:
        for name, fault in WHOLE.items():
            yield f"{fmt}: {name}", fault(text(fmt), fmt).encode(), url, "", changed(name, fmt, want(fmt))
        for name, (title, out) in TITLES.items():
            yield (f"{fmt}: title: {name}", (head("utf-8") + text(fmt, title)).encode("utf-8", "surrogatepass"),
                   url, "", want(fmt, out))
        for name, (title, charset, says, kind) in CHARSETS.items():
            doc = (head(says) if says else "") + text(fmt, title)
            yield f"{fmt}: charset: {name}", doc.encode(charset), url, kind, want(fmt, title)
        for name, (title, out) in BYTES.items():
            doc = (head("utf-8") + text(fmt, "@")).encode().replace(b"@", title)
            yield f"{fmt}: bytes: {name}", doc, url, "", want(fmt, out)
        yield (f"{fmt}: charset: utf-16 behind a line end", ("\n" + text(fmt, JP)).encode("utf-16-le"),
               url, "", want(fmt, JP))
        whole, one = text(fmt), tags(fmt)[0]
        cut = whole.index(f"</{one}>") + len(one) + 3
        w = want(fmt)
        w["items"].pop()
        yield f"{fmt}: cut behind the first item", whole[:cut].encode(), url, "", w
        w = want(fmt)
        w["items"][1] = {k: v for k, v in w["items"][1].items() if k != "link" and (k != "id" or fmt == "rss10")}
        if fmt == "rss10":
            w["items"][1]["link"] = SITE + "2"
        yield (f"{fmt}: cut in the second title",
               whole[:whole.index("Second") + 6].encode(), url, "", w)
