package archivecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/storage"
)

// Command is "pcp archive".
var Command = &cli.Command{
	Name:     "archive",
	Group:    cli.SeePast,
	Summary:  "list, verify, repair, convert and store archives",
	Synopsis: "ls | verify | repair | convert | ship [options] archive...",
	Doc: `
An archive, written by pmlogger, consists of the files NAME.meta, NAME.index, NAME.0, NAME.1 and so
on. A command accepts NAME, any of these files, a directory of archives, or a directory with a
subdirectory for each host. It reads versions 2 and 3, also compressed.`,
	Examples: []cli.Example{
		{Line: "pcp archive ls /var/log/pcp/pmlogger/vm", Text: "list the archives of a directory with host, time and size"},
		{Line: "pcp archive verify 20261121", Text: "check for damage; the exit status is 0 if there is none"},
		{Line: "pcp archive convert 20261121 small --compress zstd", Text: "create a compressed copy"},
	},
	Options: func() []cli.Option { return []cli.Option{cli.Heading("Options"), cli.OptHelp} },
	Sub:     []*cli.Command{lsCommand, verifyCommand, repairCommand, convertCommand, shipCommand},
	Run:     cli.Run,
}

// archives finds the archives that arguments name: an archive, one of its files, or a directory
// of archives or of directories of archives, as recorders keep for each host. An archive named
// twice counts once. Without arguments it uses the current directory.
func archives(args []string) (list []string, err error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		st, err := storage.Stat(arg)
		if err != nil || !st.IsDir() {
			list = append(list, arg)
			continue
		}
		in, err := directory(arg)
		if err == nil && len(in) == 0 {
			in, err = directories(arg)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, in...)
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(path string) bool {
		key := path
		if base, _, ok := archive.BaseName(filepath.Base(path)); ok {
			key = storage.Join(storage.Dir(path), base)
		}
		key = storage.Clean(key)
		again := seen[key]
		seen[key] = true
		return again
	}), nil
}

// noneIn reports that there are no archives in the directory where a command without arguments
// looked.
func noneIn(env *cli.Env, args []string) {
	where := "this directory"
	if len(args) > 0 {
		where = strings.Join(args, ", ")
	}
	env.FlushOut()
	fmt.Fprintf(env.Stderr, "%s: no archives in %s\n", env.ProgName(), where)
}

// unreadable returns the reason why this user cannot read a file of an archive, nil if
// all are readable.
func unreadable(path string) error {
	files, err := archive.FindFiles(path)
	if err != nil {
		return nil // reported elsewhere
	}
	for _, name := range files.All() {
		if storage.Remote(name) {
			continue
		}
		if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
			continue // opening a FIFO would wait for a writer
		}
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s: this user may not read the file", name)
		}
		if err == nil {
			f.Close()
		}
	}
	return nil
}

// directory returns the base names of the archives in a directory.
func directory(dir string) ([]string, error) {
	entries, err := storage.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	seen := make(map[string]bool)
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		// A file with a numeric suffix may be anything.
		if part != "meta" && part != "index" {
			continue
		}
		if !seen[base] {
			seen[base] = true
			list = append(list, join(dir, base))
		}
	}
	return list, nil
}

// directories returns the archives in the subdirectories of a directory.
func directories(dir string) (list []string, err error) {
	entries, err := storage.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		sub := join(dir, e.Name())
		// A subdirectory may be a link to another disk.
		if st, err := storage.Stat(sub); err != nil || !st.IsDir() {
			continue
		}
		in, err := directory(sub)
		if err != nil {
			return nil, err
		}
		list = append(list, in...)
	}
	return list, nil
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// failed reports an error with all known details.
func failed(env *cli.Env, err error) int { return env.Fatalf("%s", errText(err)) }

// errText returns the text of an error for users: our errors name file and offset.
func errText(err error) string { return strings.TrimPrefix(err.Error(), "./") }
