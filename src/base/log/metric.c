#include "base/log/metric.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/version.h"

#define BOUNDS_MAX 15
#define STATUS_MIN 100
#define STATUS_MAX 599

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM, KIND_STATUSES };

static const struct {
	enum kind kind;
	const char *name, *help;
	double scale;
	int64_t bounds[BOUNDS_MAX + 1]; /* ended by 0 */
} TABLE[] = {
#define METRIC(id, kind, name, help, scale, ...)                               \
	{KIND_##kind, name, help, scale, {__VA_ARGS__}},
#include "metrics.tbl"
#undef METRIC
};

/* One more would leave no room for the 0 at the end. */
#define METRIC(id, kind, name, help, scale, ...)                               \
	_Static_assert(COUNT_OF(((int64_t[]){__VA_ARGS__})) <= BOUNDS_MAX,     \
	    name " has too many bounds");
#include "metrics.tbl"
#undef METRIC

static struct {
	_Atomic int64_t value; /* of a histogram: how many observations */
	_Atomic int64_t sum;
	_Atomic int64_t buckets[BOUNDS_MAX];
} values[METRIC_COUNT];

/* There is one metric of this kind. */
static _Atomic int64_t statuses[STATUS_MAX - STATUS_MIN + 1];

/* With a label; one that is counted in `sets` never changes its label. */
static struct {
	char label[96];
	struct {
		_Atomic int64_t value;
		_Atomic bool shown;
	} of[METRIC_COUNT];
} labelled[METRIC_SETS_MAX];
static _Atomic int sets;

static void
metric_more(_Atomic int64_t *v, int64_t n)
{
	(void)atomic_fetch_add_explicit(v, n, memory_order_relaxed);
}

static int64_t
metric_read(const _Atomic int64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

void
metric_add(enum metric m, int64_t n)
{
	metric_more(&values[m].value, n);
}

void
metric_set(enum metric m, int64_t v)
{
	atomic_store_explicit(&values[m].value, v, memory_order_relaxed);
}

int
metric_set_of(const char *key, const char *value)
{
	int n = atomic_load(&sets);
	char label[sizeof(labelled[0].label)];

	(void)snprintf(label, sizeof(label), "%s=\"%s\"", key, value);
	for (int i = 0; i < n; i++)
		if (strcmp(labelled[i].label, label) == 0)
			return i + 1;
	if (n == METRIC_SETS_MAX)
		return ERR_LIMIT;
	memcpy(labelled[n].label, label, sizeof(label));
	atomic_store(&sets, n + 1);
	return n + 1;
}

void
metric_add_in(int set, enum metric m, int64_t n)
{
	if (set == 0) {
		metric_add(m, n);
		return;
	}
	metric_more(&labelled[set - 1].of[m].value, n);
	atomic_store(&labelled[set - 1].of[m].shown, true);
}

void
metric_set_in(int set, enum metric m, int64_t v)
{
	if (set == 0) {
		metric_set(m, v);
		return;
	}
	atomic_store(&labelled[set - 1].of[m].value, v);
	atomic_store(&labelled[set - 1].of[m].shown, true);
}

void
metric_observe(enum metric m, int64_t v)
{
	for (int i = 0; TABLE[m].bounds[i]; i++)
		if (v <= TABLE[m].bounds[i]) {
			metric_more(&values[m].buckets[i], 1);
			break;
		}
	metric_more(&values[m].sum, v);
	metric_more(&values[m].value, 1);
}

void
metric_status(enum metric m, int status)
{
	if (status < STATUS_MIN || status > STATUS_MAX)
		return;
	metric_more(&values[m].value, 1);
	metric_more(&statuses[status - STATUS_MIN], 1);
}

int64_t
metric_value(enum metric m)
{
	return metric_read(&values[m].value);
}

static void
head(struct buf *b, const char *name, const char *help, const char *type)
{
	/* Names that others have fixed end as only parts of histograms may. */
	if (str_ends(str_of(name), STR("_count")))
		type = "untyped";
	buf_fmt(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
histogram(struct buf *b, size_t m)
{
	const char *name = TABLE[m].name;
	int64_t count = metric_read(&values[m].value), below = 0;

	for (int i = 0; TABLE[m].bounds[i]; i++) {
		below += metric_read(&values[m].buckets[i]);
		/* Read after the count: never show more in a bucket. */
		buf_fmt(b, "%s_bucket{le=\"%g\"} %lld\n", name,
		    (double)TABLE[m].bounds[i] / TABLE[m].scale,
		    (long long)(below < count ? below : count));
	}
	buf_fmt(b, "%s_bucket{le=\"+Inf\"} %lld\n%s_sum %.6f\n%s_count %lld\n",
	    name, (long long)count, name,
	    (double)metric_read(&values[m].sum) / TABLE[m].scale, name,
	    (long long)count);
}

static void
by_status(struct buf *b, size_t m)
{
	for (int i = 0; i <= STATUS_MAX - STATUS_MIN; i++)
		if (metric_read(&statuses[i]) > 0)
			buf_fmt(b, "%s{status_code=\"%d\"} %lld\n",
			    TABLE[m].name, STATUS_MIN + i,
			    (long long)metric_read(&statuses[i]));
}

static void
by_label(struct buf *b, size_t m)
{
	for (int i = 0; i < atomic_load(&sets); i++)
		if (atomic_load(&labelled[i].of[m].shown))
			buf_fmt(b, "%s{%s} %lld\n", TABLE[m].name,
			    labelled[i].label,
			    (long long)metric_read(&labelled[i].of[m].value));
}

/* Resident bytes: the second number of /proc/self/statm, in pages. */
static int64_t
resident(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	struct str s = {text, n > 0 ? (size_t)n : 0};
	int64_t pages = 0;

	if (fd >= 0)
		(void)close(fd);
	(void)str_cut(&s, ' ');
	(void)str_int(str_cut(&s, ' '), &pages);
	return pages * sysconf(_SC_PAGESIZE);
}

static int
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -3; /* ".", ".." and the directory itself */

	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n < 0 ? 0 : n;
}

static int64_t started_us;

__attribute__((constructor)) static void
note_start(void)
{
	started_us = clock_now_us();
}

static void
process(struct buf *b)
{
	struct rusage ru = {0};

	(void)getrusage(RUSAGE_SELF, &ru);
	head(b, "process_cpu_seconds_total", "CPU time used.", "counter");
	buf_fmt(b, "process_cpu_seconds_total %.6f\n",
	    (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);
	head(b, "process_resident_memory_bytes", "Memory in use.", "gauge");
	buf_fmt(
	    b, "process_resident_memory_bytes %lld\n", (long long)resident());
	head(b, "process_open_fds", "Open files.", "gauge");
	buf_fmt(b, "process_open_fds %d\n", open_fds());
	head(b, "process_start_time_seconds", "When it started.", "gauge");
	buf_fmt(
	    b, "process_start_time_seconds %.3f\n", (double)started_us / 1e6);
	head(b, "hikyaku_build_info", "The running version.", "gauge");
	buf_fmt(b, "hikyaku_build_info{version=\"%s\"} 1\n", HIKYAKU_VERSION);
}

void
metric_write(struct buf *b)
{
	static const char *const TYPES[] = {
	    "counter", "gauge", "histogram", "counter"};

	for (size_t m = 0; m < COUNT_OF(TABLE); m++) {
		head(b, TABLE[m].name, TABLE[m].help, TYPES[TABLE[m].kind]);
		if (TABLE[m].kind == KIND_HISTOGRAM)
			histogram(b, m);
		else if (TABLE[m].kind == KIND_STATUSES)
			by_status(b, m);
		else
			buf_fmt(b, "%s %lld\n", TABLE[m].name,
			    (long long)metric_read(&values[m].value));
		by_label(b, m);
	}
	process(b);
}
