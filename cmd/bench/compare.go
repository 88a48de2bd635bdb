//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/bench/archive"
	"github.com/go-pcp/pcp/cmd/bench/harness"
)

// A compare is a run of the harness: each workload for C, an older commit of ours, this one, and the floor, in turn.
type compare struct {
	root   string // of the repository
	pcp    string // our program
	before string // that of the older commit, "" without one
	time   time.Duration
	check  bool
	set    archive.Set

	dir        string             // for all files of the run
	collectors map[string]started // that run, by the names of their agents
	everything *server            // a collector of ours with all agents
	generated  bool               // whether the archives are there
}

// compareMain is the command compare.
func compareMain(ctx context.Context, args []string) error {
	c := compare{root: ".", collectors: map[string]started{}}
	flags := flag.NewFlagSet("compare", flag.ExitOnError)
	base := flags.String("base", "", "an older commit to build and measure, too")
	flags.StringVar(&c.pcp, "pcp", "bin/pcp", "our binary")
	flags.DurationVar(&c.time, "time", time.Second, "the length of one measurement of a server")
	rounds := flags.Int("rounds", 5, "how often each side is measured")
	only := flags.String("only", "", "regular expression that selects workloads by their name")
	flags.BoolVar(&c.check, "check", true, "compare the output of commands first")
	flags.StringVar(&c.set.Data, "data", filepath.Join(os.TempDir(), "pcp-bench-archives"), "where the archives are, or are made")
	flags.BoolVar(&c.set.Quick, "quick", false, "archives of a seventh of the size")
	pin := flags.Int("pin", -1, "the number of a processor on which everything runs")
	out := flags.String("out", "", "the file for the result, in JSON")
	flames := flags.String("flames", "", "the folder for flame graphs as text, by perf, in place of a measurement; -pcp must have symbols (go build without -s and -w)")
	list := flags.Bool("list", false, "list the workloads and their goals")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("compare: %q is not an option", flags.Arg(0))
	}
	if c.set.Quick {
		c.set.Data = filepath.Join(c.set.Data, "quick")
	}
	re, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	workloads, err := harness.Select(c.workloads(), re.MatchString)
	if err != nil {
		return err
	}
	if *list {
		for _, w := range workloads {
			fmt.Printf("%-28s a %-12s %s\n", w.Name, w.Unit, w.Goal)
		}
		return nil
	}
	report := harness.Report{Time: time.Now().UTC().Truncate(time.Second), Kernel: kernel(), Processor: processor(), CPUs: runtime.NumCPU(), Go: runtime.Version()}
	if report.Now, err = harness.Current(ctx, c.root); err != nil {
		return err
	}
	if c.pcp, err = filepath.Abs(c.pcp); err != nil {
		return err
	}
	if _, err := os.Stat(c.pcp); err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	if c.dir, err = os.MkdirTemp("", "pcpbench"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	if *base != "" {
		if report.Before, err = harness.Commit(ctx, c.root, *base); err != nil {
			return err
		}
		fmt.Printf("building %s\n", report.Before)
		ldflags := "-s -w" // as make build
		if *flames != "" {
			ldflags = "" // perf reads the table of symbols
		}
		c.before = filepath.Join(c.dir, "before", "pcp")
		if err := harness.BuildCommit(ctx, c.root, report.Before, "./cmd/pcp", c.before, "-trimpath", "-buildvcs=false", "-ldflags="+ldflags); err != nil {
			return err
		}
	}
	if *pin >= 0 {
		if err := pinTo(*pin); err != nil {
			return fmt.Errorf("-pin %d: %w", *pin, err)
		}
		report.Pinned = strconv.Itoa(*pin)
	}
	report.C = realVersion(ctx)
	report.LoadBegin = loadAverage()
	defer c.stop()
	if *flames != "" {
		return c.flames(ctx, *flames, workloads)
	}
	rows, err := harness.Run(ctx, os.Stdout, *rounds, workloads)
	if err != nil {
		return err
	}
	report.Rows, report.LoadEnd = rows, loadAverage()
	fmt.Println()
	if err := report.WriteTable(os.Stdout); err != nil || *out == "" {
		return err
	}
	return report.Save(*out)
}

