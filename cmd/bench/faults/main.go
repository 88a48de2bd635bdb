//go:build linux

// Command faults stages real faults on this machine, one after the other, records each of them, and has pcp diagnose find their causes.
//
//	go run ./cmd/bench/faults --pcp bin/pcp
//	go run ./cmd/bench/faults --pcp bin/pcp --only busy,forks --seconds 20
//
// Each fault lasts 20 seconds by default. Faults are limited: memory and processor time by control groups, files to a file system of 16 MB, processes by
// their number. All is removed at the end, also if the program is killed. Some require root; those that this kernel or user does not allow are listed with the reason. The table has the first finding for each fault, and
// whether it is the expected one. A finding that is also among those of the recording "idle", which is made first, is taken to be that of other work on the
// machine; the table has both the first of all and the first that is new.
//
// Faults that are marked as held out were not looked at when the rules were written. --held selects them.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
)

// A fault is a condition to stage, with the expected findings.
type fault struct {
	name string
	held bool
	idle bool     // a recording without a fault, for comparison
	want []string // rules, of which one must be the first finding; none for a sound recording
	who  string   // part of the name of what takes the resource, "" for any
	// stage begins the fault and returns what ends it, or the reason why it cannot be staged.
	stage func(s *site) error
}

// dirPrefix begins the name of the directory of a run, and groupName is that of its control groups.
const (
	dirPrefix = "pcp-faults-"
	groupName = "pcp-faults"
)

// A site has what a fault needs, and undoes it.
type site struct {
	ctx  context.Context
	dir  string // for files
	self string
	undo []func()
}

func (s *site) after(fn func()) { s.undo = append(s.undo, fn) }

func (s *site) close() {
	for _, fn := range slices.Backward(s.undo) {
		fn()
	}
	s.undo = nil
}

// A skip is the reason why a fault is not staged.
type skip string

func (e skip) Error() string { return string(e) }

