package agentcmd_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// BenchmarkContainer fetches from real collectors with our agents and the real ones, on
// the host and in a container.
func BenchmarkContainer(b *testing.B) {
	oracle.Require(b)
	e := newEngineTree(b)
	e.fill(b, newBox(b, "boxname"))
	names, sides := containerSides(b, e)
	for i, d := range sides {
		if i == 1 || i == 2 { // neither all real nor all ours
			continue
		}
		for _, container := range []string{"", "web"} {
			host, what := "unix:"+d.Socket, "host"
			if container != "" {
				host, what = "unix://"+d.Socket+"?container="+container, "container"
			}
			b.Run(strings.ReplaceAll(names[i], " ", "-")+"/"+what, func(b *testing.B) {
				c, err := pmapi.Dial(b.Context(), host)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				ids, err := c.LookupName(b.Context(), "network.interface.total.bytes", "kernel.uname.nodename")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					res, err := c.Fetch(b.Context(), ids)
					if err != nil {
						b.Fatal(err)
					}
					if n := len(res.Sets[1].Values); n != 1 {
						b.Fatalf("%d values: %v", n, res.Sets[1].Err)
					}
				}
			})
		}
	}
}
