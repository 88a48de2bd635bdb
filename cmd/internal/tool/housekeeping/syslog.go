package housekeeping

import (
	"fmt"
	"net"
	"time"
)

// Syslog sends an error of a program to the system's log, if there is one.
func Syslog(prog, text string) {
	conn, err := net.DialTimeout("unixgram", "/dev/log", time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	const daemonError = 3<<3 | 3
	fmt.Fprintf(conn, "<%d>%s: %s", daemonError, prog, text)
}
