package logconf_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing/fstest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/logconf"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/pmapi"
)

// A recorder records the metrics of this machine's collector, as configured by the built-in
// groups.
func Example() {
	ctx := context.Background()
	c, err := pmapi.Dial(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := logconf.Generate(ctx, c, logconf.Builtin(), logconf.Config{Warn: func(msg string) { log.Print(msg) }})
	if err != nil {
		log.Fatal(err)
	}
	r, err := pmlogger.New(ctx, c, pmlogger.Config{Archive: "today", Interval: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := r.Configure(ctx, bytes.NewReader(text), "generated"); err != nil {
		log.Fatal(err)
	}
	log.Print(r.Run(ctx))
}

// The groups are read from a directory, or from any other file system.
func ExampleGenerate() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	groups := fstest.MapFS{
		"simple/colours": {Data: []byte(`#pmlogconf-setup 2.0
ident	three colours
probe	simple.color >= 100 ? include : exclude
delta	1 minute
	simple.color [ red green ]
`)},
		"other": {Data: []byte(`#pmlogconf-setup 2.0
ident	what this collector does not have
probe	other.metric
	other
`)},
	}
	text, err := logconf.Generate(context.Background(), c, groups, logconf.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "#+ groupdir")
	_, after, _ = strings.Cut(after, "#\n")
	before, _, _ := strings.Cut(after, "# DO NOT UPDATE")
	fmt.Print(before)
	// Output:
	// #+ other:x::
	// #----
	// #+ simple/colours:y:1 minute:
	// ## three colours
	// log advisory on 1 minute {
	// 	simple.color [ red green ]
	// }
	// #----
}

// An existing configuration is updated; the user's additions at its end are preserved.
func ExampleSet_Update() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	s, err := logconf.Load(os.DirFS("/var/lib/pcp/config/pmlogconf"), logconf.Config{Dir: "/var/lib/pcp/config/pmlogconf"})
	if err != nil {
		log.Print(err)
		return
	}
	if err := s.Probe(context.Background(), c); err != nil {
		log.Print(err)
		return
	}
	s.Rules()
	f, err := os.Open("config.default")
	if err != nil {
		log.Print(err)
		return
	}
	defer f.Close()
	if err := s.Read(f); err != nil {
		log.Print(err)
		return
	}
	os.Stdout.Write(s.Update())
}
