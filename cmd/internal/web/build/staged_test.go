package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// stageEnv makes this program a culprit, in place of running tests.
const stageEnv = "PCP_TEST_STAGE"

func TestMain(m *testing.M) {
	switch os.Getenv(stageEnv) {
	case "":
		os.Exit(m.Run())
	case "loop":
		for {
		}
	case "memory":
		held := bytes.Repeat([]byte{1}, 1<<30)
		time.Sleep(time.Hour)
		fmt.Println(len(held))
	case "write":
		if err := writeOn(os.Getenv(stageEnv + "_FILE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// writeOn writes to the disk until it is killed.
func writeOn(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	b := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	for {
		if _, err := f.WriteAt(b, 0); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// output is the output of a child so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// child runs a program until the test ends.
func child(t *testing.T, cmd *exec.Cmd) *output {
	t.Helper()
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return out
}

// TestStaged runs programs that spin, write to the disk, and hold memory, on this host with its other load, and finds each
// in the page of "pcp up", in at most three clicks.
func TestStaged(t *testing.T) {
	chrome(t)
	address, page, _ := up(t, t.TempDir())
	port := address[strings.LastIndexByte(address, ':')+1:]
	written := filepath.Join(t.TempDir(), "written")
	for _, what := range []string{"loop", "write", "memory"} {
		cmd := exec.Command(os.Args[0], "culprit-"+what+"-of-"+port)
		cmd.Env = append(os.Environ(), stageEnv+"="+what, stageEnv+"_FILE="+written, "GOMAXPROCS=1")
		child(t, cmd)
	}
	p := &clicks{tab: open(t, &fake{Server: &httptest.Server{URL: address}}, page, 1440, 1000)}
	p.until("document.querySelectorAll('[aria-label=Processes] tbody tr').length >= 8")
	p.shot("first")
	for _, c := range []struct{ tile, marker string }{{"CPU", "culprit-loop-of-" + port}, {"Disks", "culprit-write-of-" + port}, {"Memory", "culprit-memory-of-" + port}} {
		p.n = 0
		p.on(tile(c.tile))
		row := fmt.Sprintf("[...document.querySelectorAll('.activity tbody tr')].slice(0, 20).find((r) => r.querySelector('th').title.endsWith(%q))", c.marker)
		if c.tile == "Disks" {
			// The direction in which the disks are busier depends on the other load of the host.
			p.until("document.querySelector('.activity [aria-sort]') && /sort=(read|write)/.test(location.hash)")
			if !strings.Contains(eval[string](p.tab, "location.hash"), "sort=write") {
				p.on("[...document.querySelectorAll('.activity .sort')].find((b) => b.textContent.startsWith('Written'))")
			}
		}
		p.until(row)
		p.shot(c.tile)
		p.on(row + ".querySelector('th a')")
		p.until(fmt.Sprintf("document.querySelector('.command')?.textContent.endsWith(%q)", c.marker))
		p.until("document.querySelectorAll('.process .uplot').length >= 3")
		p.shot(c.tile + "-process")
		if p.n > 3 {
			t.Errorf("%s: %d clicks", c.tile, p.n)
		}
		p.key("o")
		p.until("document.querySelectorAll('[aria-label=Processes] tbody tr').length >= 8")
	}
}
