package main

import (
	"bufio"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

// dynamicRoots are the beginnings of names that no agent of the table has before it runs: those of programs, exporters and configurations.
func dynamicRoots() []string {
	return []string{"openmetrics", "lmsensors", "perfevent", "opentelemetry", "mmv", "statsd", "pmproxy", "hotproc", "pmcd", "event"}
}

// tableNames returns the names of all metrics in the tables of agents, with those of the subtrees that they are in.
func tableNames(t *testing.T) map[string]bool {
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "PCP_CONF": os.DevNull, "PCP_PMDAS_DIR": home, "PCP_VAR_DIR": home, "PCP_TMP_DIR": home}
	names := make(map[string]bool)
	for _, b := range agent.Builtins() {
		if b.OfCollector || b.Sample {
			continue
		}
		a, err := b.Open(builtin.Env{
			Config: config.New(func(name string) string { return vars[name] }), HostRoot: home, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			continue // a listener, for one
		}
		if s, ok := a.(pmda.NameSpacer); ok {
			for name := range s.NameSpace().All() {
				for i := range len(name) {
					if name[i] == '.' {
						names[name[:i]] = true
					}
				}
				names[name] = true
			}
		}
		if c, ok := a.(interface{ Close() error }); ok {
			c.Close()
		}
	}
	return names
}

// TestMetricNames checks that the metrics which the views of pmrep, the groups of pmlogconf and the rules of pmieconf name are in the tables of agents.
func TestMetricNames(t *testing.T) {
	names := tableNames(t)
	for _, want := range []string{"kernel.all.load", "zfs.arc.size", "postfix.sent", "bpf.runq", "mysql.status"} {
		if !names[want] {
			t.Fatalf("the tables lack %s", want)
		}
	}
	checked := 0
	check := func(path string, line int, name string) {
		root, _, _ := strings.Cut(name, ".")
		for _, other := range dynamicRoots() {
			if root == other {
				return
			}
		}
		checked++
		if !names[name] {
			t.Errorf("%s:%d: no agent has %s", path, line, name)
		}
	}
	row := regexp.MustCompile(`^([a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)+)\s*=`) // of a view
	word := regexp.MustCompile(`[a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)+`)
	eachLine(t, "../internal/reports/rep/views", func(path string, n int, line string, _ bool) {
		if m := row.FindStringSubmatch(line); m != nil {
			check(path, n, m[1])
		}
	})
	eachLine(t, "../internal/pmlogger/logconf/groups", func(path string, n int, line string, _ bool) {
		if name, ok := strings.CutPrefix(line, "\t"); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), "[")
			check(path, n, strings.TrimSpace(name))
		} else if f := strings.Fields(line); len(f) > 1 && f[0] == "probe" {
			check(path, n, f[1])
		}
	})
	eachLine(t, "../internal/pmie/ieconf/rules", func(path string, n int, line string, quoted bool) {
		if !quoted || !strings.HasPrefix(line, "    ") {
			return
		}
		for _, name := range word.FindAllString(line, -1) {
			check(path, n, name)
		}
	})
	if checked < 300 {
		t.Errorf("only %d names were checked", checked)
	}
}

// eachLine calls f for each line of the files below a directory; quoted means that it is in a predicate of a rule.
func eachLine(t *testing.T, dir string, f func(path string, n int, line string, quoted bool)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		sc, quoted := bufio.NewScanner(file), false
		for n := 1; sc.Scan(); n++ {
			line := sc.Text()
			if strings.Contains(line, "predicate =") {
				quoted = true
			}
			f(path, n, line, quoted)
			if strings.HasSuffix(line, `"`) && line != `"` && !strings.HasPrefix(line, `"`) || line == `)"` {
				quoted = false
			}
		}
		return sc.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
