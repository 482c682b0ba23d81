#include "deliver/batch/batch_window.h"

#include "deliver/limits.h"

#define ID_MAX      256 /* bytes of a folder's or an object's id */
#define KEY_BATCH   "hikyaku.batch"
#define KEY_SUMMARY "hikyaku.summary"

/* One batch in the making. */
struct batch_group {
	bool child;
	struct child_folder face;
	struct buf members;
	size_t n, nodes;
};

struct batch_count {
	size_t group;
	struct str type;
	int64_t n;
};

/* Events --------------------------------------------------------------------- */

static struct str
text_at(const struct json *j, const char *pointer, size_t most)
{
	const struct json *t = json_at(j, str_of(pointer));

	return json_is(t, JSON_STRING) && t->text.n <= most ? t->text
							    : STR_EMPTY;
}

static struct str
first_of(struct str a, struct str b)
{
	return a.n > 0 ? a : b;
}

static struct str
object_at(const struct json *j, const char *name)
{
	const struct json *o = json_get(j, name);

	return json_is(o, JSON_OBJECT) && o->raw.n <= BATCH_FACE_MAX
		   ? o->raw
		   : STR_EMPTY;
}

int
batch_event_read(struct arena *a, struct batch_event *ev, struct err *e)
{
	const struct json *payload;
	struct json *tree;

	ev->child = child_type_of(ev->type);
	ev->folder = (struct child_folder){.tenant = ev->tenant};
	ev->object = ev->object_name = STR_EMPTY;
	if (ev->child == CHILD_TYPES)
		return OK;
	TRY(json_parse(a, ev->body, &tree, e));
	payload = json_get(tree, "payload");
	ev->folder.id = first_of(text_at(payload, "/parentFolder/id", ID_MAX),
	    text_at(payload, "/parentFolder/objectId", ID_MAX));
	ev->folder.parent = object_at(payload, "parentFolder");
	ev->folder.repository = object_at(payload, "repository");
	ev->object = first_of(text_at(payload, "/object/id", ID_MAX),
	    text_at(payload, "/object/objectId", ID_MAX));
	ev->object_name = text_at(payload, "/object/name", BATCH_FACE_MAX);
	return OK;
}

/* How deep a JSON text is, and about how many values it has: never fewer. */
static void
shape(struct str s, size_t *ret_depth, size_t *ret_nodes)
{
	size_t depth = 0, most = 0, nodes = 1;
	bool in = false;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (in && c == '\\')
			i++;
		else if (c == '"')
			in = !in;
		else if (in)
			continue;
		else if (c == '{' || c == '[')
			depth++, nodes++;
		else if (c == '}' || c == ']')
			depth--;
		else if (c == ',')
			nodes++;
		most = depth > most ? depth : most;
	}
	*ret_depth = most;
	*ret_nodes = nodes;
}

/* Windows -------------------------------------------------------------------- */

struct batch_window *
batch_window_new(const struct batch_window_opts *o)
{
	struct batch_window *w = mem_get(sizeof(*w));

	w->o = *o;
	w->texts = arena_new(BATCH_BYTES_MAX);
	return w;
}

void
batch_window_free(struct batch_window *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_groups; i++)
		buf_done(&w->groups[i].members);
	arena_free(w->texts);
	free(w->groups);
	free(w->counts);
	free(w);
}

static struct batch_group *
group_find(struct batch_window *w, const struct batch_event *ev)
{
	bool child = ev->child != CHILD_TYPES;

	for (size_t i = 0; i < w->n_groups; i++) {
		struct batch_group *g = &w->groups[i];

		if (g->child == child && uuid_eq(g->face.tenant, ev->tenant) &&
		    str_eq(g->face.id, child ? ev->folder.id : STR_EMPTY))
			return g;
	}
	return NULL;
}

/* NULL: no room in this window. */
static struct batch_group *
group_new(struct batch_window *w, const struct batch_event *ev)
{
	const struct child_folder *f = &ev->folder;
	struct batch_group *g;

	if (w->n_groups == BATCH_GROUPS_MAX)
		return NULL;
	w->groups = mem_more(
	    w->groups, &w->cap_groups, w->n_groups, sizeof(*w->groups));
	g = &w->groups[w->n_groups++];
	*g = (struct batch_group){
	    .child = ev->child != CHILD_TYPES,
	    .face = {.tenant = ev->tenant,
		.id = arena_dup(w->texts, f->id),
		.parent = arena_dup(w->texts, f->parent),
		.repository = arena_dup(w->texts, f->repository)},
	    .members = BUF(BATCH_BYTES_MAX),
	};
	return g;
}

static void
child_member(const struct batch_event *ev, struct buf *b)
{
	put_open(b, NULL, '{');
	put_z(b, "type", child_type_name(ev->child));
	if (ev->object.n > 0)
		put_text(b, "objectId", ev->object);
	if (ev->object_name.n > 0)
		put_text(b, "name", ev->object_name);
	put_close(b, '}');
}

/* The envelope; one that is too large or too deep is named only. */
static size_t
plain_member(const struct batch_event *ev, struct buf *b)
{
	size_t depth, nodes;

	shape(ev->body, &depth, &nodes);
	if (ev->body.n <= BATCH_MEMBER_MAX && depth + 4 <= JSON_DEPTH_MAX &&
	    nodes <= BATCH_NODES_MAX / 2) {
		buf_add(b, ev->body);
		return nodes;
	}
	put_open(b, NULL, '{');
	put_uuid(b, "eventId", ev->event_id);
	put_text(b, "eventType", ev->type);
	put_uuid(b, "tenantId", ev->tenant);
	put_bool(b, "truncated", true);
	put_close(b, '}');
	return 5;
}

