package pmcd_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// TestMain makes this program an agent when a test starts it as one.
func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeAgentEnv); mode != "" {
		fakeAgent(mode)
		os.Exit(0)
	}
	leak.Main(m)
}

const (
	fakeAgentEnv    = "PMCD_TEST_AGENT"
	fakeAgentSocket = "PMCD_TEST_SOCKET"
	fakeAgentFlag   = "PMCD_TEST_FLAG"
	fakeAgentDawdle = "PMCD_TEST_DAWDLE"
	fakeAgentDomain = 300
)

// fakeAgentCommand returns a command that runs this program as an agent with the
// behavior mode.
func fakeAgentCommand(t *testing.T, mode string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"/usr/bin/env", fakeAgentEnv + "=" + mode, exe}
}

// fakeAgentThatWaits is fakeAgentCommand for an agent that continues when ready
// is called.
func fakeAgentThatWaits(t *testing.T, mode string) (command []string, ready func()) {
	t.Helper()
	flag := filepath.Join(t.TempDir(), "flag")
	command = slices.Insert(fakeAgentCommand(t, mode), 1, fakeAgentFlag+"="+flag)
	return command, func() {
		if err := os.WriteFile(flag, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// waitForFlag waits in the agent.
func waitForFlag() {
	for {
		if _, err := os.Stat(os.Getenv(fakeAgentFlag)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// fakeMetric is a metric of the fake agent for which it misbehaves; fakeGood is a
// metric with a value.
var (
	fakeMetric = pcp.NewPMID(fakeAgentDomain, 0, 1)
	fakeGood   = pcp.NewPMID(fakeAgentDomain, 0, 2)
)

func fakeAgent(mode string) {
	switch mode {
	case "silent":
		io.Copy(io.Discard, os.Stdin)
		return
	case "noise":
		os.Stdout.WriteString("this is no PDU, but long enough to be taken for one")
		io.Copy(io.Discard, os.Stdin)
		return
	case "exit":
		os.Exit(3)
	case "dawdle":
		serveDawdler()
		return
	case "listen":
		serveSocket(os.Getenv(fakeAgentSocket))
		return
	case "stderr":
		fmt.Fprintln(os.Stderr, "agent says hello")
	}
	send := func(b []byte) { os.Stdout.Write(b) }
	pid := int32(os.Getpid())
	send(wire.Append(nil, pid, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}}))
	switch mode {
	case "ready":
		send(wire.Append(nil, pid, &wire.Error{Code: pcp.ErrPMDAReady}))
	case "ready, ready":
		for range 3 {
			send(wire.Append(nil, pid, &wire.Error{Code: pcp.ErrPMDAReady}))
		}
	}
	if mode == "notready" {
		go func() {
			waitForFlag()
			send(wire.Append(nil, pid, &wire.Error{Code: pcp.ErrPMDAReady}))
		}()
	}
	in := wire.NewReader(os.Stdin)
	in.Max = wire.MaxPDU
	for {
		h, body, err := in.Next()
		if err != nil {
			if mode == "stubborn" {
				time.Sleep(time.Hour)
			}
			return
		}
		p, err := wire.Decode(h, body)
		if err != nil {
			os.Exit(4)
		}
		switch p := p.(type) {
		case *wire.Fetch:
			res := &wire.Result{}
			for _, id := range p.PMIDs {
				res.AddSet(id)
				res.Add(pcp.Int32Value(42))
			}
			if p.PMIDs[0] == fakeMetric {
				misbehave(mode, res, send)
				continue
			}
			send(wire.Append(nil, pid, res))
		case *wire.DescReq:
			if mode == "mute" {
				continue
			}
			send(wire.Append(nil, pid, &wire.Desc{Desc: pcp.Desc{PMID: p.PMID, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}}))
		case *wire.Attr:
			if mode == "attrs" {
				fmt.Fprintf(os.Stderr, "attribute %d=%s of client %d\n", p.Attr, p.Text(), h.From)
			}
		case *wire.Error:
			if mode == "attrs" {
				fmt.Fprintf(os.Stderr, "error %d of client %d\n", p.Code, h.From)
			}
		case *wire.Profile, *wire.Creds:
		default:
			send(wire.Append(nil, pid, &wire.Error{Code: pcp.ErrNYI}))
		}
	}
}

// serveSocket is an agent that its collector connects to.
func serveSocket(path string) {
	time.Sleep(50 * time.Millisecond) // like an agent that starts slowly
	ln, err := net.Listen("unix", path)
	if err != nil {
		os.Exit(5)
	}
	conn, err := ln.Accept()
	if err != nil {
		os.Exit(6)
	}
	if err := pmda.Serve(context.Background(), conn, &scripted{}, pmda.ServeOptions{}); err != nil {
		os.Exit(7)
	}
}

// misbehave answers a fetch badly.
func misbehave(mode string, res *wire.Result, send func([]byte)) {
	switch mode {
	case "hang":
	case "die":
		b := wire.Append(nil, 0, res)
		send(b[:len(b)-5])
		os.Exit(7)
	case "eof":
		os.Stdout.Close()
	case "wrong":
		res.Sets[0].PMID++
		send(wire.Append(nil, 0, res))
	case "short":
		res.Sets = res.Sets[:0]
		send(wire.Append(nil, 0, res))
	case "type":
		send(wire.Append(nil, 0, &wire.Text{Text: "what?"}))
	case "huge":
		send([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0x70, 1, 0, 0, 0, 0})
	case "garbage":
		send([]byte{0, 0, 0, 20, 0, 0, 0x70, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	case "error":
		send(wire.Append(nil, 0, &wire.Error{Code: pcp.ErrAppVersion}))
	case "busy":
		send(wire.Append(nil, 0, &wire.Error{Code: pcp.ErrPMDANotReady}))
		waitForFlag()
		send(wire.Append(nil, 0, &wire.Error{Code: pcp.ErrPMDAReady}))
	default:
		send(wire.Append(nil, 0, res))
	}
}

// A scripted is an agent in process whose calls a test can stop and count.
type scripted struct {
	domain int
	// fetch, if not nil, is called for each fetch, refresh for each refresh.
	fetch   func(req *pmda.FetchRequest) error
	refresh func(ids []pcp.PMID) error

	mu        sync.Mutex
	refreshes [][]pcp.PMID
	inside    atomic.Int32 // calls that run
	overlap   atomic.Bool  // two ran at once
}

func (a *scripted) enter() func() {
	if a.inside.Add(1) > 1 {
		a.overlap.Store(true)
	}
	return func() { a.inside.Add(-1) }
}

func (a *scripted) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	defer a.enter()()
	if id.Cluster() != 0 {
		return pcp.Desc{}, pcp.ErrPMID
	}
	return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, nil
}

func (a *scripted) Instances(context.Context, pcp.InDom) ([]pcp.Instance, error) {
	defer a.enter()()
	return nil, pcp.ErrInDom
}

func (a *scripted) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	defer a.enter()()
	if a.fetch != nil {
		return a.fetch(req)
	}
	for _, id := range req.PMIDs {
		req.Result.AddSet(id)
		req.Result.Add(pcp.Uint32Value(uint32(id.Item())))
	}
	return nil
}

// A refresher is a scripted agent that also refreshes.
type refresher struct{ *scripted }

func (a refresher) Refresh(_ context.Context, ids []pcp.PMID) error {
	defer a.enter()()
	a.mu.Lock()
	a.refreshes = append(a.refreshes, append([]pcp.PMID(nil), ids...))
	a.mu.Unlock()
	if a.refresh != nil {
		return a.refresh(ids)
	}
	return nil
}
