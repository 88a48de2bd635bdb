package pmie

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// parsed returns the parsed rules and the messages about them.
func parsed(t *testing.T, rules string) (shown, said string) {
	t.Helper()
	var out, errs bytes.Buffer
	e, err := New(t.Context(), Config{Err: &errs, Dial: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Load(t.Context(), strings.NewReader(rules), "rules"); err != nil {
		t.Fatal(err)
	}
	e.Print(&out, "")
	return out.String(), errs.String()
}

// TestDeliveryWords checks that the words of the new actions keep their old meaning where no
// action begins.
func TestDeliveryWords(t *testing.T) {
	f := func(rules, want string) {
		t.Helper()
		got, said := parsed(t, rules)
		if got = strings.Join(strings.Fields(got), " "); got != want || said != "" {
			t.Errorf("%s\\nis %s, want %s; said %q", rules, got, want, said)
		}
	}
	f(`webhook = 5; exec = 2; mail = 1; alertmanager = $webhook; x = $mail + $minute > $exec -> print "a";`, `x = (1 + $minute) > 2 -> print "a";`)
	f(`exec = $minute > 1 -> print "exec";`, `exec = $minute > 1 -> print "exec";`)
	f(`act = "webhook pager"; x = $minute > 1 -> $act "t";`, `x = $minute > 1 -> webhook pager "t";`)
	f(`x = $minute > 1 -> (webhook 1 hour pager "a" "b") & (exec "c" "d" | mail 'on call' "e");`,
		`x = $minute > 1 -> (webhook 3600 pager "a" "b") & ((exec "c" "d") | (mail 'on call' "e"));`)
	f(`x = $minute > 1 -> alertmanager mail "e" & exec 5 min "p";`, `x = $minute > 1 -> (alertmanager mail "e") & (exec 300 "p");`)

	// A metric may have such a name.
	got, said := parsed(t, `webhook > 3 && mail.queue #'exec' > 1 || (alertmanager :mail > 1) -> print "p";`)
	if strings.Contains(said, "syntax") {
		t.Errorf("said %q of metrics, which are %s", said, got)
	}
	for _, rules := range []string{`$minute > 1 -> webhook "text";`, `$minute > 1 -> mail;`, `$minute > 1 -> exec prog;`, `$minute > 1 -> alertmanager a b "c";`} {
		if got, said := parsed(t, rules); got != "" || !strings.Contains(said, "syntax error") || !strings.Contains(said, "expected to follow") {
			t.Errorf("%s is %q, said %q", rules, got, said)
		}
	}
}

// A world is a collector with a metric whose instances and values a test sets.
type world struct {
	mu     sync.Mutex
	names  []string
	values []uint32
}

func (w *world) set(values ...uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values = values
}

// engine returns an Engine over the world, with rules.
func (w *world) engine(t *testing.T, cfg Config, rules string) *Engine {
	t.Helper()
	indom := &pmda.InDom{
		Serial: 1, InstanceLabels: func(inst int32, _ int) string { return fmt.Sprintf(`{"slot":"n%d"}`, inst) },
		List: func(context.Context) ([]pcp.Instance, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			var list []pcp.Instance
			for i, name := range w.names {
				list = append(list, pcp.Instance{Inst: int32(i), Name: name})
			}
			return list, nil
		},
	}
	a, err := pmda.NewTable(pmda.Config{Name: "world", Domain: 400, Labels: `{"site":"a"}`, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "world.busy", InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(_ int32, i int) (pcp.Value, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if i >= len(w.values) {
				return pcp.Value{}, pcp.ErrAppVersion
			}
			return pcp.Uint32Value(w.values[i]), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "world", Domain: 400, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	var said bytes.Buffer
	cfg.Host, cfg.Dial, cfg.Zone = "unix:"+socket, (&pmapi.Dialer{}).Dial, time.UTC
	if cfg.Err == nil {
		cfg.Err = &said
	}
	e, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		cancel()
		done.Wait()
	})
	sound, err := e.Load(t.Context(), strings.NewReader(rules), "rules")
	if err != nil || !sound {
		t.Fatalf("%t, %v: %s", sound, err, &said)
	}
	return e
}

// once evaluates all rules at the time now.
func (e *Engine) once(t *testing.T, now float64) {
	t.Helper()
	e.now = now
	for _, task := range e.get.tasks {
		if err := e.evaluate(task); err != nil {
			t.Fatal(err)
		}
	}
}

// hostile are names that must stay data.
var hostile = []string{
	"plain", "it's", `say "no"`, "$(echo no)", "`echo no`", "a\necho no", "a\r\nBcc: x@example.com", "\x01\x1b[31m", "-rf", "<b>&amp;", `back\slash\`, "% h %i %v", "é", "\xff\xfe",
}

// TestExec passes names to a program, which must get each of its arguments unchanged.
func TestExec(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("not run: no shell")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "show"), []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range hostile {
		w := &world{names: []string{name}, values: []uint32{80}}
		var out bytes.Buffer
		e := w.engine(t, Config{Out: &out, Path: "/usr/bin:/bin:" + dir}, `some_inst world.busy > 50 -> exec "show" "--" "a %i b" "%i" "\$()" "" | exec 1 hour "show" "again";`)
		e.once(t, 1000)
		e.once(t, 1010)
		once := "<--><a " + name + " b><" + name + "><$()><>"
		if want := once + "<again>" + once; out.String() != want {
			t.Errorf("%q: %q, want %q", name, &out, want)
		}
	}
	w := &world{names: []string{"x"}, values: []uint32{80}}
	var out, said bytes.Buffer
	e := w.engine(t, Config{Out: &out, Err: &said}, `some_inst world.busy > 50 -> exec "no-such-program" | print "%i";`)
	e.once(t, 1000)
	if !strings.Contains(said.String(), "exec failed") || !strings.HasSuffix(out.String(), ": x\n") {
		t.Errorf("%q, said %q", &out, &said)
	}
}

// TestShellValues passes names to the shell by rules.
func TestShellValues(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("not run: no shell")
	}
	for _, name := range hostile {
		w := &world{names: []string{name}, values: []uint32{80}}
		var out bytes.Buffer
		e := w.engine(t, Config{Out: &out}, `some_inst world.busy > 50 -> shell "printf '<%s>' %i" " '%i'" " \"%i\"";`)
		e.once(t, 1000)
		if want := strings.Repeat("<"+name+">", 3); out.String() != want {
			t.Errorf("%q: %q, want %q", name, &out, want)
		}
	}
}

// TestAlert checks that receivers are notified when a rule becomes true and when it is
// not true any more.
func TestAlert(t *testing.T) {
	w := &world{names: []string{"sda", "sdb"}, values: []uint32{80, 10}}
	var got []deliver.Action
	var seen []string
	cfg := Config{
		Alert: func(_ context.Context, a deliver.Action) error {
			got = append(got, a)
			return nil
		},
		Observe: func(ev deliver.Evaluation) {
			s := ev.Rule + " " + ev.State.String()
			for _, m := range ev.Matches {
				s += " " + m.Instance + "=" + m.Value
			}
			seen = append(seen, s)
		},
	}
	e := w.engine(t, cfg, `disks = some_inst world.busy > 50 -> webhook 5 min pager "%i at %v" " of %h";
		two = ruleset some_inst world.busy > 90 -> mail ops "worse: %i" else some_inst world.busy > 50 -> mail ops "bad: %i" otherwise -> alertmanager am "fine";`)
	if list := e.Deliveries(); len(list) != 4 || list[0] != (deliver.Delivery{Rule: "disks", Kind: deliver.Webhook, Receiver: "pager"}) || list[3].Receiver != "am" {
		t.Errorf("deliveries %v", list)
	}
	step := func(now float64, wantSeen []string, want ...string) {
		t.Helper()
		got, seen = nil, nil
		e.once(t, now)
		var texts []string
		for _, a := range got {
			s := a.Rule + " " + a.Kind.String() + " " + a.Receiver
			if a.Resolved {
				s += " resolved"
			}
			for _, m := range a.Matches {
				s += " [" + m.Instance + ": " + strings.TrimSuffix(m.Text, m.Host) + "]"
			}
			texts = append(texts, s)
		}
		if !slices.Equal(texts, want) {
			t.Errorf("at %v: %q, want %q", now, texts, want)
		}
		if !slices.Equal(seen, wantSeen) {
			t.Errorf("at %v: seen %q, want %q", now, seen, wantSeen)
		}
	}
	step(1000, []string{"disks true sda=80", "two true sda=80"},
		"disks webhook pager [sda: sda at 80 of ]", "two mail ops [sda: bad: sda]", "two alertmanager am resolved")
	a := got[0]
	if a.Holdoff != 5*time.Minute || !a.Time.Equal(time.Unix(1000, 0)) || a.Expr != "some_inst (world.busy > 50)" {
		t.Errorf("action %+v", a)
	}
	if m := a.Matches[0]; m.Host == "" || m.Labels["site"] != "a" || m.Labels["slot"] != "n0" {
		t.Errorf("match %+v", m)
	}
	w.set(95, 70)
	step(1010, []string{"disks true sda=95 sdb=70", "two true sda=95"},
		"disks webhook pager [sda: sda at 95 of ] [sdb: sdb at 70 of ]", "two mail ops [sda: worse: sda]", "two alertmanager am resolved")
	w.set(1, 2)
	step(1020, []string{"disks false", "two false"},
		"disks webhook pager resolved", "two alertmanager am [: fine]", "two mail ops resolved")
	w.set()
	got, seen = nil, nil
	e.once(t, 1030)
	if len(seen) != 2 || seen[0] == "disks true" {
		t.Errorf("seen %q, want nothing known", seen)
	}
}

// TestActGetsAlerts checks that Config.Act gets actions that name a receiver if
// Config.Alert is nil.
func TestActGetsAlerts(t *testing.T) {
	w := &world{names: []string{"sda"}, values: []uint32{80}}
	var got []string
	e := w.engine(t, Config{Act: func(_ context.Context, a deliver.Action) error {
		got = append(got, a.Kind.String()+" "+a.Receiver+" "+a.Text)
		return nil
	}}, `some_inst world.busy > 50 -> webhook 1 min pager "%i" & exec "a" "%i";`)
	e.once(t, 1000)
	e.once(t, 1010)
	w.set(1)
	e.once(t, 1020)
	if want := []string{`webhook pager sda`, `exec  "a" "sda"`, `exec  "a" "sda"`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var said bytes.Buffer
	e = w.engine(t, Config{Err: &said}, `some_inst world.busy > 50 -> webhook pager "%i";`)
	w.set(80)
	e.once(t, 1000)
	if !strings.Contains(said.String(), "the action webhook is not supported") {
		t.Errorf("said %q", &said)
	}
}

// TestMistakeInMistake checks that a mistake around a mistake is reported, too.
func TestMistakeInMistake(t *testing.T) {
	for rules, want := range map[string]string{
		"true &&- true;":   "arithmetic expression expected to follow -\nlogical expression expected to follow &&\n",
		"rising - true;":   "arithmetic expression expected to follow -\nlogical expression expected to follow rising\n",
		"1 + - true;":      "arithmetic expression expected to follow -\n",
		"true && - ;":      "arithmetic expression expected to follow -\n",
		"ruleset true->&0": "action expected to precede &\n",
	} {
		got, said := parsed(t, rules)
		if _, said, _ = strings.Cut(said, "\n"); got != "" || said != want {
			t.Errorf("%s is %q, said %q, want %q", rules, got, said, want)
		}
	}
}

// TestLimits checks the limit of a match, on either side of the comparison, with its value at the
// time.
func TestLimits(t *testing.T) {
	for condition, want := range map[string]string{
		"some_inst world.busy > 50":                             "sda=80 > 50",
		"some_inst world.busy >= 2 * 25":                        "sda=80 >= 50",
		"some_inst 50 < world.busy":                             "sda=80 > 50",
		"some_inst (world.busy > 50 && world.busy < 200)":       "sda=80 > 50",
		"some_inst world.busy != 10":                            "sda=80 != 10",
		"some_inst world.busy > avg_inst world.busy":            "sda=80 > 45",
		"sum_inst world.busy > 60":                              "=90 > 60",
		"some_inst ! (world.busy > 50)":                         "sdb=10 > 50",
		"1 > 0":                                                 "=true",
		"50 %_inst world.busy > 50":                             "sda=80 > 50",
		"max_inst world.busy > 70 && some_inst world.busy < 20": "sda=80 > 70",
	} {
		t.Run(condition, func(t *testing.T) {
			w := &world{names: []string{"sda", "sdb"}, values: []uint32{80, 10}}
			var seen []string
			e := w.engine(t, Config{Observe: func(ev deliver.Evaluation) {
				for _, m := range ev.Matches {
					seen = append(seen, strings.TrimSpace(m.Instance+"="+m.Value+" "+m.Limit))
				}
			}}, "r = "+condition+` -> print "x";`)
			e.once(t, 1000)
			if got := strings.Join(seen, ", "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
