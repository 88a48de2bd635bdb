package pmcd_test

import (
	"errors"
	"testing"

	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A closing agent counts how often it is closed.
type closing struct {
	pmda.Agent
	closed int
	fail   func() error
}

func (c *closing) Close() error {
	c.closed++
	return c.fail()
}

// TestAgentsAreClosed stops a collector: it closes its agents, once, regardless of their
// behavior.
func TestAgentsAreClosed(t *testing.T) {
	fine := &closing{fail: func() error { return nil }}
	broken := &closing{fail: func() error { return errors.New("disk full") }}
	mad := &closing{fail: func() error { panic("a mistake") }}
	var specs []pmcd.AgentSpec
	for i, c := range []*closing{fine, broken, mad} {
		table, err := pmda.NewTable(pmda.Config{Name: "closing", Domain: 400 + i})
		if err != nil {
			t.Fatal(err)
		}
		c.Agent = table
		specs = append(specs, inProcess([]string{"fine", "broken", "mad"}[i], 400+i, c))
	}
	s := start(t, pmcd.Config{Agents: specs})
	s.stop(t)
	if fine.closed != 1 || broken.closed != 1 || mad.closed != 1 {
		t.Errorf("closed %d, %d, %d times", fine.closed, broken.closed, mad.closed)
	}
	s.Log.waitFor(t, "disk full")
	s.Log.waitFor(t, "a mistake")
}
