package folio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/folio"
)

// MakeCommand is mkaf.
var MakeCommand = &cli.Command{
	Name:     "mkaf",
	Link:     "mkaf",
	Group:    cli.SeePast,
	Summary:  "create a folio, a list of archives",
	Synopsis: "[findopts] filename ...",
	Doc: `Writes a folio, a file with the names of several archives, to standard output. Arguments are files
of archives, or directories to search.`,
	Examples: []cli.Example{
		{Line: `pcp mkaf /var/log/pcp/pmlogger >myfolio`, Text: `create a folio of all archives below a directory`},
	},
	SeeAlso:     []string{"pmafm(1)"},
	DieOnSignal: true,
	Run:         runMake,
}

// suffixes are those of compressed files, in the order in which they are
// stripped.
var suffixes = []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// A maker collects archives.
type maker struct {
	env   *cli.Env
	opts  []string // for find
	bases []string

	byDefault bool // opts are the default
}

func runMake(ctx context.Context, env *cli.Env) int {
	m := &maker{env: env}
	if len(env.Args) == 0 {
		return m.usage()
	}
	for _, arg := range env.Args {
		switch {
		case len(arg) == 2 && arg[0] == '-':
			m.usage()
			return 0
		case strings.HasPrefix(arg, "-"):
			switch arg {
			case "-follow", "-xdev", "-mount", "-depth", "-noleaf":
				m.opts = append(m.opts, arg)
			default:
				return env.Fatalf("%s: this option of find(1) is not supported", arg)
			}
		default:
			if err := m.take(ctx, arg); err != nil {
				return env.Fatalf("%s: %s", arg, cli.ErrText(err))
			}
		}
	}
	if len(m.bases) == 0 {
		fmt.Fprintln(env.Stderr, "mkaf: Warning: no PCP archives found, so no folio created")
		return 1
	}
	return m.write()
}

func (m *maker) usage() int {
	fmt.Fprintln(m.env.Stdout, "Usage: mkaf [findopts] filename ...")
	return 1
}

// take processes an argument.
func (m *maker) take(ctx context.Context, path string) error {
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		if m.opts == nil {
			m.opts = []string{"-follow"}
			m.byDefault = true
		}
		opts := strings.Join(m.opts, " ")
		if !m.byDefault {
			opts = " " + opts
		}
		fmt.Fprintf(m.env.Stderr, "Searching \"find %s %s ...\" ", path, opts)
		if err := m.search(ctx, path); err != nil {
			return err
		}
		fmt.Fprintln(m.env.Stderr, " done")
	case err != nil || !st.Mode().IsRegular():
		fmt.Fprintf(m.env.Stderr, "mkaf: %s: No such file\n", path)
	case isArchive(path):
		m.add(path)
	default:
		fmt.Fprintf(m.env.Stderr, "mkaf: %s: Not a PCP archive file\n", path)
	}
	return nil
}

// add adds a file of an archive.
func (m *maker) add(path string) {
	for _, s := range suffixes {
		path = strings.TrimSuffix(path, s)
	}
	if digits := strings.TrimRight(path, "0123456789"); digits != path && strings.HasSuffix(digits, ".") {
		path = digits[:len(digits)-1]
	}
	m.bases = append(m.bases, strings.TrimSuffix(strings.TrimSuffix(path, ".meta"), ".index"))
}

// search adds the archives below a directory.
func (m *maker) search(ctx context.Context, root string) error {
	follow, xdev := slices.Contains(m.opts, "-follow"), slices.Contains(m.opts, "-xdev") || slices.Contains(m.opts, "-mount")
	seen := make(map[fileID]bool) // directories, since links may form cycles
	start, err := identify(root)
	if err != nil {
		return err
	}
	var walk func(dir string) error
	walk = func(dir string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, err := identify(dir)
		if err != nil || seen[id] || xdev && id.dev != start.dev {
			return nil
		}
		seen[id] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			fmt.Fprintf(m.env.Stderr, "find: '%s': %s\n", dir, cli.ErrText(err))
			return nil
		}
		for _, e := range entries {
			path := strings.TrimSuffix(dir, "/") + "/" + e.Name()
			mode := e.Type()
			if mode&fs.ModeSymlink != 0 {
				st, err := os.Stat(path)
				if !follow || err != nil {
					continue
				}
				mode = st.Mode()
			}
			switch {
			case mode.IsDir():
				if err := walk(path); err != nil {
					return err
				}
			case mode.IsRegular() && isArchive(path):
				m.add(path)
			}
		}
		return nil
	}
	return walk(root)
}

// isArchive reports whether a file begins like a file of an archive: with the length of
// a label and the magic number.
func isArchive(path string) bool {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return false
	}
	var b [8]byte
	if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }) {
		f, err := archive.OpenFile(path)
		if err != nil {
			return false
		}
		defer f.Close()
		if n, err := f.ReadAt(b[:7], 0); n < 7 && err != nil {
			return false
		}
	} else {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		if _, err := io.ReadFull(f, b[:7]); err != nil {
			return false
		}
	}
	n, magic := binary.BigEndian.Uint32(b[:]), binary.BigEndian.Uint32(b[4:])
	return (n == 0x84 || n == 0x328) && magic == 0x50052600
}

// write writes the folio.
func (m *maker) write() int {
	host, err := os.Hostname()
	if err != nil {
		host = "somehost"
	}
	f := folio.Folio{
		Version: 1,
		Created: fmt.Sprintf("on %s at %s", host, time.Now().In(m.env.Local()).Format("Mon Jan _2 15:04:05 MST 2006")),
		Creator: "pmchart",
	}
	slices.Sort(m.bases)
	for _, base := range slices.Compact(m.bases) {
		host := hostOf(base)
		if host == "" {
			fmt.Fprintf(m.env.Stderr, "mkaf: Warning: cannot extract hostname from archive \"%s\" ... skipped\n", base)
			continue
		}
		f.Archives = append(f.Archives, folio.Archive{Host: host, Base: base})
	}
	if _, err := f.WriteTo(m.env.Stdout); err != nil {
		return m.env.Fatalf("%v", err)
	}
	return 0
}

// hostOf returns the host of an archive, "" if it cannot be opened.
func hostOf(base string) string {
	a, err := archive.Options{AnyFeatures: true}.Open(base)
	if err != nil {
		return ""
	}
	defer a.Close()
	return a.Label().Host
}

// errNotFound is the error for missing files.
var errNotFound = errors.New("not found")

// findFile returns the file of a name, compressed or not.
func findFile(name string) (string, error) {
	for _, s := range append([]string{""}, suffixes...) {
		if st, err := os.Stat(name + s); err == nil && st.Mode().IsRegular() {
			return name + s, nil
		}
	}
	return "", errNotFound
}
