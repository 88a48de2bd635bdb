/* Runs a recording session as lines on standard input say, with the real libpcp_gui, and
   prints what comes of each. record_test.go says what the lines are. */
#include <pcp/pmapi.h>
#include <pcp/pmafm.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pmRecordHost *hosts[100];

static pmRecordHost *host(const char *arg)
{
	int i = arg ? atoi(arg) : -1;
	return i < 0 ? NULL : hosts[i];
}

int main(void)
{
	char line[10000], *word, *a, *b, *c;
	int n = 0, code;
	FILE *replay = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		word = strtok(line, "\t");
		a = strtok(NULL, "\t");
		b = strtok(NULL, "\t");
		c = strtok(NULL, "\t");
		code = 0;
		if (!strcmp(word, "setup")) {
			replay = pmRecordSetup(a, b, atoi(c));
			code = replay ? 0 : -errno;
			if (replay && atoi(c))
				fputs("view\n", replay);
		} else if (!strcmp(word, "add")) {
			pmRecordHost *h;
			if ((code = pmRecordAddHost(a, atoi(b), &h)) == 0)
				hosts[n++] = h;
		} else if (!strcmp(word, "write")) {
			fprintf(host(a)->f_config, "%s\n", b);
		} else if (!strcmp(word, "on")) {
			code = pmRecordControl(NULL, PM_REC_ON, NULL);
		} else if (!strcmp(word, "off")) {
			code = pmRecordControl(host(a), PM_REC_OFF, NULL);
		} else if (!strcmp(word, "detach")) {
			code = pmRecordControl(host(a), PM_REC_DETACH, NULL);
		} else if (!strcmp(word, "status")) {
			code = pmRecordControl(host(a), PM_REC_STATUS, NULL);
		} else if (!strcmp(word, "setarg")) {
			code = pmRecordControl(host(a), PM_REC_SETARG, b);
		} else if (!strcmp(word, "wait")) {
			siginfo_t si;
			pid_t pid = host(a)->pid;
			if (pid > 0)
				waitid(P_PID, pid, &si, WEXITED | WNOWAIT);
			pmRecordControl(NULL, 99, NULL); /* takes the status */
		} else if (!strcmp(word, "show")) {
			pmRecordHost *h = host(a);
			printf("pid %d status %d log %s\n", (int)h->pid, h->status, h->logfile);
			continue;
		}
		printf("%d\n", code);
	}
	return 0;
}
