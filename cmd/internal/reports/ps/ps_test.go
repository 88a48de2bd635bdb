package ps

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// record writes an archive of two processes. The second has more memory, the first more time. With
// holes, a process has no value except its number.
func record(t *testing.T, holes bool) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	procs := pcp.NewInDom(3, 9)
	must(im.AddInstance(procs, "1 a", 1))
	must(im.AddInstance(procs, "2 b", 2))
	text := []string{"sname", "wchan_s", "psargs", "cmd", "ttyname", "uid_nm"}
	names := slices.Clone(metrics)
	if !holes {
		names = append(names, "proc.id.uid")
	}
	for i, name := range names {
		d := pcp.Desc{PMID: pcp.NewPMID(3, 0, i), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		if strings.HasPrefix(name, "proc.") {
			d.InDom = procs
		}
		if last := name[strings.LastIndex(name, ".")+1:]; strings.HasPrefix(name, "kernel.uname") || slices.Contains(text, last) {
			d.Type = pcp.TypeString
		}
		_, err := im.AddMetric(name, d)
		must(err)
	}
	for n := range 3 {
		for _, name := range names {
			if !strings.HasPrefix(name, "proc.") {
				must(im.PutValue(name, "", "1000"))
				continue
			}
			for i, inst := range []string{"1 a", "2 b"} {
				if holes && i == 1 && name != "proc.psinfo.pid" {
					continue
				}
				value := map[string][2]string{
					"proc.psinfo.pid": {"1", "2"}, "proc.psinfo.rss": {"10", "20"}, "proc.psinfo.cmd": {"small", "large"},
					"proc.psinfo.stime": {[]string{"0", "90", "180"}[n], "5"}, "proc.psinfo.policy": {"0", "77"},
				}[name][i]
				if value == "" {
					value = "3"
				}
				must(im.PutValue(name, inst, value))
			}
		}
		must(im.Write(time.Unix(1_700_000_000+int64(n), 0)))
	}
	must(im.End())
	return base
}

// ps runs the command over an archive, and returns its output and status.
func ps(t *testing.T, archive string, args ...string) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	vars := map[string]string{"PCP_ARCHIVE": archive, "PCP_SAMPLES": "2", "TZ": "UTC", "PCP_DERIVED_CONFIG": ""}
	env := &cli.Env{
		Name: "pcp-ps", Args: args, Stdout: &out, Stderr: &errs, Command: Command, Version: "1",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	status := Command.Run(context.Background(), env)
	return out.String() + errs.String(), status
}

// TestSorted checks the order of -O, which the C program of the oracle does not have.
func TestSorted(t *testing.T) {
	base := record(t, false)
	f := func(first, second string, args ...string) {
		t.Helper()
		out, status := ps(t, base, args...)
		i, j := strings.Index(out, first), strings.Index(out, second)
		if status != 0 || i < 0 || j < i {
			t.Errorf("%q: status %d, wanted %s before %s:\n%s", args, status, first, second, out)
		}
	}
	f("small", "large", "-u")
	f("large", "small", "-u", "-O", "%mem")
	f("small", "large", "-u", "--sort=%cpu")
	f("large", "small", "-O", "%MEM", "-o", "pname,%mem")
	f("2       \t3", "1       \t3", "-O", "%mem", "-o", "ALL")
	f("large", "small", "-U", "3", "-O", "%mem")
	if out, _ := ps(t, base, "-u", "-O", "%mem"); !strings.Contains(out, "9.0\t1.0\t3\t10") {
		t.Errorf("-u -O: no share of memory below %%MEM:\n%s", out)
	}
	for _, args := range [][]string{{"-O", "rss"}, {"-O", "%mem"}, {"-e", "-O", "%cpu"}, {"-O", "%cpu", "-o", "pid,%mem"}} {
		if out, status := ps(t, base, args...); status != 1 || !strings.Contains(out, "-O") {
			t.Errorf("%q: status %d:\n%s", args, status, out)
		}
	}
	if out, _ := ps(t, base, "-o", "args,pid"); !strings.Contains(out, "Command\t\tPID") {
		t.Errorf("-o args:\n%s", out)
	}
}

