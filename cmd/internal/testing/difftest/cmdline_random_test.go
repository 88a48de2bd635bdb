package difftest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/agents/genmap"
	"github.com/go-pcp/pcp/cmd/internal/agents/nsedit"
	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	"github.com/go-pcp/pcp/cmd/internal/archives/logcheck"
	"github.com/go-pcp/pcp/cmd/internal/archives/logextract"
	"github.com/go-pcp/pcp/cmd/internal/archives/loglabel"
	"github.com/go-pcp/pcp/cmd/internal/archives/logreduce"
	"github.com/go-pcp/pcp/cmd/internal/archives/logsize"
	"github.com/go-pcp/pcp/cmd/internal/archives/logsummary"
	"github.com/go-pcp/pcp/cmd/internal/live/info"
	"github.com/go-pcp/pcp/cmd/internal/live/probe"
	"github.com/go-pcp/pcp/cmd/internal/live/stat"
	"github.com/go-pcp/pcp/cmd/internal/live/val"
	"github.com/go-pcp/pcp/cmd/internal/record/logpaste"
	"github.com/go-pcp/pcp/cmd/internal/scripting/dbg"
	"github.com/go-pcp/pcp/cmd/internal/scripting/getopt"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A lineTool is a tool for random command lines: the options of its table that
// are left out, and the arguments that are drawn from.
type lineTool struct {
	cmd   *cli.Command
	skip  string   // short options whose differences are named elsewhere, or that change files
	first []string // arguments that come first, most of the time
	args  []string
}

