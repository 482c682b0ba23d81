#include "match/jq/jq.h"

#include "cage/proc.h"
#include "match/jq/jq_child.h"
#include "match/jq/jq_scan.h"
#include "match/jq/jq_wire.h"
#include "match/jq/plain.h"
#include "match/limits.h"
#include "seal/digest.h"

#define PARSE_MAX (64 * MIB) /* the tree of one event of some MiB */
#define NO_ID     (-1)
#define SAME_MS   1000 /* that an overrun counts for the same input */
#define WHYS_MAX  (64 * KIB)

struct program {
	int id;
	unsigned refs; /* 0: the id is free */
	int next_free;
	unsigned life; /* of the child that has it */
	uint64_t used; /* when; for who must go first */
	struct plain *plain;
	struct {
		const char *how; /* NULL: never */
		int64_t at_ms;
		size_t n;
		unsigned char digest[DIGEST_LEN];
	} overran; /* the last input that it overran on */
	struct str text;
};

struct jq {
	struct proc proc;
	struct map *by_text;
	struct program **programs; /* by id */
	size_t n, cap;
	int first_free;
	size_t in_child;
	uint64_t tick;
	struct buf request, answer;
	struct arena *whys;    /* of the last jq_filter() */
	struct arena *scratch; /* for trees */
	struct str parsed;     /* the input that is in there */
	struct json *tree;     /* NULL: it is no JSON */
};

/* Items that go to the child together, by their place in the caller's. */
struct chunk {
	enum jq_op op; /* FILTER or RENDER */
	const struct jq_item *items;
	struct jq_said *ret;
	size_t at[JQ_CHUNK_MAX];
	size_t n, bytes;
};

struct jq *
jq_new(const char *self_exe)
{
	struct jq *j = mem_get(sizeof(*j));

	j->proc.kind = &JQ_CHILD;
	j->proc.exe = self_exe;
	j->first_free = NO_ID;
	j->request = BUF(JQ_REQUEST_MAX);
	j->answer = BUF(JQ_ANSWER_MAX);
	j->by_text = map_new(JQ_PROGRAMS_MAX);
	j->scratch = arena_new(PARSE_MAX);
	j->whys = arena_new(WHYS_MAX);
	return j;
}

static void
free_program(struct program *p)
{
	free(p->plain);
	free((void *)(uintptr_t)p->text.p);
}

void
jq_free(struct jq *j)
{
	if (!j)
		return;
	proc_stop(&j->proc);
	for (size_t i = 0; i < j->n; i++) {
		free_program(j->programs[i]);
		free(j->programs[i]);
	}
	free(j->programs);
	map_free(j->by_text);
	buf_done(&j->request);
	buf_done(&j->answer);
	arena_free(j->scratch);
	arena_free(j->whys);
	free(j);
}

int
jq_child_pid(const struct jq *j)
{
	return (int)j->proc.pid;
}

static struct program *
get(const struct jq *j, int id)
{
	assert(id >= 0 && (size_t)id < j->n && j->programs[id]->refs > 0);
	return j->programs[id];
}

/* One with an id and nothing else. NULL: too many. */
static struct program *
new_program(struct jq *j)
{
	struct program *p;

	if (j->first_free != NO_ID) {
		p = j->programs[j->first_free];
		j->first_free = p->next_free;
		return p;
	}
	if (j->n == JQ_PROGRAMS_MAX)
		return NULL;
	j->programs =
	    mem_more(j->programs, &j->cap, j->n, sizeof(struct program *));
	p = mem_get(sizeof(*p));
	p->id = (int)j->n;
	j->programs[j->n++] = p;
	return p;
}

int
jq_program(struct jq *j, struct str program, int *ret_id, struct err *e)
{
	struct program *p = map_find(j->by_text, program);

	if (!p) {
		TRY(jq_scan(program, e));
		p = new_program(j);
		if (!p)
			return err_set(e, ERR_LIMIT,
			    "there are %zu jq programs already", j->n);
		p->text = (struct str){mem_z(program), program.n};
		p->plain = plain_parse(p->text);
		map_set(j->by_text, p->text, p);
	}
	p->refs++;
	*ret_id = p->id;
	return OK;
}

