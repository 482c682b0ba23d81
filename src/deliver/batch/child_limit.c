#include "deliver/batch/child_limit.h"

#include "deliver/batch/ring.h"
#include "deliver/limits.h"

struct folder {
	struct link by_use; /* least used first */
	struct child_folder face;
	struct str key; /* tenant and id, for the map */
	int64_t used_us;
	struct ring came, sent;
	size_t waiting;
	bool open;
	int64_t since_us, until_us; /* open */
	int64_t counts[CHILD_TYPES];
	unsigned number; /* while it is saved */
	char data[];
};

struct wait {
	struct link in_queue;
	struct folder *folder;
	enum child_type type;
	int64_t seq, at_us;
};

struct child_limit {
	struct child_limit_opts o;
	struct map *folders;
	struct list by_use, queue;
	size_t n_open;
	struct ring sent;
	struct child_drop drops[CHILD_DROPS_MAX];
	struct child_drops dropped;
	struct folder *gone; /* of the summary that was handed out last */
};

enum child_type
child_type_of(struct str type)
{
	static const struct str NAMES[] = {
	    STR("cmis.child_created"),
	    STR("cmis.child_updated"),
	    STR("cmis.child_deleted"),
	};
	int i = 0;

	while (i < CHILD_TYPES && !str_eq(type, NAMES[i]))
		i++;
	return (enum child_type)i;
}

const char *
child_type_name(enum child_type t)
{
	static const char *const NAMES[] = {
	    "CHILD_CREATED", "CHILD_UPDATED", "CHILD_DELETED"};

	return NAMES[t];
}

/* Folders ------------------------------------------------------------------ */

static void
folder_free(struct folder *f)
{
	if (!f)
		return;
	ring_done(&f->came);
	ring_done(&f->sent);
	free(f);
}

static void
folder_drop(struct child_limit *l, struct folder *f)
{
	(void)map_take(l->folders, f->key);
	list_remove(&l->by_use, &f->by_use);
	folder_free(f);
}

/* Those that nobody would notice: as if they had never been. */
static void
prune(struct child_limit *l, int64_t now)
{
	list_each (struct folder, f, &l->by_use, by_use) {
		if (now - f->used_us < l->o.minute_us &&
		    l->by_use.n < CHILD_FOLDERS_MAX)
			return;
		if (f->waiting == 0 && !f->open)
			folder_drop(l, f);
	}
}

static struct folder *
folder_new(struct child_limit *l, const struct child_folder *face)
{
	size_t tenant = sizeof(face->tenant.b);
	struct folder *f = mem_get(sizeof(*f) + tenant + face->id.n +
				   face->parent.n + face->repository.n);
	char *at = f->data + tenant;

	memcpy(f->data, face->tenant.b, tenant);
	f->face.tenant = face->tenant;
	f->face.id = str_put(&at, face->id);
	f->face.parent = str_put(&at, face->parent);
	f->face.repository = str_put(&at, face->repository);
	f->key = (struct str){f->data, tenant + face->id.n};
	map_set(l->folders, f->key, f);
	list_add(&l->by_use, &f->by_use);
	return f;
}

static struct folder *
folder_get(struct child_limit *l, const struct child_folder *face, int64_t now)
{
	struct buf key CLEANUP(buf_done) =
	    BUF(sizeof(face->tenant.b) + face->id.n);
	struct folder *f;

	buf_add(&key, uuid_str(&face->tenant));
	buf_add(&key, face->id);
	f = map_find(l->folders, buf_str(&key));
	if (f) {
		list_remove(&l->by_use, &f->by_use);
		list_add(&l->by_use, &f->by_use);
	} else {
		prune(l, now);
		f = folder_new(l, face);
	}
	f->used_us = now;
	return f;
}

/* Drops -------------------------------------------------------------------- */

static void
note_drop(struct child_limit *l, const struct folder *f, enum child_type type,
    int64_t seq, enum child_drop_why why)
{
	struct child_drops *d = &l->dropped;

	if (d->n == CHILD_DROPS_MAX) {
		if (d->more == 0 || seq < d->more_first)
			d->more_first = seq;
		if (d->more == 0 || seq > d->more_last)
			d->more_last = seq;
		d->more++;
		return;
	}
	l->drops[d->n++] = (struct child_drop){.why = why,
	    .type = type,
	    .seq = seq,
	    .folder = {mem_z(f->face.id), f->face.id.n}};
}

struct child_drops
child_limit_drops(const struct child_limit *l)
{
	struct child_drops d = l->dropped;

	d.v = l->drops;
	return d;
}

void
child_limit_drops_done(struct child_limit *l)
{
	for (size_t i = 0; i < l->dropped.n; i++)
		free((char *)(uintptr_t)l->drops[i].folder.p);
	l->dropped = (struct child_drops){.n = 0};
}

