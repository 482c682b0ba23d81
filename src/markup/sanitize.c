#include "markup/sanitize.h"

#include "markup/href.h"
#include "markup/html.h"
#include "markup/limits.h"
#include "markup/sanitize_priv.h"

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
	enum { WANT_NOTHING, WANT_LINE, WANT_CELL, WANT_ROW } want;
	/* A paragraph of ours for what stood in a block that was left out: where
	 * it lies in `open`, and how many are open in it; 0: there is none. */
	size_t own_from, own_top;
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
	if (t == T_B || t == T_I)
		return FORMAT;
	if ((KINDS[t] & ARTICLE) && w->tags != SANITIZE_ARTICLE)
		return UNWRAP;
	return open_kind(t);
}

/* What it is written as. */
static enum html_tag
tag_of(const struct writer *w, const struct html_node *n)
{
	if (w->tags == SANITIZE_BASIC && n->tag == T_B)
		return T_STRONG;
	if (w->tags == SANITIZE_BASIC && n->tag == T_I)
		return T_EM;
	return (enum html_tag)n->tag;
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
	if (w->want == WANT_LINE && !w->after_pre && !ends_blank(w) &&
	    !in_table_parts(w))
		buf_addc(w->out, '\n');
	else if (w->want >= WANT_CELL && w->own_top > 0)
		buf_addz(w->out, w->want == WANT_CELL ? " | " : "<br>");
	w->want = WANT_NOTHING;
}

