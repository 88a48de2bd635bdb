package doctor

import (
	"net"
	"time"

	"github.com/go-pcp/pcp/internal/peercred"
)

// socketPID returns the process that listens at a Unix socket if it is a pmcd, else 0.
func (s *site) socketPID(path string) int {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return 0
	}
	defer conn.Close()
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	cred, err := peercred.Of(uc)
	if err != nil || cred.PID <= 1 || !s.runs(cred.PID, "pmcd") {
		return 0
	}
	return cred.PID
}
