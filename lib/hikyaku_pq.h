/*
 * hikyaku_pq.h - hk_consume() over a PostgreSQL database of your own.
 *
 * Link with -lhikyaku-pq -lhikyaku -lpq. The connection is yours: the adapter
 * closes none, and your handler uses it inside the transaction that is open. A
 * connection that was lost is opened anew (PQreset) when the next event begins;
 * what it had prepared or set is gone then.
 *
 * The tables and functions are those of postgres.sql; hk_pq_setup() makes them,
 * in the schema that the connection's search_path begins with.
 */
#ifndef HIKYAKU_PQ_H
#define HIKYAKU_PQ_H

#include <hikyaku.h>
#include <libpq-fe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes tables and functions, unless they are there. */
HK_API int hk_pq_setup(PGconn *conn, struct hk_error *e) HK_CHECK;
/* ret->conn is the connection. One adapter may serve one thread. */
HK_API int hk_pq_open(
    PGconn *conn, struct hk_db **ret, struct hk_error *e) HK_CHECK;
HK_API void hk_pq_close(struct hk_db *db); /* not the connection */
/*
 * Inside a handler: is this the first time for this key? (event id, action),
 * (version, cause).
 */
HK_API int hk_pq_once(struct hk_db *db, const char *tenant_id, const char *key,
    int *ret_first, struct hk_error *e) HK_CHECK;
/* Forgets up to `most` ids older than age_s; *ret is how many went. */
HK_API int hk_pq_prune(struct hk_db *db, int64_t age_s, int most, int64_t *ret,
    struct hk_error *e) HK_CHECK;

#ifdef __cplusplus
}
#endif

#endif
