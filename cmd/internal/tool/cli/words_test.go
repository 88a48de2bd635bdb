package cli_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestUseWords: with PCP_COMPAT=7, and only then, errors of archives have the messages of PCP 7, and other texts are unchanged.
func TestUseWords(t *testing.T) {
	for compat, want := range map[string][]string{
		"7": {"Empty archive file", "End of PCP archive", "Missing PCP archive file"},
		"6": {"Empty archive log file", "End of PCP archive log", "Missing PCP archive log file"},
		"":  {"Empty archive log file", "End of PCP archive log", "Missing PCP archive log file"},
	} {
		var out, errs bytes.Buffer
		env := &cli.Env{Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
			return map[string]string{"PCP_COMPAT": compat}[name]
		}}
		env.UseWords()
		for _, e := range []error{pcp.ErrNoData, pcp.ErrEOL, pcp.ErrLogFile} {
			fmt.Fprintf(env.Stdout, "x: %v, an archive log\n", e)
			fmt.Fprintf(env.Stderr, "x: %v\n", e)
		}
		for i, text := range want {
			if line := strings.Split(out.String(), "\n")[i]; line != "x: "+text+", an archive log" {
				t.Errorf("PCP_COMPAT=%s: %q", compat, line)
			}
			if line := strings.Split(errs.String(), "\n")[i]; line != "x: "+text {
				t.Errorf("PCP_COMPAT=%s: %q on standard error", compat, line)
			}
		}
	}
}
