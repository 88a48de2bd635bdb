package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// OptionsFile is the long option of a daemon that names such a file.
const OptionsFile = "options-file"

// WithOptionsFile puts the options of a file before the arguments, and its
// variables into the environment. An -f in it is ignored, as by the start
// scripts of C.
func WithOptionsFile(env *Env) (*Env, error) {
	path := ""
	for i, arg := range env.Args {
		if value, ok := strings.CutPrefix(arg, "--"+OptionsFile+"="); ok {
			path = value
		} else if arg == "--"+OptionsFile && i+1 < len(env.Args) {
			path = env.Args[i+1]
		}
	}
	if path == "" {
		return env, nil
	}
	args, vars, err := readOptions(path)
	if err != nil {
		return env, err
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "-f" })
	more := env.WithGetenv(func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return env.Getenv(name)
	})
	more.Args = append(args, env.Args...)
	return more, nil
}

// readOptions reads a file such as pmcd.options: lines that begin with - are
// options, and NAME=value are for the environment, as the start scripts of C have it.
func readOptions(path string) (args []string, vars map[string]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	vars = map[string]string{}
	in := bufio.NewScanner(io.LimitReader(f, maxOptionsFile))
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		name, value, assigns := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '-':
			args = append(args, strings.Fields(line)...)
		case assigns && isName(name):
			vars[name] = strings.Trim(value, `"'`)
		default:
			return nil, nil, fmt.Errorf("%s: line %d: neither an option nor NAME=value", path, n)
		}
	}
	return args, vars, in.Err()
}

const maxOptionsFile = 1 << 20

func isName(s string) bool {
	for i := range len(s) {
		if !ctext.IsName(s[i], i) {
			return false
		}
	}
	return s != ""
}
