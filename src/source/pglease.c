#include "source/pglease.h"

#include "base/log/log.h"
#include "source/limits.h"

/* The first half of the lock's number is "hiky". */
#define LOCK_TAKE                                                              \
	"SELECT pg_try_advisory_lock((1751739257::bigint << 32) |"             \
	" $1::regclass::oid::bigint)"
#define LOCK_HELD                                                              \
	"l.locktype = 'advisory' AND l.classid = 1751739257 AND"               \
	" l.objid = $1::regclass::oid AND l.objsubid = 1 AND l.granted AND"    \
	" l.database = (SELECT oid FROM pg_database WHERE datname ="           \
	" current_database())"
/* Its sessions, when nothing was heard of it for so long: their number. */
static const char END_SILENT[] =
    "SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a JOIN"
    " (SELECT s.pid, s.datid, s.usesysid, s.application_name FROM pg_locks l"
    " JOIN pg_stat_activity s ON s.pid = l.pid WHERE " LOCK_HELD
    " AND s.state_change < clock_timestamp() - interval '15 s') h ON"
    " a.pid = h.pid OR (a.datid = h.datid AND a.usesysid = h.usesysid AND"
    " a.application_name = h.application_name AND"
    " a.application_name LIKE 'hikyaku relay %')";
static_assert(OUTBOX_SILENT_MS == 15000, "as written above");
static_assert(
    OUTBOX_HOLD_MS < OUTBOX_SILENT_MS && 2 * OUTBOX_BEAT_MS < OUTBOX_HOLD_MS,
    "who lost its turn stops before another one begins");

int
pglease_open(
    struct pglease *l, const char *url, const bool *stop, struct err *e)
{
	uint64_t any;

	*l = (struct pglease){.beat_ms = 0};
	rand_bytes(&any, sizeof(any));
	(void)snprintf(l->name, sizeof(l->name), "hikyaku relay %016llx",
	    (unsigned long long)any);
	TRY(pgwire_open(&l->w, url, l->name, stop, e));
	l->w.answer_ms = OUTBOX_HOLD_MS;
	return OK;
}

void
pglease_close(struct pglease *l)
{
	pgwire_close(&l->w);
}

static int
end_silent(struct pglease *l, const char *table, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	TRY(pgwire_ask(&l->w, END_SILENT, table, &res, e));
	if (PQntuples(res) == 1 && PQgetvalue(res, 0, 0)[0] != '0')
		log_fmt(LOG_WARN, "relay was silent",
		    "the one that had %s said nothing for %d s: its %s sessions are ended",
		    table, OUTBOX_SILENT_MS / 1000, PQgetvalue(res, 0, 0));
	return OK;
}

int
pglease_take(struct pglease *l, const char *table, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;
	int64_t now = clock_boot_us() / US_PER_MS;

	TRY(pgwire_ask(&l->w, LOCK_TAKE, table, &res, e));
	if (PQntuples(res) == 1 && PQgetvalue(res, 0, 0)[0] == 't') {
		l->beat_ms = now;
		return 1;
	}
	TRY(end_silent(l, table, e));
	return 0;
}

int
pglease_keep(struct pglease *l, struct err *e)
{
	int64_t now = clock_boot_us() / US_PER_MS;

	if (now - l->beat_ms < OUTBOX_BEAT_MS)
		return OK;
	if (now - l->beat_ms >= OUTBOX_HOLD_MS)
		return err_set(e, ERR_AWAY,
		    "this relay could not say that it lives for %lld s: it has lost its turn",
		    (long long)((now - l->beat_ms) / 1000));
	TRY(pgwire_do(&l->w, "SELECT 1", NULL, e));
	l->beat_ms = now;
	return OK;
}
