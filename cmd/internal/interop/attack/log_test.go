package attack

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// noisyLines is how many lines the agent noisy writes to its standard error
// before it serves. They are 121 bytes each.
const noisyLines = 1 << 16

// TestNoisyAgent has an agent write 8 MB to its standard error. It serves all
// the same, the log has little of that, and one line counts the rest.
func TestNoisyAgent(t *testing.T) {
	c := Start(t, Options{Agents: []string{hostileLine(t, "noisy", hostileDomain)}})
	c.Watch(t)
	cl := c.Dial(t, "unix")
	id := pcp.NewPMID(hostileDomain, 0, 1)
	if err := cl.Check(id); err != nil {
		t.Errorf("the agent does not serve: %v", err)
	}
	if _, err := cl.Ask(&wire.DescReq{PMID: id}); err == nil || Ended(err) {
		t.Errorf("when the agent ends: %v", err)
	}
	Eventually(t, "what was dropped is told", func() bool { return len(c.Lines("agent's standard error")) > 0 })
	cl.Conn.Close()
	c.Finish(t, 0)
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	// Once for each minute it took.
	told := c.Lines("agent's standard error")
	kept := bytes.Count(text, []byte("\nnoise "))
	t.Logf("%d bytes of the log; %s", len(text), told)
	if most := len(told) * ((64<<10)/121 + 1); kept == 0 || kept > most { // the last line may be cut
		t.Errorf("%d lines are kept of %d, want at most %d", kept, noisyLines, most)
	}
}

// logged checks that since began clients had the log grow by no more lines of
// a kind than they may: 100 a minute and one.
func (c *Collector) logged(t testing.TB, text string, began time.Time) {
	t.Helper()
	lines, minutes := c.Lines(text), 1+int(time.Since(began)/time.Minute)
	t.Logf("the log has %d lines with %q", len(lines), text)
	if len(lines) == 0 || len(lines) > 101*minutes {
		t.Errorf("the log has %d lines with %q after at most %d minutes, want at most %d", len(lines), text, minutes, 101*minutes)
	}
}
