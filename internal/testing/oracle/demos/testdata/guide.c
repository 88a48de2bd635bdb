/*
 * The fragments of the Programmer's Guide as a program, to compare the library's answers from
 * both collectors, and those of examples/guide:
 *
 *	guide freemem HOST METRIC
 *	guide poll HOST SAMPLES METRIC...
 *	guide events HOST METRIC
 *	guide sequence ARCHIVE METRIC
 *	guide backwards ARCHIVE METRIC
 *	guide table2archive ARCHIVE <TABLE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/import.h>

static int try(const char *what, int sts)
{
	if (sts < 0) {
		fprintf(stderr, "%s: %s\n", what, pmErrStr(sts));
		exit(1);
	}
	return sts;
}

static int freemem(const char *host, const char *metric)
{
	pmID id;
	pmDesc desc;
	pmResult *res;
	int sts;

	if ((sts = pmNewContext(PM_CONTEXT_HOST, host)) < 0) {
		fprintf(stderr, "Error connecting to pmcd on %s: %s\n", host, pmErrStr(sts));
		return 1;
	}
	if ((sts = pmLookupName(1, &metric, &id)) < 0) {
		fprintf(stderr, "Error looking up %s: %s\n", metric, pmErrStr(sts));
		return 1;
	}
	if ((sts = pmLookupDesc(id, &desc)) < 0) {
		fprintf(stderr, "Error getting descriptor for %s:%s: %s\n", host, metric, pmErrStr(sts));
		return 1;
	}
	if ((sts = pmFetch(1, &id, &res)) >= 0)
		sts = res->vset[0]->numval;
	if (sts < 0) {
		fprintf(stderr, "Error fetching %s:%s: %s\n", host, metric, pmErrStr(sts));
		return 1;
	}
	printf("%s:%s = ", host, metric);
	if (sts == 0) {
		printf("(no value)\n");
		return 0;
	}
	pmPrintValue(stdout, res->vset[0]->valfmt, desc.type, &res->vset[0]->vlist[0], 5);
	printf(" %s\n", pmUnitsStr(&desc.units));
	return 0;
}

static int poll(const char *host, int samples, int n, const char **metrics)
{
	pmID ids[20];
	pmDesc descs[20];
	pmResult *res;
	int i, j;

	if (n > 20)
		return 2;
	try("pmNewContext", pmNewContext(PM_CONTEXT_HOST, host));
	try("pmLookupName", pmLookupName(n, metrics, ids));
	for (i = 0; i < n; i++)
		try("pmLookupDesc", pmLookupDesc(ids[i], &descs[i]));
	while (samples-- > 0) {
		time_t now;

		try("pmFetch", pmFetch(n, ids, &res));
		now = res->timestamp.tv_sec;
		printf("\n@ %s", ctime(&now));
		for (i = 0; i < res->numpmid; i++) {
			pmValueSet *set = res->vset[i];

			printf("PMID: %s", pmIDStr(set->pmid));
			for (j = 0; j < set->numval; j++) {
				printf(" [%d]", set->vlist[j].inst);
				pmPrintValue(stdout, set->valfmt, descs[i].type, &set->vlist[j], 8);
			}
			printf("\n");
		}
		pmFreeResult(res);
		usleep(10000);
	}
	return 0;
}

static void record(pmResult *r)
{
	static const char *names[] = {"event.flags", "event.missed"};
	pmID own[2];
	int p, flags = 0, missed = -1;

	try("pmLookupName", pmLookupName(2, names, own));
	for (p = 0; p < r->numpmid; p++) {
		if (r->vset[p]->pmid == own[0])
			flags = r->vset[p]->vlist[0].value.lval;
		else if (r->vset[p]->pmid == own[1])
			missed = r->vset[p]->vlist[0].value.lval;
	}
	pmPrintStamp(stdout, &r->timestamp);
	if (missed >= 0) {
		printf(" ==> %d missed event records\n", missed);
		return;
	}
	printf(" flags 0x%x (%s)\n", flags, pmEventFlagsStr(flags));
	for (p = 0; p < r->numpmid; p++) {
		pmValueSet *set = r->vset[p];
		pmDesc desc;
		char *name;

		if (set->pmid == own[0])
			continue;
		try("pmNameID", pmNameID(set->pmid, &name));
		try("pmLookupDesc", pmLookupDesc(set->pmid, &desc));
		printf("    %s ", name);
		pmPrintValue(stdout, set->valfmt, desc.type, &set->vlist[0], 1);
		printf("\n");
		free(name);
	}
}

static int events(const char *host, const char *metric)
{
	pmID id;
	pmResult *res, **records;
	int i, r, n;

	try("pmNewContext", pmNewContext(PM_CONTEXT_HOST, host));
	try("pmLookupName", pmLookupName(1, &metric, &id));
	try("pmFetch", pmFetch(1, &id, &res));
	try(metric, res->vset[0]->numval);
	for (i = 0; i < res->vset[0]->numval; i++) {
		n = try("pmUnpackEventRecords", pmUnpackEventRecords(res->vset[0], i, &records));
		printf("instance %d: %d event records\n", res->vset[0]->vlist[i].inst, n);
		for (r = 0; r < n; r++)
			record(records[r]);
		pmFreeEventResult(records);
	}
	return 0;
}

/* step is 0 for the records as they are, or an interval in milliseconds from the end on. */
static int replay(const char *archive, const char *metric, int step)
{
	pmID id;
	pmDesc desc;
	pmResult *res;
	struct timeval end;
	int j, sts;

	try("pmNewContext", pmNewContext(PM_CONTEXT_ARCHIVE, archive));
	try("pmLookupName", pmLookupName(1, &metric, &id));
	try("pmLookupDesc", pmLookupDesc(id, &desc));
	if (step) {
		try("pmGetArchiveEnd", pmGetArchiveEnd(&end));
		try("pmSetMode", pmSetMode(PM_MODE_INTERP, &end, step));
	}
	while ((sts = pmFetch(1, &id, &res)) >= 0) {
		pmPrintStamp(stdout, &res->timestamp);
		for (j = 0; j < res->vset[0]->numval; j++) {
			printf(" ");
			pmPrintValue(stdout, res->vset[0]->valfmt, desc.type, &res->vset[0]->vlist[j], 1);
		}
		printf("\n");
		pmFreeResult(res);
	}
	if (sts != PM_ERR_EOL)
		try("pmFetch", sts);
	return 0;
}

