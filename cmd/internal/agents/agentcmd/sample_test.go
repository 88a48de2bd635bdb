package agentcmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// samples starts two collectors, with the C agent sample and with ours, under
// the C agent's names.
func samples(t testing.TB) (theirs, ours side) {
	t.Helper()
	oracle.Require(t)
	c := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	names, err := os.ReadFile(filepath.Join(c.PMDAs, "sample", "pmns"))
	if err != nil {
		t.Fatal(err)
	}
	// Separate directories, so that both can have a file of instances.
	for _, dir := range []string{links(t)} {
		if err := os.Mkdir(filepath.Join(dir, "sample"), 0o755); err != nil {
			t.Fatal(err)
		}
		g := oracle.StartPMCD(t, oracle.Config{
			Agents: []string{"pmcd"},
			Lines:  []string{fmt.Sprintf("sample 29 pipe binary %s/pmdasample -d 29", dir)},
			PMNS:   "#define SAMPLE 29\nroot {\n\tsample\n}\n" + string(names),
			Env:    []string{"PCP_PMDAS_DIR=" + dir},
		})
		ours = side{g, filepath.Join(dir, "sample", "dynamic.indom"), filepath.Dir(g.Log)}
	}
	return side{c, filepath.Join(c.PMDAs, "sample", "dynamic.indom"), filepath.Dir(c.Log)}, ours
}

// moving are the metrics whose values are times, processes or memory, or depend
// on when the collector notices that a client has gone.
var moving = regexp.MustCompile(`^sample\.(seconds|milliseconds|dupnames\.two\.seconds|daemon_pid|dupnames\.(daemon_pid|pid_daemon)|` +
	`sysinfo|datasize|ulonglong\.bin(_ctr)?|proc\.time|step|step_counter|percontext\.control\.\w+)\b`)

