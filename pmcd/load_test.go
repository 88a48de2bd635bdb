package pmcd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A dawdler is the agent proc, and each fetch of many metrics takes longer by a while.
type dawdler struct {
	*proc.Agent
	more time.Duration
}

func (d dawdler) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	if len(req.PMIDs) > 20 {
		time.Sleep(d.more)
	}
	return d.Agent.Fetch(ctx, req)
}

// serveDawdler is the main function of a dawdler in a separate process.
func serveDawdler() {
	more, err := time.ParseDuration(os.Getenv(fakeAgentDawdle))
	if err != nil {
		os.Exit(8)
	}
	if err := pmda.Serve(context.Background(), pipes{os.Stdin, os.Stdout}, dawdler{proc.New(proc.Config{AllAccess: true}), more}, pmda.ServeOptions{}); err != nil {
		os.Exit(9)
	}
}

// pipes are the standard input and output of an agent.
type pipes struct{ in, out *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }

// TestNothingIsUnknownUnderLoad fetches all metrics of all processes again and again, so that fetches run into the time
// limit, while clients come and look up names, descriptors and instances. They may get the error to try again, but
// never that something is unknown or that there is no agent. The long form has the real limit, 2,000 processes and a
// load of 40; the short one has an agent that dawdles.
func TestNothingIsUnknownUnderLoad(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc of Linux")
	}
	limit, more, length := 400*time.Millisecond, 700*time.Millisecond, 4*time.Second
	if longtest.Enabled() {
		limit, more, length = 5*time.Second, 0, time.Minute
		crowd(t, 2000, 40)
	}
	tree := dawdler{Agent: proc.New(proc.Config{})}.NameSpace()
	all, err := tree.Leaves("")
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(maps.Collect(all)))
	for _, place := range []string{"in process", "in another process"} {
		t.Run(place, func(t *testing.T) {
			spec := pmcd.AgentSpec{Name: "proc", Domain: proc.Domain, Agent: dawdler{proc.New(proc.Config{AllAccess: true}), more}}
			if place != "in process" {
				command := slices.Insert(fakeAgentCommand(t, "dawdle"), 1, fakeAgentDawdle+"="+more.String())
				spec = pmcd.AgentSpec{Name: "proc", Domain: proc.Domain, Transport: conf.Transport{Kind: conf.Pipe, Args: command}}
			}
			dynamic := pmns.New() // as the name space of C, which leaves the names to the agent
			children, err := tree.Children("")
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range children {
				if err := dynamic.Add(ch.Name, pcp.DynamicRoot(proc.Domain)); err != nil {
					t.Fatal(err)
				}
			}
			s := start(t, pmcd.Config{NameSpace: dynamic, Agents: []pmcd.AgentSpec{spec, inProcess("other", 301, &scripted{})}})
			look := func() (ids []pcp.PMID, err error) {
				c, err := pmapi.Dial(t.Context(), "unix:"+s.Socket)
				if err != nil {
					return nil, fmt.Errorf("connect: %w", err)
				}
				defer c.Close()
				if ids, err = c.LookupName(t.Context(), names...); err != nil {
					return nil, fmt.Errorf("names: %w", err)
				}
				if _, err := c.LookupDescs(t.Context(), ids...); err != nil {
					return nil, fmt.Errorf("descriptors: %w", err)
				}
				if _, err := c.GetInDom(t.Context(), pcp.NewInDom(proc.Domain, 9)); err != nil {
					return nil, fmt.Errorf("instances: %w", err)
				}
				n := 0
				for _, err := range c.Traverse(t.Context(), "") {
					if err != nil {
						return nil, fmt.Errorf("traverse: %w", err)
					}
					n++
				}
				if n < len(names) {
					return nil, fmt.Errorf("traverse: %d names of %d", n, len(names))
				}
				return ids, nil
			}
			ids, err := look() // all is known
			if err != nil {
				t.Fatal(err)
			}
			s.Control().SetAgentTimeout(limit)
			var fetches, late, looks, again atomic.Int64
			var clients sync.WaitGroup
			ctx, stop := context.WithTimeout(t.Context(), length)
			defer stop()
			clients.Go(func() {
				c, err := pmapi.Dial(t.Context(), "unix:"+s.Socket)
				if err != nil {
					t.Errorf("connect: %v", err)
					return
				}
				defer c.Close()
				with := append(slices.Clone(ids), pcp.NewPMID(301, 0, 5))
				for ctx.Err() == nil {
					res, err := c.Fetch(t.Context(), with)
					if err != nil {
						t.Errorf("fetch: %v", err)
						return
					}
					fetches.Add(1)
					if res.Sets[0].Err == pcp.ErrAgain {
						late.Add(1)
						time.Sleep(20 * time.Millisecond) // like a client that tries again
					} else if res.Sets[0].Err != 0 {
						t.Errorf("%s: %v", names[0], res.Sets[0].Err)
						return
					}
					if vs := res.Sets[len(ids)]; len(vs.Values) != 1 {
						t.Errorf("the other agent's value is %+v", vs)
					}
				}
			})
			for range 3 {
				clients.Go(func() {
					for ctx.Err() == nil {
						_, err := look()
						switch looks.Add(1); {
						case errors.Is(err, pcp.ErrAgain):
							again.Add(1)
						case err != nil:
							t.Error(err)
							return
						}
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			clients.Wait()
			t.Logf("%d of %d fetches were late; clients looked around %d times, and were to try again %d times", late.Load(), fetches.Load(), looks.Load(), again.Load())
			if late.Load() == 0 && !longtest.Enabled() {
				t.Error("no fetch ran into the time limit")
			}
			// A question that runs into the limit itself, on a busy machine, has that answer.
			if hung := s.Log.lines("agent does not answer"); int(again.Load()) > len(hung) {
				t.Errorf("%d of %d clients were told to try again by an agent whose answers are known, which hung %d times", again.Load(), looks.Load(), len(hung))
			}
			if lines := s.Log.lines("agent dropped"); len(lines) > 0 {
				t.Errorf("the agent was dropped: %q", lines)
			}
		})
	}
}

// crowd starts processes that sleep, and others that keep processors busy, until the end of the test.
func crowd(t *testing.T, sleeping, busy int) {
	t.Helper()
	var started []*exec.Cmd
	t.Cleanup(func() {
		for _, cmd := range started {
			cmd.Process.Kill()
		}
		for _, cmd := range started {
			await.Exit(t, cmd) // which a process that was killed does not keep
		}
	})
	for i := range sleeping + busy {
		cmd := exec.Command("/bin/sleep", "3600")
		if i >= sleeping {
			cmd = exec.Command("/bin/sh", "-c", "while :; do :; done")
		}
		if err := cmd.Start(); err != nil {
			t.Skipf("%d processes cannot be started here: %v", sleeping+busy, err)
		}
		started = append(started, cmd)
	}
}