static void
jq_put(struct jq *j, enum jq_op op, int id, struct str bytes)
{
	struct jq_cmd c = {.op = op, .id = id, .bytes = (uint32_t)bytes.n};

	buf_add(&j->request, (struct str){(const char *)&c, sizeof(c)});
	buf_add(&j->request, bytes);
}

/* Takes it out of the child with the next request. */
static void
leave_child(struct jq *j, struct program *p)
{
	if (j->proc.pid == 0 || p->life != j->proc.life)
		return;
	jq_put(j, JQ_OP_DROP, p->id, STR_EMPTY);
	p->life = 0;
	j->in_child--;
}

void
jq_forget(struct jq *j, int id)
{
	struct program *p = get(j, id);

	if (--p->refs > 0)
		return;
	leave_child(j, p);
	(void)map_take(j->by_text, p->text);
	free_program(p);
	*p = (struct program){.id = p->id, .next_free = j->first_free};
	j->first_free = p->id;
}

/* So many items may share a program and an event that each of them can't be
 * given its time: that the program overran on this input is known for a while. */
static const char *
overran(const struct program *p, struct str input)
{
	unsigned char digest[DIGEST_LEN];

	if (!p->overran.how || p->overran.n != input.n ||
	    clock_mono_ms() - p->overran.at_ms > SAME_MS)
		return NULL;
	digest_sha256(input, digest);
	return memcmp(digest, p->overran.digest, sizeof(digest)) == 0
		   ? p->overran.how
		   : NULL;
}

/* A child, and a request to it that has what is to be dropped. */
static int
jq_begin(struct jq *j, struct err *e)
{
	unsigned life = j->proc.life;

	TRY(proc_start(&j->proc, e));
	if (j->proc.life != life) {
		buf_clear(&j->request);
		j->in_child = 0;
	}
	return OK;
}

/* OK, PROC_DIED or an error. */
static int
jq_ask(struct jq *j, struct err *e)
{
	int rc;

	if (j->request.failed) {
		/* It would not know the programs that we think it has. */
		proc_stop(&j->proc);
		rc = err_set(e, ERR_LIMIT, "too much for one request to jq");
	} else {
		rc = proc_ask(&j->proc, buf_str(&j->request), &j->answer, e);
	}
	buf_clear(&j->request);
	return rc;
}

static void
make_room(struct jq *j)
{
	struct program *oldest = NULL;

	for (size_t i = 0; i < j->n; i++) {
		struct program *p = j->programs[i];

		if (p->life == j->proc.life &&
		    (!oldest || p->used < oldest->used))
			oldest = p;
	}
	assert(oldest);
	leave_child(j, oldest);
}

static void
enter_child(struct jq *j, struct program *p)
{
	p->used = ++j->tick;
	if (p->life == j->proc.life)
		return;
	if (j->in_child == JQ_COMPILED_MAX)
		make_room(j);
	jq_put(j, JQ_OP_PROGRAM, p->id, p->text);
	p->life = j->proc.life;
	j->in_child++;
}

/* Takes the next answer off *rest. */
static int
next_answer(
    struct str *rest, enum jq_verdict *ret, struct str *ret_text, struct err *e)
{
	struct jq_ans a;

	if (rest->n >= sizeof(a)) {
		memcpy(&a, rest->p, sizeof(a));
		*rest = str_from(*rest, sizeof(a));
		if (a.bytes <= rest->n && a.verdict <= JQ_ERROR) {
			*ret = (enum jq_verdict)a.verdict;
			*ret_text = (struct str){rest->p, a.bytes};
			*rest = str_from(*rest, a.bytes);
			return OK;
		}
	}
	return err_set(e, ERR_AWAY, "jq's answer can't be understood");
}

/* Items `from` to `to` of a chunk. OK, PROC_DIED or an error. */
static int
attempt(
    struct jq *j, const struct chunk *c, size_t from, size_t to, struct err *e)
{
	struct str last = {NULL, 0}, rest;
	int rc;

