/* Does what the lines of standard input say with the event arrays and queues
 * of the C library, and prints what comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static void
hex(const void *p, int n)
{
    const unsigned char	*b = p;

    while (n-- > 0)
	printf("%02x", *b++);
    printf("\n");
}

static int
param(int highres, int idx, pmID id, int type, const char *text)
{
    static char	block[4096];
    pmAtomValue	av;
    pmValueBlock *vb = (pmValueBlock *)block;

    switch (type) {
	case PM_TYPE_32: av.l = strtol(text, NULL, 10); break;
	case PM_TYPE_U32: av.ul = strtoul(text, NULL, 10); break;
	case PM_TYPE_64: av.ll = strtoll(text, NULL, 10); break;
	case PM_TYPE_U64: av.ull = strtoull(text, NULL, 10); break;
	case PM_TYPE_FLOAT: av.f = strtof(text, NULL); break;
	case PM_TYPE_DOUBLE: av.d = strtod(text, NULL); break;
	case PM_TYPE_STRING: av.cp = (char *)text; break;
	default:
	    vb->vtype = type;
	    vb->vlen = PM_VAL_HDR_SIZE + strlen(text);
	    memcpy(vb->vbuf, text, strlen(text));
	    av.vbp = vb;
    }
    return highres ? pmdaEventAddHighResParam(idx, id, type, &av) : pmdaEventAddParam(idx, id, type, &av);
}

static int
decode(int key, void *data, size_t size, struct timeval *at, void *cookie)
{
    pmAtomValue	av;

    printf(" %d@%ld.%06ld", (int)size, (long)at->tv_sec, (long)at->tv_usec);
    pmdaEventAddRecord(key, at, PM_EVENT_FLAG_POINT);
    av.ul = size;
    pmdaEventAddParam(key, 42, PM_TYPE_U32, &av);
    return 1;
}

static int
even(void *filter, void *data, size_t size)
{
    return size % 2 != 0; /* not 0: left out */
}

static void
release(void *filter)
{
}

int
main(int argc, char **argv)
{
    static char	line[4096], op[32], text[4096], data[65536];
    long	a, b, c;
    int		arr[2], r = 0, queue = -1, sts;
    struct timeval tv;
    struct timespec ts;
    pmAtomValue	av, n[4];

    arr[0] = pmdaEventNewArray();
    arr[1] = pmdaEventNewHighResArray();
    while (fgets(line, sizeof(line), stdin) != NULL) {
	a = b = c = 0;
	text[0] = '\0';
	if (sscanf(line, "%31s %ld %ld %ld %4000s", op, &a, &b, &c, text) < 1)
	    continue;
	ts.tv_sec = tv.tv_sec = a;
	ts.tv_nsec = b;
	tv.tv_usec = b / 1000;
	if (strcmp(op, "array") == 0) {
	    r = a;
	    sts = r ? pmdaEventResetHighResArray(arr[1]) : pmdaEventResetArray(arr[0]);
	}
	else if (strcmp(op, "record") == 0)
	    sts = r ? pmdaEventAddHighResRecord(arr[1], &ts, (int)c) : pmdaEventAddRecord(arr[0], &tv, (int)c);
	else if (strcmp(op, "missed") == 0)
	    sts = r ? pmdaEventAddHighResMissedRecord(arr[1], &ts, (int)c) : pmdaEventAddMissedRecord(arr[0], &tv, (int)c);
	else if (strcmp(op, "param") == 0)
	    sts = param(r, arr[r], (pmID)a, (int)b, text);
	else if (strcmp(op, "show") == 0) {
	    if (r) {
		pmHighResEventArray *p = pmdaEventGetHighResAddr(arr[1]);
		hex(p, p->ea_len);
	    }
	    else {
		pmEventArray *p = pmdaEventGetAddr(arr[0]);
		hex(p, p->ea_len);
	    }
	    continue;
	}
	else if (strcmp(op, "queue") == 0)
	    sts = queue = pmdaEventNewQueue("q", a);
	else if (strcmp(op, "client") == 0) {
	    sts = pmdaEventNewClient(a);
	    pmdaEventSetAccess(a, queue, 1);
	    continue;
	}
	else if (strcmp(op, "filter") == 0)
	    sts = pmdaEventSetFilter(a, queue, &arr, even, release);
	else if (strcmp(op, "end") == 0)
	    sts = pmdaEventEndClient(a);
	else if (strcmp(op, "append") == 0)
	    sts = pmdaEventQueueAppend(queue, data, c, &tv);
	else if (strcmp(op, "fetch") == 0) {
	    printf("fetch");
	    sts = pmdaEventQueueRecords(queue, &av, a, decode, NULL);
	    printf(" ->");
	}
	else if (strcmp(op, "stats") == 0) {
	    pmdaEventQueueClients(queue, &n[0]);
	    pmdaEventQueueCounter(queue, &n[1]);
	    pmdaEventQueueBytes(queue, &n[2]);
	    pmdaEventQueueMemory(queue, &n[3]);
	    printf("%u %u %llu %llu\n", n[0].ul, n[1].ul, (unsigned long long)n[2].ull, (unsigned long long)n[3].ull);
	    continue;
	}
	else {
	    printf("%s?\n", op);
	    return 1;
	}
	printf("%s %d\n", op, sts);
    }
    return 0;
}
