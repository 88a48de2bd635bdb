/*
 * mmvmake makes a file of metrics with libpcp_mmv, as the lines of its input
 * say; words of a line are separated by tabs, and - is no text.
 *
 *   registry FILE CLUSTER FLAGS
 *   indom SERIAL SHORT LONG
 *   instance SERIAL NUMBER NAME
 *   metric NAME ITEM TYPE SEM D1 D2 D3 S1 S2 S3 SERIAL SHORT LONG
 *   label registry|indom|metric|instance ID INST NAME VALUE TYPE OPTIONAL
 *   start
 *   inc METRIC INSTANCE
 *   add|set METRIC INSTANCE NUMBER
 *   string METRIC INSTANCE TEXT
 *   fallback METRIC INSTANCE INSTANCE NUMBER
 *
 * The first thing that goes wrong is printed, as line and errno, and ends it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>

static char *word(char **rest)
{
    char *w = strsep(rest, "\t");
    return w == NULL || strcmp(w, "-") == 0 ? NULL : strdup(w);
}

static int number(char **rest)
{
    char *w = word(rest);
    return w ? (int)strtol(w, NULL, 0) : 0;
}

int main(void)
{
    static char line[1 << 16];
    mmv_registry_t *reg = NULL;
    void *handle = NULL;

    while (fgets(line, sizeof line, stdin)) {
	char *rest = line, *what, *a, *b, *c;
	int sts = 0, i, n[12];

	line[strcspn(line, "\n")] = 0;
	what = strdup(line);
	what[strcspn(what, "\t")] = 0;
	strsep(&rest, "\t");
	errno = 0;
	if (!strcmp(what, "registry")) {
	    a = word(&rest);
	    n[0] = number(&rest);
	    reg = mmv_stats_registry(a, n[0], number(&rest));
	} else if (!strcmp(what, "indom")) {
	    n[0] = number(&rest);
	    a = word(&rest);
	    sts = mmv_stats_add_indom(reg, n[0], a, word(&rest));
	} else if (!strcmp(what, "instance")) {
	    n[0] = number(&rest);
	    n[1] = number(&rest);
	    /* 6.0.3 answers -1 with EINVAL although it adds the instance */
	    mmv_stats_add_instance(reg, n[0], n[1], word(&rest));
	} else if (!strcmp(what, "metric")) {
	    a = word(&rest);
	    for (i = 0; i < 10; i++)
		n[i] = number(&rest);
	    pmUnits u = MMV_UNITS(n[3], n[4], n[5], n[6], n[7], n[8]);
	    b = word(&rest);
	    sts = mmv_stats_add_metric(reg, a, n[0], n[1], n[2], u, n[9], b, word(&rest));
	} else if (!strcmp(what, "label")) {
	    a = word(&rest);
	    n[0] = number(&rest);
	    n[1] = number(&rest);
	    b = word(&rest);
	    c = word(&rest);
	    n[2] = number(&rest);
	    n[3] = number(&rest);
	    if (a[0] == 'r')
		sts = mmv_stats_add_registry_label(reg, b, c, n[2], n[3]);
	    else if (!strcmp(a, "indom"))
		sts = mmv_stats_add_indom_label(reg, n[0], b, c, n[2], n[3]);
	    else if (a[0] == 'm')
		sts = mmv_stats_add_metric_label(reg, n[0], b, c, n[2], n[3]);
	    else
		sts = mmv_stats_add_instance_label(reg, n[0], n[1], b, c, n[2], n[3]);
	} else if (!strcmp(what, "start")) {
	    if ((handle = mmv_stats_start(reg)) == NULL)
		sts = -1;
	} else if (!strcmp(what, "fallback")) {
	    a = word(&rest);
	    b = word(&rest);
	    c = word(&rest);
	    mmv_stats_add_fallback(handle, a, b, c, atof(rest));
	} else {
	    a = word(&rest);
	    b = word(&rest);
	    if (!strcmp(what, "inc"))
		mmv_inc(handle, mmv_lookup_value_desc(handle, a, b));
	    else if (!strcmp(what, "add"))
		mmv_stats_add(handle, a, b, atof(rest));
	    else if (!strcmp(what, "set"))
		mmv_stats_set(handle, a, b, atof(rest));
	    else if (!strcmp(what, "string"))
		mmv_stats_set_string(handle, a, b, rest);
	}
	if (sts < 0) {
	    printf("%s %d\n", what, errno);
	    return 0;
	}
    }
    return 0;
}
