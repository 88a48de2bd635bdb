// Toolcover prints how much of each tool's package the tests cover on a machine
// without the C implementation.
//
//	go run ./scripts/toolcover               run the tests of the tools, and print
//	go run ./scripts/toolcover -again=2      the same, with this flag of gotest
//	go run ./scripts/toolcover cover.out     print the results of a profile
//
// It fails if there is a package of which the tests cover less than [least].
//
// The scripts of cmd/pcp run the tools as programs, so that the coverage of a
// package by its own tests is too low.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// least is the share of the statements, in percent, that the tests must cover of
// each package.
const least = 70

// commands are the folders of cmd/internal that have the commands and their common
// packages.
const commands = "about agents archives exchange live record reports rules screen scripting serve tool"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "toolcover:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-again=") {
		dir, err := os.MkdirTemp("", "toolcover")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		again := args
		args = []string{filepath.Join(dir, "cover.out")}
		var districts []string
		for _, d := range strings.Fields(commands) {
			districts = append(districts, "./cmd/internal/"+d+"/...")
		}
		cmd := exec.Command("go", "run", "./scripts/gotest")
		cmd.Args = append(append(cmd.Args, again...), "-coverpkg="+strings.Join(districts, ","), "-coverprofile="+args[0])
		cmd.Args = append(append(cmd.Args, districts...), "./cmd/pcp")
		cmd.Env = append(os.Environ(), "PCP_ORACLE=none", "CI=") // a skipped test does not fail
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("gotest: %w", err)
		}
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return report(os.Stdout, f)
}

// A share is how many statements there are, and how many of them ran.
type share struct{ all, ran int }

func (s share) percent() float64 { return 100 * float64(s.ran) / float64(max(s.all, 1)) }

// report reads a profile, which has each block once for each test that has it, and
// prints a line for each package. It returns an error that names those below least.
func report(w io.Writer, profile io.Reader) error {
	type block struct {
		statements int
		ran        bool
	}
	blocks := make(map[string]block)
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "mode:") {
			continue
		}
		words := strings.Fields(lines.Text()) // place, statements, count
		if len(words) != 3 {
			return fmt.Errorf("not a line of a profile: %q", lines.Text())
		}
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		blocks[words[0]] = block{n, blocks[words[0]].ran || words[2] != "0"}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	packages, total := make(map[string]share), share{}
	for place, b := range blocks {
		file, _, _ := strings.Cut(place, ":")
		s := packages[path.Dir(file)]
		s.all, total.all = s.all+b.statements, total.all+b.statements
		if b.ran {
			s.ran, total.ran = s.ran+b.statements, total.ran+b.statements
		}
		packages[path.Dir(file)] = s
	}
	if total.all == 0 {
		return errors.New("the profile has no statements")
	}
	var below []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		s := packages[name]
		name = strings.TrimPrefix(name, "github.com/go-pcp/pcp/cmd/internal/")
		fmt.Fprintf(w, "%-40s %6d %6.1f %%\n", name, s.all, s.percent())
		if s.percent() < least {
			below = append(below, name)
		}
	}
	fmt.Fprintf(w, "%-40s %6d %6.1f %%\n", "all", total.all, total.percent())
	if below != nil {
		return fmt.Errorf("below %d %%: %s", least, strings.Join(below, ", "))
	}
	return nil
}
