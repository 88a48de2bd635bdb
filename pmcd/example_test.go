package pmcd_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A collector with one agent of one metric, and a client that reads it.
func Example() {
	answer, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, Metrics: []pmda.Metric{{
		Name: "guide.answer", Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		OneLine: "the answer",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil },
	}}})
	if err != nil {
		log.Fatal(err)
	}

	dir, err := os.MkdirTemp("", "pmcd")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "pmcd.socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{
		Listeners: []net.Listener{ln},
		Agents:    []pmcd.AgentSpec{{Name: "guide", Domain: 400, Agent: answer}},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- s.Run(ctx) }()

	c, err := pmapi.Dial(ctx, "unix:"+socket)
	if err != nil {
		log.Fatal(err)
	}
	ids, err := c.LookupName(ctx, "guide.answer")
	if err != nil {
		log.Fatal(err)
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids[0], res.Sets[0].Values[0].As(pcp.TypeU32).Uint32())

	c.Close()
	stop()
	fmt.Println(<-stopped)
	// Output:
	// 400.0.0 42
	// <nil>
}
