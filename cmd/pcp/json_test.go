package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestJSON runs each command that has --json, and checks that each line is an
// object whose fields are all in docs/json.md.
func TestJSON(t *testing.T) {
	doc, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	_, table, _ := strings.Cut(string(doc), "| field | is |")
	for line := range strings.Lines(table) {
		if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "|"), "|"); ok {
			for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cell, -1) {
				known[m[1]] = true
			}
		}
	}
	pcp := program(t)
	dir := t.TempDir()
	const pings = "time,shping.cmd[http] (string),shping.status[http] (u32),shping.time.real[http] (float),shping.control.cycles (u32),shping.control.cycletime (u32),shping.control.timeout (u32)\n" +
		"2026-11-21T10:00:00Z,curl,0,2.5,7,30,10\n2026-11-21T10:00:10Z,curl,1,3.5,8,30,10\n2026-11-21T10:00:20Z,curl,1,3.5,8,30,10\n"
	table1 := "time,load[1 minute] (double),load[5 minute] (double),io (u64 counter byte)\n" +
		"2026-11-21T10:00:00Z,1,2,100\n2026-11-21T10:00:10Z,3,4,300\n2026-11-21T10:00:20Z,5,6,900\n"
	caches := new(strings.Builder)
	caches.WriteString("time")
	for _, name := range []string{
		"dmcache.cache.used", "dmcache.cache.total", "dmcache.metadata.used", "dmcache.metadata.total",
		"dmcache.read_hits", "dmcache.read_misses", "dmcache.write_hits", "dmcache.write_misses", "disk.dm.read", "disk.dm.write",
	} {
		fmt.Fprintf(caches, ",%s[c] (u64)", name)
	}
	caches.WriteString("\n2026-11-21T10:00:00Z" + strings.Repeat(",1", 10) + "\n2026-11-21T10:00:10Z" + strings.Repeat(",2", 10) + "\n")
	for name, text := range map[string]string{"a": table1, "caches": caches.String(), "pings": pings, "b": strings.ReplaceAll(table1, ",4,", ",400,")} {
		if err := os.WriteFile(filepath.Join(dir, name+".csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(pcp, "import", "csv", name+".csv", name)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "damaged.0"), []byte("no volume"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "damaged.meta"), []byte("no metadata"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".0", ".meta", ".index"} {
		b, err := os.ReadFile(filepath.Join(dir, "a"+ext))
		if err != nil {
			t.Fatal(err)
		}
		if ext == ".0" {
			b = b[:len(b)-5]
		}
		if err := os.WriteFile(filepath.Join(dir, "cut"+ext), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rules"), []byte("delta = 10 sec;\nbusy = some_inst load > 2 -> print \"%i\";\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"machine", "procs", "site", "tasks"} {
		twin.Fixture(t, name, filepath.Join(dir, name))
	}
	local := "-L -K clear -K add,60,pmda_linux,linux_init -K add,29,pmda_sample,sample_init "
	tested := make(map[string]bool)
	for _, line := range []string{
		"info " + local + "-dmftTl kernel.all.load kernel.all.cpu.user mem.util.free hinv.ncpu",
		"info -a a -df",
		"probe " + local + "-iI kernel.all.load",
		"probe -a a -v",
		"val " + local + "-s 1 -t 0.01 kernel.all.cpu.user",
		"val -a a -s 2 -t 5 load",
		"dumptext -a a -s 2 load",
		"PCP_ARCHIVE=caches dmcache",
		"PCP_ARCHIVE=caches lvmcache -i",
		"event -a a -s 2 -t 5 io",
		"stat -L -s 1 -t 0.01",
		"top " + local + "-s 1 -t 0.2 --lines 3 kernel.all.load",
		"top " + local + "-s 1 -t 0.2 --view disks",
		"top -a a -s 1",
		"dumplog a",
		"logdump -r a load",
		"logsummary a",
		"logsummary a load",
		"diff a b",
		"logsize a",
		"logsize -d a",
		"archive ls",
		"archive verify a damaged",
		"archive repair cut saved",
		"agent list",
		"doctor",
		"diagnose -a machine --unchecked",
		"agent test -C simple",
		"alerts test -a a rules",
		"PCP_ARCHIVE=machine vmstat",
		"PCP_ARCHIVE=machine iostat -s 2",
		"PCP_ARCHIVE=machine pmiostat -s 2 -G sum",
		"PCP_ARCHIVE=machine mpstat -A -s 2",
		"PCP_ARCHIVE=machine free -lot",
		"PCP_ARCHIVE=machine uptime",
		"PCP_ARCHIVE=machine ss -a",
		"PCP_ARCHIVE=machine numastat",
		"PCP_ARCHIVE=machine ipcs -l",
		"PCP_ARCHIVE=machine tapestat -s 2",
		"PCP_ARCHIVE=procs ps",
		"PCP_ARCHIVE=procs ps -o pid,uid,args,%cpu -O %cpu -u",
		"PCP_ARCHIVE=procs pidstat -s 3",
		"PCP_ARCHIVE=procs pidstat -r -s 3",
		"PCP_ARCHIVE=procs pidstat -k -s 3",
		"PCP_ARCHIVE=procs pidstat -R -s 3",
		"PCP_ARCHIVE=procs pidstat -B R,S -l -s 3",
		"PCP_ARCHIVE=procs pidstat -B detail -s 3",
		"PCP_ARCHIVE=site summary -P",
		"PCP_ARCHIVE=site verify -v",
		"PCP_ARCHIVE=pings shping",
		"PCP_ARCHIVE=pings shping -c",
		"rep -a a -s 3 -m load io",
		"PCP_ARCHIVE=machine dstat -l 1 2",
	} {
		args := strings.Fields(line)
		var env []string
		if strings.Contains(args[0], "=") {
			env, args = args[:1], args[1:]
		}
		n := 1
		if args[0] == "archive" || args[0] == "agent" || args[0] == "alerts" {
			n = 2
		}
		name := strings.Join(args[:n], " ")
		tested[name] = true
		if name == "agent test" {
			args = []string{"agent", "test", pcp, "pmdasimple"}
		}
		args = append(args[:n:n], append([]string{"--json"}, args[n:]...)...)
		cmd := exec.Command(pcp, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PCP_CONF=/dev/null", "PMCD_PORT=1", "PMCD_SOCKET="+dir+"/nobody", "TZ=UTC")
		cmd.Env = append(cmd.Env, env...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, _ := cmd.Output()
		if len(out) == 0 {
			t.Errorf("%v: no output; %s", args, errs.String())
		}
		for text := range strings.Lines(string(out)) {
			var v map[string]any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Errorf("%v: %q: %v", args, text, err)
				break
			}
			fields(v, func(field string) {
				if !known[field] {
					t.Errorf("%v: field %q is not in docs/json.md: %s", args, field, text)
				}
			})
		}
	}
	for _, name := range []string{"mmvdump", "alerts", "atop", "meminfo", "slabinfo", "buddyinfo", "zoneinfo", "netstat", "nfsiostat", "rocestat", "query", "record"} {
		tested[name] = true // by their own tests
	}
	each(commands(), func(c *cli.Command) {
		for _, o := range c.OptionList() {
			if o.Long == "json" && !tested[c.Name] {
				t.Errorf("%s has --json and is not tested", c.Name)
			}
			if o.Long == "json" && !strings.Contains(string(doc), "`pcp "+c.Name+"`") {
				t.Errorf("docs/json.md does not name pcp %s", c.Name)
			}
		}
	})
}

// fields calls fn with the name of each field of v, except those of labels and columns.
func fields(v any, fn func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, w := range v {
			if fn(name); name != "labels" && name != "columns" {
				fields(w, fn)
			}
		}
	case []any:
		for _, w := range v {
			fields(w, fn)
		}
	}
}

// each calls fn with each command, also those below others.
func each(list []*cli.Command, fn func(*cli.Command)) {
	for _, c := range list {
		fn(c)
		each(c.Sub, fn)
	}
}
