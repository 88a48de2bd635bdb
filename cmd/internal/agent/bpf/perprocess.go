package bpf

import (
	"errors"
	"strconv"
	"syscall"

	"github.com/go-pcp/pcp/pmda/column"
)

// maxProcessCounts is how many processes have counts of their own.
const maxProcessCounts = 4096

// processInDom returns the instance domain of processes with counts.
func processInDom(serial int, which string) *column.InDom {
	return &column.InDom{
		Serial: serial, Help: "Processes that " + which + ", by their numbers",
		Long: "There are 4096 processes at most; if there are more, those that were seen longest ago make room. The counts of a process that has ended are there once more.",
	}
}

// readProcesses fills a block with the counts of processes. The keys of the map have the process and the column. It removes the counts of processes that have ended.
func readProcesses(o *object, table string, b *column.Block) error {
	b.Clear()
	if o == nil {
		return nil
	}
	rows := make(map[uint32]int)
	var ended [][2]uint32
	err := each(o.maps[table], func(key [2]uint32, n uint64) {
		pid, col := key[0], int(key[1])
		if col >= b.Cols() {
			return
		}
		row, ok := rows[pid]
		if !ok {
			row = b.AddNamed(int32(pid), strconv.FormatUint(uint64(pid), 10))
			rows[pid] = row
		}
		b.Set(row, col, n)
		if errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH) {
			ended = append(ended, key)
		}
	})
	for _, key := range ended {
		_ = o.maps[table].Delete(key)
	}
	return err
}
