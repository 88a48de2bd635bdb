/* Does what the lines of standard input say with one pmdaCache of the C
 * library, and prints each result. Names come in hexadecimal. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static int
unhex(const char *s, char *to)
{
    int		n = 0;
    unsigned	x;

    while (s[0] && s[1] && sscanf(s, "%2x", &x) == 1) {
	to[n++] = x;
	s += 2;
    }
    to[n] = '\0';
    return n;
}

int
main(int argc, char **argv)
{
    pmInDom	indom = pmInDom_build(atoi(argv[1]), atoi(argv[2]));
    static char	line[65536], op[32], a[32768], b[32768], name[32768], key[32768];
    char	*out;
    void	*priv;
    int		keylen, inst;
    long	tok;

    setvbuf(stdout, NULL, _IONBF, 0);
    dup2(1, 2);
    while (fgets(line, sizeof(line), stdin) != NULL) {
	a[0] = b[0] = '\0';
	tok = 0;
	if (sscanf(line, "%31s %32767s %32767s %ld", op, a, b, &tok) < 1)
	    continue;
	out = NULL;
	priv = NULL;
	inst = -1;
	if (strcmp(op, "store") == 0) {
	    unhex(a, name);
	    printf("%s %d\n", op, pmdaCacheStore(indom, atoi(b), name, (void *)tok));
	}
	else if (strcmp(op, "storekey") == 0) {
	    unhex(a, name);
	    keylen = strcmp(b, "-") == 0 ? 0 : unhex(b, key);
	    printf("%s %d\n", op, pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, name, keylen, key, (void *)tok));
	}
	else if (strcmp(op, "lookup") == 0) {
	    int sts = pmdaCacheLookup(indom, atoi(a), &out, &priv);
	    printf("%s %d %s %ld\n", op, sts, sts < 0 ? "-" : out, sts < 0 ? 0L : (long)priv);
	}
	else if (strcmp(op, "lookupname") == 0) {
	    unhex(a, name);
	    int sts = pmdaCacheLookupName(indom, name, &inst, &priv);
	    printf("%s %d %d %ld\n", op, sts, inst, (long)priv);
	}
	else if (strcmp(op, "lookupkey") == 0) {
	    keylen = unhex(a, key);
	    int sts = pmdaCacheLookupKey(indom, "", keylen, key, &out, &inst, &priv);
	    printf("%s %d %d %s %ld\n", op, sts, inst, sts < 0 ? "-" : out, (long)priv);
	}
	else if (strcmp(op, "op") == 0)
	    printf("%s %s %d\n", op, a, pmdaCacheOp(indom, atoi(a)));
	else if (strcmp(op, "purge") == 0)
	    printf("%s %d\n", op, pmdaCachePurge(indom, atoi(a)));
	else if (strcmp(op, "resize") == 0)
	    printf("%s %d\n", op, pmdaCacheResize(indom, atoi(a)));
	else if (strcmp(op, "walk") == 0) {
	    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
	    printf("%s", op);
	    while ((inst = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT)) >= 0)
		printf(" %d", inst);
	    printf("\n");
	}
	else {
	    printf("%s?\n", op);
	    return 1;
	}
    }
    return 0;
}
