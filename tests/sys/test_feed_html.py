"""`feed sanitize` and `feed discover`; npm parse5 reads what was cleaned.

Requirements 11.1 to 11.4 and 2.1 to 2.3, 2.5 of the reader.
"""
import json
import os
import random
import re
import shutil
import subprocess

import hk
from hk import Skip, check, run, same

NPM = os.path.join(hk.ROOT, "tests", "npm")
BASIC = "p br a ul ol li blockquote pre code strong em img".split()
ARTICLE = BASIC + ("h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr th td caption figure figcaption "
                   "b i hr del sup sub").split()
TAGS = ARTICLE + ("div span section svg math mi mtext mglyph annotation-xml foreignObject desc title "
                  "style script template select option form button object noscript").split()
BITS = ["x", " ", "\n", "&lt;", "&amp;", "<", "\"", "<!--", "-->", "]]>", "<a href=/x title='\"&gt;'>",
        "<img src=y alt='<b>' onerror=z>", "<a href=javascript:x>", "<svg><style><img title='</style>'>"]


def cli(*args, stdin=b"", **settings):
    return run([hk.BINARY, *args], stdin, env=hk.environment(settings, ""))


def clean(html, *args, **settings):
    return cli("feed", "sanitize", *args, stdin=html.encode(), **settings).want(0).out


def payloads():
    """Those of the unit test: C strings with octal escapes."""
    with open(os.path.join(hk.ROOT, "src", "markup", "payloads_test.tbl"), encoding="ascii") as f:
        for text in re.findall(r'^P\("(.*)"\)$', f.read(), re.M):
            octets = re.sub(r"\\([0-7]{3}|.)",
                            lambda m: chr(int(m[1], 8)) if len(m[1]) == 3 else m[1], text)
            yield octets.encode("latin-1").decode(errors="replace")


def made_up(r):
    return "".join(r.choice(BITS) if r.random() < 0.3 else
                   f"<{'/' if r.random() < 0.3 else ''}{r.choice(TAGS)}>"
                   for _ in range(r.randrange(1, 40)))


def test_sanitize(t):
    same(clean("<p onclick=x>a<script>b</script><h1>c</h1>"), "<p>a</p><p><strong>c</strong></p>", "basic")
    same(clean("<h1>c</h1>", "--tags", "article"), "<h1>c</h1>", "article")
    same(clean("<h1>c</h1>", READER_SANITIZE_TAGS="article"), "<h1>c</h1>", "by the environment")
    same(clean("<a href=b>c</a>", "--base", "https://h.example/a/"),
         '<a href="https://h.example/a/b" target="_blank" rel="noopener noreferrer">c</a>', "base")
    same(clean("<a href=b>c</a>"), "c", "no base")
    cli("feed", "sanitize", "/no/such/file").want(1, "/no/such/file")
    cli("feed", "sanitize", "--tags", "all").want(1, "article")
    cli("feed", "sanitize", stdin=b"x" * (5 * 1024 * 1024 + 1)).want(1)


def test_11_1_only_the_tags_of_the_list(t):
    for tag in ("p", "ul", "ol", "blockquote", "pre", "code", "strong", "em"):
        inner = "<li>x</li>" if tag in ("ul", "ol") else "x"
        same(clean(f"<{tag} class=y id=z>{inner}</{tag}>"), f"<{tag}>{inner}</{tag}>", tag)
    same(clean("a<br>b"), "a<br>b", "br")
    for tag in ("h1", "table", "div", "span", "form", "font", "marquee", "video", "section", "b", "x-y"):
        got = clean(f"<{tag}>x</{tag}>")
        check(f"<{tag}" not in got and set(re.findall(r"<(\w+)", got)) <= set(BASIC), f"{tag} is not of the list", got)


def test_11_2_scripts_styles_and_handlers_go(t):
    for html in ("<script>alert(1)</script>", "<SCRIPT SRC=//h.example/x.js></SCRIPT>",
                 "<iframe src=https://h.example></iframe>", "<style>p{}</style>",
                 "<svg onload=alert(1)>",
                 "<p onclick=alert(1) onmouseover='x()'>t</p>", "<img src=https://h.example/a onerror=alert(1)>",
                 "<a href=https://h.example/ onfocus=alert(1) autofocus style='x:y'>t</a>"):
        got = clean(html).lower()
        for word in ("script", "iframe", "style", "alert", "onclick", "onerror", "onfocus", "onmouseover"):
            check(word not in got, f"{word} is gone", html, got)


