#include "markup/sanitize.h"

#include "markup/href.h"
#include "markup/html.h"
#include "markup/limits.h"

/* How deep a table's parts nest: table, tbody, tr, td. */
#define TABLE_DEPTH 4

struct writer {
	struct arena *links; /* what one tag needs */
	struct buf *out;
	struct str base;
	enum sanitize_tags tags;
	enum html_tag open[SANITIZE_DEPTH_MAX];
	size_t n_open;
	size_t begin;   /* of ours in out */
	bool after_pre; /* nothing behind its start tag yet */
	bool want_line; /* a block was left out here */
};

/* ---- which elements, and where ---- */

enum kind {
	UNWRAP, /* not in a list: the content stays */
	/* Goes with all it holds: code, or what only makes sense with it, or
	 * would be text that nobody wrote. */
	DROP,
	INLINE, /* anywhere */
	FORMAT, /* not within its own kind */
	BLOCK,  /* not within p */
	ITEM,   /* li */
	HEAD,   /* h1 to h6 */
	TABLE,  /* and its parts, each in its place */
	SECTION,
	CAPTION,
	ROW,
	CELL,
	VOID,
	RULE, /* hr: void, and not within p */
};

/* Not in the basic list. */
#define ARTICLE 128

static const uint8_t KINDS[T_COUNT] = {
    UNWRAP,
#define TAG(id, name, start, kept, flags) kept,
#include "markup/html_tags.tbl"
#undef TAG
};

/* Of one that is open. */
static enum kind
open_kind(enum html_tag t)
{
	return (enum kind)(KINDS[t] & ~ARTICLE);
}

static enum kind
kind_of(const struct writer *w, const struct html_node *n)
{
	enum html_tag t = (enum html_tag)n->tag;

	if (n->ns != NS_HTML)
		return DROP;
	if ((KINDS[t] & ARTICLE) && w->tags != SANITIZE_ARTICLE)
		return UNWRAP;
	return open_kind(t);
}

/* One of these tags: h1 to h6 lie together. */
static bool
is_open(const struct writer *w, enum html_tag from, enum html_tag to)
{
	for (size_t i = w->n_open; i > 0; i--)
		if (w->open[i - 1] >= from && w->open[i - 1] <= to)
			return true;
	return false;
}

static enum html_tag
top(const struct writer *w)
{
	return w->n_open > 0 ? w->open[w->n_open - 1] : T_OTHER;
}

/* A parser that meets <li> ends an li that it finds by this write_tree. */
static bool
item_fits(const struct writer *w)
{
	for (size_t i = w->n_open; i > 0; i--) {
		enum kind k = open_kind(w->open[i - 1]);

		if (k != FORMAT && k != INLINE)
			return k != ITEM;
	}
	return true;
}

/* Between the parts of a table nothing else can stand. */
static bool
in_table_parts(const struct writer *w)
{
	enum kind k = open_kind(top(w));

	return k == TABLE || k == SECTION || k == ROW;
}

static bool
fits(const struct writer *w, enum html_tag t, enum kind k)
{
	size_t room = SANITIZE_DEPTH_MAX - w->n_open;

	if (k == SECTION || k == CAPTION)
		return top(w) == T_TABLE;
	if (k == ROW)
		return open_kind(top(w)) == SECTION;
	if (k == CELL)
		return top(w) == T_TR;
	if (in_table_parts(w) || room <= TABLE_DEPTH)
		return k == VOID && !in_table_parts(w);
	if (k == VOID || k == INLINE)
		return true;
	if (k == FORMAT)
		return !is_open(w, t, t);
	if (is_open(w, T_P, T_P))
		return false;
	if (k == HEAD)
		return !is_open(w, T_H1, T_H6);
	if (k == TABLE)
		return room > (size_t)2 * TABLE_DEPTH;
	return k != ITEM || item_fits(w);
}

/* ---- writing ---- */

