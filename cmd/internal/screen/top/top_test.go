package top

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// call runs pcp top with arguments, without a terminal.
func call(t *testing.T, dir string, vars map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{
		Name: "pcp top", Program: "pcp", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Version: "test",
		Getenv: func(name string) string {
			if v, ok := vars[name]; ok {
				return v
			}
			return map[string]string{"TZ": "UTC", "PCP_CONF": os.DevNull, "LANG": "C.UTF-8", "PCP_DERIVED_CONFIG": ""}[name]
		},
		Command: Command, Commands: []*cli.Command{Command},
	}
	t.Chdir(dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status = Command.Run(ctx, env)
	env.Flush()
	return status, out.String(), errs.String()
}

func archive(t *testing.T, prepare func(*toptest.Host)) string {
	t.Helper()
	dir := t.TempDir()
	h := toptest.New(toptest.Start)
	if prepare != nil {
		prepare(h)
	}
	if _, err := h.Archive(dir, 20*time.Minute); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestText compares the output with testdata/text.txt, which UPDATE=1 writes.
func TestText(t *testing.T) {
	path, err := filepath.Abs("testdata/text.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := archive(t, nil)
	poor := archive(t, func(h *toptest.Host) {
		h.Without("proc.psinfo.utime", "proc.psinfo.rss", "proc.psinfo.cmd", "proc.psinfo.psargs", "swap.length",
			"kernel.all.pressure.cpu.some.total", "kernel.all.pressure.cpu.some.avg", "filesys.capacity", "filesys.used")
	})
	var all strings.Builder
	f := func(dir string, vars map[string]string, line string) {
		t.Helper()
		status, out, errs := call(t, dir, vars, strings.Fields(line)...)
		all.WriteString("$ pcp top " + line + "\n" + out + errs)
		if status != 0 {
			all.WriteString("(failed)\n")
		}
	}
	f(dir, nil, "-a host --once")
	f(dir, nil, "-a host --once -S @08:06:00 --lines 5 --sort memory")
	f(dir, nil, "-a host --once -S -1hour --lines 1") // nothing was recorded then
	f(dir, map[string]string{"COLUMNS": "140"}, "-a host --once -S @08:06:00 --view processes --tree")
	f(dir, nil, "-a host --once --view cgroups")
	f(dir, nil, "-a host --once --view disks")
	f(dir, nil, "-a host --once --view network")
	f(dir, nil, "-a host --once --view pressure")
	f(dir, nil, "-a host --once --ascii --view processes --user alice")
	f(dir, map[string]string{"LANG": "C"}, "-a host --once --lines 2 --filter nginx|sshd")
	f(dir, nil, "-a host --once kernel.all.load disk.dev.read[sda] nothing.here")
	f(dir, nil, "-a host -t 5min --lines 0") // no terminal: text to the end
	f(dir, nil, "-a host --text -s 2 -t 1min -O @08:03:00 --lines 1")
	f(dir, nil, "-a host -z --once --lines 0 -T +30sec")
	f(poor, nil, "-a host --once")
	f(poor, nil, "-a host --once --view disks")
	f(dir, nil, "-a nothing")
	f(dir, nil, "-a host --view nothing")
	f(dir, nil, "-a host --sort nothing")
	f(dir, nil, "-a host --theme nothing")
	f(dir, nil, "-a host --lines nothing")
	f(dir, nil, "-a host -t 1msec")
	f(dir, nil, "-a host --once bad[name")
	f(dir, map[string]string{"PMCD_SOCKET": dir + "/nobody", "PMCD_PORT": "1"}, "--once -h unix:nobody")
	got := strings.ReplaceAll(all.String(), dir, "DIR")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	dir := archive(t, nil)
	status, out, errs := call(t, dir, nil, "-a", "host", "--json", "-s", "2", "-S", "@08:06:00", "--sort", "memory", "--lines", "2", "--view", "processes")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), out)
	}
	var s jsonSample
	if err := json.Unmarshal([]byte(lines[1]), &s); err != nil {
		t.Fatal(err)
	}
	if s.Time != "2026-11-21T08:06:10Z" || s.Host != "web1.example.com" || *s.Interval != 10 {
		t.Errorf("the sample is of %s, %s, %v", s.Time, s.Host, *s.Interval)
	}
	if len(s.Processes) != 2 || s.Processes[0].PID != 577 || *s.Processes[0].Resident != 900<<20 || s.Processes[0].User != "alice" || s.Disks != nil {
		t.Errorf("processes: %s", lines[1])
	}
	// All parts, and the sum of shares.
	_, out, _ = call(t, dir, nil, "-a", "host", "--json", "-s", "1", "kernel.all.load")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Charts) != 1 || len(s.Charts[0].Lines) != 3 {
		t.Errorf("charts: %s", out)
	}
	s = jsonSample{}
	_, out, _ = call(t, dir, nil, "-a", "host", "--json", "-s", "1")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	c := s.CPU
	if sum := *c.User + *c.Nice + *c.System + *c.Idle + *c.Wait + *c.IRQ + *c.Steal; sum < 0.9999 || sum > 1.0001 {
		t.Errorf("the shares add up to %v", sum)
	}
	if len(s.Processors) != 4 || len(s.Disks) != 2 || len(s.Files) != 2 || len(s.Interfaces) != 3 || len(s.CGroups) != 8 || s.Protocols == nil ||
		s.Pressure.IO == nil || s.Absent != nil || len(s.Processes) != 13 {
		t.Errorf("parts are missing: %s", out)
	}
	for _, p := range s.Processes {
		if p.PID == 950 && !strings.Contains(p.Command, "\x1b[2J") {
			t.Errorf("JSON has the command as it is: %q", p.Command)
		}
	}
}
