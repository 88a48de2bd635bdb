/*
 * Replays an archive with the real libpcp as told on standard input, and prints
 * what it gets in a form that the test beside it prints too:
 *
 *   metrics PMID...                     the metrics to fetch, as numbers
 *   profile all | none | INDOM INST...  as numbers
 *   mode MODE SEC NSEC DSEC DNSEC       SEC -1 keeps the time
 *   fetch N                             fetch N times
 *   next N                              pmFetchArchive N times
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

static pmID ids[1000];
static int nids;

static void show(pmHighResResult *r)
{
    int i, j, k;

    printf("%lld.%09ld %d", (long long)r->timestamp.tv_sec, (long)r->timestamp.tv_nsec, r->numpmid);
    for (i = 0; i < r->numpmid; i++) {
	pmValueSet *vs = r->vset[i];
	printf(" | %u %d", (unsigned)vs->pmid, vs->numval);
	for (j = 0; j < vs->numval; j++) {
	    printf(" %d:", vs->vlist[j].inst);
	    if (vs->valfmt == PM_VAL_INSITU)
		printf("%08x", (unsigned)vs->vlist[j].value.lval);
	    else {
		pmValueBlock *b = vs->vlist[j].value.pval;
		int n = b->vlen - PM_VAL_HDR_SIZE;
		unsigned char *p = (unsigned char *)b->vbuf;
		printf("t%d.", b->vtype);
		if (n == 8 && (b->vtype == PM_TYPE_64 || b->vtype == PM_TYPE_U64 || b->vtype == PM_TYPE_DOUBLE)) {
		    unsigned long long v;
		    memcpy(&v, p, 8);
		    printf("%016llx", v);
		}
		else if (n == 4 && b->vtype == PM_TYPE_FLOAT) {
		    unsigned v;
		    memcpy(&v, p, 4);
		    printf("%08x", v);
		}
		else if (b->vtype == PM_TYPE_EVENT || b->vtype == PM_TYPE_HIGHRES_EVENT)
		    printf("%d", n);
		else {
		    if (b->vtype == PM_TYPE_STRING && n > 0 && p[n-1] == 0)
			n--;
		    for (k = 0; k < n; k++)
			printf("%02x", p[k]);
		}
	    }
	}
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    int sts, i, n;

    if ((sts = pmNewContext(PM_CONTEXT_ARCHIVE, argv[1])) < 0) {
	printf("open %d\n", sts);
	return 0;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
	char *w = strtok(line, " \n");
	if (w == NULL)
	    continue;
	if (strcmp(w, "metrics") == 0) {
	    for (nids = 0; (w = strtok(NULL, " \n")) != NULL; nids++)
		ids[nids] = strtoul(w, NULL, 10);
	}
	else if (strcmp(w, "profile") == 0) {
	    w = strtok(NULL, " \n");
	    if (strcmp(w, "all") == 0)
		pmAddProfile(PM_INDOM_NULL, 0, NULL);
	    else if (strcmp(w, "none") == 0)
		pmDelProfile(PM_INDOM_NULL, 0, NULL);
	    else {
		pmInDom indom = strtoul(w, NULL, 10);
		while ((w = strtok(NULL, " \n")) != NULL) {
		    int inst = atoi(w);
		    pmAddProfile(indom, 1, &inst);
		}
	    }
	}
	else if (strcmp(w, "mode") == 0) {
	    int mode = atoi(strtok(NULL, " \n"));
	    struct timespec when, delta;
	    when.tv_sec = atoll(strtok(NULL, " \n"));
	    when.tv_nsec = atol(strtok(NULL, " \n"));
	    delta.tv_sec = atoll(strtok(NULL, " \n"));
	    delta.tv_nsec = atol(strtok(NULL, " \n"));
	    sts = pmSetModeHighRes(mode, when.tv_sec == -1 ? NULL : &when, &delta);
	    printf("mode %d\n", sts);
	}
	else if (strcmp(w, "fetch") == 0) {
	    n = atoi(strtok(NULL, " \n"));
	    for (i = 0; i < n; i++) {
		pmHighResResult *r;
		if ((sts = pmFetchHighRes(nids, ids, &r)) < 0) {
		    printf("fetch %d\n", sts);
		    continue;
		}
		show(r);
		pmFreeHighResResult(r);
	    }
	}
	else if (strcmp(w, "next") == 0) {
	    n = atoi(strtok(NULL, " \n"));
	    for (i = 0; i < n; i++) {
		pmHighResResult *r;
		if ((sts = pmFetchHighResArchive(&r)) < 0) {
		    printf("next %d\n", sts);
		    continue;
		}
		show(r);
		pmFreeHighResResult(r);
	    }
	}
	fflush(stdout);
    }
    return 0;
}
