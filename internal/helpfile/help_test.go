package helpfile_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/helpfile"
	"github.com/go-pcp/pcp/pmda"
)

var _ pmda.Texter = (*helpfile.File)(nil)

const source = `# comes with the agent
@ a the first
Its help,
in two lines.

@ 60.1 an instance domain
@ b the second
@ 60.0.9
only help
`

func lookup(name string) (pcp.PMID, error) {
	if id, ok := map[string]pcp.PMID{"a": pcp.NewPMID(60, 0, 7), "b": pcp.NewPMID(60, 0, 2)}[name]; ok {
		return id, nil
	}
	return 0, pcp.ErrName
}

func compile(t testing.TB, source string) (dir, pag []byte, messages string) {
	t.Helper()
	var b bytes.Buffer
	c := &helpfile.Compiler{Lookup: lookup, Program: "newhelp", Stderr: &b}
	if err := c.Add(strings.NewReader(source), "src"); err != nil {
		t.Fatal(err)
	}
	return c.Dir(), c.Pag(), b.String()
}

func TestFile(t *testing.T) {
	dir, pag, messages := compile(t, source)
	if messages != "" {
		t.Error(messages)
	}
	swapped := append([]byte(nil), dir...)
	for i := 0; i < len(swapped); i += 4 {
		binary.BigEndian.PutUint32(swapped[i:], binary.LittleEndian.Uint32(dir[i:]))
	}
	for _, dir := range [][]byte{dir, swapped} {
		base := filepath.Join(t.TempDir(), "help")
		for suffix, data := range map[string][]byte{".dir": dir, ".pag": pag} {
			if err := os.WriteFile(base+suffix, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := helpfile.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e := range f.All() {
			got = append(got, fmt.Sprintf("%v %v %s|%s", e.PMID, e.InDom, e.OneLine, e.Help))
		}
		want := []string{
			"60.0.2 PM_INDOM_NULL the second|", "60.0.7 PM_INDOM_NULL the first|Its help,\nin two lines.",
			"60.0.9 PM_INDOM_NULL |only help", "0.0.0 60.1 an instance domain|",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, row := range []struct {
			ident uint32
			kind  pcp.TextKind
			want  string
		}{
			{uint32(pcp.NewPMID(60, 0, 7)), pcp.TextPMID | pcp.TextOneLine, "the first"},
			{uint32(pcp.NewPMID(60, 0, 7)), pcp.TextPMID | pcp.TextHelp, "Its help,\nin two lines."},
			{uint32(pcp.NewPMID(60, 0, 2)), pcp.TextPMID | pcp.TextHelp, "the second"},
			{uint32(pcp.NewPMID(60, 0, 2)), pcp.TextPMID | pcp.TextHelp | pcp.TextDirect, ""},
			{uint32(pcp.NewPMID(60, 0, 9)), pcp.TextPMID | pcp.TextOneLine, ""},
			{uint32(pcp.NewInDom(60, 1)), pcp.TextInDom | pcp.TextOneLine, "an instance domain"},
			{uint32(pcp.NewInDom(60, 2)), pcp.TextInDom | pcp.TextOneLine, ""},
		} {
			text, err := f.Text(context.Background(), row.ident, row.kind)
			if text != row.want || (err == nil) != (row.want != "") || err != nil && err != pcp.ErrText {
				t.Errorf("%#x %v: %q, %v", row.ident, row.kind, text, err)
			}
		}
	}
}

func TestBadFiles(t *testing.T) {
	dir, pag, _ := compile(t, source)
	word := func(at int, v uint32) []byte {
		b := append([]byte(nil), dir...)
		binary.NativeEndian.PutUint32(b[at:], v)
		return b
	}
	for name, c := range map[string]struct{ dir, pag []byte }{
		"empty":       {nil, pag},
		"short":       {dir[:11], pag},
		"magic":       {word(0, 1), pag},
		"version":     {word(4, 0x31310000), pag},
		"count":       {word(8, 1<<31), pag},
		"cut":         {dir[:len(dir)-1], pag},
		"offset":      {word(16, 1<<31), pag},
		"beyond":      {dir, pag[:20]},
		"no end":      {dir, pag[:len(pag)-1]},
		"text offset": {word(20, uint32(len(pag)+1)), pag},
	} {
		if _, err := helpfile.Parse(c.dir, c.pag); !errors.Is(err, helpfile.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := helpfile.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestMessages(t *testing.T) {
	for source, want := range map[string]string{
		"@ x y\n":                       "newhelp: [src:2] x: Unknown metric name, entry abandoned\n",
		"@ a b":                         "newhelp: [src:1] long line split after ...\na b\n",
		"@ a b\n@ b c\n@ b d\n":         "newhelp: [src:4] duplicate key (60.0.2) entry abandoned\n",
		"@ 60.1 b\n@ 60.2 c\n@ 60.2 d":  "newhelp: [src:3] long line split after ...\n60.2 d\nnewhelp: [src:3] duplicate key (60.2) entry abandoned\n",
		"junk\n# @ x\n@ 60.0.1x fine\n": "",
	} {
		if _, _, got := compile(t, source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
	_, pag, got := compile(t, "@ a b\n"+strings.Repeat("0123456\n", 140)+"@ b lost\n@ 60.1 kept\n")
	if !strings.Contains(got, "entry truncated after ... 456\n0123456\n") || strings.Contains(string(pag), "lost") || !strings.Contains(string(pag), "kept") {
		t.Errorf("messages %q, text %q", got, pag)
	}
}

func FuzzParse(f *testing.F) {
	dir, pag, _ := compile(f, source)
	f.Add(dir, pag)
	f.Add(dir[:12], []byte{})
	f.Fuzz(func(t *testing.T, dir, pag []byte) {
		file, err := helpfile.Parse(dir, pag)
		if err != nil {
			return
		}
		for e := range file.All() {
			if e.IsInDom() != (file.InDom(e.InDom) != nil) && e.InDom != pcp.InDomNull {
				t.Errorf("%+v is not found", e)
			}
		}
	})
}

func FuzzCompile(f *testing.F) {
	f.Add(source)
	f.Add("@ a " + strings.Repeat("x", 300) + "\n" + strings.Repeat("y\n", 600) + "@ b")
	f.Add("@\x00@\n@ 60.1.2.3 \n\n\n@#")
	f.Fuzz(func(t *testing.T, source string) {
		dir, pag, _ := compile(t, source)
		if _, err := helpfile.Parse(dir, pag); err != nil {
			t.Errorf("what is compiled cannot be read: %v", err)
		}
	})
}

func ExampleCompiler() {
	c := &helpfile.Compiler{
		Lookup: func(string) (pcp.PMID, error) { return pcp.NewPMID(400, 0, 0), nil },
		Stderr: os.Stderr,
	}
	if err := c.Add(strings.NewReader("@ clock.time the time of day\nIn seconds.\n"), "help"); err != nil {
		panic(err)
	}
	f, err := helpfile.Parse(c.Dir(), c.Pag())
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Metric(pcp.NewPMID(400, 0, 0)).OneLine)
	// Output: the time of day
}
