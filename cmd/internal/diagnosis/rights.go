package diagnosis

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
)

// Unread returns, in a line, that a collector may not read the input and output of processes, and the command that gives it the right; "" if there
// are values for nearly all processes: some end while they are read.
func Unread(processes, read int) string {
	if lacking := processes - read; lacking < 2 || lacking*10 < processes {
		return ""
	}
	return fmt.Sprintf("The I/O of %d of %d processes is missing: only a collector that runs as root may read it for all users (sudo pcp up).", processes-read, processes)
}

// ioMetrics and processMetrics are the beginnings of names of metrics that root alone reads for all processes, and that all users read.
const (
	ioMetrics      = "proc.io."
	processMetrics = "proc.psinfo."
)

// countRead counts the processes in a result, and those whose input and output the collector could read.
func (s *sampler) countRead(res *pcp.Result) {
	processes, read, asked := 0, 0, false
	for _, t := range s.tops {
		n := len(res.Sets[t.value.at].Values)
		for _, name := range Metrics(t.value.text) {
			switch {
			case strings.HasPrefix(name, ioMetrics):
				read, asked = max(read, n), asked || res.Sets[t.value.at].Err == 0
			case strings.HasPrefix(name, processMetrics):
				processes = max(processes, n)
			}
		}
	}
	s.unread = ""
	if asked && read > 0 {
		s.unread = Unread(processes, read)
	}
}
