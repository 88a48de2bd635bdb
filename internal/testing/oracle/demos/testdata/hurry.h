/* Included before a demo's own lines: its pauses become short. app3, which has no
 * children to wait for, waits for its threads instead. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/types.h>
#include <sys/wait.h>
static int hurry(void) { usleep(1000); return 0; }
#define sleep(n) hurry()
#define wait(status) pthread_join(p[i], status)
