package pmie

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A liar is a collector whose names and values are all chosen by an attacker.
type liar struct{ host, inst, value, label string }

// engine returns an Engine with rules over the liar.
func (l liar) engine(t testing.TB, cfg Config, rules string) *Engine {
	t.Helper()
	indom := &pmda.InDom{
		Serial: 1, List: func(context.Context) ([]pcp.Instance, error) { return []pcp.Instance{{Inst: 1, Name: l.inst}}, nil },
		InstanceLabels: func(int32, int) string {
			b, err := json.Marshal(map[string]string{"said": l.label})
			if err != nil {
				t.Error(err)
			}
			return string(b)
		},
	}
	a, err := pmda.NewTable(pmda.Config{Name: "liar", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "liar.text", InDom: indom, Type: pcp.TypeString, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue(l.value), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	own, err := pmda.NewTable(pmda.Config{Name: "pmcd", Domain: 2, Metrics: []pmda.Metric{
		{Name: "pmcd.hostname", Type: pcp.TypeString, Sem: pcp.SemDiscrete, Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue(l.host), nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "pmcd", Domain: 2, Agent: own}, {Name: "liar", Domain: 400, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	cfg.Host, cfg.Dial = "unix:"+socket, (&pmapi.Dialer{}).Dial
	e, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		cancel()
		done.Wait()
	})
	if sound, err := e.Load(t.Context(), strings.NewReader(rules), "rules"); err != nil || !sound {
		t.Fatalf("%t, %v", sound, err)
	}
	return e
}

// hostileValues are values that would run a command, end a quote or leave a file behind if a shell interpreted
// them.
func hostileValues(t testing.TB) (list []string) {
	t.Helper()
	text, err := os.ReadFile("deliver/testdata/intruders.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		s, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// lies are strings that a collector may send, up to the NUL that ends a C string.
func lies(t testing.TB) []string {
	return append(hostileValues(t), "nul\x00;>canary", "%h", "%i%v%h", "<%i undefined>", "\x1b]0;title\a\x1b[2J", "\u2028\u202e", strings.Repeat("x", 100_000))
}

// TestLies checks that strings of a collector reach each action as text: not as commands, lines or
// placeholders of other values.
func TestLies(t *testing.T) {
	values := lies(t) // before the change of directory
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: no shell")
	}
	log := filepath.Join(t.TempDir(), "log")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: log, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dir := t.TempDir()
	t.Chdir(dir) // where commands that run leave their mark
	b := make([]byte, 1<<17)
	for _, lie := range values {
		text, _, _ := strings.Cut(lie, "\x00")
		name := text
		if strings.TrimSpace(name) == "" {
			name = "sda"
		}
		label := strings.ToValidUTF8(text[:min(len(text), 200)], "?") // longer labels are not accepted
		var out, said bytes.Buffer
		var told []deliver.Action
		e := liar{host: "h" + text, inst: name, value: text, label: label}.engine(t, Config{
			Out: &out, Err: &said, LogSocket: log, Alert: func(_ context.Context, a deliver.Action) error {
				told = append(told, a)
				return nil
			},
		}, `some_inst liar.text != "none" -> print "[%h|%i|%v]" & shell "printf '<%s>' %h %i '%v'" & exec "printf" "{%s}" "%h" "%i" "%v" & syslog "%h|%i|%v" & webhook pager "%h|%i|%v";`)
		e.once(t, 1000)
		if len(told) != 1 || len(told[0].Matches) != 1 {
			t.Fatalf("%q: told %+v", lie, told)
		}
		m := told[0].Matches[0]
		if m.Host != "h"+text || m.Instance != name || m.Text != m.Host+"|"+m.Instance+"|"+m.Value || m.Labels["said"] != label {
			t.Errorf("%q: told %+v", lie, m)
		}
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(b[:n]), ": ")
		if want := deliver.Plain(m.Text); line != want || strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%.200q: the system's log has %.500q, want %.500q", lie, line, want)
		}
		value := m.Value // as pmie prints it
		_, got, _ := strings.Cut(out.String(), ": ")
		want := "[h" + text + "|" + name + "|" + value + "]\n"
		if len(text) < 50_000 {
			want += "<h" + text + "><" + name + "><" + value + ">"
		} else if !strings.Contains(said.String(), "shell failed: ") {
			t.Errorf("a command that is too long: said %q", &said)
		}
		want += "{h" + text + "}{" + name + "}{" + value + "}"
		if got != want {
			t.Errorf("%.200q: %.500q, want %.500q; said %.300q", lie, got, want, &said)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("a value was run: it made %v", files)
	}
}

// TestShellRunsNoValue checks that the shell of an action treats a value as text.
func TestShellRunsNoValue(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: no shell")
	}
	dir := t.TempDir()
	for _, name := range hostileValues(t) {
		if name == "" || strings.HasPrefix(name, " ") {
			continue // no name of an instance
		}
		w := &world{names: []string{name}, values: []uint32{80}}
		out := new(strings.Builder)
		e := w.engine(t, Config{Out: out}, fmt.Sprintf(`some_inst world.busy > 50 -> shell "cd '%s' && printf '<%%s>' \"\$(printf '%%s' %%i)\" `+"`true %%i` # %%i"+`";`, dir))
		e.once(t, 1000)
		if want := "<" + strings.TrimRight(name, "\n") + ">"; out.String() != want {
			t.Errorf("%q: %q, want %q", name, out, want)
		}
	}
	if files, _ := filepath.Glob(dir + "/*"); len(files) > 0 {
		t.Errorf("a value was run: it made %v", files)
	}
}