static void
wait_free(struct child_limit *l, struct wait *w)
{
	list_remove(&l->queue, &w->in_queue);
	w->folder->waiting--;
	free(w);
}

/* In ------------------------------------------------------------------------- */

static void
open_breaker(struct child_limit *l, struct folder *f, int64_t now)
{
	f->open = true;
	f->since_us = now;
	f->until_us = now + l->o.open_us;
	l->n_open++;
	list_each (struct wait, w, &l->queue, in_queue) {
		if (w->folder != f)
			continue;
		if (w->at_us < f->since_us)
			f->since_us = w->at_us;
		f->counts[w->type]++;
		note_drop(l, f, w->type, w->seq, CHILD_DROP_BREAKER);
		wait_free(l, w);
	}
}

static void
enqueue(struct child_limit *l, struct folder *f, enum child_type type,
    int64_t seq, int64_t at)
{
	struct wait *w = mem_get(sizeof(*w));

	*w = (struct wait){.folder = f, .type = type, .seq = seq, .at_us = at};
	f->waiting++;
	list_add(&l->queue, &w->in_queue);
	if (l->queue.n > l->o.queue_max) {
		w = list_head(&l->queue, struct wait, in_queue);
		assert(w);
		note_drop(l, w->folder, w->type, w->seq, CHILD_DROP_QUEUE);
		wait_free(l, w);
	}
}

void
child_limit_take(struct child_limit *l, const struct child_folder *face,
    enum child_type type, int64_t seq, int64_t at)
{
	struct folder *f = folder_get(l, face, at);

	if (!f->open && l->n_open < CHILD_OPEN_MAX &&
	    ring_full(&f->came, l->o.threshold, at, l->o.minute_us))
		open_breaker(l, f, at);
	ring_add(&f->came, l->o.threshold, at);
	if (f->open) {
		f->counts[type]++;
		note_drop(l, f, type, seq, CHILD_DROP_BREAKER);
		return;
	}
	enqueue(l, f, type, seq, at);
}

/* Out ------------------------------------------------------------------------ */

/* A breaker whose time is over. */
static struct folder *
over(const struct child_limit *l, int64_t now)
{
	if (l->n_open > 0)
		list_each (struct folder, f, &l->by_use, by_use)
			if (f->open && now >= f->until_us)
				return f;
	return NULL;
}

static bool
next_summary(struct child_limit *l, int64_t now, struct child_out *ret)
{
	struct folder *f = over(l, now);

	if (!f)
		return false;
	*ret = (struct child_out){
	    .kind = CHILD_OUT_SUMMARY,
	    .folder = f->face,
	    .since_us = f->since_us,
	    .until_us = f->until_us,
	};
	memcpy(ret->counts, f->counts, sizeof(ret->counts));
	l->n_open--;
	/* It begins anew; its texts live until the next call. */
	(void)map_take(l->folders, f->key);
	list_remove(&l->by_use, &f->by_use);
	l->gone = f;
	return true;
}

bool
child_limit_next(struct child_limit *l, int64_t now, struct child_out *ret)
{
	folder_free(l->gone);
	l->gone = NULL;
	if (next_summary(l, now, ret))
		return true;
	if (ring_full(&l->sent, l->o.per_second, now, l->o.second_us))
		return false;
	list_each (struct wait, w, &l->queue, in_queue) {
		struct folder *f = w->folder;

		if (ring_full(&f->sent, l->o.per_minute, now, l->o.minute_us))
			continue;
		ring_add(&f->sent, l->o.per_minute, now);
		ring_add(&l->sent, l->o.per_second, now);
		f->used_us = now > f->used_us ? now : f->used_us;
		*ret = (struct child_out){
		    .kind = CHILD_OUT_EVENT, .seq = w->seq, .folder = f->face};
		wait_free(l, w);
		return true;
	}
	return false;
}

int64_t
child_limit_due(const struct child_limit *l, int64_t now)
{
	int64_t due = INT64_MAX;
	int64_t floor =
	    ring_free_at(&l->sent, l->o.per_second, now, l->o.second_us);

	list_each (struct folder, f, &l->by_use, by_use) {
		int64_t at = INT64_MAX;

		if (f->open)
			at = f->until_us;
		else if (f->waiting > 0)
			at = ring_free_at(
			    &f->sent, l->o.per_minute, now, l->o.minute_us);
		if (!f->open && at < floor)
			at = floor;
		due = at < due ? at : due;
	}
	return due;
}

bool
child_limit_idle(const struct child_limit *l)
{
	return l->queue.n == 0 && l->n_open == 0;
}

/* Life ----------------------------------------------------------------------- */