	TRY(jq_begin(j, e));
	/* First of all, so that they are there also when one ends the child. */
	for (size_t i = from; i < to; i++)
		enter_child(j, get(j, c->items[c->at[i]].program));
	for (size_t i = from; i < to; i++) {
		const struct jq_item *it = &c->items[c->at[i]];

		if (i == from || it->input.p != last.p || it->input.n != last.n)
			jq_put(j, JQ_OP_INPUT, 0, it->input);
		last = it->input;
		jq_put(j, c->op, it->program, STR_EMPTY);
	}
	rc = jq_ask(j, e);
	if (rc != OK)
		return rc;
	rest = buf_str(&j->answer);
	for (size_t i = from; i < to; i++) {
		struct jq_said *said = &c->ret[c->at[i]];

		TRY(next_answer(&rest, &said->verdict, &said->why, e));
		if (c->op == JQ_OP_FILTER)
			said->why = arena_dup(j->whys, said->why);
	}
	return OK;
}

static void
blame(struct jq *j, struct program *p, struct str input)
{
	p->overran.how = j->proc.how;
	p->overran.at_ms = clock_mono_ms();
	p->overran.n = input.n;
	digest_sha256(input, p->overran.digest);
	proc_blamed(&j->proc);
}

/* So that whoever ends the child is known. */
static int
alone(struct jq *j, const struct chunk *c, size_t i, struct err *e)
{
	const struct jq_item *it = &c->items[c->at[i]];
	struct program *p = get(j, it->program);
	const char *how = overran(p, it->input);
	int rc = PROC_DIED;

	for (int tries = 0; tries < 2 && rc == PROC_DIED && !how; tries++) {
		rc = attempt(j, c, i, i + 1, e);
		if (rc == PROC_DIED && (j->proc.certain || tries > 0)) {
			blame(j, p, it->input);
			how = j->proc.how;
		}
	}
	if (!how)
		return rc;
	c->ret[c->at[i]] =
	    (struct jq_said){.verdict = JQ_OVERRAN, .why = str_of(how)};
	return OK;
}

static int
flush(struct jq *j, struct chunk *c, struct err *e)
{
	int rc = c->n > 1 ? attempt(j, c, 0, c->n, e) : PROC_DIED;

	for (size_t i = 0; rc == PROC_DIED && i < c->n; i++)
		TRY(alone(j, c, i, e));
	c->n = 0;
	c->bytes = 0;
	return rc == PROC_DIED ? OK : rc;
}

/* Its tree; NULL when it is no JSON. Kept for the next of the same input. */
static const struct json *
tree_of(struct jq *j, const struct jq_item *it)
{
	struct err e;

	if (it->input.p == j->parsed.p && it->input.n == j->parsed.n)
		return j->tree;
	arena_reset(j->scratch);
	j->tree = NULL;
	if (json_parse(j->scratch, it->input, &j->tree, &e) < 0)
		j->tree = NULL;
	j->parsed = it->input;
	return j->tree;
}

static struct jq_said
in_c(struct jq *j, const struct plain *plain, const struct jq_item *it)
{
	const struct json *tree = tree_of(j, it);
	struct jq_said said = {JQ_ERROR, STR("the event is no JSON")};

	if (!tree)
		return said;
	said.verdict = plain_run(plain, tree);
	said.why = said.verdict == JQ_ERROR
		       ? STR("it asks for a member of what is no object")
		       : STR_EMPTY;
	return said;
}

static int
jq_add(struct jq *j, struct chunk *c, size_t i, struct err *e)
{
	size_t bytes = c->items[i].input.n;

	if (bytes > JQ_CHUNK_BYTES) {
		c->ret[i] = (struct jq_said){
		    JQ_ERROR, STR("the event is too large for a program")};
		return OK;
	}
	if (c->n == JQ_CHUNK_MAX || c->bytes + bytes > JQ_CHUNK_BYTES)
		TRY(flush(j, c, e));
	c->at[c->n++] = i;
	if (c->n == 1 ||
	    c->items[i].input.p != c->items[c->at[c->n - 2]].input.p)
		c->bytes += bytes;
	return OK;
}

