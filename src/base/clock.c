#include "base/clock.h"

static int64_t
read_us(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

int64_t
clock_now_us(void)
{
	return read_us(CLOCK_REALTIME);
}

int64_t
clock_mono_ms(void)
{
	return read_us(CLOCK_MONOTONIC) / US_PER_MS;
}

int64_t
clock_boot_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

int64_t
clock_mono_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

void
clock_sleep_us(long us)
{
	const struct timespec ts = {
	    .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	(void)nanosleep(&ts, NULL);
}
