package nsedit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/stdpmid"
)

// StdPMIDCommand is Make.stdpmid.
var StdPMIDCommand = &cli.Command{
	Name:     "ns stdpmid",
	Link:     "Make.stdpmid",
	Group:    cli.WriteAgent,
	Summary:  "write stdpmid, the file of the agents' domain numbers",
	Synopsis: "[options]",
	Options:  func() []cli.Option { return []cli.Option{cli.Heading("Options"), optDir, cli.OptHelp} },
	Doc: `Creates the file stdpmid, which name space files include, from stdpmid.local and the other files
stdpmid.*, in which each line has the name of an agent and its domain number. PCP's own numbers are
in stdpmid.pcp, or built in if that file does not exist. Duplicate names or numbers are an error,
and stdpmid is not changed.`,
	Examples:    []cli.Example{{Line: "pcp ns stdpmid", Text: "include a new line of stdpmid.local"}},
	DieOnSignal: true,
	Run: func(_ context.Context, env *cli.Env) int {
		dir := workDir(env, "Make.stdpmid")
		o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
			if opt.Short == 'C' {
				dir = arg
			}
			return opt.Short == 'C'
		}})
		if len(o.Args) > 0 {
			o.WantUsage()
		}
		if status, exit := o.Done(); exit {
			return status
		}
		if err := makeStdPMID(dir); err != nil {
			for line := range strings.Lines(err.Error()) {
				fmt.Fprintf(env.Stdout, "%s: Error: %s\n", env.ProgName(), strings.TrimSuffix(line, "\n"))
			}
			return 1
		}
		return 0
	},
}

var optDir = cli.Option{Short: 'C', Long: "directory", Arg: "DIR", Help: "where the name space is [default $PCP_VAR_DIR/pmns; as Rebuild or Make.stdpmid the current directory]"}

// workDir returns the directory that a command works in. If called by the name of the
// script, it is the current one, as scripts expect.
func workDir(env *cli.Env, script string) string {
	if env.Name == script {
		return "."
	}
	return pmnsDir(env)
}

// maxDomains is the maximum total size of the files stdpmid.*.
const maxDomains = 1 << 20

// sourceFile is the table of PCP's own domains.
const sourceFile = "stdpmid.pcp"

// makeStdPMID creates the file stdpmid in dir. It includes the numbers that PCP assigns if no
// file has them.
func makeStdPMID(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var domains []stdpmid.Domain
	if _, err := os.Stat(filepath.Join(dir, sourceFile)); errors.Is(err, fs.ErrNotExist) {
		domains = slices.Collect(stdpmid.All())
	}
	size := 0
	for _, e := range entries {
		ext, ok := strings.CutPrefix(e.Name(), "stdpmid.")
		if !ok || e.IsDir() || ext == "O" || ext == "N" || strings.HasPrefix(ext, "O.") || strings.HasPrefix(ext, "N.") ||
			ext == "rpmorig" || strings.HasSuffix(ext, ".rpmorig") || strings.HasSuffix(ext, ".tmp") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := readSome(path, maxDomains-size)
		if err != nil {
			return err
		}
		size += len(text)
		n := 0
		for line := range bytes.Lines(text) {
			n++
			entry, _, _ := strings.Cut(string(line), "/*") // a comment, as in some lines of PCP's
			words := strings.Fields(entry)
			if len(words) == 0 || line[0] == '#' {
				continue
			}
			number := 0
			if len(words) == 2 {
				number, err = strconv.Atoi(words[1])
			}
			if len(words) != 2 || err != nil || number < 1 || number > stdpmid.MaxNumber {
				return fmt.Errorf("%s: line %d: want a name and a number from 1 to %d", path, n, stdpmid.MaxNumber)
			}
			if d := (stdpmid.Domain{Name: words[0], Number: number}); !slices.Contains(domains, d) {
				domains = append(domains, d)
			}
		}
	}
	slices.SortFunc(domains, func(a, b stdpmid.Domain) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	var errs []error
	names, numbers := map[string]int{}, map[int]string{}
	for _, d := range domains {
		if other, ok := names[d.Name]; ok {
			errs = append(errs, fmt.Errorf("duplicate for domain name \"%s\" ... %d and %d", d.Name, other, d.Number))
		}
		if other, ok := numbers[d.Number]; ok {
			errs = append(errs, fmt.Errorf("duplicate for domain number \"%d\" ... %s and %s", d.Number, other, d.Name))
		}
		names[d.Name], numbers[d.Number] = d.Number, d.Name
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	text := []byte(stdpmid.Header(slices.Values(domains)))
	path := filepath.Join(dir, "stdpmid")
	if old, err := readSome(path, maxDomains); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return writeFile(path, text)
}

func readSome(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return text, err
}

// writeFile replaces the file at path in one step; all users may read it. The directory
// may belong to another user, whose links are not followed.
func writeFile(path string, text []byte) error {
	return safefile.ReplaceBytes(path, text, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
}
