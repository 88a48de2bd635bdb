/*
 * What the C library makes of a command line: the reference of TestOptionsOfC.
 * FLAGS in the environment has letters for the flags of the options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

static pmLongOptions table[] = {
    PMAPI_GENERAL_OPTIONS,
    PMAPI_OPTIONS_HEADER("Sources"),
    PMOPT_ARCHIVE_LIST,
    PMOPT_ARCHIVE_FOLIO,
    PMOPT_HOST_LIST,
    PMOPT_HOSTSFILE,
    PMOPT_LOCALPMDA,
    PMOPT_SPECLOCAL,
    PMOPT_UNIQNAMES,
    PMOPT_CONTAINER,
    PMOPT_DERIVED,
    PMAPI_OPTIONS_HEADER("Its own"),
    { "quiet", 0, 'q', 0, "print less" },
    { "width", 1, 'w', "N", "columns of the report" },
    { "", 0, 'x', 0, "short only" },
    { "colour", 1, 0, "NAME", "long only" },
    PMAPI_OPTIONS_TEXT("  and a line of text"),
    PMAPI_OPTIONS_END
};

static void
list(const char *what, int n, char **names)
{
    int i;

    printf("%s", what);
    for (i = 0; i < n; i++)
	printf(" [%s]", names[i]);
    putchar('\n');
}

static void
stamp(const char *what, struct timeval *t)
{
    if (t->tv_sec == PM_MAX_TIME_T || t->tv_sec == 0x7fffffff)
	printf("%s never\n", what);
    else
	printf("%s %lld.%06d\n", what, (long long)t->tv_sec, (int)t->tv_usec);
}

int
main(int argc, char **argv)
{
    pmOptions opts;
    const char *flags = getenv("FLAGS");
    char text[64];
    time_t noon = 1709640000;
    int c, sts, ctx, first;

    memset(&opts, 0, sizeof opts);
    opts.short_options = PMAPI_OPTIONS "H:LK:N:qw:x";
    opts.long_options = table;
    opts.short_usage = "[options] word ...";
    opts.flags = PM_OPTFLAG_STDOUT_TZ | PM_OPTFLAG_BOUNDARIES;
    if (flags && strchr(flags, 'm')) opts.flags |= PM_OPTFLAG_MULTI;
    if (flags && strchr(flags, 'x')) opts.flags |= PM_OPTFLAG_MIXED;
    if (flags && strchr(flags, 'p')) opts.flags |= PM_OPTFLAG_POSIX;
    if (flags && strchr(flags, 'e')) opts.flags |= PM_OPTFLAG_ENV_ONLY;

    while ((c = pmGetOptions(argc, argv, &opts)) != EOF) {
	switch (c) {
	case 'q':
	    printf("quiet\n");
	    break;
	case 'w':
	    if (atoi(opts.optarg) <= 0) {
		pmprintf("%s: -w requires a positive argument\n", pmGetProgname());
		opts.errors++;
	    }
	    printf("width %s\n", opts.optarg);
	    break;
	case 'x':
	    printf("x\n");
	    break;
	default:
	    if (c == 0)
		printf("colour %s\n", opts.optarg);
	    break;
	}
    }
    if (opts.errors || (opts.flags & PM_OPTFLAG_EXIT)) {
	sts = !(opts.flags & PM_OPTFLAG_EXIT);
	pmUsageMessage(&opts);
	return sts;
    }
    list("hosts", opts.nhosts, opts.hosts);
    list("archives", opts.narchives, opts.archives);
    first = opts.optind > 0 ? opts.optind : 1;	/* 0: nothing was read */
    list("words", argc - first, argv + first);
    printf("local %d gui %d port %d samples %d interval %d.%06d\n", opts.Lflag, opts.guiflag, opts.guiport,
	opts.samples, (int)opts.interval.tv_sec, (int)opts.interval.tv_usec);
    fflush(stdout);

    if (opts.context == PM_CONTEXT_ARCHIVE) {
	if ((ctx = pmNewContext(PM_CONTEXT_ARCHIVE, opts.archives[0])) < 0) {
	    fprintf(stderr, "%s: Cannot open archive \"%s\": %s\n", pmGetProgname(), opts.archives[0], pmErrStr(ctx));
	    return 1;
	}
    }
    else if (opts.context == PM_CONTEXT_LOCAL) {
	if ((ctx = pmNewContext(PM_CONTEXT_LOCAL, NULL)) < 0) {
	    fprintf(stderr, "%s: Cannot make standalone connection on localhost: %s\n", pmGetProgname(), pmErrStr(ctx));
	    return 1;
	}
    }
    else {
	const char *host = opts.nhosts > 0 ? opts.hosts[0] : "local:";
	if ((ctx = pmNewContext(PM_CONTEXT_HOST, host)) < 0) {
	    fprintf(stderr, "%s: Cannot connect to PMCD on host \"%s\": %s\n", pmGetProgname(), host, pmErrStr(ctx));
	    return 1;
	}
    }
    if (pmGetContextOptions(ctx, &opts) < 0) {
	pmflush();
	return 1;
    }
    if (opts.context == PM_CONTEXT_ARCHIVE) {
	stamp("start", &opts.start);
	stamp("finish", &opts.finish);
	stamp("origin", &opts.origin);
    }
    printf("noon is %s", pmCtime(&noon, text));
    return 0;
}
