package main

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-pcp/pcp/internal/timecontrol"
	"github.com/go-pcp/pcp/pcptime"
)

// controller starts a time control at $CONTROL for one tool that shows an archive.
// When the tool has connected, the control does the actions of the arguments in order,
// each after the end of the one before; then it ends, and with it the tool.
//
//	controller play prev 'goto @10:20:30' next 'delta 2' 'zone UTC'
func controller(ts *testscript.TestScript, _ bool, actions []string) {
	l, err := timecontrol.Listen(0, 45500)
	ts.Check(err)
	ts.Setenv("CONTROL", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server := timecontrol.NewServer(timecontrol.Config{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	c := server.Control(timecontrol.Archive)
	c.SetMode(timecontrol.FastMode)
	wait := func(ok func(timecontrol.Status) bool) bool {
		for !ok(c.Report()) {
			select {
			case <-ctx.Done():
				return false
			case <-time.After(time.Millisecond):
			}
		}
		return true
	}
	driven := make(chan bool, 1)
	go func() {
		defer cancel()
		done := wait(func(st timecontrol.Status) bool { return st.Followers > 0 })
		for _, action := range actions {
			if done {
				done = act(c, action) && wait(func(st timecontrol.Status) bool { return !st.Waiting })
			}
		}
		driven <- done
	}()
	ts.Defer(func() {
		cancel()
		if !<-driven {
			ts.Logf("the tool did not follow: %+v", c.Report())
		}
		if err := <-served; err != nil {
			ts.Logf("time control: %v", err)
		}
	})
}

// act does one action, and reports whether the action is known.
func act(c *timecontrol.Control, action string) bool {
	word, arg, _ := strings.Cut(action, " ")
	st := c.Report()
	switch word {
	case "play":
		c.SetMode(timecontrol.FastMode)
		c.Play()
	case "next", "prev":
		c.SetMode(timecontrol.StepMode)
		if word == "next" {
			c.Play()
		} else {
			c.Back()
		}
	case "goto":
		t, err := pcptime.ParseTime(arg, st.Start, st.End, time.UTC)
		if err != nil {
			return false
		}
		c.SetPosition(t)
	case "delta":
		d, err := pcptime.ParseInterval(arg)
		if err != nil {
			return false
		}
		c.SetDelta(d)
	case "zone":
		c.SetZone(arg, "test")
	default:
		return false
	}
	return true
}
