/*
 * Answers questions about the vocabulary of PCP from the real library, so
 * that tests can compare. Each input line is an operation and its arguments;
 * each output line is the answer. Texts and bytes travel in hexadecimal
 * ("-" is the empty one), numbers of 64 bits as the hexadecimal of their bits.
 *
 * Build: cc vocab.c -lpcp
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

/* exported by the library, declared in a header that packages leave out */
extern int __pmParseLabelSet(const char *, int, int, pmLabelSet **);
extern int __pmAddLabels(pmLabelSet **, const char *, int);

static sigjmp_buf trap;

static void caught(int sig) { siglongjmp(trap, sig); }

static char *words[64];
static int nwords;

static int split(char *line)
{
	char *save = NULL, *w;
	nwords = 0;
	for (w = strtok_r(line, " \n", &save); w != NULL && nwords < 64; w = strtok_r(NULL, " \n", &save))
		words[nwords++] = w;
	return nwords;
}

static unsigned long long hex(int i) { return strtoull(words[i], NULL, 16); }
static int num(int i) { return (int)strtoll(words[i], NULL, 10); }

/* decodes word i, adds a NUL */
static char *bytes(int i, int *len)
{
	const char *w = words[i];
	int n = 0, k;
	char *b = malloc(strlen(w) / 2 + 16);
	unsigned x;
	memset(b, 0, strlen(w) / 2 + 16);
	if (strcmp(w, "-") != 0)
		for (k = 0; w[k] && w[k + 1]; k += 2) {
			sscanf(&w[k], "%2x", &x);
			b[n++] = (char)x;
		}
	if (len != NULL)
		*len = n;
	return b;
}

static void puthex(const char *b, size_t n)
{
	size_t i;
	if (n == 0)
		putchar('-');
	for (i = 0; i < n; i++)
		printf("%02x", b[i] & 0xff);
}

static pmUnits units(unsigned w)
{
	pmUnits u;
#define SIGNED(shift) ((int)((w >> (shift) & 15) << 28) >> 28)
	memset(&u, 0, sizeof(u));
	u.dimSpace = SIGNED(28);
	u.dimTime = SIGNED(24);
	u.dimCount = SIGNED(20);
	u.scaleSpace = w >> 16 & 15;
	u.scaleTime = w >> 12 & 15;
	u.scaleCount = SIGNED(8);
	return u;
}

static unsigned packed(pmUnits u)
{
	return (u.dimSpace & 15u) << 28 | (u.dimTime & 15u) << 24 | (u.dimCount & 15u) << 20 |
		(u.scaleSpace & 15u) << 16 | (u.scaleTime & 15u) << 12 | (u.scaleCount & 15u) << 8;
}

/* a value block of type vtype around the bytes of word i */
static pmValueBlock *block(int vtype, int i)
{
	int len;
	char *b = bytes(i, &len);
	pmValueBlock *vbp = calloc(1, sizeof(*vbp) + len + 16);
	vbp->vtype = vtype;
	vbp->vlen = PM_VAL_HDR_SIZE + len;
	memcpy(vbp->vbuf, b, len);
	free(b);
	return vbp;
}

/* valfmt vtype hex, from word i: hex is the number in situ, or the block's bytes */
static void value(pmValue *v, int i)
{
	memset(v, 0, sizeof(*v));
	if (num(i) == PM_VAL_INSITU)
		v->value.lval = (int)hex(i + 2);
	else
		v->value.pval = block(num(i + 1), i + 2);
}

static int keep(const pmLabel *lp, const char *json, void *arg)
{
	const char *how = arg;
	if (strcmp(how, "intrinsic") == 0)
		return (lp->flags & PM_LABEL_OPTIONAL) == 0;
	if (strcmp(how, "noa") == 0)
		return lp->namelen == 0 || json[lp->name] != 'a';
	return 1;
}

static void putset(int sts, pmLabelSet *set)
{
	int i;
	printf("%d", sts);
	if (sts >= 0 && set != NULL) {
		printf(" %d ", set->nlabels);
		puthex(set->json, set->json ? set->jsonlen : 0);
		for (i = 0; i < set->nlabels; i++)
			printf(" %d,%d,%d,%d,%d", set->labels[i].name, set->labels[i].namelen,
				set->labels[i].flags, set->labels[i].value, set->labels[i].valuelen);
	}
}