int
jq_filter(struct jq *j, const struct jq_item *items, size_t n,
    struct jq_said *ret, struct err *e)
{
	struct chunk c = {.op = JQ_OP_FILTER, .items = items, .ret = ret};

	arena_reset(j->whys);
	j->parsed = (struct str){NULL, 0}; /* another call's may be gone */
	for (size_t i = 0; i < n; i++) {
		const struct program *p = get(j, items[i].program);
		const char *how = overran(p, items[i].input);

		if (p->plain)
			ret[i] = in_c(j, p->plain, &items[i]);
		else if (how)
			ret[i] = (struct jq_said){JQ_OVERRAN, str_of(how)};
		else
			TRY(jq_add(j, &c, i, e));
	}
	return c.n > 0 ? flush(j, &c, e) : OK;
}

int
jq_render(struct jq *j, int program, struct str input, struct arena *a,
    struct str *ret, struct err *e)
{
	struct jq_item item = {.program = program, .input = input};
	struct jq_said said = {.verdict = JQ_ERROR};
	struct chunk c = {
	    .op = JQ_OP_RENDER, .items = &item, .ret = &said, .n = 1};

	if (input.n > JQ_CHUNK_BYTES)
		return err_set(e, ERR_INVALID, "the event is over %zu bytes",
		    JQ_CHUNK_BYTES);
	TRY(alone(j, &c, 0, e));
	if (said.verdict == JQ_OVERRAN)
		return err_set(e, ERR_LIMIT,
		    "the template was stopped: it %.*s", STR_ARG(said.why));
	if (said.verdict != JQ_TRUE)
		return err_set(e, ERR_INVALID, "the template failed: %.*s",
		    STR_ARG(said.why));
	*ret = arena_dup(a, said.why);
	return OK;
}

/*
 * jq says "jq: error: WHAT (Unix shell quoting issues?) at <top-level>, line
 * N:\nTEXT"; we say "line N: WHAT: TEXT".
 */
static int
refuse(struct str said, struct err *e)
{
	static const struct str HEAD = {"jq: error: ", 11};
	static const struct str SHELL = {" (Unix shell quoting issues?)", 29};
	static const char AT[] = " at <top-level>, line ";
	struct str what, line;
	const char *at;

	if (str_starts(said, HEAD))
		said = str_from(said, HEAD.n);
	at = memmem(said.p, said.n, AT, sizeof(AT) - 1);
	if (!at)
		return err_set(e, ERR_INVALID, "%.*s", STR_ARG(said));
	what = (struct str){said.p, (size_t)(at - said.p)};
	said = str_from(said, what.n + sizeof(AT) - 1);
	line = str_cut(&said, ':');
	said = str_trim(said);
	if (str_ends(what, SHELL))
		what.n -= SHELL.n;
	return err_set(e, ERR_INVALID, "line %.*s: %.*s: %.*s", STR_ARG(line),
	    STR_ARG(what), STR_ARG(said));
}

/* Twice at most. */
static int
check_in_child(struct jq *j, struct str program, struct err *e)
{
	int rc = PROC_DIED;
	enum jq_verdict v;
	struct str rest, text;

	for (int tries = 0; tries < 2 && rc == PROC_DIED; tries++) {
		TRY(jq_begin(j, e));
		jq_put(j, JQ_OP_CHECK, 0, program);
		rc = TRY(jq_ask(j, e));
		if (rc == PROC_DIED && j->proc.certain)
			break;
	}
	if (rc == PROC_DIED) {
		proc_blamed(&j->proc);
		return err_set(e, ERR_INVALID, "the program %s", j->proc.how);
	}
	rest = buf_str(&j->answer);
	TRY(next_answer(&rest, &v, &text, e));
	return v == JQ_TRUE ? OK : refuse(text, e);
}

int
jq_check(struct jq *j, struct str program, struct err *e)
{
	struct plain *plain = plain_parse(program);
	bool is_plain = plain != NULL;

	free(plain);
	TRY(jq_scan(program, e));
	return is_plain ? OK : check_in_child(j, program, e);
}
