package pmcd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// TestHangUp changes the files of a collector that runs.
func TestHangUp(t *testing.T) {
	dir := tempDir(t)
	confPath, namesPath := filepath.Join(dir, "conf"), filepath.Join(dir, "names")
	const pmcdLine = "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\n"
	writeFile(t, confPath, pmcdLine+"[access]\nallow no-such-host.invalid : all;\nallow \"*\" : all;\n")
	const pmcdNames = "root {\n\tmy\n}\nmy {\n\tsighups\t2:0:22\n\tseqnum\t2:0:24\n\ttimeout\t2:0:4\n"
	writeFile(t, namesPath, pmcdNames+"}\n")

	var out, errs bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	status := make(chan int)
	port := freePort(t)
	args := []string{"-f", "-A", "-q", "60", "-i", "127.0.0.1", "-p", port, "-s", filepath.Join(dir, "socket"), "-l", "-", "-c", confPath, "-n", namesPath}
	go func() { status <- Command.Run(ctx, testEnv(&out, &errs, getenv(dir), args...)) }()
	old := ready(t, "localhost:"+port)
	defer old.Close()

	number := func(c *pmapi.Context, item int) (uint32, pmapi.Changes) {
		t.Helper()
		var res pcp.Result
		changes, err := c.FetchInto(ctx, []pcp.PMID{pcp.NewPMID(2, 0, item)}, &res)
		if err != nil || len(res.Sets[0].Values) != 1 {
			t.Fatalf("fetch gives %+v, %v", res.Sets, err)
		}
		return res.Sets[0].Values[0].As(pcp.TypeU32).Uint32(), changes
	}
	var bits pmapi.Changes
	signals := uint32(0)
	// hangUp returns a client that connected while all agents were correct.
	hangUp := func() *pmapi.Context {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		signals++
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			n, changes := number(old, 22)
			bits |= changes
			if n == signals {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d signals are counted, not %d", n, signals)
			}
		}
		c, err := pmapi.Dial(ctx, "localhost:"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_, changes := number(old, 22)
		bits |= changes
		return c
	}
	want := func(what string, c *pmapi.Context, changes pmapi.Changes, seq uint32) {
		t.Helper()
		if bits != changes {
			t.Errorf("%s: clients hear of the changes %#x, want %#x", what, bits, changes)
		}
		if n, _ := number(c, 24); n != seq {
			t.Errorf("%s: the sequence number is %d, want %d", what, n, seq)
		}
		bits = 0
	}

	want("at the start", old, 0, 2)
	want("nothing changed", hangUp(), 0, 2)

	writeFile(t, confPath, pmcdLine+"linux 60 dso linux_init /x/pmda_linux.so\n[access]\ndisallow no-such-host.invalid : fetch;\nallow \"unix:\" : all;\ndisallow \"*\" : store;\n")
	writeFile(t, namesPath, pmcdNames+"\tname\t60:12:2\n}\n")
	c := hangUp()
	want("an agent and a name more", c, pmapi.AddAgent|pmapi.NamesChange, 3)
	ids, err := c.LookupName(ctx, "my.name")
	if err != nil || ids[0] != pcp.NewPMID(60, 12, 2) {
		t.Errorf("the name that is new is %v, %v", ids, err)
	}
	if _, err := c.LookupDesc(ctx, ids[0]); err != nil {
		t.Errorf("the agent that is new: %v", err)
	}
	set := &pcp.Result{Sets: []pcp.ValueSet{{PMID: pcp.NewPMID(2, 0, 4), Values: []pcp.Value{pcp.Uint32Value(6)}}}}
	for _, c := range []*pmapi.Context{old, c} {
		if err := c.Store(ctx, set); pcp.Code(err) != pcp.ErrPermission {
			t.Errorf("a store that is forbidden now gets %v", err)
		}
	}

	writeFile(t, confPath, pmcdLine+"[access]\nnonsense\n")
	want("errors", hangUp(), 0, 3)
	want("the same errors", hangUp(), 0, 3)
	writeFile(t, confPath, "[access]\nallow \"*\" : fetch;\n")
	want("no agents", hangUp(), 0, 3)
	if err := os.Remove(confPath); err != nil {
		t.Fatal(err)
	}
	want("no file", hangUp(), 0, 3)
	writeFile(t, confPath, pmcdLine)
	writeFile(t, namesPath, "root {")
	want("an agent less and no names", hangUp(), pmapi.DropAgent, 3)

	stop()
	if n := <-status; n != 0 {
		t.Errorf("it exits with %d", n)
	}
	for text, n := range map[string]int{
		"pmcd RESTARTED at ": 7,
		"Configuration file '" + confPath + "' unchanged\n":     2,
		"Restarting any deceased agents:\n":                     5,
		"    (no agents required restarting)\n":                 5,
		"Configuration file '" + confPath + "' has errors\n":    1,
		"Error: Permission clash for unix: ":                    1,
		"Warning: the following access control specification w": 2,
		"Configuration file '" + confPath + "' has no valid":    1,
		"Configuration left unchanged\n":                        3,
		"Reloading PMNS \"" + namesPath + "\"":                  2,
		"names left unchanged":                                  1,
		"PMNS file \"" + namesPath + "\" is unchanged":          5,
		"Cleanup \"linux\" agent (dom 60): unconfigured\n":      1,
		"\nactive agent dom   pid  in out ver protocol param":   8,
		"\nHost access list empty: host-based access control t": 1,
	} {
		if got := strings.Count(errs.String(), text); got != n {
			t.Errorf("the log has %q %d times, want %d", text, got, n)
		}
	}
	if t.Failed() {
		t.Logf("log:\n%s", &errs)
	}
}
