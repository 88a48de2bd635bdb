package agentadmin

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// disabledMark begins the lines of a disabled agent. Collectors treat them as comments.
const disabledMark = "#disabled# "

// maxConf is the maximum size of a pmcd.conf in bytes.
const maxConf = 1 << 20

// A line is a line of a pmcd.conf with its continuations.
type line struct {
	text     string // as in the file, each with a newline except perhaps the last
	spec     *conf.Agent
	disabled bool // spec is from a comment made by disable
}

// A confFile is an editable pmcd.conf: everything keeps its place.
type confFile struct {
	path  string
	lines []line
	// access is the index of the line that begins the access section, else
	// len(lines).
	access int
}

// readConf reads the file at path.
func readConf(path string) (*confFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConf+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConf {
		return nil, fmt.Errorf("%s: longer than %d bytes, which no pmcd.conf is", path, maxConf)
	}
	return parseConf(path, string(text)), nil
}

func parseConf(path, text string) *confFile {
	c := &confFile{path: path, access: -1}
	for text != "" {
		n := logicalLine(text)
		l := line{text: text[:n]}
		text = text[n:]
		if c.access < 0 {
			if strings.HasPrefix(strings.TrimLeft(l.text, " \t\r\v\f"), "[") {
				c.access = len(c.lines)
			} else if l.spec = specOf(l.text); l.spec == nil && strings.HasPrefix(l.text, disabledMark) {
				l.spec = specOf(uncomment(l.text))
				l.disabled = l.spec != nil
			}
		}
		c.lines = append(c.lines, l)
	}
	if c.access < 0 {
		c.access = len(c.lines)
	}
	return c
}

// logicalLine returns the length of the first line, with its continuations.
func logicalLine(text string) int {
	for n := 0; ; {
		i := strings.IndexByte(text[n:], '\n')
		if i < 0 {
			return len(text)
		}
		more := i > 0 && text[n+i-1] == '\\'
		n += i + 1
		if !more {
			return n
		}
	}
}

// specOf returns the agent of a line, nil if there is no agent or the line is invalid.
func specOf(text string) *conf.Agent {
	file, err := conf.Check(strings.NewReader(text))
	if err != nil || len(file.Agents) != 1 {
		return nil
	}
	return &file.Agents[0]
}

// A continued line needs only one mark: a comment is continued, too.
func uncomment(text string) string { return strings.TrimPrefix(text, disabledMark) }

func (c *confFile) text() string {
	var b strings.Builder
	for _, l := range c.lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// find returns the index of the line of an agent that is enabled or disabled,
// the last one if there are several, or -1.
func (c *confFile) find(name string, disabled bool) int {
	for i, l := range slices.Backward(c.lines) {
		if l.spec != nil && l.disabled == disabled && l.spec.Name == name {
			return i
		}
	}
	return -1
}

// clash returns an error that names the agent with the same name or domain as spec, nil
// if there is none.
func (c *confFile) clash(spec conf.Agent) error {
	for _, l := range c.lines {
		switch {
		case l.spec == nil || l.disabled:
		case l.spec.Name == spec.Name:
			return fmt.Errorf("%s: agent %s is enabled already, with domain %d", c.path, spec.Name, l.spec.Domain)
		case l.spec.Domain == spec.Domain:
			return fmt.Errorf("%s: domain %d is that of agent %s", c.path, spec.Domain, l.spec.Name)
		}
	}
	return nil
}

// insert inserts a line after that of the last agent, or before the access section if
// there are no agents.
func (c *confFile) insert(text string) {
	at := c.access
	for i, l := range c.lines {
		if l.spec != nil {
			at = i + 1
		}
	}
	if at > 0 {
		if prev := &c.lines[at-1].text; !strings.HasSuffix(*prev, "\n") {
			*prev += "\n"
		}
	}
	c.lines = slices.Insert(c.lines, at, line{text: text})
	c.access++
}

// check reads the edited file as a collector does: it must contain spec if requested,
// and previously valid lines must still be valid.
func (c *confFile) check(before string, spec conf.Agent, wanted bool) error {
	old, err := conf.Check(strings.NewReader(before))
	if old == nil {
		return fmt.Errorf("%s has errors that keep collectors from reading it; nothing is changed:\n%w", c.path, err)
	}
	file, err := conf.Check(strings.NewReader(c.text()))
	if file == nil {
		return fmt.Errorf("%s: a line for agent %s cannot be written: %w", c.path, spec.Name, err)
	}
	found := slices.ContainsFunc(file.Agents, func(s conf.Agent) bool { return s.Equal(spec) })
	change := -1
	if wanted {
		change = 1
	}
	if found != wanted || len(file.Agents) != len(old.Agents)+change {
		return fmt.Errorf("%s: agent %s cannot be written so that collectors read it as it is meant; nothing is changed", c.path, spec.Name)
	}
	return nil
}

// write replaces the file in one step and keeps its mode and owner. On an error the
// file is unchanged. The file itself must be writable, too: users who may only write in
// its directory must not be able to replace it.
func (c *confFile) write() error {
	return safefile.ReplaceBytes(c.path, []byte(c.text()), safefile.Replacement{
		Mode: 0o644, Uid: -1, Gid: -1, Keep: true, Writable: true, Follow: true,
	})
}