/* As it is, where it is. */
static void
write_plain(struct writer *w, struct str s)
{
	size_t before;

	if (in_table_parts(w))
		return;
	write_line(w);
	before = w->out->n;
	sanitize_escape(w->out, s, false);
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
	sanitize_escape(w->out, value, true);
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

#define A_MORE " target=\"_blank\" rel=\"noopener noreferrer\""

static void
start_tag(struct writer *w, const struct html_node *n, struct str link)
{
	write_line(w);
	buf_addc(w->out, '<');
	buf_addz(w->out, html_tag_name(tag_of(w, n)));
	if (n->tag == T_A) {
		write_attr(w, "href", link);
		text_attr(w, n, "title");
		buf_addz(w->out, A_MORE);
	} else if (n->tag == T_IMG) {
		write_attr(w, "src", link);
		text_attr(w, n, "alt");
		text_attr(w, n, "title");
		size_attr(w, n, "width");
		size_attr(w, n, "height");
	}
	buf_addc(w->out, '>');
	w->after_pre = false;
	w->want = WANT_NOTHING;
}

static void
push(struct writer *w, enum html_tag t)
{
	assert(w->n_open < SANITIZE_DEPTH_MAX);
	w->open[w->n_open++] = t;
	w->after_pre = t == T_PRE;
	w->want = WANT_NOTHING;
}

static void
end_tag(struct writer *w)
{
	buf_addz(w->out, "</");
	buf_addz(w->out, html_tag_name(top(w)));
	buf_addc(w->out, '>');
	w->n_open--;
	w->after_pre = false;
	w->want = WANT_NOTHING;
}

/* ---- blocks that were left out ---- */

enum done { LEFT_OUT, PUT, OPENED };

static bool
is_block(const struct html_node *n)
{
	return !n->is_text && n->tag != T_BR &&
	       (html_is_block(n) || n->tag == T_IFRAME);
}

/* A row without blocks in its cells is a line. */
static bool
is_line(const struct html_node *n)
{
	return n->tag == T_TR && !n->has_block;
}

static bool
is_cell(const struct html_node *n)
{
	return n->tag == T_TD || n->tag == T_TH;
}

/* Time is linear: none is marked twice. */
static void
mark_blocks(struct html_node *root)
{
	const struct html_node *n = root;

	while ((n = html_next(root, n, false)))
		if (is_block(n) && !is_cell(n))
			for (struct html_node *p = n->parent;
			     p && !p->has_block; p = p->parent)
				p->has_block = true;
}

/* The block around n, when it was left out, as its ns says (write_tree()). */
static const struct html_node *
left_block(const struct html_node *n)
{
	for (n = n->parent; n && n->parent; n = n->parent) {
		struct html_node as = {.tag = n->tag}; /* its ns is taken */

		if (is_block(&as))
			return n->ns == LEFT_OUT ? n : NULL;
	}
	return NULL;
}

static bool
own_fits(const struct writer *w)
{
	return fits(w, T_P, BLOCK) && !is_open(w, T_PRE, T_PRE) &&
	       !is_open(w, T_H1, T_H6);
}

static void
begin_own(struct writer *w, bool heading)
{
	w->own_from = w->n_open;
	buf_addz(w->out, "<p>");
	push(w, T_P);
	if (heading && fits(w, T_STRONG, FORMAT)) {
		buf_addz(w->out, "<strong>");
		push(w, T_STRONG);
	}
	w->own_top = w->n_open;
}

/* False: there is none, or something else is open in it. */
static bool
end_own(struct writer *w)
{
	if (w->own_top == 0 || w->n_open != w->own_top)
		return false;
	while (w->n_open > w->own_from)
		end_tag(w);
	w->own_top = 0;
	return true;
}

/* Before or behind a block that is left out. */
static void
border(struct writer *w, const struct html_node *n)
{
	bool own = w->own_top > 0 && w->n_open == w->own_top;

	if (own && is_line(n))
		w->want = WANT_ROW;
	else if (own && is_cell(n) && n->parent && is_line(n->parent))
		w->want = w->want == WANT_ROW ? WANT_ROW : WANT_CELL;
	else if (!end_own(w))
		w->want = WANT_LINE;
}

/* A text, or an element that may stand in a paragraph: it gets one. */
static void
want_own(struct writer *w, const struct html_node *n)
{
	const struct html_node *b = left_block(n);

	if (b && !n->has_block && own_fits(w))
		begin_own(w, b->tag >= T_H1 && b->tag <= T_H6);
}

static void
write_text(struct writer *w, const struct html_node *n)
{
	bool blank = str_trim(n->text).n == 0;

	if (blank && w->want >= WANT_CELL)
		return;
	if (!blank)
		want_own(w, n);
	write_plain(w, n->text);
}

/* ---- what can only be linked to ---- */

static void
put_link(struct writer *w, struct str url, struct str text)
{
	bool fit = fits(w, T_A, FORMAT);

	if (in_table_parts(w))
		return;
	write_line(w);
	if (fit) {
		buf_addz(w->out, "<a");
		write_attr(w, "href", url);
		buf_addz(w->out, A_MORE ">");
		push(w, T_A);
	}
	write_plain(w, text);
	if (fit)
		end_tag(w);
}

static struct str
short_attr(const struct html_node *n, const char *name)
{
	struct str s = str_trim(html_attr(n, name));

	return s.n <= SANITIZE_TITLE_MAX ? s : STR_EMPTY;
}

static void
link_frame(struct writer *w, const struct html_node *n)
{
	struct str src = html_attr(n, "src"), text = short_attr(n, "title");
	struct str url = {.p = NULL};

	arena_reset(w->links);
	if (src.n > 0)
		url = href_resolve(
		    w->links, w->base, src, HREF_HTTP | HREF_HTTPS);
	if (!url.p)
		return;
	border(w, n);
	if (own_fits(w))
		begin_own(w, false);
	put_link(w, url, text.n > 0 ? text : url);
	border(w, n);
}

/* One that is not https, by its text or the name of its file. */
static void
link_picture(struct writer *w, const struct html_node *n)
{
	struct str src = html_attr(n, "src"), text = short_attr(n, "alt");
	struct str width = str_trim(html_attr(n, "width")), url = STR_EMPTY;

	arena_reset(w->links);
	if (src.n > 0)
		url = href_resolve(w->links, w->base, src, HREF_HTTP);
	/* Those of one pixel are for counting. */
	if (url.n == 0 || str_eq(width, STR("1")) || str_eq(width, STR("0")))
		return;
	if (text.n == 0)
		text = short_attr(n, "title");
	for (size_t i = url.n; text.n == 0; i--)
		if (url.p[i - 1] == '/')
			text = i < url.n ? str_from(url, i) : url;
	want_own(w, n);
	put_link(w, url, text);
}

/* ---- the tree ---- */

/* An element that stands in lines: its paragraph, if it needs one. */
static void
begin_inline(struct writer *w, const struct html_node *n)
{
	if (n->has_block)
		(void)end_own(w);
	else
		want_own(w, n);
}

static enum done
enter(struct writer *w, const struct html_node *n)
{
	bool linked = n->tag == T_A || n->tag == T_IMG;
	struct str link = linked ? link_of(w, n) : STR_EMPTY;
	enum kind k = kind_of(w, n);

	if (!link.p) {
		if (n->tag == T_IMG)
			link_picture(w, n);
		return LEFT_OUT;
	}
	/* It would be an empty line of a paragraph that has not begun. */
	if (n->tag == T_BR && left_block(n) && own_fits(w))
		return PUT;
	if (k == INLINE || k == FORMAT || n->tag == T_IMG)
		begin_inline(w, n);
	else if (k != UNWRAP && k != VOID)
		(void)end_own(w);
	if (k == UNWRAP || !fits(w, tag_of(w, n), k)) {
		if (is_block(n))
			border(w, n);
		return LEFT_OUT;
	}
	start_tag(w, n, link);
	if (k == VOID || k == RULE)
		return PUT;
	push(w, tag_of(w, n));
	return OPENED;
}

/* Behind n and all it holds. */
static void
end_node(struct writer *w, const struct html_node *n, enum done done)
{
	if (done == OPENED) {
		(void)end_own(w);
		end_tag(w);
	} else if (done == LEFT_OUT && !n->is_text && kind_of(w, n) != DROP &&
		   is_block(n)) {
		border(w, n);
	}
}

/* What became of a node is kept in its ns, which is NS_HTML for all of them. */
static void
write_tree(struct writer *w, struct html_node *root)
{
	struct html_node *n = root->first;

	while (n && !w->out->failed) {
		enum done done = LEFT_OUT;

		if (n->is_text) {
			write_text(w, n);
		} else if (n->tag == T_IFRAME && n->ns == NS_HTML) {
			link_frame(w, n);
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
	mark_blocks(h.root);
	write_tree(&w, h.root);
	if (out->failed)
		return err_set(e, ERR_LIMIT,
		    "the cleaned HTML would be over %zu bytes", out->limit);
	if (ret_cut)
		*ret_cut = h.cut;
	return OK;
}
