package man

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func TestText(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var p page
		p.text(text)
		if got := p.b.String(); got != want {
			t.Errorf("text(%q) =\n%s\nwant\n%s", text, got, want)
		}
	}
	f("One\ntwo.\n\nThree.", ".PP\nOne two.\n.PP\nThree.\n")
	f(".TH is not a request\n\n'tis nor this", ".PP\n\\&.TH is not a request\n.PP\n\\&'tis nor this\n")
	f(`C:\dir -x`, ".PP\nC:\\edir \\-x\n")
	f("So:\n    a\n\n    b\nend", ".PP\nSo:\n.PP\n.RS \"4\"\n.nf\na\n\nb\n.fi\n.RE\n.PP\nend\n")
	f("# Files", ".SH \"FILES\"\n")
	f("- tag: what it\n  is\n- other: else", ".TP\n\\fBtag\\fR\nwhat it is\n.TP\n\\fBother\\fR\nelse\n")
	f("- only text", ".IP \"\\(bu\" \"2\"\nonly text\n")
	f("", "")
}

func TestCommandPage(t *testing.T) {
	c := &cli.Command{
		Name: "thing", Link: "pmthing", Summary: "do a thing", Synopsis: "[options] name",
		Doc:      "Does it.",
		Examples: []cli.Example{{Line: "pcp thing -x", Text: "do it at once"}},
		SeeAlso:  []string{"pmother(1)"},
		Options: func() []cli.Option {
			return []cli.Option{
				cli.Heading("Options"),
				{Short: 'x', Long: "extra", Arg: "N", Help: "at most N", Extra: true},
				{Short: 'h', Help: ""},
			}
		},
	}
	got := string(commandPage(c, "1.2.3"))
	for _, want := range []string{
		`.TH "PMTHING" "1" "" "pcp 1.2.3"`,
		`\fBpmthing\fR \- do a thing`,
		`\fBpcp thing\fR [options] name`,
		"Does it.",
		"\\fB\\-x\\fR \\fIN\\fR, \\fB\\-\\-extra\\fR=\\fIN\\fR\nAt most N. Not in the C command.",
		"Do it at once.\n.PP\n.RS \"4\"\n.nf\npcp thing \\-x\n.fi",
		`\fBpmother\fR(1),`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, `\-h`) {
		t.Errorf("the page shows a hidden option:\n%s", got)
	}
}

// TestTopics formats the pages of section 5 with man, which warns of errors.
func TestTopics(t *testing.T) {
	for _, topic := range Topics() {
		text, ok := Topic(topic)
		if !ok || strings.TrimSpace(text) == "" {
			t.Errorf("no text of %s", topic)
			continue
		}
		if summary, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(summary, "#") || !strings.HasPrefix(rest, "# ") {
			t.Errorf("%s: the first line must be the summary, and the second a heading", topic)
		}
		Check(t, "man5/"+topic+".5", topicPage(topic, "0.0.0"))
	}
	if _, ok := Topic("."); ok {
		t.Error("Topic found a page outside of its directory")
	}
}

// Check formats a page and fails the test with what man warns of.
func Check(t *testing.T, path string, text []byte) {
	t.Helper()
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("SKIPPED: there is no man to format the pages with")
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("man", "--warnings", "-l", file)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANROFFOPT=", "MANWIDTH=120")
	var warnings bytes.Buffer
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err != nil || warnings.Len() > 0 {
		t.Errorf("%s: %v\n%s", path, err, warnings.String())
	}
	if len(out) < 200 {
		t.Errorf("%s: man printed only %q", path, out)
	}
}
