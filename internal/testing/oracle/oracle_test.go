package oracle

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartPMCD(t *testing.T) {
	d := StartPMCD(t, Config{Agents: []string{"pmcd", "linux", "sample", "simple", "trivial"}})
	for _, args := range [][]string{
		{"-h", d.TCP, "-f", "sample.long.one"},
		{"-h", d.Unix, "-f", "trivial.time"},
		{"-h", "local:", "-f", "simple.color"},
		{"-h", "localhost", "-f", "hinv.ncpu"},
		{"-f", "-t", "simple.numfetch"},
		{"-T", "trivial.time"},
		{"-f", "pmcd.pid"},
	} {
		out := d.Run(t, "pminfo", args...)
		if out.Exit != 0 || out.Stderr != "" || !strings.Contains(out.Stdout, "alue") && !strings.Contains(out.Stdout, "elp") {
			t.Errorf("pminfo %v = %+v", args, out)
		}
	}
	out := Python(t, d.Env, "import sys, pcp.pmapi as p, cpmapi as c\nx = p.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])\nprint(x.pmLookupName('sample.bin'))", d.TCP)
	if out.Exit != 0 || out.Stderr != "" {
		t.Errorf("python: %+v", out)
	}
}

func TestStopStart(t *testing.T) {
	d := StartPMCD(t, Config{})
	d.Stop(t)
	if out := d.Run(t, "pminfo", "-h", d.TCP, "sample.bin"); out.Exit != 1 || !strings.Contains(out.Stderr, "Connection refused") {
		t.Errorf("after Stop: %+v", out)
	}
	d.Start(t)
	if out := d.Run(t, "pminfo", "-h", d.TCP, "sample.bin"); out.Exit != 0 {
		t.Errorf("after Start: %+v", out)
	}
	d.WritePMCDConf(t, Config{Agents: []string{"pmcd"}})
	d.Signal(t, syscall.SIGHUP)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out := d.Run(t, "pminfo", "-f", "sample.bin")
		if strings.Contains(out.Stdout, "pmLookupDesc: Unknown or illegal metric") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("agent still there after SIGHUP: %+v", out)
		}
	}
}
