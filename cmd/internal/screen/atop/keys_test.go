package atop

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// TestKeys presses all keys, one after the other, and reads the terminal's contents after
// each.
func TestKeys(t *testing.T) {
	archive := fixture(t)
	var out bytes.Buffer
	vars := map[string]string{"PCP_ARCHIVE": archive, "PCP_HOSTZONE": "1"}
	env := &cli.Env{
		Name: "pcp-atop", Stdout: &out, Stderr: &out, Command: Command, Version: "0",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m := &monitor{arguments: arguments{env: env}}
	m.settings, _ = readSettings(env, nil)
	m.o = source.Parse(env, cli.ParseConfig{Archives: true})
	m.e = &engine{env: env, v: m, every: time.Second, raw: true}
	if !m.e.open(ctx, m.o, false, false) {
		t.Fatal(out.String())
	}
	defer m.e.c.Close()
	m.printer = screen.New(m.Settings, m.e.s, m.e.loc)
	term := &terminal{m: m, keys: make(chan string), resize: make(chan os.Signal, 1), look: make(chan func()), size: func() (int, int) { return 110, 60 }}
	m.term = term
	// Each step has keys, and the text that the screen must show before them.
	steps := []struct{ want, keys string }{
		{"12:00:01", "m"},
		{"VSTEXT", "d"},
		{"WCANCL", "s"},
		{"POLI", "v"},
		{"STDATE", "c"},
		{"COMMAND-LINE", "X"},
		{"CPUWGT", "e"},
		{"GPUBUSY", "u"},
		{"Consumption per user", "p"},
		{"Consumption per program", "j"},
		{"Consumption per container", "g"},
		{"PID", "n"},
		{"request ignored", "o"},
		{"not configured", "a"},
		{"All processes", "f"},
		{"Also inactive", "F"},
		{"not be sorted", "y"},
		{"Thread view enabled", "Y"},
		{"Thread sorting enabled", "R"},
		{"PSIZE gathering enabled", "W"},
		{"WCHAN gathering enabled", "G"},
		{"will not be shown", "x"},
		{"No colors", "1"},
		{"", "z"},
		{"PAUSED", "z"},
		{"PID", "k"},
		{"Not possible when viewing raw file", "V"},
		{"version", "P"},
		{"Process-name", "init\r"},
		{"P", "P"},
		{"Process-name", "[\r"},
		{"Invalid regular", "/"},
		{"Command line", "post\r"},
		{"", "/"},
		{"Command", "\r"},
		{"", "I"},
		{"PIDs", "1,700\r"},
		{"", "I"},
		{"PIDs", "x\r"},
		{"Non-numerical", "J"},
		{"Containerid", "host\r"},
		{"", "J"},
		{"Containerid", "zz\r"},
		{"Invalid containerid", "Q"},
		{"states", "R,S\r"},
		{"", "Q"},
		{"states", "\r"},
		{"", "U"},
		{"Username", "root\r"},
		{"", "U"},
		{"Username", "\r"},
		{"", "S"},
		{"Logical volume", "\r\r\r"},
		{"", "i"},
		{"New interval", "1\r"},
		{"", "l"},
		{"Maximum lines", "5\r5\r5\r5\r5\r5\r5\r5\r5\r"},
		{"", "C"},
		{"CPU", "M"},
		{"MEM", "D"},
		{"DSK", "E"},
		{"GPU", "A"},
		{"PRC", "C"},
		{"", "\x0c"},
		{"", "h"},
		{"Lists of processes", " q"},
		{"", "b"},
		{"Enter new time", "9\r"},
		{"Wrong time format", "t"},
		{"12:00:02", "t"},
		{"12:00:03", "T"},
		{"12:00:02", "b"},
		{"Enter new time", "12:00:04\r"},
		{"12:00:04", "r"},
		{"12:00:01", "q"},
	}
	go func() {
		for _, s := range steps {
			for i := range len(s.keys) {
				seen := make(chan string, 1)
				term.look <- func() { seen <- term.shown.Text() }
				if text := <-seen; i == 0 && !strings.Contains(text, s.want) {
					t.Errorf("before %q: %q is not in\n%s", s.keys, s.want, text)
				}
				term.keys <- s.keys[i : i+1]
			}
		}
	}()
	if status := m.e.run(ctx); status != 0 {
		t.Errorf("status %d: %s", status, out.String())
	}
	if b := term.shown.Append(nil, nil, "\x1b"); !bytes.Contains(b, []byte("ATOP")) {
		t.Errorf("the codes for the terminal are %q", b)
	}
}
