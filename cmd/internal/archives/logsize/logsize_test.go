package logsize

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// different lists archives on which the C tool reads invalid memory, so that its output
// depends on chance.
var different = map[string]string{
	"badmeta-5":               "a name beyond the end of its record",
	"archive-20150417.131733": "a record that is shorter than its frame",
}

// TestSuite compares reports on the archives of the QA suite.
func TestSuite(t *testing.T) {
	list := twin.Archives(t, 5)
	for i, a := range list {
		options := []string{"", "-r", "-dv -x 40"}
		if len(list) < 200 {
			options = options[i%3 : i%3+1]
		}
		for _, opt := range options {
			if _, ok := different[filepath.Base(a)]; ok {
				continue
			}
			if d := twin.Compare(t, twin.Call{Tool: "pmlogsize", Args: append(strings.Fields(opt), a)}); d != "" {
				t.Error(d)
			}
		}
	}
}

// TestArguments compares the output for all sorts of arguments.
func TestArguments(t *testing.T) {
	twin.Archives(t, 5)
	oracle.Require(t)
	for _, line := range []string{
		"", "-?", "-V", "-q", "nosuch", "-x 0 x", "-x 101 small", "-x 12abc -d 20041125", "-x", "--threshold=50 -d 20041125",
		"small", "small.0.xz", "small.meta", "20041125.0 20041125.meta", "nosuch 20041125", "20041125 nosuch", "GNUmakefile", "/nosuch/x",
		"./20041125", "-rv 20041125.index", "--replication --verbose 20041125.meta", "-d multi/20150508.11.44", ".", "ok-mv-bigbin",
		"/dev/null",
	} {
		if d := twin.Compare(t, twin.Call{Tool: "pmlogsize", Dir: twin.SuiteRoot + "/archives", Args: strings.Fields(line)}); d != "" {
			t.Error(d)
		}
	}
}