static bool
ends_blank(const struct writer *w)
{
	char c = w->out->n > w->begin ? w->out->p[w->out->n - 1] : ' ';

	return c == ' ' || c == '\n' || c == '\t';
}

/* Words of two blocks that were left out must not become one. */
static void
write_line(struct writer *w)
{
	if (w->want_line && !w->after_pre && !ends_blank(w) &&
	    !in_table_parts(w))
		buf_addc(w->out, '\n');
	w->want_line = false;
}

/* How many bytes at the start of s are not written as they are. */
static size_t
special(struct str s, bool attr)
{
	unsigned char c = (unsigned char)s.p[0];

	if (c == '"')
		return attr;
	/* Controls of C1, and a mark that a parser may take off. */
	if (c == 0xc2)
		return s.n > 1 && (unsigned char)s.p[1] < 0xa0 ? 2 : 0;
	if (c == 0xef)
		return str_starts(s, STR("\xef\xbb\xbf")) ? 3 : 0;
	return 1;
}

static void
escaped(struct buf *b, struct str s, bool attr)
{
	static const char *const AS[256] = {[0 ... 8] = "",
	    [11] = "",
	    ['\f'] = "\n",
	    ['\r'] = "\n",
	    [14 ... 31] = "",
	    ['"'] = "&#34;",
	    ['&'] = "&amp;",
	    ['<'] = "&lt;",
	    ['>'] = "&gt;",
	    [0x7f] = "",
	    [0xc2] = "",
	    [0xef] = ""};
	size_t from = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *as = AS[(unsigned char)s.p[i]];
		size_t n = as ? special(str_from(s, i), attr) : 0;

		if (n == 0)
			continue;
		buf_add(b, (struct str){s.p + from, i - from});
		buf_addz(b, as);
		from = i + n;
		i = from - 1;
	}
	buf_add(b, str_from(s, from));
}

static void
write_text(struct writer *w, struct str s)
{
	size_t before;

	if (in_table_parts(w))
		return;
	write_line(w);
	before = w->out->n;
	escaped(w->out, s, false);
	if (w->out->failed || w->out->n == before)
		return;
	/* A parser drops one line feed behind <pre>. */
	if (w->after_pre && w->out->p[before] == '\n') {
		if (!buf_room(w->out, 1))
			return;
		memmove(w->out->p + before + 1, w->out->p + before,
		    w->out->n - before);
		w->out->n++;
	}
	w->after_pre = false;
}

static void
write_attr(struct writer *w, const char *name, struct str value)
{
	size_t before = w->out->n, empty;

	buf_fmt(w->out, " %s=\"", name);
	empty = w->out->n;
	escaped(w->out, value, true);
	if (w->out->n == empty)
		w->out->n = before;
	else
		buf_addc(w->out, '"');
}

static void
text_attr(struct writer *w, const struct html_node *n, const char *name)
{
	struct str s = html_attr(n, name);

	if (s.p && s.n > 0 && s.n <= SANITIZE_TITLE_MAX)
		write_attr(w, name, s);
}

/* "300" or "300px"; what else HTML knows is for layouts. */
static void
size_attr(struct writer *w, const struct html_node *n, const char *name)
{
	struct str s = str_trim(html_attr(n, name));
	int64_t v = 0;

	if (str_ends(s, STR("px")))
		s.n -= 2;
	if (s.n > 0 && s.n <= 5 && s.p[0] >= '0' && s.p[0] <= '9' &&
	    str_int(s, &v) && v > 0)
		buf_fmt(w->out, " %s=\"%d\"", name, (int)v);
}

static struct str
link_of(struct writer *w, const struct html_node *n)
{
	bool img = n->tag == T_IMG;
	struct str s = html_attr(n, img ? "src" : "href");

	arena_reset(w->links);
	if (!s.p)
		return s;
	return href_resolve(w->links, w->base, s,
	    img ? HREF_HTTPS : HREF_HTTP | HREF_HTTPS | HREF_MAILTO);
}

