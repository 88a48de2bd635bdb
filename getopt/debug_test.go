package getopt_test

import (
	"io"
	"testing"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/debugname"
)

// TestDebugLog checks that PCP_COMPAT=7 chooses the layout of version 7.
func TestDebugLog(t *testing.T) {
	for compat, want := range map[string]bool{"": false, "6": false, "7": true} {
		for spec, want := range map[string]bool{"log": want, "": false} {
			o := getopt.NewOptions(&getopt.Program{Name: "tool", Stdout: io.Discard, Stderr: io.Discard, Config: config.New(func(name string) string {
				return map[string]string{"PCP_COMPAT": compat, "PCP_DEBUG": spec}[name]
			})}, nil)
			o.Parse()
			if log := o.DebugLog(); log.On("log") != (spec != "") || log.On(debugname.Version7) != want {
				t.Errorf("PCP_COMPAT=%s, PCP_DEBUG=%s: log %t, version 7 %t", compat, spec, log.On("log"), log.On(debugname.Version7))
			}
		}
	}
}
