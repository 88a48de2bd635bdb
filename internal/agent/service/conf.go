package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/config"
)

// maxConf is the longest configuration that is read.
const maxConf = 1 << 20

// Files returns the files with the configuration of an agent, of which the first that exists counts: NAME.conf in
// $XDG_CONFIG_HOME/pcp or ~/.config/pcp of the user, and $PCP_PMDAS_DIR/NAME/NAME.conf.
func Files(cfg *config.Config, name string) []string {
	var list []string
	if own := ownFile(cfg, name); own != "" {
		list = append(list, own)
	}
	if dir := cfg.Get("PCP_PMDAS_DIR"); dir != "" {
		list = append(list, filepath.Join(dir, name, name+".conf"))
	}
	return list
}

// ownFile returns the path of the user's configuration of an agent, "" for a user without a directory.
func ownFile(cfg *config.Config, name string) string {
	home := cfg.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		if home = cfg.Getenv("HOME"); !filepath.IsAbs(home) {
			return ""
		}
		home = filepath.Join(home, ".config")
	}
	return filepath.Join(home, "pcp", name+".conf")
}

// A Setting is a line of a configuration.
type Setting struct{ Name, Value string }

// Settings reads the configuration of an agent: lines NAME = VALUE, with comments after # and headings in brackets, which are
// ignored. Without a file there are no settings. names are those that are known.
func Settings(cfg *config.Config, name string, names ...string) ([]Setting, error) {
	for _, path := range Files(cfg, name) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		list, err := parseSettings(f, names)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return list, nil
	}
	return nil, nil
}

func parseSettings(r io.Reader, names []string) ([]Setting, error) {
	var list []Setting
	sc := bufio.NewScanner(io.LimitReader(r, maxConf))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' || line[0] == ';' || line[0] == '[' && line[len(line)-1] == ']' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		// The C agents in Perl have assignments: $name = "value";
		name, value = strings.TrimPrefix(strings.TrimSpace(name), "$"), strings.TrimSpace(value)
		if v, ok := strings.CutSuffix(value, ";"); ok && len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
			value = v[1 : len(v)-1]
		}
		known := false
		for _, k := range names {
			known = known || k == name
		}
		if !ok || !known {
			return nil, fmt.Errorf("line %d: %.80q is not NAME = VALUE with one of the names %s", n, line, strings.Join(names, ", "))
		}
		list = append(list, Setting{name, value})
	}
	return list, sc.Err()
}