static void answer(void)
{
	const char *op = words[0];
	pmAtomValue in, out;
	pmValue v;
	char buf[8192], *text = NULL;
	static char big[PM_MAXLABELJSONLEN + 1];
	size_t size = 0;
	FILE *f;
	int sts, i;

	memset(&in, 0, sizeof(in));
	memset(&out, 0, sizeof(out));
	if (strcmp(op, "err") == 0)
		printf("%s", pmErrStr_r(num(1), buf, sizeof(buf)));
	else if (strcmp(op, "pmid") == 0)
		printf("%s", pmIDStr_r((pmID)hex(1), buf, sizeof(buf)));
	else if (strcmp(op, "indom") == 0)
		printf("%s", pmInDomStr_r((pmInDom)hex(1), buf, sizeof(buf)));
	else if (strcmp(op, "type") == 0)
		printf("%s", pmTypeStr_r(num(1), buf, sizeof(buf)));
	else if (strcmp(op, "sem") == 0)
		printf("%s", pmSemStr_r(num(1), buf, sizeof(buf)));
	else if (strcmp(op, "flags") == 0)
		printf("%s", pmEventFlagsStr_r((int)hex(1), buf, sizeof(buf)));
	else if (strcmp(op, "units") == 0) {
		pmUnits u = units(hex(1));
		printf("%s", pmUnitsStr_r(&u, buf, sizeof(buf)));
	}
	else if (strcmp(op, "parse") == 0) {
		pmUnits u;
		double mult = 0;
		char *msg = NULL;
		uint64_t bits;
		memset(&u, 0, sizeof(u));
		sts = pmParseUnitsStr(bytes(1, NULL), &u, &mult, &msg);
		memcpy(&bits, &mult, sizeof(bits));
		printf("%d %x %" PRIx64 " %s", sts, packed(u), bits, sts < 0 && msg ? msg : "");
	}
	else if (strcmp(op, "scale") == 0) {
		/* type bits from to */
		pmUnits from = units(hex(3)), to = units(hex(4));
		in.ull = hex(2);
		sts = pmConvScale(num(1), &in, &from, &out, &to);
		printf("%d %" PRIx64, sts, sts < 0 ? 0 : out.ull);
	}
	else if (strcmp(op, "extract") == 0) {
		/* valfmt vtype hex itype otype */
		value(&v, 1);
		sts = pmExtractValue(num(1), &v, num(4), &out, num(5));
		printf("%d ", sts);
		if (sts == 0 && num(5) == PM_TYPE_STRING)
			puthex(out.cp, strlen(out.cp));
		else if (sts == 0 && num(5) == PM_TYPE_AGGREGATE)
			puthex(out.vbp->vbuf, out.vbp->vlen - PM_VAL_HDR_SIZE);
		else
			printf("%" PRIx64, out.ull);
	}
	else if (strcmp(op, "number") == 0) {
		in.ull = hex(1);
		printf("[%s]", pmNumberStr_r(in.d, buf, sizeof(buf)));
	}
	else if (strcmp(op, "atom") == 0) {
		/* type hex [vtype] */
		int type = num(1);
		if (type == PM_TYPE_STRING)
			in.cp = bytes(2, NULL);
		else if (type >= PM_TYPE_AGGREGATE && type <= PM_TYPE_HIGHRES_EVENT)
			in.vbp = block(num(3), 2);
		else
			in.ull = hex(2);
		pmAtomStr_r(&in, type, buf, 80);
		puthex(buf, strlen(buf));
	}
	else if (strcmp(op, "print") == 0) {
		/* valfmt vtype hex type width */
		value(&v, 1);
		f = open_memstream(&text, &size);
		pmPrintValue(f, num(1), num(4), &v, num(5));
		fclose(f);
		puthex(text, size);
	}
	else if (strcmp(op, "stamp") == 0) {
		struct timeval tv = { num(1), num(2) / 1000 };
		struct timespec ts = { num(1), num(2) };
		f = open_memstream(&text, &size);
		pmPrintStamp(f, &tv);
		fputc(' ', f);
		pmPrintHighResStamp(f, &ts);
		fclose(f);
		fwrite(text, 1, size, stdout);
	}
	else if (strcmp(op, "desc") == 0) {
		/* type indom sem units */
		pmDesc d = { 0, num(1), (pmInDom)hex(2), num(3), units(hex(4)) };
		f = open_memstream(&text, &size);
		pmPrintDesc(f, &d);
		fclose(f);
		puthex(text, size);
	}
	else if (strcmp(op, "labels") == 0) {
		/* flags hex */
		pmLabelSet *set = NULL;
		int len;
		char *json = bytes(2, &len);
		sts = __pmParseLabelSet(json, len, num(1), &set);
		putset(sts, set);
	}
	else if (strcmp(op, "add") == 0) {
		/* {flags hex}... added to one set */
		pmLabelSet *set = NULL;
		for (i = 1, sts = 0; i + 1 < nwords && sts >= 0; i += 2)
			sts = __pmAddLabels(&set, bytes(i + 1, NULL), num(i));
		putset(sts, set);
	}
	else if (strcmp(op, "merge") == 0) {
		/* hex... */
		char *sets[64];
		for (i = 1; i < nwords; i++)
			sets[i - 1] = bytes(i, NULL);
		big[0] = '\0';
		sts = pmMergeLabels(sets, nwords - 1, big, sizeof(big) - 1);
		printf("%d ", sts);
		puthex(big, sts > 0 ? strlen(big) : 0);
	}
	else if (strcmp(op, "mergesets") == 0) {
		/* filter {flags hex}... */
		pmLabelSet *sets[64];
		int n = 0;
		for (i = 2; i + 1 < nwords; i += 2) {
			int len;
			char *json = bytes(i + 1, &len);
			sets[n] = NULL;
			if ((sts = __pmParseLabelSet(json, len, num(i), &sets[n])) < 0)
				break;
			n++;
		}
		big[0] = '\0';
		sts = pmMergeLabelSets(sets, n, big, sizeof(big) - 1, strcmp(words[1], "-") ? keep : NULL, words[1]);
		printf("%d ", sts);
		puthex(big, sts > 0 ? strlen(big) : 0);
	}
	else if (strcmp(op, "printlabels") == 0) {
		/* ident type flags hex */
		pmLabelSet *set = NULL;
		int len;
		char *json = bytes(4, &len);
		if ((sts = __pmParseLabelSet(json, len, num(3), &set)) >= 0) {
			f = open_memstream(&text, &size);
			pmPrintLabelSets(f, num(1), num(2), set, 1);
			fclose(f);
			puthex(text, size);
		}
	}
	else
		printf("unknown operation %s", op);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = caught;
	act.sa_flags = SA_NODEFER;
	sigaction(SIGFPE, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGABRT, &act, NULL);
	while (getline(&line, &room, stdin) > 0) {
		if (split(line) == 0)
			continue;
		if (sigsetjmp(trap, 1) == 0)
			answer();
		else
			printf("died");
		putchar('\n');
	}
	return 0;
}
