package dstat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/config"
)

// maxFile is the maximum size of a file of plugins.
const maxFile = 16 << 20

// A place is a source of plugins: a directory, or this program.
type place struct {
	name  string
	files []file
}

type file struct{ path, text string }

// builtinPlace is the name of this program as a place.
const builtinPlace = "built-in"

// findPlaces reads the files of the installation and those of the user. Later definitions override
// earlier ones.
func findPlaces(cfg *config.Config) ([]place, error) {
	var places []place
	for i, dir := range []string{
		cmp.Or(cfg.Get("PCP_SYSCONF_DIR"), "/etc/pcp") + "/dstat",
		home(cfg) + "/.pcp/dstat",
	} {
		p := place{name: dir}
		paths := pluginFiles(dir)
		if i == 0 && len(paths) == 0 {
			p = place{builtinPlace, []file{{builtinPlace, builtin()}}}
		}
		for _, path := range paths {
			text, err := readFile(path)
			switch {
			case errors.Is(err, errTooLarge), errors.Is(err, errNotText):
				return nil, fmt.Errorf("%s: %w", path, err)
			case err == nil:
				p.files = append(p.files, file{path, text})
			}
			// As in the C program, an unreadable file is skipped.
		}
		if len(p.files) > 0 {
			places = append(places, p)
		}
	}
	return places, nil
}

// define returns the combined definitions of places.
func define(places ...place) (*conf.Sections, error) {
	all := conf.NewSections()
	for _, p := range places {
		for _, f := range p.files {
			if err := all.Read(f.path, f.text); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// home is the user's home directory.
func home(cfg *config.Config) string {
	if dir := cfg.Getenv("HOME"); dir != "" {
		return strings.TrimRight(dir, "/")
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return "~"
}

// pluginFiles lists the files in a directory of plugins, without hidden files and leftovers of a
// package manager.
func pluginFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".rpmnew") || strings.HasSuffix(name, ".rpmsave") {
			continue
		}
		files = append(files, filepath.Join(dir, name))
	}
	return files
}

var (
	errTooLarge = fmt.Errorf("more than %d bytes", maxFile)
	errNotText  = errors.New("not UTF-8 text")
)

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", cmp.Or(err, errors.ErrUnsupported)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxFile:
		return "", errTooLarge
	case !utf8.Valid(b):
		return "", errNotText
	}
	return string(b), nil
}

// list writes the names of plugins, by place, for --list.
func list(w io.Writer, places []place, columns int) {
	io.WriteString(w, "timestamp plugins:\n\tepoch, epoch-adv, time, time-adv\n")
	for _, p := range places {
		fmt.Fprintf(w, "%s plugins:\n\t", p.name)
		all, err := define(p)
		if err != nil {
			continue // define has taken all of them
		}
		names := all.Names()
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		room := columns - 8
		for i, name := range names {
			if room -= utf8.RuneCountInString(name) + 2; room <= 0 {
				io.WriteString(w, "\n\t")
				room = columns - utf8.RuneCountInString(name) - 10
			}
			if i < len(names)-1 {
				name += ", "
			}
			io.WriteString(w, name)
		}
		io.WriteString(w, "\n")
	}
}