struct child_limit *
child_limit_new(const struct child_limit_opts *o)
{
	struct child_limit *l = mem_get(sizeof(*l));

	l->o = *o;
	l->folders = map_new(SIZE_MAX / 2);
	list_init(&l->by_use);
	list_init(&l->queue);
	return l;
}

void
child_limit_free(struct child_limit *l)
{
	if (!l)
		return;
	list_each (struct wait, w, &l->queue, in_queue)
		free(w);
	list_each (struct folder, f, &l->by_use, by_use)
		folder_free(f);
	folder_free(l->gone);
	child_limit_drops_done(l);
	map_free(l->folders);
	ring_done(&l->sent);
	free(l);
}

/* The stored form --------------------------------------------------------------- */

static void
save_folder(const struct folder *f, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "tenant", f->face.tenant);
	put_text(b, "id", f->face.id);
	put_text(b, "parent", f->face.parent);
	put_text(b, "repository", f->face.repository);
	if (f->open) {
		put_int(b, "since", f->since_us);
		put_int(b, "until", f->until_us);
		put_open(b, "counts", '[');
		for (int i = 0; i < CHILD_TYPES; i++)
			put_int(b, NULL, f->counts[i]);
		put_close(b, ']');
	}
	put_close(b, '}');
}

void
child_limit_save(const struct child_limit *l, struct buf *b)
{
	unsigned n = 0;

	put_open(b, NULL, '{');
	put_open(b, "folders", '[');
	list_each (struct folder, f, &l->by_use, by_use)
		if (f->waiting > 0 || f->open) {
			f->number = n++;
			save_folder(f, b);
		}
	put_close(b, ']');
	put_open(b, "queue", '[');
	list_each (struct wait, w, &l->queue, in_queue) {
		put_open(b, NULL, '[');
		put_int(b, NULL, w->folder->number);
		put_int(b, NULL, w->type);
		put_int(b, NULL, w->seq);
		put_int(b, NULL, w->at_us);
		put_close(b, ']');
	}
	put_close(b, ']');
	put_close(b, '}');
}

static int
bad_state(struct err *e)
{
	return err_set(e, ERR_INVALID, "what waits for a batch can't be read");
}

/* Whole numbers, one after the other. */
static bool
numbers(const struct json *list, int64_t *ret, size_t n)
{
	const struct json *j = json_is(list, JSON_ARRAY) ? list->child : NULL;

	for (size_t i = 0; i < n; i++, j = j->next)
		if (!j || !json_int(j, &ret[i]))
			return false;
	return !j;
}

static struct str
text_of(const struct json *o, const char *name)
{
	const struct json *j = json_get(o, name);

	return json_is(j, JSON_STRING) ? j->text : (struct str){.p = NULL};
}

static struct folder *
load_folder(struct child_limit *l, const struct json *j)
{
	const struct json *until = json_get(j, "until");
	struct child_folder face = {
	    .id = text_of(j, "id"),
	    .parent = text_of(j, "parent"),
	    .repository = text_of(j, "repository"),
	};
	struct folder *f;

	if (!face.id.p || !face.parent.p || !face.repository.p ||
	    !uuid_parse(text_of(j, "tenant"), &face.tenant))
		return NULL;
	f = folder_get(l, &face, 0);
	if (!until)
		return f;
	f->open = true;
	l->n_open++;
	return json_int(until, &f->until_us) &&
		       json_int(json_get(j, "since"), &f->since_us) &&
		       numbers(json_get(j, "counts"), f->counts, CHILD_TYPES)
		   ? f
		   : NULL;
}

int
child_limit_load(
    struct child_limit *l, struct arena *a, struct str text, struct err *e)
{
	struct folder *v[CHILD_FOLDERS_MAX];
	struct json *tree, *folders, *queue;
	size_t n = 0;

	if (json_parse(a, text, &tree, e) < 0)
		return bad_state(e);
	folders = json_get(tree, "folders");
	queue = json_get(tree, "queue");
	if (!json_is(folders, JSON_ARRAY) || !json_is(queue, JSON_ARRAY) ||
	    folders->n > CHILD_FOLDERS_MAX)
		return bad_state(e);
	for (struct json *j = folders->child; j; j = j->next)
		if (!(v[n++] = load_folder(l, j)))
			return bad_state(e);
	for (struct json *j = queue->child; j; j = j->next) {
		int64_t row[4];

		if (!numbers(j, row, 4) || row[0] < 0 || row[0] >= (int64_t)n ||
		    row[1] < 0 || row[1] >= CHILD_TYPES)
			return bad_state(e);
		v[row[0]]->used_us = row[3];
		enqueue(l, v[row[0]], (enum child_type)row[1], row[2], row[3]);
	}
	return OK;
}