// Words that are drawn as arguments of options, by the names that usage
// messages give to these, and for any.
var (
	lineWords = map[string][]string{
		"FILE":    {"{a}/ok-foo", "nosuch", "{names}", "", "{folio}"},
		"TIME":    {"1", "10s", "-5", "@18:34:36", "0.5min", "", "x", "@", "1hour 2min"},
		"DELTA":   {"1", "2sec", "0.5", "1min", "x", "", "0", "-1", "1 2", "1e3"},
		"TZ":      {"UTC", "EST5EDT", "", "Nowhere/None", "JST-9", ":UTC"},
		"N":       {"1", "2", "0", "-1", "x", "", "3x", " 4", "+1", "0x2"},
		"DBG":     {"dev1", "nosuch", "", "0"},
		"SPEC":    {"clear", "add", "x"},
		"?":       {"prog", ""},
		"NAME":    {"a.b", "", "x", "1"},
		"OUT":     {"out", "", "no/such"},
		"LABEL":   {"a:b", "a", ":", "", "a:1", "a:b:c", "A b:x", "1:2", "a:{}", "a.b:true"},
		"HOST":    {"h", ""},
		"any":     {"1", "x", "", "{a}/ok-foo"},
		"arg":     {"1", "x"},
		"code":    {"1", "0x10", "x", "-1", ""},
		"STRING":  {"x", ""},
		"NUM":     {"1", "x", "-1"},
		"VOLUME":  {"1", "x"},
		"INDOM":   {"29.2", "x"},
		"METRICS": {"sample.bin"},
	}
	lineMetrics = []string{
		"sample.bin", "sample", "nosuch", "sample.bin[bin-100]", "sample.bin[x]", "sample.bin[", "sample.bin[\"a\"", "sample.colour", "29.0.6",
		"29.2", "", "pmcd.control.timeout", "sample.bin]", "sample.long.one[a,b]", "sample.milliseconds", ".", "sample.", "sample.b",
	}
	lineTools = []lineTool{
		{info.Command, "hLKgpcDtTa", []string{"-a", "{a}/ok-foo"}, lineMetrics},
		{probe.Command, "hLKgpVDa", []string{"-a", "{a}/ok-foo"}, lineMetrics},
		{val.Command, "hLKgpVDa", []string{"-a", "{a}/ok-foo", "-s", "3"}, lineMetrics},
		{val.EventCommand, "hLKgpVD", []string{"-a", "{a}/eventrec", "-s", "2"}, []string{"sample.event.records", "sample.event.highres_records[fungus]", "sample.bin", "x", "sample.event.records[", ""}},
		{stat.Command, "hLKgpVHDPa", []string{"-a", "{a}/20130706", "-s", "2"}, []string{"x"}},
		{dumplog.Command, "VDn", nil, append([]string{"{a}/ok-foo", "{a}/ok-foo", "{a}/ok-foo", "{a}/eventrec", "{bad}/badlen-1", "{a}/mark"}, lineMetrics...)},
		{logcheck.Command, "VDn", nil, []string{"{a}/ok-foo", "{a}/eventrec", "nosuch", "{a}", "{a}/ok-foo.meta", ""}},
		{loglabel.Command, "VDhpZLsS", []string{"-l"}, []string{"{a}/ok-foo", "nosuch", ""}},
		{logsize.Command, "VD", nil, []string{"{a}/ok-foo", "{a}/eventrec", "nosuch", "", "{a}/ok-foo.meta"}},
		{logsummary.Command, "VDn", nil, append([]string{"{a}/ok-foo", "{a}/ok-foo", "{a}/gap2", "{a}/mark"}, lineMetrics...)},
		{logextract.Command, "VD", nil, []string{"{a}/ok-foo", "{a}/ok-foo", "out", "out", "nosuch", "{a}/eventrec", ""}},
		{logreduce.Command, "VD", nil, []string{"{a}/ok-foo", "{a}/ok-foo", "out", "out", "nosuch", ""}},
		{logpaste.Command, "of", []string{"-o", "out"}, []string{"text", "a b", ""}},
		{nsedit.DelCommand, "Dn", nil, []string{"sample", "sample.bin", "x", ""}},
		{nsedit.MergeCommand, "D", nil, []string{"{names}", "{names2}", "{clash}", "out", "nosuch", ""}},
		{getopt.Command, "D", []string{"-c", "{getopt}", "--"}, []string{"prog", "-a", "-b", "--beta", "--beta=3", "-c", "x", "--", "-bx", "-?", "--help", "-ab"}},
		{getopt.Command, "D", []string{"-c", "{getoptshort}", "--"}, []string{"prog", "-a", "-b", "x", "--beta", "-c", "--", "-bx", "-?", "-ab"}},
		{genmap.Command, "", nil, []string{"{spec}", "{badspec}", "nosuch"}},
		{dbg.Command, "", nil, []string{"1", "0x10", "x", "-1"}},
	}
)

// clockNoise removes parts that differ from run to run.
var clockNoise = regexp.MustCompile(`(?m)^ \* on .*$|version \d\S*|version test|@ \w{3} \w{3} .* 20\d\d|pid[ =]*\d+|/tmp/[\w./-]*|PID for pmlogger: \d+|in \d+ runs`)

