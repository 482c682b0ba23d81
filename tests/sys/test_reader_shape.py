"""Articles as they are kept: their shape, titles, pictures and authors."""
import hk
from hk import same
from readers import SETTINGS, Site, add, article, ok, pages, person, put  # noqa: F401


def kept(t, c, path):
    return [ok(c.get("/api/items/" + i["id"])) for i in pages(c, f"/api/feeds/{path}/items")]


def one_of(t, **more):
    site, c = Site(t), person(t.srv, "p" + hk.new_id()[:8])
    put(site, "/f", [article(1, **more)])
    return kept(t, c, add(c, site.url("/f"))["id"])[0]


def rss_of(t, items, spaces=""):
    site, c = Site(t), person(t.srv, "p" + hk.new_id()[:8])
    site.put("/r", f'<rss version="2.0" {spaces}><channel><title>T</title>{items}</channel></rss>'.encode())
    return kept(t, c, add(c, site.url("/r"))["id"])


def test_articles_keep_their_shape(t):
    d = one_of(t, content_html="<div>a</div><h2>b</h2><div><b>c</b> <i>d</i></div><table><tr><td>e<td>f</table>")
    same(d["content"], "<p>a</p><p><strong>b</strong></p><p><strong>c</strong> <em>d</em></p><p>e | f</p>", "content")


def test_untitled_articles_get_a_title(t):
    long = "word " * 40
    for html, want in (("<p>Hello &amp; welcome.</p><p>More</p>", "Hello & welcome."),
                       ("<div><img src=https://e.x/a.png></div><div>Second <b>line</b></div>", "Second line"),
                       ("a &amp;lt; b", "a &lt; b"),
                       (long, " ".join(["word"] * 16) + "…"),
                       ("あ" * 100, "あ" * 80 + "…"),
                       ("<img src=https://e.x/a.png>", "")):
        same(one_of(t, title="", content_html=html)["title"], want, html)
    same(one_of(t, title="", summary="Only a summary")["title"], "Only a summary", "its summary, for want of content")
    same(one_of(t, title="Mine", content_html="no")["title"], "Mine", "its own")


def test_entities_of_titles_are_read_once(t):
    rows = [("AT&amp;amp;T", "AT&T"), ("&amp;lt;b&amp;gt;", "<b>"), ("&amp;amp;lt;", "&lt;"), ("1 &lt; 2", "1 < 2")]
    items = "".join(f"<item><title>{x}</title><guid>{i}</guid></item>" for i, (x, _) in enumerate(rows))
    same(sorted(d["title"] for d in rss_of(t, items)), sorted(y for _, y in rows), "titles")


def test_authors_are_kept(t):
    spaces = ('xmlns:dc="http://purl.org/dc/elements/1.1/" '
              'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"')
    items = "".join(f"<item><title>{i}</title>{x}</item>" for i, x in enumerate((
        "<author>a@e.example (Ann)</author>", "<dc:creator>Bob</dc:creator>", "<itunes:author>Cy</itunes:author>")))
    same(sorted(d["author"] for d in rss_of(t, items, spaces)), ["Ann", "Bob", "Cy"], "of RSS")
    same(one_of(t, authors=[{"name": "Ann"}, {"name": "Bob"}])["author"], "Ann, Bob", "of JSON Feed")


def test_thumbnails_are_kept(t):
    spaces = ('xmlns:media="http://search.yahoo.com/mrss/" '
              'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"')
    pic, no = "https://e.x/a.jpg", "https://no.x/b.jpg"
    rows = [f'<media:thumbnail url="{pic}"/><itunes:image href="{no}"/>',
            f'<itunes:image href="{pic}"/><enclosure url="{no}" type="image/png" length="1"/>',
            f'<media:group><media:content url="{no}" type="video/mp4"><media:thumbnail url="{pic}"/></media:content></media:group>',
            f'<media:content medium="image" url="{pic}"/>',
            f'<enclosure url="https://no.x/a.mp3" type="audio/mpeg"/><enclosure url="{pic}" type="image/jpeg"/>']
    items = "".join(f"<item><title>{i}</title>{x}</item>" for i, x in enumerate(rows))
    same([d["thumbnail"] for d in rss_of(t, items, spaces)], [pic] * len(rows), "of RSS")
    same(rss_of(t, '<item><title>x</title><media:thumbnail url="javascript:x"/></item>', spaces)[0]["thumbnail"], None,
         "none that is no address")
    same(one_of(t, image=pic, banner_image=no)["thumbnail"], pic, "of JSON Feed")
    same(one_of(t, banner_image=pic)["thumbnail"], pic, "its banner")
    same(one_of(t)["thumbnail"], None, "none")
