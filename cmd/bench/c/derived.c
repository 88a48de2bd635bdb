/*
 * Fetches metrics as fast as it can, for the time that is given or to the end
 * of an archive, and prints how many fetches there were and how many seconds
 * they took.
 *
 *	derived host|archive SOURCE SECONDS NAME...
 */
#include <pcp/pmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void
check(const char *what, int sts)
{
    if (sts < 0) {
	fprintf(stderr, "%s: %s\n", what, pmErrStr(sts));
	exit(1);
    }
}

int
main(int argc, char **argv)
{
    int n = argc - 4, sts;
    long fetches = 0;
    double start, seconds;
    pmID *ids;
    pmResult *result;

    if (n < 1)
	return 2;
    seconds = atof(argv[3]);
    check("pmNewContext", pmNewContext(strcmp(argv[1], "host") == 0 ? PM_CONTEXT_HOST : PM_CONTEXT_ARCHIVE, argv[2]));
    ids = calloc(n, sizeof(*ids));
    sts = pmLookupName(n, (void *)&argv[4], ids);
    check("pmLookupName", sts);
    if (sts != n) {
	fprintf(stderr, "%d of %d metrics\n", sts, n);
	return 1;
    }
    start = now();
    while (now() - start < seconds) {
	sts = pmFetch(n, ids, &result);
	if (sts == PM_ERR_EOL)
	    break;
	check("pmFetch", sts);
	pmFreeResult(result);
	fetches++;
    }
    printf("%ld %.9f\n", fetches, now() - start);
    return 0;
}