static void metric(const char *name, int cluster, int item, int type, int serial, int sem, pmUnits units)
{
	pmInDom indom = serial < 0 ? PM_INDOM_NULL : pmiInDom(60, serial);

	try(name, pmiAddMetric(name, pmiID(60, cluster, item), type, indom, sem, units));
}

static int table2archive(const char *archive)
{
	static const char *columns[][2] = {
		{"kernel.all.load", "1 minute"}, {"kernel.all.load", "15 minute"},
		{"kernel.percpu.cpu.user", "cpu0"}, {"kernel.percpu.cpu.user", "cpu1"},
		{"kernel.percpu.cpu.sys", "cpu0"}, {"kernel.percpu.cpu.sys", "cpu1"},
		{"mem.freemem", NULL}, {"disk.all.total", NULL},
	};
	pmUnits none = pmiUnits(0, 0, 0, 0, 0, 0), msec = pmiUnits(0, 1, 0, 0, PM_TIME_MSEC, 0);
	char word[64];
	int i, sec;

	try("pmiStart", pmiStart(archive, 0));
	try("pmiSetVersion", pmiSetVersion(2));
	try("pmiSetHostname", pmiSetHostname("shop.example"));
	try("pmiSetTimezone", pmiSetTimezone("UTC"));
	metric("hinv.ncpu", 0, 32, PM_TYPE_U32, -1, PM_SEM_DISCRETE, none);
	metric("kernel.all.load", 2, 0, PM_TYPE_FLOAT, 2, PM_SEM_INSTANT, none);
	metric("kernel.percpu.cpu.user", 0, 0, PM_TYPE_U64, 0, PM_SEM_COUNTER, msec);
	metric("kernel.percpu.cpu.sys", 0, 2, PM_TYPE_U64, 0, PM_SEM_COUNTER, msec);
	metric("mem.freemem", 1, 10, PM_TYPE_U64, -1, PM_SEM_INSTANT, pmiUnits(1, 0, 0, PM_SPACE_KBYTE, 0, 0));
	metric("disk.all.total", 0, 29, PM_TYPE_U64, -1, PM_SEM_COUNTER, pmiUnits(0, 0, 1, 0, 0, PM_COUNT_ONE));
	try("1 minute", pmiAddInstance(pmiInDom(60, 2), "1 minute", 1));
	try("15 minute", pmiAddInstance(pmiInDom(60, 2), "15 minute", 15));
	try("cpu0", pmiAddInstance(pmiInDom(60, 0), "cpu0", 0));
	try("cpu1", pmiAddInstance(pmiInDom(60, 0), "cpu1", 1));
	try("hinv.ncpu", pmiPutValue("hinv.ncpu", NULL, "2"));
	while (scanf("%d", &sec) == 1) {
		for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
			if (scanf("%63s", word) != 1)
				return 2;
			try(columns[i][0], pmiPutValue(columns[i][0], columns[i][1], word));
		}
		try("pmiWrite", pmiWrite(sec, 0));
	}
	try("pmiEnd", pmiEnd());
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[1] : "";

	setlinebuf(stdout);
	if (argc == 4 && strcmp(name, "freemem") == 0)
		return freemem(argv[2], argv[3]);
	if (argc > 4 && strcmp(name, "poll") == 0)
		return poll(argv[2], atoi(argv[3]), argc - 4, (const char **)argv + 4);
	if (argc == 4 && strcmp(name, "events") == 0)
		return events(argv[2], argv[3]);
	if (argc == 4 && strcmp(name, "sequence") == 0)
		return replay(argv[2], argv[3], 0);
	if (argc == 4 && strcmp(name, "backwards") == 0)
		return replay(argv[2], argv[3], -10000);
	if (argc == 3 && strcmp(name, "table2archive") == 0)
		return table2archive(argv[2]);
	fprintf(stderr, "guide: which program?\n");
	return 2;
}
