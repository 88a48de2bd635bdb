/*
 * mmvbench times libpcp_mmv.
 *
 *   mmvbench update N     N updates of each kind by one thread, and by two that
 *                         update the same value
 *   mmvbench create       10,000 values, as 1 metric of 10,000 instances and as
 *                         1,000 metrics of 10
 *
 * Each line of output is: name, threads, nanoseconds (create: for all), and
 * the percentage of updates that were lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static const char *file;

static void *create(int metrics, int instances)
{
    mmv_registry_t *reg = mmv_stats_registry(file, 321, MMV_FLAG_PROCESS);
    pmUnits units = MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE);
    char name[32];
    void *handle;
    int i;

    if (instances)
	mmv_stats_add_indom(reg, 1, "instances", NULL);
    for (i = 0; i < instances; i++) {
	snprintf(name, sizeof name, "instance%d", i);
	mmv_stats_add_instance(reg, 1, i, strdup(name));
    }
    for (i = 0; i < metrics; i++) {
	snprintf(name, sizeof name, "metric%d", i);
	mmv_stats_add_metric(reg, strdup(name), i, MMV_TYPE_U64, MMV_SEM_COUNTER, units, instances ? 1 : 0, NULL, NULL);
    }
    if ((handle = mmv_stats_start(reg)) == NULL) {
	perror(file);
	exit(1);
    }
    return handle;
}

static void *handle;
static pmAtomValue *value;
static const char *instance;
static long n;

static void inc_value(void) { for (long i = 0; i < n; i++) mmv_inc_value(handle, value, 1); }
static void inc(void) { for (long i = 0; i < n; i++) mmv_inc(handle, value); }
static void by_name(void) { for (long i = 0; i < n; i++) mmv_stats_inc(handle, "metric0", instance); }
static void set_value(void) { for (long i = 0; i < n; i++) mmv_set_value(handle, value, i); }

static pthread_barrier_t barrier;

static void *thread(void *f)
{
    pthread_barrier_wait(&barrier);
    ((void (*)(void))f)();
    return NULL;
}

static void measure(const char *name, void (*f)(void), long count)
{
    double t;
    pthread_t a, b;

    n = count;
    t = now();
    f();
    printf("%s\t1\t%.3f\t0\n", name, (now() - t) / n);

    value->ull = 0;
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_create(&a, NULL, thread, f);
    pthread_create(&b, NULL, thread, f);
    t = now();
    pthread_barrier_wait(&barrier);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    t = now() - t;
    printf("%s\t2\t%.3f\t%.1f\n", name, t / (2 * n), f == set_value ? 0 : 100.0 * (2 * n - value->ull) / (2 * n));
}

int main(int argc, char **argv)
{
    char path[64];
    double t;

    snprintf(path, sizeof path, "mmvbench%d", (int)getpid());
    file = path;
    if (argc == 3 && strcmp(argv[1], "update") == 0) {
	n = atol(argv[2]);
	handle = create(100, 0);
	value = mmv_lookup_value_desc(handle, "metric0", NULL);
	measure("mmv_inc_value", inc_value, n);
	measure("mmv_inc", inc, n);
	measure("mmv_set_value", set_value, n);
	mmv_stats_stop(file, handle);
	handle = create(100, 100);
	instance = "instance50";
	value = mmv_lookup_value_desc(handle, "metric0", instance);
	measure("mmv_inc of an instance", inc, n);
	measure("mmv_stats_inc", by_name, n / 100);
	mmv_stats_stop(file, handle);
	return 0;
    }
    if (argc == 2 && strcmp(argv[1], "create") == 0) {
	int sizes[][2] = { { 1, 10000 }, { 1000, 10 } };
	for (int i = 0; i < 2; i++) {
	    t = now();
	    handle = create(sizes[i][0], sizes[i][1]);
	    printf("%d x %d\t1\t%.0f\t0\n", sizes[i][0], sizes[i][1], now() - t);
	    mmv_stats_stop(file, handle);
	}
	return 0;
    }
    fprintf(stderr, "Usage: mmvbench update N | create\n");
    return 1;
}
