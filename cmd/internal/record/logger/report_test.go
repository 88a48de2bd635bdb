package logger

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// reports are configurations whose groups have records of known sizes.
var reports = []string{
	"log mandatory on 1 sec { sample.long.one }\nlog mandatory on 20 msec { sample.long.ten }\n",
	"log mandatory on 40 msec { sample.long.one }\nlog mandatory on 1500 msec { sample.long sample.string.hullo }\nlog mandatory on 70 sec { sample.bin }\n",
	"log mandatory on once { pmcd.version sample.colour }\nlog advisory on 20 msec { sample.double.million }\n",
	"log mandatory on 30 msec { sample.bin [ \"bin-100\", \"bin-300\" ] sample.aggregate.hullo sample.double sample.ulonglong }\n",
	"log mandatory on 20 msec { sample.noinst sample.needprofile }\nlog mandatory on 1 min { sample.long.one sample.no.such }\n",
	"log mandatory off { sample.long.ten }\nlog mandatory on 20 msec { sample.float sample.string.write_me }\n",
	"log mandatory maybe { sample.long.ten }\nlog mandatory on once { sample.long.hundred }\nlog mandatory on 2250 msec { sample.sysinfo }\nlog mandatory on 20 msec { sample.pdu }\n",
}

// TestReport compares the sizes of records that -r reports with those of the C logger.
func TestReport(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	for i, text := range reports {
		version := []string{"2", "3"}[i%2]
		dir := t.TempDir()
		path := func(name string) string { return filepath.Join(dir, name) }
		if err := os.WriteFile(path("config"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		args := func(who, log string) []string {
			return []string{"-r", "-c", path("config"), "-h", d.TCP, "-V", version, "-l", log, "-s", "4", path(who)}
		}
		if out := d.Run(t, "pmlogger", args("c", path("c.log"))...); out.Exit != 0 {
			t.Fatalf("%s: the C logger: %+v", text, out)
		}
		var log bytes.Buffer
		env := &cli.Env{
			Name: "pmlogger", Program: os.Args[0], Command: Command, Args: args("go", "-"),
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &log,
			Getenv: func(name string) string {
				for _, e := range slices.Backward(d.Env) {
					if value, ok := strings.CutPrefix(e, name+"="); ok {
						return value
					}
				}
				return ""
			},
		}
		if status := new(settings).run(context.Background(), env); status != 0 {
			t.Fatalf("%s: status %d: %s", text, status, log.String())
		}
		want, got := reported(read(t, path("c.log"))), reported(log.String())
		if len(want) == 0 {
			t.Errorf("%s: the C logger reports nothing: %s", text, read(t, path("c.log")))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %s, %s: C and ours report:\n%s", version, text, diff)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// reported returns the reports in a log.
func reported(log string) []string {
	return regexp.MustCompile(`(?s)\n(Metric|Group \[)[^}]*?}? logged [^\n]*`).FindAllString(log, -1)
}
