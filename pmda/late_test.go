package pmda_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// late runs a daemon whose agent takes an hour to make, in a bubble, and calls
// talk as its collector, with functions that send a request and return the
// next answer.
func late(t *testing.T, newErr error, talk func(say func(from int32, p wire.PDU), hear func() wire.PDU)) (status int, log string, a *oddAgent) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a = &oddAgent{}
		in, toAgent := io.Pipe()
		fromAgent, out := io.Pipe()
		var stderr bytes.Buffer
		done := make(chan int)
		d := &pmda.Daemon{Name: "pmdalate", Domain: domain, KeepUser: true, New: func(int, *slog.Logger) (pmda.Agent, error) {
			time.Sleep(time.Hour)
			return a, newErr
		}}
		go func() {
			done <- d.Run(t.Context(), pmda.Environment{
				Args: []string{"-l-"}, Stdin: in, Stdout: out, Stderr: &stderr, Getenv: func(string) string { return "" },
			})
			out.Close()
			in.Close()
		}()
		began := time.Now()
		r := wire.NewReader(fromAgent)
		hear := func() wire.PDU {
			h, body, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			p, err := wire.Decode(h, body)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		creds, ok := hear().(*wire.Creds)
		if !ok {
			t.Fatal("the agent does not begin with credentials")
		}
		if waited := time.Since(began); waited > 2*time.Second {
			t.Errorf("the collector waited %v for credentials", waited)
		}
		if _, f, _ := creds.Creds[0].Version(); f&wire.FeatureAuth == 0 {
			t.Errorf("features %v of an agent that might want attributes", f)
		}
		toAgent.Write(hello())
		talk(func(from int32, p wire.PDU) { toAgent.Write(wire.Append(nil, from, p)) }, hear)
		if newErr == nil {
			toAgent.Close()
		}
		status = <-done
		toAgent.Close()
		time.Sleep(2 * time.Hour) // New returns at last
		log = stderr.String()
	})
	return status, log, a
}

func TestDaemonLate(t *testing.T) {
	desc := &wire.DescReq{PMID: pcp.NewPMID(domain, 0, 9)}
	status, log, a := late(t, nil, func(say func(int32, wire.PDU), hear func() wire.PDU) {
		say(7, &wire.Attr{Attr: pmda.AttrUserID, Value: []byte("1000")})
		say(8, &wire.Attr{Attr: pmda.AttrUserID, Value: []byte("1")})
		say(8, &wire.Error{Code: pcp.ErrNotConn}) // gone before the agent came
		say(7, &wire.Profile{})
		for range 2 {
			say(7, desc)
			if p := hear(); !isError(p, pcp.ErrPMDANotReady) {
				t.Errorf("a late agent answers %+v", p)
			}
		}
		before := time.Now()
		if p := hear(); !isError(p, pcp.ErrPMDAReady) || time.Since(before) < 50*time.Minute {
			t.Errorf("after %v the agent says %+v", time.Since(before), p)
		}
		say(7, desc)
		if p, ok := hear().(*wire.Desc); !ok {
			t.Errorf("the agent is ready and answers %+v", p)
		}
	})
	if status != 0 || !strings.Contains(log, "agent is ready") {
		t.Errorf("status %d, log\n%s", status, log)
	}
	if got := fmt.Sprint(a.calls); got != "[attr 7 11=1000 end 7]" || a.closed != 1 {
		t.Errorf("the agent was told %s, and closed %d times", got, a.closed)
	}
}

// TestDaemonLateUnseen sends no request while the agent is made: the daemon must
// send nothing unasked then.
func TestDaemonLateUnseen(t *testing.T) {
	status, _, _ := late(t, nil, func(say func(int32, wire.PDU), hear func() wire.PDU) {
		time.Sleep(2 * time.Hour)
		say(7, &wire.DescReq{PMID: pcp.NewPMID(domain, 0, 9)})
		if p, ok := hear().(*wire.Desc); !ok {
			t.Errorf("the agent is ready and answers %+v", p)
		}
	})
	if status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestDaemonLateFails(t *testing.T) {
	status, log, _ := late(t, errors.New("no hardware after all"), func(say func(int32, wire.PDU), hear func() wire.PDU) {
		say(7, &wire.DescReq{})
		if p := hear(); !isError(p, pcp.ErrPMDANotReady) {
			t.Errorf("a late agent answers %+v", p)
		}
	})
	if status != 1 || !strings.Contains(log, "no hardware after all") {
		t.Errorf("status %d, log\n%s", status, log)
	}
}

// TestDaemonLateLeft has the collector go while the agent is made.
func TestDaemonLateLeft(t *testing.T) {
	if status, log, _ := late(t, nil, func(func(int32, wire.PDU), func() wire.PDU) {}); status != 0 {
		t.Errorf("status %d, log\n%s", status, log)
	}
}

// TestOracleLate has the C collector wait for an agent.
func TestOracleLate(t *testing.T) {
	oracle.Require(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	agent, flag := filepath.Join(dir, "pmdawhoami"), filepath.Join(dir, "go")
	if err := os.Symlink(self, agent); err != nil {
		t.Fatal(err)
	}
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{"whoami 401 pipe binary " + agent + " -d 401"},
		PMNS:   "root {\n\twhoami\n}\nwhoami {\n\tended 401:0:0\n}\n",
		Env:    []string{"WHOAMI_WAITS_FOR=" + flag},
	})
	ask := func() string {
		out := d.Run(t, "pmprobe", "-v", "whoami.ended")
		return out.Stdout + out.Stderr
	}
	const again = "whoami.ended -12389 Try again. Information not currently available"
	for range 2 {
		if got := ask(); !strings.HasPrefix(got, again) {
			t.Errorf("pmprobe prints %q while the agent is made", got)
		}
	}
	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := ask()
		if strings.HasPrefix(got, "whoami.ended 1 ") {
			break
		}
		if !strings.HasPrefix(got, again) || time.Now().After(end) {
			t.Fatalf("pmprobe prints %q when the agent has been made", got)
		}
	}
}
