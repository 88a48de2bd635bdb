/*
 * Calls libpcp_import as a script on stdin says and prints what each call
 * returns. One call a line, fields separated by tabs, %XX for any byte; the
 * field "-" is a null pointer. Used by TestOracle, which makes the same calls
 * of the Go package and compares the files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/import.h>

extern int pmiHighResWrite(__int64_t, int);

static char *field[16];

static void
unescape(char *s)
{
	char *to = s;
	unsigned int c;

	for (; *s; s++) {
		if (*s == '%' && sscanf(s + 1, "%2x", &c) == 1) {
			*to++ = (char)c;
			s += 2;
		} else
			*to++ = *s;
	}
	*to = '\0';
}

static char *
str(int i)
{
	return field[i] == NULL || strcmp(field[i], "-") == 0 ? NULL : field[i];
}

static long long
num(int i)
{
	return field[i] == NULL ? 0 : strtoll(field[i], NULL, 0);
}

int
main(int argc, char **argv)
{
	static char line[1 << 20];

	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		int n = 0, sts = 0;
		char *s = line, *op;

		line[strcspn(line, "\n")] = '\0';
		memset(field, 0, sizeof(field));
		while (n < 16 && s != NULL) {
			char *next = strchr(s, '\t');
			if (next != NULL)
				*next++ = '\0';
			unescape(s);
			field[n++] = s;
			s = next;
		}
		op = field[0];
		if (strcmp(op, "start") == 0)
			sts = pmiStart(str(1), (int)num(2));
		else if (strcmp(op, "use") == 0)
			sts = pmiUseContext((int)num(1));
		else if (strcmp(op, "host") == 0)
			sts = pmiSetHostname(str(1));
		else if (strcmp(op, "zone") == 0)
			sts = pmiSetTimezone(str(1));
		else if (strcmp(op, "version") == 0)
			sts = pmiSetVersion((int)num(1));
		else if (strcmp(op, "metric") == 0)
			sts = pmiAddMetric(str(1), (pmID)num(2), (int)num(3), (pmInDom)num(4), (int)num(5),
				pmiUnits((int)num(6), (int)num(7), (int)num(8), (int)num(9), (int)num(10), (int)num(11)));
		else if (strcmp(op, "instance") == 0)
			sts = pmiAddInstance((pmInDom)num(1), str(2), (int)num(3));
		else if (strcmp(op, "put") == 0)
			sts = pmiPutValue(str(1), str(2), str(3));
		else if (strcmp(op, "handle") == 0)
			sts = pmiGetHandle(str(1), str(2));
		else if (strcmp(op, "puth") == 0)
			sts = pmiPutValueHandle((int)num(1), str(2));
		else if (strcmp(op, "text") == 0)
			sts = pmiPutText((unsigned)num(1), (unsigned)num(2), (unsigned)num(3), str(4));
		else if (strcmp(op, "label") == 0)
			sts = pmiPutLabel((unsigned)num(1), (unsigned)num(2), (unsigned)num(3), str(4), str(5));
		else if (strcmp(op, "write") == 0)
			sts = pmiHighResWrite(num(1), (int)num(2));
		else if (strcmp(op, "mark") == 0)
			sts = pmiPutMark();
		else if (strcmp(op, "result") == 0) {
			/* as many counters as asked for, of one metric with instances 3 2 1 */
			int i, k = (int)num(4);
			pmResult *rp = calloc(1, sizeof(*rp) + 8 * sizeof(pmValueSet *));
			rp->timestamp.tv_sec = num(1);
			rp->timestamp.tv_usec = num(2);
			rp->numpmid = 1;
			rp->vset[0] = calloc(1, sizeof(pmValueSet) + 8 * sizeof(pmValue));
			rp->vset[0]->pmid = (pmID)num(3);
			rp->vset[0]->numval = k;
			rp->vset[0]->valfmt = PM_VAL_INSITU;
			for (i = 0; i < k; i++) {
				rp->vset[0]->vlist[i].inst = k - i;
				rp->vset[0]->vlist[i].value.lval = 100 + i;
			}
			sts = pmiPutResult(rp);
		} else if (strcmp(op, "end") == 0)
			sts = pmiEnd();
		else
			sts = 99999;
		printf("%d %s\n", sts, sts < 0 ? pmiErrStr(sts) : "");
	}
	return 0;
}
