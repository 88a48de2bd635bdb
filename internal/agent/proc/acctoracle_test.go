package proc_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
)

// TestOracleAcct has both agents read the same file of accounting. The test keeps
// writing records of process 0, which neither agent shows, so that both take the file
// for the kernel's; it asks the real agent until that has opened the file.
func TestOracleAcct(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pacct")
	record := func(pid uint32, flag byte, command string) []byte {
		b := make([]byte, 64)
		b[0], b[1] = flag, 3
		binary.NativeEndian.PutUint16(b[2:], uint16(pid%2*0x8801))
		for i, v := range []uint32{pid * 256, pid % 3, pid % 5, pid, pid / 2, uint32(time.Now().Unix()) - 5, math.Float32bits(float32(pid))} {
			binary.NativeEndian.PutUint32(b[4+4*i:], v)
		}
		for i := range 8 {
			binary.NativeEndian.PutUint16(b[32+2*i:], uint16(pid*uint32(7919*(i+1))))
		}
		copy(b[48:], command)
		return b
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var writer sync.WaitGroup
	end := make(chan struct{})
	writer.Go(func() {
		for filler := record(0, 0, "filler"); ; time.Sleep(50 * time.Microsecond) { // a pause, to write megabytes instead of gigabytes
			select {
			case <-end:
				return
			default:
			}
			if _, err := f.Write(filler); err != nil {
				t.Error(err)
				return
			}
		}
	})
	stop := sync.OnceFunc(func() { close(end); writer.Wait() })
	defer stop()
	c, names, ids := startReal(t, "PCP_PACCT_SYSTEM_PATH="+path)
	a := proc.New(proc.Config{AcctFile: path})
	defer a.Close()
	pid := pcp.NewPMID(proc.Domain, 70, 4)
	for try := 0; ; try++ { // a record at a time, until both have opened the file
		if _, err := f.Write(record(uint32(100+try), 0, "first")); err != nil {
			t.Fatal(err)
		}
		if len(fetchReal(t, c, a, pid)) > 0 && len(fetch(t, a, pid)) > 0 {
			break
		}
		if try == 500 {
			t.Fatal("an agent does not open the file")
		}
	}
	stop()
	for i := range uint32(40) {
		if _, err := f.Write(record(1000+i*i, byte(i), fmt.Sprintf("%.*s", i%17, "sixteen-bytes-xy"))); err != nil {
			t.Fatal(err)
		}
	}
	compared := 0
	for i, id := range ids {
		if !strings.HasPrefix(names[i], "acct.") {
			continue
		}
		want, got := fetchReal(t, c, a, id), fetch(t, a, id)
		for inst := range want {
			if inst < 1000 && inst >= 0 { // records that one saw before the other had the file open
				delete(want, inst)
				delete(got, inst)
			}
		}
		for inst := range got {
			if inst < 1000 && inst >= 0 {
				delete(got, inst)
			}
		}
		if names[i] == "acct.control.enable_acct" || len(want) == 40 {
			compared++
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s:\n got %q\nwant %q", names[i], got, want)
		}
	}
	if compared < 24 {
		t.Errorf("only %d metrics could be compared", compared)
	}
}
