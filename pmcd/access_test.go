package pmcd_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

func fileOf(t *testing.T, text string) *conf.File {
	t.Helper()
	file, err := conf.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestStoreNeedsPermission checks that access control refuses one operation.
func TestStoreNeedsPermission(t *testing.T) {
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{builtin(t, "pmcd")},
		Access: fileOf(t, `[access]
disallow ".*" : store;
disallow "unix:" : fetch;`).Access,
	})
	timeout := pcp.NewPMID(2, 0, 4)
	reply := func(network, addr string, p wire.PDU) wire.PDU {
		t.Helper()
		c := dial(t, network, addr)
		c.send(p)
		return c.receive()
	}
	for _, c := range []struct {
		network, addr string
		pdu           wire.PDU
		want          pcp.Error // 1: anything but an error
	}{
		{"tcp", s.TCP, &wire.Result{Result: storeOf(timeout, 6)}, pcp.ErrPermission},
		{"tcp", s.TCP, &wire.DescReq{PMID: timeout}, 1},
		{"unix", s.Socket, &wire.Result{Result: storeOf(timeout, 6)}, 0},
		{"unix", s.Socket, &wire.DescReq{PMID: timeout}, pcp.ErrPermission},
		{"unix", s.Socket, &wire.PMNSNames{Names: []string{"pmcd.pid"}}, pcp.ErrPermission},
		{"unix", s.Socket, &wire.Profile{}, pcp.ErrPermission},
	} {
		e, ok := reply(c.network, c.addr, c.pdu).(*wire.Error)
		if c.want == 1 && !ok {
			continue
		}
		if !ok || e.Code != c.want {
			t.Errorf("%v by %s gets %+v, want %v", c.pdu.Type(), c.network, e, c.want)
		}
	}
}

// TestRefusedClient checks that a client without any permission is refused at
// once.
func TestRefusedClient(t *testing.T) {
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{builtin(t, "pmcd")},
		Access: fileOf(t, `[access]
disallow ".*" : all;
allow "unix:" : all, maximum 1 connections;`).Access,
	})
	refused := func(network, addr string, want pcp.Error) {
		t.Helper()
		last := dialOnly(t, network, addr).gone()
		if len(last) != 1 || last[0].(*wire.Error).Code != want {
			t.Errorf("client by %s gets %+v, want %v", network, last, want)
		}
	}
	refused("tcp", s.TCP, pcp.ErrPermission)
	first := dial(t, "unix", s.Socket)
	first.fetch(pcp.NewPMID(2, 0, 4))
	refused("unix", s.Socket, pcp.ErrConnLimit)
	first.conn.Close()
	eventually(t, "the first client leaves", func() bool { return len(s.Control().ClientStates()) == 0 })
	dial(t, "unix", s.Socket).fetch(pcp.NewPMID(2, 0, 4))
}
