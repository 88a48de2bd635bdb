// Command archive measures our archive tools against the C ones, in one run on
// archives that it makes itself. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

func main() {
	var b bench
	flag.StringVar(&b.links, "links", "bin/links", "the folder of links to our binary")
	flag.StringVar(&b.data, "data", filepath.Join(os.TempDir(), "pcp-bench-archives"), "where the archives are, or are made")
	flag.IntVar(&b.runs, "runs", 5, "how often each command runs")
	flag.BoolVar(&b.quick, "quick", false, "archives of a seventh of the size")
	flag.BoolVar(&b.check, "check", true, "compare the output of both sides first")
	only := flag.String("only", "", "regular expression that selects workloads by their label")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if b.only, err = regexp.Compile(*only); err == nil {
		err = b.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/archive:", err)
		os.Exit(1)
	}
}

type bench struct {
	links, data string
	runs        int
	quick       bool
	check       bool
	only        *regexp.Regexp
}

func (b *bench) run(ctx context.Context) error {
	links, err := filepath.Abs(b.links)
	if err != nil {
		return err
	}
	b.links = links
	if _, err := os.Stat(filepath.Join(links, "pmdumplog")); err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	if b.quick {
		b.data = filepath.Join(b.data, "quick")
	}
	if err := b.generate(ctx); err != nil {
		return err
	}
	fmt.Printf("%d runs in turn, medians; ratio is theirs over ours, above 1 ours is better\n\n", b.runs)
	fmt.Printf("%-24s %9s %9s %7s %9s %9s %7s %9s %9s\n",
		"workload", "C", "ours", "ratio", "C cpu", "cpu", "ratio", "C MiB", "MiB")
	workloads, err := b.workloads()
	if err != nil {
		return err
	}
	for _, w := range workloads {
		if !b.only.MatchString(w.label) {
			continue
		}
		if err := b.pair(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", w.label, err)
		}
	}
	return nil
}

// realTool returns the path of the C tool of a name, "" if it is not installed.
func realTool(name string) string {
	for _, dir := range []string{"/usr/bin", "/usr/lib/pcp/bin", "/usr/libexec/pcp/bin"} {
		path := filepath.Join(dir, name)
		if _, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	return ""
}
