package pmlogger_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
)

// TestOrderOfRequests has a statement repeat the request of an earlier one, after a third has forbidden it: the
// order of C's hash table decides, which reverses its lists with the eighth request.
func TestOrderOfRequests(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	stop := count(t, socket)
	defer stop()
	for _, others := range []int{0, 5, 6} {
		c, err := pmapi.Dial(t.Context(), "unix:"+socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var log, config strings.Builder
		r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Log: &log})
		if err != nil {
			t.Fatal(err)
		}
		config.WriteString("log advisory on once count.fetched\nlog mandatory off count.fetched\n")
		for i := range others {
			fmt.Fprintf(&config, "log advisory on %d sec count.once\n", i+1)
		}
		config.WriteString("log advisory on once count.fetched\n")
		if _, err := r.Configure(t.Context(), strings.NewReader(config.String()), "config"); err != nil {
			t.Fatal(err)
		}
		refused := strings.Contains(log.String(), `Incompatible request for metric "count.fetched"`)
		if want := others < 6; refused != want {
			t.Errorf("%d requests between: refused %t, want %t\n%s", others, refused, want, log.String())
		}
	}
}
