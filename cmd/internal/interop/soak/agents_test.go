package soak

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/interop/attack"
	"github.com/go-pcp/pcp/wire"
)

// Environment of this program when it is an agent.
const (
	agentEnv  = "SOAK_AGENT"
	socketEnv = "SOAK_SOCKET"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(agentEnv); mode != "" {
		agent(mode)
		os.Exit(0)
	}
	os.Exit(attack.Main(m))
}

// Domains of the agents that are not in process.
const (
	domainPipe = 400 + iota
	domainSocket
	domainHang
	domainCrash
	domainLeak
)

// lines are their lines in a pmcd.conf. With pmcd, sample and simple, which are
// in process, there are eight.
func lines(t testing.TB) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := func(mode string) string {
		return fmt.Sprintf("/usr/bin/env %s=%s %s=@DIR@/%[2]s %[4]s", agentEnv, mode, socketEnv, exe)
	}
	return []string{
		fmt.Sprintf("piped %d pipe binary %s -d %[1]d", domainPipe, attack.Tool("pmdasimple")),
		fmt.Sprintf("socket %d socket unix @DIR@/sample %s -d %[1]d -u @DIR@/sample", domainSocket, attack.Tool("pmdasample")),
		fmt.Sprintf("hang %d pipe binary %s", domainHang, own("hang")),
		fmt.Sprintf("crash %d pipe binary %s", domainCrash, own("crash")),
		fmt.Sprintf("leak %d socket unix @DIR@/leak %s", domainLeak, own("leak")),
	}
}

// goodFetches is how many fetches the bad agents answer before they turn bad.
const goodFetches = 20

// agent is the main function of a misbehaving agent. All its metrics are 42.
func agent(mode string) {
	var in io.Reader = os.Stdin
	var out io.Writer = os.Stdout
	if mode == "leak" {
		ln, err := net.Listen("unix", os.Getenv(socketEnv))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		conn, err := ln.Accept()
		if err != nil {
			os.Exit(1)
		}
		in, out = conn, conn
		go func() { // slow enough for the disk
			line := strings.Repeat("drip, ", 15) + "drop\n"
			for {
				os.Stdout.WriteString(line)
				os.Stderr.WriteString(line)
				time.Sleep(time.Millisecond)
			}
		}()
	}
	send := func(p wire.PDU) {
		if _, err := out.Write(wire.Append(nil, int32(os.Getpid()), p)); err != nil {
			os.Exit(0)
		}
	}
	send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	r := wire.NewReader(in)
	for n := 0; ; {
		h, body, err := r.Next()
		if err != nil {
			return
		}
		p, err := wire.Decode(h, body)
		if err != nil {
			os.Exit(4)
		}
		switch p := p.(type) {
		case *wire.Fetch:
			if n++; n > goodFetches {
				switch mode {
				case "hang":
					time.Sleep(24 * time.Hour)
				case "crash":
					os.Exit(9)
				}
			}
			res := &wire.Result{}
			for _, id := range p.PMIDs {
				res.AddSet(id)
				res.Add(pcp.Int32Value(42))
			}
			send(res)
		case *wire.DescReq:
			send(&wire.Desc{Desc: pcp.Desc{PMID: p.PMID, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}})
		case *wire.Profile, *wire.Creds, *wire.Error, *wire.Attr:
		default:
			send(&wire.Error{Code: pcp.ErrNYI})
		}
	}
}
