package pmcd_test

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
)

// A signalled is a collector, real or ours, that is sent SIGHUPs.
type signalled struct {
	t       *testing.T
	c       *rawClient // connected all the time
	socket  string
	hangUp  func()
	sighups int32
	bits    pmapi.Changes // that c got since they were looked at
}

func (s *signalled) value(item int) pcp.ValueSet {
	s.t.Helper()
	bits, vs := s.c.changes(pcp.NewPMID(2, 0, item))
	s.bits |= bits
	return vs
}

func (s *signalled) number(item int) int32 {
	s.t.Helper()
	vs := s.value(item)
	if len(vs.Values) != 1 {
		s.t.Fatalf("pmcd's metric %d is %+v", item, vs)
	}
	return vs.Values[0].As(pcp.Type32).Int32()
}

// signal sends one and waits until it has been dealt with.
func (s *signalled) signal() {
	s.t.Helper()
	s.hangUp()
	s.sighups++
	eventually(s.t, fmt.Sprintf("signal %d is counted", s.sighups), func() bool { return s.number(22) == s.sighups })
	dial(s.t, "unix", s.socket) // is let in when that is done
	s.number(22)                // brings the changes
}

// die ends sample, and waits until the collector knows.
func (s *signalled) die(host string) {
	s.t.Helper()
	if out := oracle.Run(s.t, "pmstore", "-h", host, "sample.control", "-1"); out.Exit != 0 {
		s.t.Fatalf("pmstore: %+v", out)
	}
	eventually(s.t, "sample is gone", func() bool {
		bits, vs := s.c.changes(pcp.NewPMID(29, 0, 10))
		s.bits |= bits
		return vs.Err == pcp.ErrNoAgent
	})
}

// A seen is what a client sees of a signal.
type seen struct {
	Bits           pmapi.Changes
	Agents, SeqNum int32
	Status         string // by domain, and whether there is a fence
	Desc           [2]pcp.Error
}

func (s *signalled) look() seen {
	s.t.Helper()
	bits, status := s.c.changes(pcp.NewPMID(2, 4, 1))
	s.bits |= bits
	_, fenced := s.c.changes(pcp.NewPMID(2, 4, 2))
	v := seen{Bits: s.bits, Agents: s.number(2), SeqNum: s.number(24)}
	for i, value := range status.Values {
		v.Status += fmt.Sprintf("%d=%d,%d ", value.Inst, value.As(pcp.Type32).Int32(), fenced.Values[i].As(pcp.Type32).Int32())
	}
	for i, domain := range []int{29, 253} {
		_, vs := s.c.changes(pcp.NewPMID(domain, 0, 1))
		v.Desc[i] = vs.Err
	}
	s.bits = 0
	return v
}

// TestHangUpIsThatOfTheRealOne has agents come, go and die under both.
func TestHangUpIsThatOfTheRealOne(t *testing.T) {
	all := oracle.Config{Agents: []string{"pmcd", "sample", "simple"}, Env: []string{"PMCD_RESTART_AGENTS=0"}}
	real := oracle.StartPMCD(t, all)
	var setup atomic.Pointer[pmcd.Setup]
	cfg := twinConfig(t, real)
	cfg.Reload = func() *pmcd.Setup { return setup.Load() }
	ours := start(t, cfg)

	worlds := []*signalled{
		{t: t, c: dial(t, "unix", real.Socket), socket: real.Socket, hangUp: func() { real.Signal(t, syscall.SIGHUP) }},
		{t: t, c: dial(t, "unix", ours.Socket), socket: ours.Socket, hangUp: ours.HangUp},
	}
	hosts := []string{real.Unix, "unix:" + ours.Socket}
	for _, w := range worlds {
		w.c.fetch(pcp.NewPMID(2, 0, 22)) // sends the profile
	}
	for _, step := range []struct {
		what  string
		die   bool
		fence bool
		store bool     // pmstore in place of the signal
		conf  []string // nil leaves it as it is
	}{
		{what: "nothing changed"},
		{what: "sample died", die: true},
		{what: "nothing changed then"},
		{what: "simple removed", conf: []string{"pmcd", "sample"}},
		{what: "sample died, simple added", die: true, conf: []string{"pmcd", "sample", "simple"}},
		{what: "another order", conf: []string{"simple", "pmcd", "sample"}},
		{what: "sample is fenced, simple removed", fence: true, conf: []string{"sample", "pmcd"}},
		{what: "told by a store", store: true},
		{what: "all but pmcd removed", conf: []string{"pmcd"}},
	} {
		if step.fence {
			for _, host := range hosts {
				if out := oracle.Run(t, "pmstore", "-h", host, "pmcd.agent.fenced", "1"); out.Exit != 0 {
					t.Fatalf("pmstore: %+v", out)
				}
			}
		}
		if step.die {
			for i, w := range worlds {
				w.die(hosts[i])
			}
		}
		setup.Store(nil)
		if step.conf != nil {
			real.WritePMCDConf(t, oracle.Config{Agents: step.conf})
			next := twinConfig(t, real)
			setup.Store(&pmcd.Setup{Agents: next.Agents, Access: next.Access})
		}
		var got [2]seen
		for i, w := range worlds {
			hangUp := w.hangUp
			if step.store {
				w.hangUp = func() {
					if out := oracle.Run(t, "pmstore", "-h", hosts[i], "pmcd.control.sighup", "1"); out.Exit != 0 {
						t.Fatalf("pmstore: %+v", out)
					}
				}
			}
			w.signal()
			w.hangUp = hangUp
			got[i] = w.look()
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("%s (-real +ours):\n%s", step.what, d)
		}
		t.Logf("%s: %+v", step.what, got[0])
	}
}
