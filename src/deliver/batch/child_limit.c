#include "deliver/batch/child_limit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
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
	char *drop_texts[CHILD_DROPS_MAX];
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
	struct link *k = list_first(&l->by_use), *next;

	for (; k; k = next) {
		struct folder *f = LINK_OF(k, struct folder, by_use);

		next = list_next(&l->by_use, k);
		if (now - f->used_us < l->o.minute_us &&
		    l->by_use.n < CHILD_FOLDERS_MAX)
			return;
		if (f->waiting == 0 && !f->open)
			folder_drop(l, f);
	}
}

static struct str
keep_text(char **at, struct str s)
{
	struct str copy = {*at, s.n};

	if (s.n > 0)
		memcpy(*at, s.p, s.n);
	*at += s.n;
	return copy;
}

struct child_folder
child_folder_copy(const struct child_folder *f, char *at)
{
	struct child_folder copy = {.tenant = f->tenant};

	copy.id = keep_text(&at, f->id);
	copy.parent = keep_text(&at, f->parent);
	copy.repository = keep_text(&at, f->repository);
	return copy;
}

static struct folder *
folder_new(struct child_limit *l, const struct child_folder *face)
{
	size_t tenant = sizeof(face->tenant.b);
	struct folder *f = mem_get(sizeof(*f) + tenant + face->id.n +
				   face->parent.n + face->repository.n);

	memcpy(f->data, face->tenant.b, tenant);
	f->face = child_folder_copy(face, f->data + tenant);
	f->key = (struct str){f->data, tenant + face->id.n};
	map_set(l->folders, f->key, f);
	list_add(&l->by_use, &f->by_use);
	return f;
}

static struct folder *
folder_get(struct child_limit *l, const struct child_folder *face, int64_t now)
{
	struct buf key = BUF(sizeof(face->tenant.b) + face->id.n);
	struct folder *f;

	buf_add(&key, uuid_str(&face->tenant));
	buf_add(&key, face->id);
	f = map_find(l->folders, buf_str(&key));
	buf_done(&key);
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
	char *id;

	if (d->n == CHILD_DROPS_MAX) {
		if (d->more == 0 || seq < d->more_first)
			d->more_first = seq;
		if (d->more == 0 || seq > d->more_last)
			d->more_last = seq;
		d->more++;
		return;
	}
	id = mem_get(f->face.id.n + 1);
	memcpy(id, f->face.id.p, f->face.id.n);
	l->drop_texts[d->n] = id;
	l->drops[d->n++] = (struct child_drop){
	    .why = why, .type = type, .seq = seq, .folder = {id, f->face.id.n}};
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
		free(l->drop_texts[i]);
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
	struct link *k, *next;

	f->open = true;
	f->since_us = now;
	f->until_us = now + l->o.open_us;
	l->n_open++;
	for (k = list_first(&l->queue); k && f->waiting > 0; k = next) {
		struct wait *w = LINK_OF(k, struct wait, in_queue);

		next = list_next(&l->queue, k);
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

	w->folder = f;
	w->type = type;
	w->seq = seq;
	w->at_us = at;
	f->waiting++;
	list_add(&l->queue, &w->in_queue);
	if (l->queue.n > l->o.queue_max) {
		struct link *oldest = list_first(&l->queue);

		assert(oldest);
		w = LINK_OF(oldest, struct wait, in_queue);
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

static bool
next_summary(struct child_limit *l, int64_t now, struct child_out *ret)
{
	struct link *k = l->n_open ? list_first(&l->by_use) : NULL;
	struct folder *f = NULL;

	for (; k; k = list_next(&l->by_use, k)) {
		f = LINK_OF(k, struct folder, by_use);
		if (f->open && now >= f->until_us)
			break;
	}
	if (!k)
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
	struct link *k;

	folder_free(l->gone);
	l->gone = NULL;
	if (next_summary(l, now, ret))
		return true;
	if (ring_full(&l->sent, l->o.per_second, now, l->o.second_us))
		return false;
	for (k = list_first(&l->queue); k; k = list_next(&l->queue, k)) {
		struct wait *w = LINK_OF(k, struct wait, in_queue);
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
	struct link *k;

	for (k = list_first(&l->by_use); k; k = list_next(&l->by_use, k)) {
		const struct folder *f = LINK_OF(k, struct folder, by_use);
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

size_t
child_limit_waiting(const struct child_limit *l)
{
	return l->queue.n;
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
	struct link *k, *next;

	if (!l)
		return;
	for (k = list_first(&l->queue); k; k = next) {
		next = list_next(&l->queue, k);
		free(LINK_OF(k, struct wait, in_queue));
	}
	for (k = list_first(&l->by_use); k; k = next) {
		next = list_next(&l->by_use, k);
		folder_free(LINK_OF(k, struct folder, by_use));
	}
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
	buf_addz(b, "{\"tenant\":\"");
	uuid_add(b, f->face.tenant);
	buf_addz(b, "\",\"id\":");
	buf_json(b, f->face.id);
	buf_addz(b, ",\"parent\":");
	buf_json(b, f->face.parent);
	buf_addz(b, ",\"repository\":");
	buf_json(b, f->face.repository);
	if (f->open)
		buf_fmt(b,
		    ",\"since\":%lld,\"until\":%lld,\"counts\":[%lld,%lld,%lld]",
		    (long long)f->since_us, (long long)f->until_us,
		    (long long)f->counts[CHILD_CREATED],
		    (long long)f->counts[CHILD_UPDATED],
		    (long long)f->counts[CHILD_DELETED]);
	buf_addc(b, '}');
}

void
child_limit_save(const struct child_limit *l, struct buf *b)
{
	unsigned n = 0;
	struct link *k;

	buf_addz(b, "{\"folders\":[");
	for (k = list_first(&l->by_use); k; k = list_next(&l->by_use, k)) {
		struct folder *f = LINK_OF(k, struct folder, by_use);

		if (f->waiting == 0 && !f->open)
			continue;
		if (n > 0)
			buf_addc(b, ',');
		f->number = n++;
		save_folder(f, b);
	}
	buf_addz(b, "],\"queue\":[");
	for (k = list_first(&l->queue); k; k = list_next(&l->queue, k)) {
		const struct wait *w = LINK_OF(k, struct wait, in_queue);

		if (k != list_first(&l->queue))
			buf_addc(b, ',');
		buf_fmt(b, "[%u,%d,%lld,%lld]", w->folder->number, (int)w->type,
		    (long long)w->seq, (long long)w->at_us);
	}
	buf_addz(b, "]}");
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

static struct folder *
load_folder(struct child_limit *l, const struct json *j)
{
	const struct json *id = json_get(j, "id");
	const struct json *parent = json_get(j, "parent");
	const struct json *repository = json_get(j, "repository");
	const struct json *tenant = json_get(j, "tenant");
	const struct json *until = json_get(j, "until");
	struct child_folder face;
	struct folder *f;

	if (!json_is(id, JSON_STRING) || !json_is(parent, JSON_STRING) ||
	    !json_is(repository, JSON_STRING) ||
	    !json_is(tenant, JSON_STRING) ||
	    !uuid_parse(tenant->text, &face.tenant))
		return NULL;
	face.id = id->text;
	face.parent = parent->text;
	face.repository = repository->text;
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