// tableMain is the command table: it prints the tables of a result.
func tableMain(args []string) error {
	if len(args) != 1 {
		return errors.New("table: the path of one result is expected")
	}
	report, err := harness.Load(args[0])
	if err != nil {
		return err
	}
	return report.WriteTable(os.Stdout)
}

// writeMain is the command write: it writes the tables of a page.
func writeMain(args []string) error {
	if len(args) != 1 {
		return errors.New("write: the path of one page is expected")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	page, err := harness.Embed(string(text), func(path string) (*harness.Report, error) {
		return harness.Load(filepath.Join(filepath.Dir(args[0]), path))
	})
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[0], []byte(page), 0o644)
}

// stop ends all collectors.
func (c *compare) stop() {
	for _, started := range c.collectors {
		for _, s := range started.servers {
			s.stop()
		}
	}
	if c.everything != nil {
		c.everything.stop()
	}
}

// tool returns the path of a tool on a side, "" if the side does not have it.
func (c *compare) tool(side, name string) (string, error) {
	program := c.pcp
	switch side {
	case harness.C:
		for _, dir := range []string{"/usr/bin", "/usr/lib/pcp/bin", "/usr/libexec/pcp/bin"} {
			path := filepath.Join(dir, name)
			if _, err := exec.LookPath(path); err == nil {
				return path, nil
			}
		}
		return "", nil
	case harness.Before:
		if program = c.before; program == "" {
			return "", nil
		}
	}
	link := filepath.Join(c.dir, "links", side, name)
	if _, err := os.Lstat(link); err == nil {
		return link, nil
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return "", err
	}
	return link, os.Symlink(program, link)
}

// sides are the sides that are programs.
func sides() []string { return []string{harness.C, harness.Before, harness.Now} }

// An opener prepares the sides of a workload.
type opener = func(context.Context) ([]harness.Side, string, func(), error)

// A command is a tool with arguments, in which [archive.Out] represents an archive to write.
type command struct {
	tool  string
	args  []string
	env   []string
	slow  bool // for C
	alone bool // C cannot do it
}

// on returns the command as a side runs it, and whether the side has it.
func (c *compare) on(side string, cmd command) (harness.Command, bool, error) {
	if side == harness.C && cmd.alone {
		return harness.Command{}, false, nil
	}
	path, err := c.tool(side, cmd.tool)
	if err != nil || path == "" {
		return harness.Command{}, false, err
	}
	// Derived metrics of the machine's configuration are not measured; tools in Python need the system's.
	run := harness.Command{Args: append([]string{path}, cmd.args...), Env: slices.Concat([]string{"PCP_DERIVED_CONFIG=", "PATH=/usr/bin:/bin"}, cmd.env)}
	for i, arg := range run.Args {
		if arg == archive.Out {
			run.Output = filepath.Join(c.dir, "out-"+side)
			run.Args[i] = run.Output
		}
	}
	return run, true, nil
}

// command measures a command from start to end. The floor may be nil.
func (c *compare) command(cmd command, floor func(context.Context) (harness.Sample, error)) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		resident, note, err := c.compareOutput(ctx, cmd)
		if err != nil {
			return nil, "", nil, err
		}
		var list []harness.Side
		for _, side := range sides() {
			run, found, err := c.on(side, cmd)
			if err != nil {
				return nil, "", nil, err
			}
			if found {
				list = append(list, harness.Side{Name: side, Once: cmd.slow && side == harness.C, Measure: func(ctx context.Context) (harness.Sample, error) {
					sample, err := run.Sample(ctx)
					sample.RSS = resident[side]
					return sample, err
				}})
			}
		}
		if floor != nil {
			list = append(list, harness.Side{Name: harness.Floor, Measure: floor})
		}
		return list, note, func() {}, nil
	}
}