// TestHoles lists a process with no known value except its number.
func TestHoles(t *testing.T) {
	base := record(t, true)
	for _, args := range [][]string{
		nil,
		{"-e"},
		{"-u"},
		{"-p", "2"},
		{"-P", "3"},
		{"-U", "3"},
		{"-c", "small"},
		{"-o", "ALL"},
		{"-u", "-O", "%mem"},
		{"-o", "%cpu,%mem,args,cls,cmd,pid,pname,ppid,pri,rss,rtprio,start,state,time,tty,uid,uname,vsize,wchan"},
	} {
		out, status := ps(t, base, args...)
		want := 2
		if len(args) > 1 && (args[0] == "-P" || args[0] == "-U" || args[0] == "-c") {
			want = 1
		} else if len(args) == 2 && args[0] == "-p" {
			want = 1
		}
		if got := strings.Count(out, "\n") - 2; status != 0 || got != want && args != nil && args[0] != "-e" {
			t.Errorf("%q: status %d, %d rows, want %d:\n%s", args, status, got, want, out)
		}
	}
}

// TestUserID checks that --json has the number of the user if it was recorded; the C program does not fetch it.
func TestUserID(t *testing.T) {
	for holes, want := range map[bool]string{false: `"uid":3`, true: `"uid":null`} {
		if out, status := ps(t, record(t, holes), "--json", "-o", "pid,uid"); status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, no %s:\n%s", status, want, out)
		}
	}
}

// TestSeven checks the lists with PCP_COMPAT=7: one for a sample, by the last option.
func TestSeven(t *testing.T) {
	base := record(t, false)
	const host = "1000  1000  (1000)  11/14/23  1000    (1000 CPU)\n"
	f := func(want string, status int, args ...string) {
		t.Helper()
		vars := map[string]string{"PCP_COMPAT": "7", "PCP_SAMPLES": "1"}
		out, got := reporttest.RunEnv(t, Command, vars, base, args...)
		if want = strings.ReplaceAll(want, "~", "22:13:21"); got != status || out != want {
			t.Errorf("%q: status %d, want %d:\n%q\nwant\n%q", args, got, status, out, want)
		}
	}
	const (
		all    = "Timestamp        PID\t\t\tTTY\tTIME\t\tCMD\n~         1       \t\t3\t00:00:00\t3\n~         2       \t\t3\t00:00:00\t3\n"
		owners = "Timestamp        USERNAME\tPID\t\t%CPU\t%MEM\tVSZ\tRSS\tTTY\tSTAT\tTIME\t\tSTART\t\tCOMMAND\n"
		small  = "~         3         \t1       \t9.0\t1.0\t3\t10\t3\t3\t00:00:00\tJan01 00:16\tsmall               \n"
		large  = "~         3         \t2       \t0.0\t2.0\t3\t20\t3\t3\t00:00:00\tJan01 00:16\tlarge               \n"
	)
	f(host+all, 0, "-e")
	f(host+owners+small+large, 0, "-p", "2", "-u")
	f(host+owners+large+small, 0, "-u", "-O", "%mem")
	f(host+"Timestamp        PID\t\tPPID\t\tTTY\tTIME\t\tCMD\n~         2       \t3       \t3\t00:00:00\tlarge               \n", 0, "-u", "-p", "2")
	f(host, 0, "-p", "3")
	f(host+"Timestamp\tCommand\t\t\t\tTTY\tCommand\t\t\t\n~\t3                             \t3\tlarge               \n", 0, "-p", "2", "-o", "args,tty,cmd")
	f(host+"Timestamp\tPID\t\tCommand\t\t\t\t\n~\t2       \t3\n", 0, "-c", "large", "-o", "pid,args")
	f(host+"Sorting order not found in output columns\n", 1, "-o", "pid", "-O", "%mem")
	f(host+"Sorting indices not set for selected flag, please remove sorting flag or choose another flag for output\n", 1, "-e", "-O", "%mem")
	f("Invalid Column List: incorrect name or improper comma-separated format\n", 1, "-o", "nosuch")
}

// TestSevenHoles lists a process with no value except its number.
func TestSevenHoles(t *testing.T) {
	base := record(t, true)
	for want, args := range map[string][]string{
		"\n22:13:21         2       \t00:00:00\t-\n":                                    nil,
		"\n22:13:21         2       \t\t\t00:00:00\t\n":                                 {"-e"},
		"\n22:13:21         \t2       \t-\t\t\t\t\t\t00:00:00\t?\t-\n":                  {"-u"},
		"\n22:13:21\t?\t2       \t-\t?\t-" + strings.Repeat(" ", 29) + "\t?\t?\t?\t-\n": {"-o", "uname,pid,%cpu,%mem,wchan,cls,start,args,pname"},
	} {
		out, status := reporttest.RunEnv(t, Command, map[string]string{"PCP_COMPAT": "7", "PCP_SAMPLES": "1"}, base, args...)
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("%q: status %d, %q, want %q", args, status, out, want)
		}
	}
}