/* False: it is not written, for want of a link. */
static bool
start_tag(struct writer *w, const struct html_node *n)
{
	bool linked = n->tag == T_A || n->tag == T_IMG;
	struct str link = linked ? link_of(w, n) : STR_EMPTY;

	if (!link.p)
		return false;
	write_line(w);
	buf_addc(w->out, '<');
	buf_addz(w->out, html_tag_name((enum html_tag)n->tag));
	if (n->tag == T_A) {
		write_attr(w, "href", link);
		text_attr(w, n, "title");
		buf_addz(
		    w->out, " target=\"_blank\" rel=\"noopener noreferrer\"");
	} else if (n->tag == T_IMG) {
		write_attr(w, "src", link);
		text_attr(w, n, "alt");
		text_attr(w, n, "title");
		size_attr(w, n, "width");
		size_attr(w, n, "height");
	}
	buf_addc(w->out, '>');
	w->after_pre = w->want_line = false;
	return true;
}

enum done { LEFT_OUT, PUT, OPENED };

static enum done
enter(struct writer *w, const struct html_node *n)
{
	enum kind k = kind_of(w, n);

	if (k == UNWRAP || !fits(w, (enum html_tag)n->tag, k)) {
		w->want_line |= html_is_block(n);
		return LEFT_OUT;
	}
	if (!start_tag(w, n))
		return LEFT_OUT;
	if (k == VOID || k == RULE)
		return PUT;
	assert(w->n_open < SANITIZE_DEPTH_MAX);
	w->open[w->n_open++] = (enum html_tag)n->tag;
	w->after_pre = n->tag == T_PRE;
	return OPENED;
}

static void
end_tag(struct writer *w)
{
	buf_addz(w->out, "</");
	buf_addz(w->out, html_tag_name(top(w)));
	buf_addc(w->out, '>');
	w->n_open--;
	w->after_pre = w->want_line = false;
}

/* Behind n and all it holds. */
static void
end_node(struct writer *w, const struct html_node *n, enum done done)
{
	if (done == OPENED)
		end_tag(w);
	else if (done == LEFT_OUT && !n->is_text && kind_of(w, n) != DROP)
		w->want_line |= html_is_block(n);
}

/* What became of a node is kept in its ns, which is NS_HTML for all of them. */
static void
write_tree(struct writer *w, struct html_node *root)
{
	struct html_node *n = root->first;

	while (n && !w->out->failed) {
		enum done done = LEFT_OUT;

		if (n->is_text) {
			write_text(w, n->text);
		} else if (kind_of(w, n) != DROP) {
			done = enter(w, n);
			if (n->first) {
				n->ns = (uint8_t)done;
				n = n->first;
				continue;
			}
		}
		end_node(w, n, done);
		while (n != root && !n->next) {
			n = n->parent;
			done = (enum done)n->ns;
			n->ns = NS_HTML;
			if (n != root)
				end_node(w, n, done);
		}
		n = n == root ? NULL : n->next;
	}
}

int
sanitize(struct str html, struct str base, enum sanitize_tags tags,
    struct buf *out, bool *ret_cut, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(SANITIZE_MEM);
	struct arena *links CLEANUP(arena_freep) = arena_new(8 * HREF_MAX);
	struct writer w = {.links = links,
	    .out = out,
	    .base = base,
	    .tags = tags,
	    .begin = out->n};
	struct html h = {0};

	if (html.n > SANITIZE_IN_MAX)
		return err_set(e, ERR_LIMIT,
		    "HTML of %zu bytes is over %zu, which is all that is cleaned",
		    html.n, SANITIZE_IN_MAX);
	TRY(html_parse(a, html, &h, e));
	write_tree(&w, h.root);
	if (out->failed)
		return err_set(e, ERR_LIMIT,
		    "the cleaned HTML would be over %zu bytes", out->limit);
	if (ret_cut)
		*ret_cut = h.cut;
	return OK;
}
