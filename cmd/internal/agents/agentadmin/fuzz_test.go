package agentadmin

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/pmcd/conf"
)

// FuzzConf checks that an unedited file stays unchanged, and that it finds the same
// agents as a collector.
func FuzzConf(f *testing.F) {
	for _, text := range []string{
		"", "\n", "a 1 pipe binary /bin/a\n", "a 1 pipe binary /bin/a \\\n -d 1 # x\n[access]\nallow * : all;\n",
		"# c \\\n a 1 dso b /c", "\"a b\" 2 socket unix /x /y \"z\\\"\"\n\\\n\nq 3 dso a /b\n", " [access]\nb 2 dso a /b\n",
		disabledMark + "a 1 pipe binary /bin/a\n", "\\", "a 1 \\",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseConf("f", text)
		if c.text() != text {
			t.Fatalf("%q became %q", text, c.text())
		}
		file, err := conf.Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		var found []conf.Agent
		for _, l := range c.lines {
			if l.spec != nil && !l.disabled {
				found = append(found, *l.spec)
			}
		}
		if !slices.EqualFunc(found, file.Agents, conf.Agent.Equal) {
			t.Fatalf("%q: found %v, want %v", text, found, file.Agents)
		}
		// An enabled agent is read back as intended, or rejected.
		spec := conf.Agent{Name: "new", Domain: 509, Transport: conf.Transport{Kind: conf.Pipe, Args: []string{"/bin/x", text}}}
		if c.clash(spec) != nil {
			return
		}
		c.insert(spec.Line())
		if c.check(text, spec, true) != nil {
			return
		}
		if after, _ := conf.Parse(strings.NewReader(c.text())); !slices.ContainsFunc(after.Agents, func(s conf.Agent) bool { return s.Equal(spec) }) {
			t.Fatalf("%q is enabled as %q", text, c.text())
		}
	})
}
