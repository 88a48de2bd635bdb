package series

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
	"github.com/go-pcp/pcp/internal/storage"
)

// remember adds the archive or directory that --load was given to a list. For an archive it counts
// the records, for the message.
func (p *options) remember(list recorded.List, arg string) error {
	name, err := loadName(arg)
	if err != nil {
		return err
	}
	path, err := loadPath(name)
	if err != nil {
		return err
	}
	info, err := storage.Stat(path)
	if err == nil && info.IsDir() {
		return list.Add(path)
	}
	n, err := records(path)
	if err != nil {
		return mistake(fmt.Sprintf("cannot open archive %q: %s", name, cli.ErrText(err)))
	}
	p.loaded = fmt.Sprintf("processed %d archive records from %s", n, name)
	return list.Add(path)
}

// A mistake is an error that is printed as those of queries are.
type mistake string

func (m mistake) Error() string { return string(m) }

// records counts the records of an archive.
func records(path string) (n int, err error) {
	a, err := archive.Open(path)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	r := a.NewReader()
	defer r.Close()
	for {
		_, err := r.Step(archive.Forward)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
	}
}

// loadName returns the path in the argument of --load: the argument itself, or the path of
// {source.path: "PATH"}.
func loadName(arg string) (string, error) {
	if !strings.HasPrefix(arg, "{") {
		return arg, nil
	}
	q, err := query.Parse(arg, time.Now(), nil)
	if err != nil {
		return "", err
	}
	m := q.Expr.Match
	if m == nil || m.Op == query.OpAnd || m.Op == query.OpOr || m.Name != "source.path" {
		return "", mistake("found no context to load: only {source.path: \"PATH\"} names an archive")
	}
	return m.Text, nil
}

// loadPath returns the absolute path of an archive or directory, which must exist.
func loadPath(name string) (string, error) {
	if storage.Remote(name) {
		name = storage.Clean(name)
		if _, err := storage.Stat(name); err == nil {
			return name, nil
		}
		if _, err := archive.FindFiles(name); err != nil {
			return "", mistake(fmt.Sprintf("cannot open archive %q: %s", name, cli.ErrText(err)))
		}
		return name, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		// The base name of an archive does not name a file.
		if found, _ := filepath.Glob(globQuote(path) + ".meta*"); len(found) == 0 {
			return "", mistake(fmt.Sprintf("cannot open archive %q: %s", name, cli.ErrText(err)))
		}
	}
	return path, nil
}

// globQuote keeps filepath.Glob from reading patterns in a path.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