// compareOutput runs the command on each side, and returns the resident sets and a note if a side prints something else than this commit.
func (c *compare) compareOutput(ctx context.Context, cmd command) (resident map[string]int64, note string, err error) {
	if !c.check {
		return nil, "", nil
	}
	digests := map[string]string{}
	resident = map[string]int64{}
	for _, side := range sides() {
		run, found, err := c.on(side, cmd)
		if err != nil {
			return nil, "", err
		}
		if !found || cmd.slow && side == harness.C {
			continue
		}
		if digests[side], resident[side], err = c.digest(ctx, run); err != nil && side == harness.Now {
			return nil, "", err
		}
	}
	var differ []string
	for _, side := range []string{harness.C, harness.Before} {
		if d, ok := digests[side]; ok && d != digests[harness.Now] {
			differ = append(differ, side)
		}
	}
	if len(differ) > 0 {
		note = "the output of " + strings.Join(differ, " and of ") + " differs"
	}
	return resident, note, nil
}

// digest returns the digest of a command's output, or, if it writes an archive, of a dump of that, and the command's resident set.
func (c *compare) digest(ctx context.Context, run harness.Command) (digest string, rss int64, err error) {
	sum := sha256.New()
	if rss, err = run.WriteOutput(ctx, sum); err != nil {
		return "", 0, err
	}
	if run.Output != "" {
		dump, err := c.tool(harness.Now, "pmdumplog")
		if err != nil {
			return "", 0, err
		}
		if _, err := (harness.Command{Args: []string{dump, "-z", "-d", "-i", "-t", "-m", run.Output}}).WriteOutput(ctx, sum); err != nil {
			return "", 0, err
		}
		if err := harness.RemoveArchive(run.Output); err != nil {
			return "", 0, err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), rss, nil
}

// doNothing is the floor of a start: a program that ends at once.
func doNothing(ctx context.Context) (harness.Sample, error) {
	return harness.Command{Args: []string{"/bin/true"}}.Sample(ctx)
}

// archived returns the workloads on archives. The archives are made when the first one is measured.
func (c *compare) archived() []harness.Workload {
	var list []harness.Workload
	for _, w := range c.set.Workloads() {
		list = append(list, harness.Workload{
			Name: "archive." + w.Name, Unit: "run", Goal: harness.Goal{C: w.Goal},
			Open: func(ctx context.Context) ([]harness.Side, string, func(), error) {
				if !c.generated {
					if err := c.set.Generate(ctx); err != nil {
						return nil, "", nil, err
					}
					c.generated = true
				}
				var files []string
				for _, in := range c.set.Inputs(w) {
					found, err := archiveFiles(in)
					if err != nil {
						return nil, "", nil, err
					}
					files = append(files, found...)
				}
				floor := harness.ReadFiles(files)
				switch w.Floor {
				case archive.Start:
					floor = doNothing
				case archive.Copy:
					floor = harness.CopyFiles(files, filepath.Join(c.dir, "out-floor"))
				}
				return c.command(command{tool: w.Tool, args: w.Args, slow: w.Slow, alone: w.Alone}, floor)(ctx)
			},
		})
	}
	return list
}

// archiveFiles returns the files of an archive, or of all in a folder.
func archiveFiles(base string) ([]string, error) {
	info, err := os.Stat(base)
	if err == nil && info.IsDir() {
		var files []string
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		return files, err
	}
	files, err := filepath.Glob(base + ".*")
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: there is no such archive here", base)
	}
	return files, err
}

// pinTo has all threads of this program, and the programs that it starts, run on one processor.
func pinTo(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// loadAverage returns the load averages of 1, 5 and 15 minutes.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// realVersion returns the version of the C implementation, "" without one.
func realVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "/usr/bin/pminfo", "--version").CombinedOutput()
	if err != nil {
		return ""
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(out)), "version ")
	return version
}

// repeat measures an operation that the processes serve: again and again, three times at least.
func (c *compare) repeat(pids func() []int, do func(context.Context) error) func(context.Context) (harness.Sample, error) {
	return func(ctx context.Context) (harness.Sample, error) {
		if err := do(ctx); err != nil { // the first prepares what later ones find
			return harness.Sample{}, err
		}
		list, n := pids(), 0
		before, begin := cpuTime(list), time.Now()
		for time.Since(begin) < c.time || n < 3 {
			if err := do(ctx); err != nil {
				return harness.Sample{}, err
			}
			n++
		}
		took := time.Since(begin)
		return harness.Sample{CPU: (cpuTime(list) - before) / time.Duration(n), Wall: took / time.Duration(n)}, nil
	}
}
