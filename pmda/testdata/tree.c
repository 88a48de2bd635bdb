/* tree: look names up both ways in a name space of libpcp_pmda.
 *
 *	tree < script		answers each line of the script
 *	tree bench n		says how long look-ups take in one of n names
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaNameSpace *tree;
static int domain = 400;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void name(int i, char *buf)
{
	sprintf(buf, "many.group%d.sub%d.leaf%d", i % 100, i / 100 % 10, i);
}

static int bench(int n)
{
	char buf[128], **names;
	pmID id;
	int i, at = 0, rounds = 100000;
	double start = now();

	pmdaTreeCreate(&tree);
	for (i = 0; i < n; i++) {
		name(i, buf);
		pmdaTreeInsert(tree, pmID_build(domain, i >> 10, i & 1023), buf);
	}
	pmdaTreeRebuildHash(tree, n);
	printf("build %.0f\n", now() - start);
	start = now();
	for (i = 0; i < rounds; i++) {
		at = (at + 7919) % n;
		name(at, buf);
		if (pmdaTreePMID(tree, buf, &id) < 0)
			return 1;
	}
	printf("pmid %.0f\n", (now() - start) / rounds);
	start = now();
	for (i = 0; i < rounds; i++) {
		at = (at + 7919) % n;
		if (pmdaTreeName(tree, pmID_build(domain, at >> 10, at & 1023), &names) < 0)
			return 1;
		free(names);
	}
	printf("name %.0f\n", (now() - start) / rounds);
	return 0;
}

int main(int argc, char **argv)
{
	char line[2048], word[2048], **names;
	unsigned int d, c, x;
	int sts, i, *status;
	pmID id;

	if (argc == 3)
		return bench(atoi(argv[2]));
	pmdaTreeCreate(&tree);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "insert %u.%u.%u %s", &d, &c, &x, word) == 4)
			pmdaTreeInsert(tree, pmID_build(d, c, x), word);
		else if (sscanf(line, "rebuild %d", &i) == 1) {
			pmdaTreeRebuildHash(tree, i);
			printf("size %d\n", pmdaTreeSize(tree));
		} else if (sscanf(line, "pmid %s", word) == 1) {
			sts = pmdaTreePMID(tree, word, &id);
			printf("pmid %s %s\n", word, sts < 0 ? "none" : pmIDStr(id));
		} else if (sscanf(line, "name %u.%u.%u", &d, &c, &x) == 3) {
			sts = pmdaTreeName(tree, pmID_build(d, c, x), &names);
			printf("name %u.%u.%u", d, c, x);
			for (i = 0; i < sts; i++)
				printf(" %s", names[i]);
			printf("\n");
		} else if (sscanf(line, "children %s", word) == 1) {
			sts = pmdaTreeChildren(tree, word, 0, &names, &status);
			printf("children %s", word);
			for (i = 0; i < sts; i++)
				printf(" %s:%d", names[i], status[i]);
			printf("\n");
		} else if (sscanf(line, "traverse %s", word) == 1) {
			sts = pmdaTreeChildren(tree, word, 1, &names, &status);
			printf("traverse %s", word);
			for (i = 0; i < sts; i++)
				printf(" %s", names[i]);
			printf("\n");
		}
	}
	return 0;
}