def test_11_3_pictures_by_https_alone(t):
    same(clean("<img src=https://h.example/a.png alt=b>"), '<img src="https://h.example/a.png" alt="b">', "https")
    same(clean("x<img src=http://h.example/a.png alt=b>y"),
         'x<a href="http://h.example/a.png" target="_blank" rel="noopener noreferrer">b</a>y', "http is linked to")
    check("<img" not in clean("<img src=&#104;ttp://h.example/a>"), "http, written otherwise")
    for src in ("//h.example/a.png", "/a.png", "data:image/png;base64,AA==",
                "javascript:alert(1)", "ftp://h.example/a", ""):
        same(clean(f"x<img src='{src}'>y"), "xy", src)


def test_articles_keep_their_shape(t):
    """Blocks are paragraphs, headings strong, rows lines, frames links: within the list."""
    link = ' target="_blank" rel="noopener noreferrer"'
    for html, want in (
            ("<div>a</div><section>b <i>c</i></section>", "<p>a</p><p>b <em>c</em></p>"),
            ("<h2>a</h2>b", "<p><strong>a</strong></p>b"),
            ("<b>a</b>", "<strong>a</strong>"),
            ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "<p>a | b<br>c | d</p>"),
            ("<iframe src=https://v.example/e title=Film></iframe>", f'<p><a href="https://v.example/e"{link}>Film</a></p>'),
            ("<div><img src=http://h.example/p.jpg></div>", f'<p><a href="http://h.example/p.jpg"{link}>p.jpg</a></p>')):
        same(clean(html), want, html)
    same(clean("<div>a</div><h2>b</h2><i>c</i>", "--tags", "article"), "<p>a</p><h2>b</h2><i>c</i>", "of the longer list")


def test_11_4_links_open_elsewhere_and_tell_nothing(t):
    same(clean("<a href=https://h.example/ target=_self rel=opener>x</a>"),
         '<a href="https://h.example/" target="_blank" rel="noopener noreferrer">x</a>', "target and rel")
    for href in ("javascript:alert(1)", "java&#10;script:alert(1)", "vbscript:x", "data:text/html,x",
                 " &#1;javascript:alert(1)"):
        same(clean(f"<a href='{href}'>x</a>"), "x", href)


def test_sanitize_is_what_another_parser_reads(t):
    if not shutil.which("node") or not os.path.isdir(os.path.join(NPM, "node_modules", "parse5")):
        raise Skip("no node, or no tests/npm/node_modules; ./dev setup installs them")
    r = random.Random(5)
    dirty = [p for p in payloads()]
    check(len(dirty) >= 200, "payloads", len(dirty))
    for name, tags in (("basic", BASIC), ("article", ARTICLE)):
        some = r.sample(dirty, 40) + [made_up(r) for _ in range(40)]
        docs = [clean(d, "--tags", name, "--base", "https://h.example/a/b") for d in some]
        p = subprocess.run(["node", os.path.join(NPM, "html.js")], text=True, capture_output=True,
                           input=json.dumps({"tags": tags, "docs": docs}), timeout=60 * hk.SLOW)
        same(p.returncode, 0, "node: " + p.stderr)
        for d, doc, a in zip(some, docs, json.loads(p.stdout)):
            check(not a["wrong"] and a["same"], "parse5 reads what was written", d, doc, a)


def test_discover(t):
    page = (b"<link rel=alternate type=application/rss+xml href=/r title=R>"
            b"<link rel=alternate type=application/atom+xml href=/a><link rel=icon href=i.png>")
    r = cli("feed", "discover", "https://h.example/x/", stdin=page).want(0)
    same(r.out.split("\n")[0].split("\t")[:3], ["feed", "atom", "https://h.example/a"], "the best first")
    r = cli("feed", "discover", "--json", "https://h.example/x/", stdin=page).want(0)
    rows = [json.loads(line) for line in r.out.splitlines()]
    same(rows[1], {"feed": "https://h.example/r", "type": "rss", "title": "R"}, "the second")
    same([x["icon"] for x in rows if "icon" in x],
         ["https://h.example/x/i.png", "https://h.example/favicon.ico"], "icons")
    cli("feed", "discover", "https://h.example/", stdin=b"<rss>").want(0, "a feed itself")
    cli("feed", "discover", "https://h.example/", stdin=b"<p>x").want(1, "names no feed")
    cli("feed", "discover", "ftp://h.example/", stdin=page).want(1, "http")
