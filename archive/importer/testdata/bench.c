/*
 * Writes an archive as BenchmarkImport does: records of 10 metrics with 50
 * instances each, values by handle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/import.h>

extern int pmiHighResWrite(__int64_t, int);

int
main(int argc, char **argv)
{
	static const int types[] = { PM_TYPE_U32, PM_TYPE_U64, PM_TYPE_DOUBLE, PM_TYPE_FLOAT, PM_TYPE_STRING };
	int records = atoi(argv[2]), m, i, r, n = 0, handle[500];
	char name[64], inst[64];

	pmiStart(argv[1], 0);
	pmiSetVersion(3);
	pmiSetHostname("h");
	pmiSetTimezone("UTC");
	for (i = 0; i < 50; i++) {
		snprintf(inst, sizeof(inst), "i%d", i);
		pmiAddInstance(pmiInDom(245, 1), inst, i);
	}
	for (m = 0; m < 10; m++) {
		snprintf(name, sizeof(name), "bench.m%d", m);
		pmiAddMetric(name, PM_ID_NULL, types[m % 5], pmiInDom(245, 1), PM_SEM_INSTANT, pmiUnits(0, 0, 0, 0, 0, 0));
		for (i = 0; i < 50; i++) {
			snprintf(inst, sizeof(inst), "i%d", i);
			handle[n++] = pmiGetHandle(name, inst);
		}
	}
	for (r = 0; r < records; r++) {
		for (i = 0; i < n; i++) {
			int sts = pmiPutValueHandle(handle[i], "1234567");
			if (sts < 0) {
				fprintf(stderr, "%s\n", pmiErrStr(sts));
				return 1;
			}
		}
		if (pmiHighResWrite(1000000 + r, 0) < 0)
			return 1;
	}
	return pmiEnd() < 0;
}
