// Package reporttest runs reports over archives that a test makes, in the process of the test.
//
//	base := reporttest.Record(t, time.Second, reporttest.Machine(), reporttest.Metric{Name: "mem.util.free"})
//	out, status := reporttest.Run(t, Command, base, "-s", "2")
package reporttest

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

const (
	// Samples is the number of records of an archive.
	Samples = 8
	// Start is the time of the first record, in seconds.
	Start = 1_700_000_000 // 2023-11-14 22:13:20
)

// A Metric is a metric of an archive. Its type is a 64-bit unsigned integer if Type is
// Type32.
type Metric struct {
	Name  string
	Type  pcp.Type
	Sem   pcp.Sem  // instantaneous if it is 0
	InDom int      // the serial number of its domain, 0 for a metric without instances
	Insts []string // of that domain; those of one metric count for all with it
	// Value is the value in a record, "" if there is none; inst is "" for a metric without instances.
	// Without the function all are 2048.
	Value func(n int, inst string) string
}

// Machine returns the metrics of the line with which reports begin, which is Uname.
func Machine() []Metric {
	list := []Metric{{Name: "hinv.ncpu", Value: func(int, string) string { return "4" }}}
	for name, text := range map[string]string{
		"kernel.uname.sysname": "Linux", "kernel.uname.release": "6.1", "kernel.uname.nodename": "cellar", "kernel.uname.machine": "arm64",
	} {
		list = append(list, Metric{Name: name, Type: pcp.TypeString, Value: func(int, string) string { return text }})
	}
	return list
}

// Uname is the first line of a report on the day of Start.
const Uname = "Linux  6.1  (cellar)  11/14/23  arm64    (4 CPU)\n"

// Record writes an archive of the host cellar, whose records are step apart, and returns its name.
func Record(t testing.TB, step time.Duration, metrics ...Metric) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC"})
	must(err)
	insts := make(map[int][]string)
	for i, m := range metrics {
		d := pcp.Desc{PMID: pcp.NewPMID(60, i/1000, i%1000), Type: m.Type, InDom: pcp.InDomNull, Sem: m.Sem}
		if d.Type == pcp.Type32 {
			d.Type = pcp.TypeU64
		}
		if d.Sem == 0 {
			d.Sem = pcp.SemInstant
		}
		if m.InDom != 0 {
			d.InDom = pcp.NewInDom(60, m.InDom)
			if insts[m.InDom] == nil {
				insts[m.InDom] = m.Insts
				for k, name := range m.Insts {
					must(im.AddInstance(d.InDom, name, int32(k)))
				}
			}
		}
		_, err := im.AddMetric(m.Name, d)
		must(err)
	}
	for n := range Samples {
		for _, m := range metrics {
			names := insts[m.InDom]
			if m.InDom == 0 {
				names = []string{""}
			}
			for _, inst := range names {
				value := strconv.Itoa(2048)
				if m.Value != nil {
					value = m.Value(n, inst)
				}
				if value != "" {
					must(im.PutValue(m.Name, inst, value))
				}
			}
		}
		must(im.Write(time.Unix(Start, 0).Add(time.Duration(n) * step)))
	}
	must(im.End())
	return base
}

// Run runs a command over an archive, by its classic name and in UTC, and returns its output,
// messages last, and its exit status.
func Run(t testing.TB, c *cli.Command, archive string, args ...string) (out string, status int) {
	t.Helper()
	return RunEnv(t, c, nil, archive, args...)
}

// RunEnv is Run with more environment.
func RunEnv(t testing.TB, c *cli.Command, more map[string]string, archive string, args ...string) (out string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	vars := map[string]string{"PCP_ARCHIVE": archive, "TZ": "UTC", "PCP_DERIVED_CONFIG": ""}
	maps.Copy(vars, more)
	env := &cli.Env{
		Name: c.Link, Args: args, Stdout: &stdout, Stderr: &stderr, Command: c, Version: "1",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	status = c.Run(context.Background(), env)
	return stdout.String() + stderr.String(), status
}
