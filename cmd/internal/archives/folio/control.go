package folio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/ctext"
)

// maxControl is the maximum size of a control file in bytes.
const maxControl = 1 << 20

// A toolbox lists the known tools, as control files do: shell variables with lists of
// names.
type toolbox struct {
	multi   string // those that take several archives
	single  string // those that take one
	replay  string // those that replay folios that they made
	special string // those that take one archive, as an argument
}

// has reports whether a tool is in a list.
func has(list, tool string) bool { return tool != "" && strings.Contains(list+" ", " "+tool+" ") }

// knows reports whether a tool is known.
func (b *toolbox) knows(tool string) bool { return has(b.single+" "+b.multi, tool) }

// load reads the control files of the system and of the user.
func (p *program) load() error {
	conf := p.env.Config()
	if err := conf.Err(); err != nil {
		return err
	}
	dir := conf.Get("PCP_VAR_DIR") + "/config/pmafm"
	files := list(dir)
	if len(files) == 0 {
		p.printf("pmafm: Warning: no PCP tool configurations in %s/\n", dir)
	}
	if home := p.env.Getenv("HOME"); home != "" {
		files = append(files, list(home+"/.pcp/pmafm")...)
	}
	for _, file := range files {
		text, err := readControl(file)
		if err != nil {
			p.complain("pmafm: %v\n", err)
			continue
		}
		vars, err := parseControl(text)
		if err != nil {
			// Not only assignments: the shell reads this file, as it reads all of them in
			// C.
			if vars, err = p.source(file, err); err != nil {
				p.complain("pmafm: %v\n", err)
				continue
			}
		}
		for name, to := range map[string]*string{
			"SINGLE": &p.tools.single, "MULTI": &p.tools.multi, "REPLAY": &p.tools.replay, "SPECIAL": &p.tools.special,
		} {
			if vars[name] != "" {
				*to += " " + vars[name]
			}
		}
	}
	return nil
}

// list returns the files of a directory in order.
func list(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// readControl returns the text of a control file: assignments to variables in the syntax
// of the shell, and comments, or a script.
func readControl(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > maxControl {
		return "", fmt.Errorf("%s: not a control file", path)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// source runs the shell on a control file that is a script, and returns its variables. why
// is the parse error to report if there is no shell.
func (p *program) source(path string, why error) (map[string]string, error) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, why)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p.env.FlushOut()
	cmd := exec.CommandContext(p.ctx, sh, "-c",
		`SINGLE= MULTI= REPLAY= SPECIAL=; . "$1" 3>&-; printf '%s\000%s\000%s\000%s\000' "$SINGLE" "$MULTI" "$REPLAY" "$SPECIAL" >&3`, "sh", path)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = p.env.Stdout, p.env.ChildStderr(), []*os.File{w}
	cmd.Env = append(cmd.Environ(), p.env.Config().Environ()...)
	cmd.WaitDelay = time.Second // for its remaining children
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, readErr := io.ReadAll(io.LimitReader(r, 4*maxControl))
	r.Close() // do not wait for a script with longer output
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	values := strings.Split(string(b), "\x00")
	if len(values) != 5 {
		return nil, fmt.Errorf("%s: the script has no tools", path)
	}
	vars := make(map[string]string)
	for i, name := range []string{"SINGLE", "MULTI", "REPLAY", "SPECIAL"} {
		vars[name] = strings.ReplaceAll(values[i], "\n", " ")
	}
	return vars, nil
}

// parseControl parses the text of a control file.
func parseControl(text string) (map[string]string, error) {
	vars := make(map[string]string)
	line := func(rest string) int { return 1 + strings.Count(text[:len(text)-len(rest)], "\n") }
	for rest := text; ; {
		if rest = strings.TrimLeft(rest, " \t\r\n;"); rest == "" {
			return vars, nil
		}
		if rest[0] == '#' {
			_, rest, _ = strings.Cut(rest, "\n")
			continue
		}
		n := 0
		for n < len(rest) && ctext.IsName(rest[n], n) {
			n++
		}
		if n == 0 || n == len(rest) || rest[n] != '=' {
			return nil, fmt.Errorf("line %d: only assignments to variables are supported", line(rest))
		}
		value, after, err := word(rest[n+1:], vars)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line(rest), err)
		}
		if value = strings.ReplaceAll(value, "\n", " "); len(value) > maxControl {
			return nil, fmt.Errorf("line %d: the value is too long", line(rest))
		}
		vars[rest[:n]], rest = value, after
	}
}

// word reads a word of the shell, with its quotes and variables.
func word(s string, vars map[string]string) (value, rest string, err error) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == '\'' && c != '\'':
			b.WriteByte(c)
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && i+1 < len(s):
			i++
			switch {
			case s[i] == '\n':
			case quote == '"' && !strings.ContainsRune("\"\\$`", rune(s[i])):
				b.WriteByte('\\')
				b.WriteByte(s[i])
			default:
				b.WriteByte(s[i])
			}
		case c == '`' || c == '$' && i+1 < len(s) && s[i+1] == '(':
			return "", "", fmt.Errorf("commands in values are not supported")
		case c == '$':
			name, n := variable(s[i+1:])
			if n == 0 {
				b.WriteByte(c)
				break
			}
			b.WriteString(vars[name])
			i += n
		case quote == 0 && strings.IndexByte(" \t\r\n;", c) >= 0:
			return b.String(), s[i:], nil
		case quote == 0 && strings.IndexByte("&|<>()", c) >= 0:
			return "", "", fmt.Errorf("%q in a value is not supported", c)
		default:
			b.WriteByte(c)
		}
		if b.Len() > maxControl {
			return "", "", fmt.Errorf("the value is too long")
		}
	}
	if quote != 0 {
		return "", "", fmt.Errorf("a quote is not closed")
	}
	return b.String(), "", nil
}

// variable returns the name that follows a dollar sign, and its length with braces.
func variable(s string) (name string, n int) {
	brace := strings.HasPrefix(s, "{")
	t := strings.TrimPrefix(s, "{")
	for n < len(t) && ctext.IsName(t[n], n) {
		n++
	}
	name = t[:n]
	if brace {
		if n == len(t) || t[n] != '}' {
			return "", 0
		}
		n += 2
	}
	return name, n
}