static bool
add_member(
    struct batch_window *w, struct batch_group *g, const struct batch_event *ev)
{
	struct buf one CLEANUP(buf_done) = BUF(BATCH_MEMBER_MAX + 8 * KIB);
	size_t nodes = 4;

	if (g->child)
		child_member(ev, &one);
	else
		nodes = plain_member(ev, &one);
	/* A window's batches go into one commit: the bound is for all. */
	if (one.failed || g->n == w->o.max_size ||
	    g->nodes + nodes > BATCH_NODES_MAX ||
	    w->bytes + one.n + 1 > BATCH_BYTES_MAX)
		return false;
	w->bytes -= g->members.n;
	put_raw(&g->members, NULL, buf_str(&one));
	w->bytes += g->members.n;
	g->nodes += nodes;
	w->full = ++g->n == w->o.max_size;
	return true;
}

static bool
add_count(
    struct batch_window *w, struct batch_group *g, const struct batch_event *ev)
{
	size_t at = (size_t)(g - w->groups), i = 0;
	struct str type =
	    g->child ? str_of(child_type_name(ev->child)) : ev->type;

	while (i < w->n_counts &&
	       (w->counts[i].group != at || !str_eq(w->counts[i].type, type)))
		i++;
	if (i == w->n_counts) {
		if (i == BATCH_COUNTS_MAX)
			return false;
		w->counts =
		    mem_more(w->counts, &w->cap_counts, i, sizeof(*w->counts));
		w->counts[w->n_counts++] = (struct batch_count){
		    .group = at, .type = arena_dup(w->texts, type)};
	}
	w->counts[i].n++;
	g->n++;
	return true;
}

bool
batch_window_take(struct batch_window *w, const struct batch_event *ev)
{
	bool made = false, ok;
	struct batch_group *g;

	if (w->full || (w->first && ev->at_us >= w->start_us + w->o.len_us))
		return false;
	g = group_find(w, ev);
	if (!g) {
		g = group_new(w, ev);
		made = g != NULL;
	}
	ok = g && (w->o.summary ? add_count(w, g, ev) : add_member(w, g, ev));
	if (!ok) {
		if (made) {
			buf_done(&g->members);
			w->n_groups--;
		}
		w->full = w->first != 0;
		return false;
	}
	if (!w->first) {
		w->first = ev->seq;
		w->start_us = ev->at_us;
	}
	w->last = ev->seq;
	w->child = w->child || g->child;
	return true;
}

int64_t
batch_window_due(const struct batch_window *w)
{
	if (!w->first)
		return INT64_MAX;
	return w->full ? 0 : w->start_us + w->o.len_us;
}

/* Payloads ------------------------------------------------------------------- */

static void
put_face(struct buf *b, const struct child_folder *f)
{
	if (f->repository.n > 0)
		put_raw(b, "repository", f->repository);
	if (f->parent.n > 0) {
		put_raw(b, "parentFolder", f->parent);
		return;
	}
	put_open(b, "parentFolder", '{');
	put_text(b, "id", f->id);
	put_close(b, '}');
}

static void
put_info(struct buf *b, int64_t from_us, int64_t to_us, int64_t n)
{
	put_open(b, "batchInfo", '{');
	put_time(b, "windowStart", from_us);
	put_time(b, "windowEnd", to_us);
	put_int(b, "eventCount", n);
	put_close(b, '}');
}

static void
put_counts(struct buf *b, const struct batch_window *w, size_t group)
{
	put_open(b, "counts", '{');
	for (size_t i = 0; i < w->n_counts; i++)
		if (w->counts[i].group == group)
			put_int(b, w->counts[i].type.p, w->counts[i].n);
	put_close(b, '}');
}

void
batch_window_make(const struct batch_window *w, size_t i,
    struct batch_made *ret, struct buf *b)
{
	const struct batch_group *g = &w->groups[i];

	assert(i < w->n_groups);
	*ret = (struct batch_made){
	    .type = g->child       ? w->o.summary ? "cmis.child_summary"
						  : "cmis.child_batch"
		    : w->o.summary ? KEY_SUMMARY
				   : KEY_BATCH,
	    .tenant = g->face.tenant,
	};
	ret->key =
	    g->child && g->face.id.n > 0 ? g->face.id : str_of(ret->type);
	put_open(b, NULL, '{');
	if (g->child)
		put_face(b, &g->face);
	if (w->o.summary) {
		put_counts(b, w, i);
	} else {
		put_open(b, g->child ? "changes" : "events", '[');
		buf_add(b, buf_str(&g->members));
		put_close(b, ']');
	}
	put_info(b, w->start_us, w->start_us + w->o.len_us, (int64_t)g->n);
	put_close(b, '}');
}

void
batch_summary_payload(const struct child_out *out, struct buf *b)
{
	int64_t sum = 0;

	put_open(b, NULL, '{');
	put_face(b, &out->folder);
	put_open(b, "counts", '{');
	for (int i = 0; i < CHILD_TYPES; i++) {
		if (out->counts[i] > 0)
			put_int(b, child_type_name((enum child_type)i),
			    out->counts[i]);
		sum += out->counts[i];
	}
	put_close(b, '}');
	put_info(b, out->since_us, out->until_us, sum);
	put_close(b, '}');
}