// clock is the time of event records.
var clock = regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d+`)

// steadySample replaces values that vary.
func steadySample(out string) string {
	var lines []string
	moves := false
	for line := range strings.SplitSeq(out, "\n") {
		if line != "" && line[0] != ' ' {
			moves = moving.MatchString(line)
		}
		if moves {
			line = regexp.MustCompile(`value .*$`).ReplaceAllString(line, "value NOW")
			line = regexp.MustCompile(`^(sample\.\S+ \d+) .*`).ReplaceAllString(line, "$1 NOW")
		}
		lines = append(lines, clock.ReplaceAllString(line, "CLOCK"))
	}
	return strings.Join(lines, "\n")
}

// TestOracleSample runs the same tools against the C agent and ours in the same order
// from the start on, so that random values are the same, too.
func TestOracleSample(t *testing.T) {
	c, g := samples(t)
	same := func(tool string, args ...string) string {
		t.Helper()
		want, got := c.Run(t, tool, args...), g.Run(t, tool, args...)
		for _, o := range []*oracle.Output{&want, &got} {
			o.Stdout, o.Stderr = steadySample(o.Stdout), steadySample(o.Stderr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-theirs +ours):\n%s", tool, strings.Join(args, " "), diff)
		}
		return got.Stdout + got.Stderr
	}
	has := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in:\n%s", part, out)
			}
		}
	}

	// Time must not change the instances of mirage; below, requests do.
	same("pmstore", "sample.controller.mirage", "1000000000")
	has(same("pminfo", "-dmfl", "sample"), "sample.bad.nosupport PMID: 29.0.55", `inst [2 or "0002 /etc/bozo"] value 2`,
		`"bin":900`, `"transient":false`, `"measure":"speed"`, `"changed":false`)
	same("pminfo", "-I", "sample")
	for range 6 {
		same("pminfo", "-f", "sample")
	}
	same("pmprobe", "-v", "sample")
	same("pmprobe", "-I", "sample")
	same("pmprobe", "-i", "sample")

	// Events in all their turns, one metric at a time and all.
	for _, metric := range []string{"sample.event.records", "sample.event.highres_records", "sample.event"} {
		for range 5 {
			same("pminfo", "-fx", metric)
		}
	}
	for range 4 {
		same("pmprobe", "-I", "sample.dodgey")
		same("pmval", "-s", "2", "-t", "10msec", "sample.scramble.bin")
	}

	// Stores: each metric that accepts stores, and values that it rejects.
	for i, args := range [][]string{
		{"sample.write_me", "42"},
		{"sample.write_me", "-1"},
		{"sample.write_me", "abc"},
		{"sample.long.write_me", "-2147483648"},
		{"sample.ulong.write_me", "4294967295"},
		{"sample.longlong.write_me", "-9223372036854775808"},
		{"sample.ulonglong.write_me", "18446744073709551615"},
		{"sample.float.write_me", "1.5e10"},
		{"sample.double.write_me", "-2.25e100"},
		{"sample.string.write_me", ""},
		{"sample.string.write_me", "a longer string than there was"},
		{"sample.aggregate.write_me", "[00ff10]"},
		{"sample.aggregate.write_me", "x"},
		{"sample.bin", "7"},
		{"-i", "bin-300", "sample.bin", "-1"},
		{"-i", "bin-100,bin-900", "sample.bin", "1000"},
		{"-i", "bin-950", "sample.bin", "1"},
		{"sample.bucket", "1"},
		{"sample.colour", "5"},
		{"sample.mirage", "90"},
		{"-i", "m-00", "sample.mirage_longlong", "17"},
		{"-i", "green", "sample.colour", "8"},
		{"sample.drift", "1000"},
		{"sample.magnitude", "1"},
		{"sample.lights", "red"},
		{"sample.pdu", "0"},
		{"sample.recv_pdu", "0"},
		{"sample.xmit_pdu", "0"},
		{"sample.percontext.pdu", "0"},
		{"sample.dodgey.control", "3"},
		{"sample.dodgey.control", "0"},
		{"sample.dodgey.control", "-12389"},
		{"sample.dodgey.control", "7"},
		{"sample.const_rate.value", "100"},
		{"sample.const_rate.gradient", "0"},
		// The C agent takes zero instances for a lack of memory.
		{"sample.many.count", "3"},
		{"sample.many.count", "12"},
		{"sample.many.count", "1"},
		{"sample.dynamic.meta.pmdesc.type", "1"},
		{"sample.dynamic.meta.pmdesc.type", "3"},
		{"sample.dynamic.meta.pmdesc.type", "6"},
		{"sample.dynamic.meta.pmdesc.type", "5"},
		{"sample.dynamic.meta.pmdesc.sem", "1"},
		{"sample.dynamic.meta.pmdesc.type", "0"},
		{"sample.scramble.version", "1"},
		{"sample.scramble.bin", "1"},
		{"sample.event.reset", "2"},
		{"sample.event.reset", "-1"},
		{"sample.event.reset_highres", "3"},
		{"sample.event.records", "1"},
		{"sample.negative.ctr.m_32", "-5"},
		{"sample.negative.instant.m_64", "5"},
		{"sample.negative.discrete.m_float", "0.5"},
		{"sample.negative.ctr.m_double", "-0.25"},
		{"sample.negative.ctr.m_float", "x"},
		{"sample.updown.control.step", "3"},
		{"sample.updown.control.min", "-7"},
		{"sample.updown.control.max", "11"},
		{"sample.updown.control.repeat", "1"},
		{"sample.updown.control.step", "4294967295"},
		{"sample.updown.obs", "1"},
		{"sample.proc.reset", "1"},
		{"sample.load", "1"},
		{"sample.bad.novalues", "1"},
		{"sample.bad.nosupport", "1"},
		{"sample.bad.unknown", "1"},
		{"sample.noinst", "1"},
		{"sample.needprofile", "1"},
		{"sample.secret.bar", "x"},
		{"sample.bigid", "1"},
		{"sample.ghosts.visible", "0"},
		{"sample.ghosts.visible", "3"},
		{"sample.ghosts.visible", "100"},
		{"sample.ghosts.visible", "-2"},
		{"sample.step", "5"},
		{"sample.control", "0"},
	} {
		same("pmstore", args...)
		same("pminfo", "-f", args[len(args)-2])
		if i%8 == 0 {
			same("pminfo", "-f", "sample")
		}
	}
	has(same("pminfo", "-l", "sample.write_me", "sample.double.write_me"), `"changed":true`)
	same("pmstore", "sample.ghosts.visible", "8")
	for range 5 {
		has(same("pminfo", "-df", "sample.ghosts"), `"Obambo"`, `"Jamaica"`)
	}
	same("pmstore", "sample.ghosts.visible", "-1")
	same("pmstore", "sample.proc.reset", "1")
	for range 30 {
		same("pmprobe", "-I", "sample.proc.ordinal")
	}

	same("pmstore", "sample.controller.mirage", "0")
	for range 20 {
		same("pminfo", "-f", "sample.mirage")
	}
	same("pmprobe", "-I", "sample.mirage_longlong")
	same("pmstore", "sample.controller.mirage", "1000000000")

	// Errors of the whole fetch, and back.
	same("pmstore", "sample.error_code", "-12349")
	same("pminfo", "-f", "sample.error_check", "sample.load")
	same("pminfo", "-d", "sample.error_check")
	same("pmprobe", "-v", "sample.error_check", "sample.load")
	same("pmstore", "sample.error_code", "0")
	same("pminfo", "-fd", "sample.error_check", "sample.load")

	// Instances by name and profile.
	same("pmval", "-s", "1", "-i", "fat", "sample.needprofile")
	same("pmval", "-s", "1", "-i", "emma,fat bald bastard", "sample.needprofile")
	same("pmval", "-s", "1", "-i", "bin-200", "sample.bogus_bin")
	same("pmval", "-s", "1", "-i", "bin-200,bin-300", "sample.part_bin")
	same("pmval", "-s", "1", "-i", "nobody", "sample.needprofile")
	same("pminfo", "-f", "sample.needprofile")

	// Names that the agent makes up.
	same("pminfo", "-m", "sample.secret")
	same("pminfo", "-m", "sample.secret.foo.bar", "sample.secret.nothing")
	same("pminfo", "-mf", "sample.secret.foo.bar.grunt.snort.huff.puff.seven", "sample.secret.foo.bar.max.redirect")
	same("pminfo", "-m", "29.0.1001", "29.0.1000", "29.0.999", "29.0.6")

	// Instances from a file.
	changed := time.Now().Add(-time.Hour)
	for _, text := range []string{
		"1 one\n2 two\n", "", "7 seven 8 eight\n", "\n 3\tthree words here\n", "5 five\nx y\n", "4\n", "-1 minus\n", "4194304 much\n", "4194303 most", "gone",
	} {
		for _, path := range []string{c.conf, g.conf} {
			if text == "gone" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, changed, changed); err != nil {
				t.Fatal(err)
			}
		}
		changed = changed.Add(2 * time.Second)
		same("pminfo", "-f", "sample.dynamic")
		same("pminfo", "-f", "sample.dynamic.counter")
		same("pmprobe", "-I", "sample.dynamic.instant")
	}

	// Unavailable for longer than the rest of the test takes.
	same("pmstore", "sample.not_ready", "100000")
	has(same("pminfo", "-f", "sample.load"), "Try again")
	has(same("pminfo", "-d", "sample.load"), "Try again")
	text, err := os.ReadFile(filepath.Join(g.log, "sample.log"))
	if err != nil || !strings.Contains(string(text), "agent is not ready") || strings.Contains(string(text), "panic") {
		t.Errorf("sample.log: %v\n%s", err, text)
	}
}

// sampleSession sends requests to sample that no collector forwards: unknown metrics,
// profiles, stores of wrong forms, names.
const sampleSession = `getdesc on
desc 29.0.54
desc 29.0.55
desc 29.0.86
desc 29.0.1009
desc 29.0.1008
desc 29.9.9
fetch 29.0.999 29.0.4 29.3.1
fetch 29.0.49
profile 29.4 none
profile 29.4 add 4
fetch 29.0.49
fetch 29.0.6 29.0.50 29.0.51
profile 29.2 none
profile 29.2 add 200
fetch 29.0.6 29.0.50 29.0.51 29.0.121
profile 29.2 all
profile 29.4 all
fetch 29.0.136 29.0.137 29.0.139
fetch 29.0.136 29.0.136
fetch 29.0.9 29.0.92 29.0.138 29.0.154 29.0.55
instance 29.1
instance 29.4 4
instance 29.4 "fat man"
instance 29.4 "bald"
instance 29.9
instance 29.11
instance 29.11 8
instance 29.12
instance 29.13
instance 29.8
fetch 29.0.156 29.0.157
instance 29.12
store 29.0.6 "5"
store 29.0.32 "a string"
store 29.0.36 "x"
store 29.0.40 "0"
store 29.0.48 "5"
store 29.0.999 "5"
store 29.0.79 "2"
store 29.0.87 "3"
desc 29.0.86
fetch 29.0.86 29.0.80 29.0.32
label domain 29
label indom 29.1
label indom 29.4
label indom 29.2
label cluster 29.0
label cluster 29.9
label item 29.0.14
label item 29.0.36
label item 29.0.64
label item 29.0.4
label instances 29.2
label instances 29.3
label instances 29.5
label instances 29.13
pmid sample.secret.bar
pmid sample.secret
pmid sample.nothing
pmid sample.ghosts.karma
name 29.0.1000
name 29.0.1001
name 29.0.1010
name 29.0.999
children sample.secret
children sample.secret.foo
children sample.ghosts
children sample.nothing
traverse sample.secret
traverse sample.ghosts
traverse sample.secret.foo.bar
store 29.0.1008 "2"
traverse sample.ghosts
instance 29.11
fetch 29.0.1009 29.0.1010 29.0.1011
store 29.0.74 "-12345"
fetch 29.0.4 29.0.75
desc 29.0.75
status
close
`

// TestOracleDbpmdaSample runs the C debugger of agents on both.
func TestOracleDbpmdaSample(t *testing.T) {
	oracle.Require(t)
	c := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	s := side{PMCD: c}
	dir := links(t)
	want := debug(t, s, filepath.Join(c.PMDAs, "sample", "pmdasample"), c.PMDAs, "29", sampleSession)
	got := debug(t, s, filepath.Join(dir, "pmdasample"), dir, "29", sampleSession)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dbpmda (-theirs +ours):\n%s", diff)
	}
	for _, part := range []string{"huff.puff.seven", `"Duppy"`, "Explicit instance identifier(s) required"} {
		if !strings.Contains(got, part) {
			t.Errorf("dbpmda prints no %q:\n%s", part, got)
		}
	}
}