// TestRandomLines compares the output of tools for command lines that are drawn at
// random from the tables of their options: some by default, thousands with
// PCP_SUITE=1. PCP_SEED draws others, PCP_LINES that many, PCP_TOOL those of one tool.
func TestRandomLines(t *testing.T) {
	t.Parallel()
	b := archiveBench(t)
	for name, text := range map[string]string{
		"names2":      "root {\n other\n}\nother {\n bin 511:4095:1023\n}\n",
		"clash":       "root {\n last\n}\nlast {\n bin 29:0:6\n x 511:4095:1023\n}\n",
		"spec":        smallFiles["spec"],
		"badspec":     smallFiles["nested"],
		"getopt":      "# getopts: ab:c?\n# Usage: [options] thing\n\nOptions:\n  -a, --alpha  a flag\n  -b=N, --beta=N  the number\n  -c  only short\n  --help\n# end\nText.\n",
		"getoptshort": "# getopts: ab:c?\n# Usage: things\n  -a   a flag\n  -b=N   a number\n  -c   another\n# end\n",
	} {
		b.names[name] = filepath.Join(b.names["in"], name)
		if err := os.WriteFile(b.names[name], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	seed, n := uint64(1), 100
	if os.Getenv("PCP_SUITE") != "" {
		seed, n = uint64(time.Now().UnixNano()), 3000
	}
	for name, v := range map[string]func(uint64){
		"PCP_SEED":  func(v uint64) { seed = v },
		"PCP_LINES": func(v uint64) { n = int(v) },
	} {
		if s := os.Getenv(name); s != "" {
			k, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			v(k)
		}
	}
	t.Logf("PCP_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	only := os.Getenv("PCP_TOOL")
	failed := 0
	for i := range n {
		tool := &lineTools[i%len(lineTools)]
		if only != "" && tool.cmd.Link != only {
			continue
		}
		args := tool.draw(rnd)
		for k := range args {
			args[k] = b.expand(args[k])
		}
		if diff := b.sameLine(t, tool.cmd.Link, args); diff != "" {
			t.Error(diff)
			if failed++; failed == 200 {
				t.Fatal("and perhaps more")
			}
		}
	}
}

// draw draws arguments.
func (l *lineTool) draw(rnd *rand.Rand) []string {
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	var args []string
	if rnd.IntN(8) > 0 || l.cmd == stat.Command {
		args = append(args, l.first...)
	}
	for range rnd.IntN(4) {
		o := l.cmd.OptionList()[rnd.IntN(len(l.cmd.OptionList()))]
		if o.Short == 0 && o.Long == "" || o.Extra || o.Arg == "|" || strings.ContainsRune(l.skip, o.Short) && o.Short != 0 ||
			o.Short == 0 && slices.Contains([]string{"derived", "container", "archive-folio", "host-list"}, o.Long) {
			continue
		}
		value, ok := lineWords[o.Arg]
		if !ok {
			value = lineWords["any"]
		}
		long := o.Short == 0 || o.Long != "" && rnd.IntN(4) == 0
		switch {
		case o.Arg == "" && long:
			args = append(args, "--"+o.Long)
		case o.Arg == "":
			args = append(args, "-"+string(o.Short))
		case long:
			args = append(args, "--"+o.Long+"="+pick(value))
		default:
			args = append(args, "-"+string(o.Short), pick(value))
		}
	}
	for range rnd.IntN(l.most()) {
		args = append(args, pick(l.args))
	}
	if rnd.IntN(40) == 0 {
		args = append(args, pick([]string{"-q", "--nosuch", "--h", "-"}))
	}
	return args
}

// most is one more than the arguments that are drawn.
func (l *lineTool) most() int {
	if l.cmd == logcheck.Command {
		return 2 // that of PCP 6 forgets all but the first
	}
	return 4
}

// sameLine compares the output, and the names and sizes of files in the working
// directory.
func (b *bench) sameLine(t *testing.T, tool string, args []string) string {
	t.Helper()
	if oracle.Path(tool) == "" {
		return ""
	}
	var got [2]string
	for i, whose := range []bool{sideC, sideOurs} {
		dir := t.TempDir()
		b.copyIn(t, run{file: "names"}, dir)
		r := b.execIn(t, dir, whose, tool, []string{"PMNS_DEFAULT=root"}, args)
		r.stdout = carry(r.stdout)
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = fmt.Sprintf("exit status %d\n%s--- standard error:\n%s", r.status, r.stdout, r.stderr)
		for _, f := range files {
			got[i] += "--- file " + f.Name() + "\n"
		}
		got[i] = clockNoise.ReplaceAllString(got[i], "NOISE")
	}
	if got[0] == got[1] {
		return ""
	}
	return fmt.Sprintf("%s %q (-theirs +ours)\n%s", tool, args, cmp.Diff(got[0], got[1]))
}