func main() {
	if len(os.Args) > 2 && os.Args[1] == workerArg {
		if err := work(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
			os.Exit(1)
		}
		return
	}
	runtime.LockOSThread() // processes end with the thread that started them
	pcp := flag.String("pcp", "pcp", "the program `pcp`")
	seconds := flag.Int("seconds", 20, "the length of each recording")
	only := flag.String("only", "", "names of faults, separated by commas")
	held := flag.Bool("held", false, "stage the faults that are held out, in place of the others")
	keep := flag.String("keep", "", "keep the recordings in this `directory`")
	again := flag.String("again", "", "diagnose the recordings in this `directory` again, and stage nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{pcp: *pcp, seconds: *seconds, archives: *keep, again: *again != ""}
	if r.again {
		r.archives = *again
	}
	if err := r.run(ctx, *only, *held); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// A runner stages, records and diagnoses.
type runner struct {
	pcp      string
	seconds  int
	archives string
	again    bool

	dir, socket string
	idle        map[string]bool // findings of recordings "idle"

	faults, sound tally
}

// A tally counts results.
type tally struct{ right, other, all int }

func (t *tally) add(result string) {
	t.all++
	switch result {
	case right:
		t.right++
	case other:
		t.other++
	}
}

func (r *runner) run(ctx context.Context, only string, held bool) error {
	path, err := exec.LookPath(r.pcp)
	if err != nil {
		return err
	}
	if r.pcp, err = filepath.Abs(path); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", dirPrefix); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	unguard, err := guard(self, r.dir)
	if err != nil {
		return err
	}
	defer unguard()
	defer os.RemoveAll(r.dir)
	if r.archives == "" {
		r.archives = filepath.Join(r.dir, "archives")
	}
	if err := os.MkdirAll(r.archives, 0o755); err != nil {
		return err
	}
	if !r.again {
		stop, err := r.collect(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	names := strings.FieldsFunc(only, func(c rune) bool { return c == ',' })
	for _, name := range names {
		if !slices.ContainsFunc(faults(), func(f fault) bool { return f.name == name }) {
			return fmt.Errorf("there is no fault %q", name)
		}
	}
	fmt.Printf("| %-14s | %-34s | %-34s | %-6s |\n| --- | --- | --- | --- |\n", "fault", "first finding", "first new finding", "result")
	for _, f := range r.plan(names, held) {
		if err := r.one(ctx, &f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	fmt.Printf("\n%d of %d faults are right, and %d after other work. Of %d sound recordings %d have no new finding, and %d only those of other work.\n",
		r.faults.right, r.faults.all, r.faults.other, r.sound.all, r.sound.right, r.sound.other)
	return nil
}

// idleEvery is the number of faults for which a recording without a fault counts.
const idleEvery = 8

// plan returns the recordings to make: those with the names or, without names, all that are held out or all that are not; and between them those without a fault.
func (r *runner) plan(names []string, held bool) []fault {
	var list []fault
	for _, f := range faults() {
		if len(names) > 0 && !slices.Contains(names, f.name) || len(names) == 0 && f.held != held {
			continue
		}
		if n := len(list); n%(idleEvery+1) == 0 {
			list = append(list, fault{name: fmt.Sprintf("idle-%d", n/(idleEvery+1)), idle: true})
		}
		list = append(list, f)
	}
	return list
}

// collect runs a collector, whose socket shows the processes of this user or, for root, of all.
func (r *runner) collect(ctx context.Context) (stop func(), err error) {
	r.socket = filepath.Join(r.dir, "s")
	cmd := exec.CommandContext(ctx, r.pcp, "up", "--no-record", "--no-web", "--port", "0", "--dir", filepath.Join(r.dir, "up"), "--socket", r.socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	for range 300 {
		if err := exec.CommandContext(ctx, r.pcp, "info", "-h", "unix:"+r.socket, "-f", "hinv.ncpu").Run(); err == nil {
			return stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return nil, fmt.Errorf("pcp up does not answer: %s", out.Bytes())
}

// one stages a fault, records it, and prints the row of it.
func (r *runner) one(ctx context.Context, f *fault) error {
	base := filepath.Join(r.archives, f.name)
	if !r.again {
		if err := r.record(ctx, f, base); err != nil {
			var why skip
			if errors.As(err, &why) {
				fmt.Printf("| %-14s | %-34s | %-34s | %-6s |\n", f.name, "not staged: "+why.Error(), "", "-")
				return nil
			}
			return err
		}
	} else if _, err := os.Stat(base + ".meta"); err != nil {
		fmt.Printf("| %-14s | %-34s | %-34s | %-6s |\n", f.name, "no recording", "", "-")
		return nil
	}
	list, err := r.diagnose(ctx, base)
	if err != nil {
		return err
	}
	if f.idle {
		if r.idle == nil {
			r.idle = map[string]bool{}
		}
		for _, o := range list {
			r.idle[key(&o)] = true
		}
		fmt.Printf("| %-14s | %-34s | %-34s | %-6s |\n", f.name, name(list), "", "-")
		return nil
	}
	fresh, result := f.judge(list, r.idle)
	if len(f.want) == 0 {
		r.sound.add(result)
	} else {
		r.faults.add(result)
	}
	fmt.Printf("| %-14s | %-34s | %-34s | %-6s |\n", f.name, name(list), name(fresh), result)
	return nil
}

// Results of a recording. With other work, the expected findings come after findings that name other programs of the machine.
const (
	right = "right"
	other = "right after other work"
	wrong = "wrong"
)

// judge returns the findings that recordings without a fault do not have, or that name the staged programs, and the result.
func (f *fault) judge(list []diagnosis.Object, idle map[string]bool) (fresh []diagnosis.Object, result string) {
	for _, o := range list {
		if !idle[key(&o)] || len(f.want) > 0 && taken(&o, f.who) {
			fresh = append(fresh, o)
		}
	}
	if f.met(fresh) {
		return fresh, right
	}
	own := slices.DeleteFunc(slices.Clone(fresh), func(o diagnosis.Object) bool { return !slices.Contains(f.want, o.ID) && foreign(&o, f.who) })
	if f.met(own) {
		return fresh, other
	}
	return fresh, wrong
}

// met reports whether findings are the expected ones: one of those first, or none of a sound recording.
func (f *fault) met(list []diagnosis.Object) bool {
	if len(f.want) == 0 || len(list) == 0 {
		return len(f.want) == len(list)
	}
	o := &list[0]
	return slices.Contains(f.want, o.ID) && (f.who == "" || nameless(o) || taken(o, f.who))
}

func key(o *diagnosis.Object) string { return o.ID + " " + o.Instance }

// taken reports whether something takes most of the resource of a finding, or is its instance. Its name has one of the parts that who lists, with | between them.
func taken(o *diagnosis.Object, who string) bool {
	for part := range strings.SplitSeq(who, "|") {
		if part != "" && (strings.Contains(o.Instance, part) || len(o.Takers) > 0 && (strings.Contains(o.Takers[0].Instance, part) || strings.Contains(o.Takers[0].CGroup, part))) {
			return true
		}
	}
	return false
}

// nameless reports whether a finding is of the whole machine, and its rule names nothing that takes the resource.
func nameless(o *diagnosis.Object) bool { return o.Instance == "" && len(o.Takers) == 0 }

// foreign reports whether a finding names what takes the resource, and that was not staged.
func foreign(o *diagnosis.Object, who string) bool {
	return len(o.Takers) > 0 && !taken(o, who+"|faults")
}

// name returns a finding as the table has it.
func name(list []diagnosis.Object) string {
	if len(list) == 0 {
		return "none"
	}
	o := &list[0]
	text := o.ID
	if o.Instance != "" {
		text += " " + o.Instance
	}
	if len(o.Takers) > 0 {
		text += " by " + o.Takers[0].Instance
	}
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

// record stages a fault and records the metrics of all rules while it lasts, with some seconds before it.
func (r *runner) record(ctx context.Context, f *fault, base string) error {
	rules, err := diagnosis.Rules()
	if err != nil {
		return err
	}
	metrics := map[string]bool{"proc.psinfo.sname": true, "proc.psinfo.cgroups": true, "proc.id.uid_nm": true, "hinv.ncpu": true}
	for _, rule := range rules {
		lists := [][]string{rule.Value, rule.While, {rule.Name}}
		for _, t := range rule.Takers {
			lists = append(lists, t.Value, []string{t.Count})
		}
		for _, text := range slices.Concat(lists...) {
			for _, name := range diagnosis.Metrics(text) {
				metrics[name] = true
			}
		}
	}
	conf := filepath.Join(r.dir, "logger.conf")
	// One statement, since two rates of one rule must be of the same times.
	text := fmt.Sprintf("log mandatory on 1 sec {\n%s\n}\n", strings.Join(slices.Sorted(maps.Keys(metrics)), "\n"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return err
	}
	for _, ext := range []string{".0", ".meta", ".index"} {
		os.Remove(base + ext)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s := &site{ctx: ctx, dir: filepath.Join(r.dir, f.name), self: self}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	defer s.close()
	logger := exec.CommandContext(ctx, r.pcp, "logger", "-h", "unix:"+r.socket, "-c", conf, "-l", filepath.Join(r.dir, "logger.log"), "-T", fmt.Sprintf("%ds", r.seconds), base)
	logger.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if f.stage != nil {
		if err := f.stage(s); err != nil {
			return err
		}
	}
	if out, err := logger.CombinedOutput(); err != nil {
		return fmt.Errorf("pcp logger: %w: %s", err, out)
	}
	return nil
}

// diagnose returns the findings of a recording.
func (r *runner) diagnose(ctx context.Context, base string) ([]diagnosis.Object, error) {
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, r.pcp, "diagnose", "--json", "--no-changes", "-a", base)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("pcp diagnose: %w: %s", err, errs.Bytes())
	}
	var list []diagnosis.Object
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var o diagnosis.Object
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, err
		}
		if o.Severity != "" {
			list = append(list, o)
		}
	}
	return list, nil
}
