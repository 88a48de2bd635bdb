package logcompress

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
)

// Variables of the environment and of the file of defaults.
const (
	varPrograms = "PCP_COMPRESS_PROGS"
	varMinSize  = "PCP_COMPRESS_MIN_FILESIZE"
	varZstdSize = "PCP_COMPRESS_ZSTD_MIN_FILESIZE"
)

// fallback returns the value of a variable without any setting.
func fallback(name string) string {
	switch name {
	case varPrograms:
		return "zstd:xz:bzip2:gzip"
	case varMinSize:
		return "4096"
	case varZstdSize:
		return "52428800"
	case "PCP_COMPRESS_ZSTD_ARGS":
		return "--rm --quiet"
	case "PCP_COMPRESS_XZ_ARGS":
		return "-2 --block-size=10MiB"
	}
	return ""
}

// argsVar returns the variable that has the arguments of a program.
func argsVar(program string) string { return "PCP_COMPRESS_" + strings.ToUpper(program) + "_ARGS" }

// maxSettings is the largest file of defaults.
const maxSettings = 1 << 20

// settings are the values of variables: those of the command line, of the environment, of a file, and the defaults, in this order.
type settings struct {
	env     *cli.Env
	command map[string]string
	path    string
	file    map[string]string
	info    func(format string, args ...any)
}

// read reads the file of defaults: the one of the installation may be missing, another one may not.
func (s *settings) read(path string) error {
	s.path = path
	if path == "" {
		s.path = filepath.Join(s.env.Config().Get("PCP_SYSCONF_DIR"), "pmlogcompress", "defaults")
	}
	st, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if path == "" {
			return nil
		}
		return fmt.Errorf("configuration file (%s) not found", path)
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() > maxSettings {
		return fmt.Errorf("%s: not a file of settings", s.path)
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	s.file, err = parse(s.path, text)
	return err
}

// parse reads lines NAME=VALUE. Values may have quotes, but nothing that a shell expands.
func parse(path string, text []byte) (map[string]string, error) {
	values := make(map[string]string)
	n := 0
	for line := range bytes.Lines(text) {
		n++
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if strings.ContainsAny(value, "$`\\;") {
			return nil, fmt.Errorf("%s:%d: not supported: a value with $, `, \\ or ;", path, n)
		}
		values[name] = housekeeping.Unquote(value)
	}
	return values, nil
}

// get returns the value of a variable.
func (s *settings) get(name string) string {
	if v, ok := s.command[name]; ok {
		s.info("Info: %s set from command line: %s", name, v)
		return v
	}
	if v := s.env.Getenv(name); v != "" || strings.HasSuffix(name, "_ARGS") && s.env.IsSet(name) {
		s.info("Info: %s set from environment: %s", name, v)
		return v
	}
	if v, ok := s.file[name]; ok {
		s.info("Info: %s set from %s: %s", name, s.path, v)
		return v
	}
	return fallback(name)
}

// size returns a variable that is a number of bytes.
func (s *settings) size(name string) (int64, error) {
	v := s.get(name)
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s (%s) must be numeric", name, v)
	}
	return int64(n), nil
}
