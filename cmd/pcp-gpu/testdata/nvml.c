/* A library with the functions of NVML that pcp-gpu calls, for its tests. The file that NVML_CARDS names has a word for each
 * card: ok, lost (it gives no handle), bare (it supports nothing), or many (with 100 processes); or "unloaded" alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 3
#endif

static char cards[64][16];
static unsigned int count;

static int state(void)
{
	const char *path = getenv("NVML_CARDS");
	FILE *f = path ? fopen(path, "r") : NULL;

	count = 0;
	if (!f)
		return 9;
	while (count < 64 && fscanf(f, "%15s", cards[count]) == 1)
		count++;
	fclose(f);
	return count == 1 && !strcmp(cards[0], "unloaded") ? 9 : 0;
}

static unsigned int of(void *device) { return (unsigned int)((char *)device - (char *)0) - 1000; }
static int bare(void *device) { return !strcmp(cards[of(device)], "bare"); }

int nvmlInit(void) { return state(); }
int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetCount(unsigned int *n)
{
	int s = state();

	*n = count;
	return s;
}

int nvmlDeviceGetHandleByIndex(unsigned int i, void **device)
{
	if (i >= count)
		return 2;
	if (!strcmp(cards[i], "lost"))
		return 15;
	*device = (char *)0 + 1000 + i;
	return 0;
}

int nvmlDeviceGetName(void *d, char *s, unsigned int n) { snprintf(s, n, "Fake %u", of(d)); return 0; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned int n) { snprintf(s, n, "GPU-%u", of(d)); return 0; }

static int pci(void *d, char *s, int more)
{
	memset(s, 0xff, more ? 68 : 36);
	snprintf(s, 16, "0000:%02X:00.0", of(d));
	if (more)
		snprintf(s + 36, 32, "00000000:%02X:00.0", of(d));
	return 0;
}

#if VERSION >= 3
int nvmlDeviceGetPciInfo_v3(void *d, char *s) { return pci(d, s, 1); }
#else
int nvmlDeviceGetPciInfo(void *d, char *s) { return pci(d, s, 0); }
#endif

#define NUMBER(name, value) \
	int name(void *d, unsigned int *v) { if (bare(d)) return 3; *v = (value); return 0; }

NUMBER(nvmlDeviceGetFanSpeed, 30 + of(d))
NUMBER(nvmlDeviceGetPerformanceState, 2)
NUMBER(nvmlDeviceGetPowerUsage, 70000 + of(d))

int nvmlDeviceGetTemperature(void *d, int sensor, unsigned int *v)
{
	if (bare(d))
		return 3;
	*v = sensor == 0 ? 40 + of(d) : 0;
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *d, unsigned int *v)
{
	if (bare(d))
		return 3;
	v[0] = 10 + of(d);
	v[1] = 5;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *v)
{
	if (bare(d))
		return 3;
	v[0] = 80ull << 30;
	v[1] = 79ull << 30;
	v[2] = 1ull << 30;
	return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *v)
{
	if (bare(d))
		return 3;
	*v = 1ull << 40;
	return 0;
}

#if VERSION >= 2
struct process { unsigned int pid; unsigned long long memory; unsigned int gpu, compute; };
#define COMPUTE nvmlDeviceGetComputeRunningProcesses_v2
#define GRAPHICS nvmlDeviceGetGraphicsRunningProcesses_v2
#else
struct process { unsigned int pid; unsigned long long memory; };
#define COMPUTE nvmlDeviceGetComputeRunningProcesses
#define GRAPHICS nvmlDeviceGetGraphicsRunningProcesses
#endif

static int list(unsigned int *n, struct process *p, unsigned int have, unsigned int first)
{
	unsigned int i;

	if (*n < have || (have && !p)) {
		*n = have;
		return 7;
	}
	for (i = 0; i < have; i++) {
		memset(&p[i], 0xee, sizeof p[i]);
		p[i].pid = first + i;
		p[i].memory = i == 1 ? ~0ull : 1000 * (i + 1);
	}
	*n = have;
	return 0;
}

int COMPUTE(void *d, unsigned int *n, struct process *p)
{
	if (bare(d))
		return 3;
	return list(n, p, strcmp(cards[of(d)], "many") ? 2 : 100, 70);
}

int GRAPHICS(void *d, unsigned int *n, struct process *p)
{
	if (bare(d))
		return 3;
	return list(n, p, of(d) == 0, 70);
}

struct accounting { unsigned int gpu, memory; unsigned long long most, time, start; unsigned int running, reserved[5]; };

int nvmlDeviceGetAccountingStats(void *d, unsigned int pid, struct accounting *a)
{
	if (of(d) != 0 || pid != 70)
		return 3;
	memset(a, 0, sizeof *a);
	a->gpu = 33;
	a->memory = 11;
	a->time = 9000;
	a->running = 1;
	return 0;
}

struct sample { unsigned int pid; unsigned long long stamp; unsigned int sm, memory, enc, dec; };

int nvmlDeviceGetProcessUtilization(void *d, struct sample *s, unsigned int *n, unsigned long long since)
{
	if (bare(d) || since)
		return 3;
	if (!s || *n < 3) {
		*n = 3;
		return 7;
	}
	*n = 3;
	s[0] = (struct sample){70, 5, 1, 1, 0, 0};
	s[1] = (struct sample){71, 9, 44, 22, 0, 0};
	s[2] = (struct sample){71, 8, 2, 2, 0, 0};
	return 0;
}
