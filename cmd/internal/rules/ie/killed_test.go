package ie

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	awaittest "github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A ledger records the messages to a receiver.
type ledger struct {
	mu    sync.Mutex
	tried int
	sick  bool                // it fails in all ways
	end   chan struct{}       // closed at the end, for those that hang
	lost  int                 // messages that it accepted without an answer
	keys  map[string]int      // number of deliveries of each
	told  map[string][]string // by instance: the first occurrence of each message, firing or resolved
}

func newLedger() *ledger {
	return &ledger{sick: true, end: make(chan struct{}), keys: make(map[string]int), told: make(map[string][]string)}
}

// Responses of a receiver to a message.
const (
	takes = iota
	refuses
	loses // the answer
	hangs
)

// next returns the response to the next message.
func (l *ledger) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried++
	if !l.sick {
		return takes
	}
	return [...]int{takes, refuses, takes, loses, takes, takes, hangs}[l.tried%7]
}

// note notes a message, which may be about several instances.
func (l *ledger) note(key string, lost bool, about map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost {
		l.lost++
	}
	if l.keys[key]++; l.keys[key] > 1 {
		return
	}
	for inst, status := range about {
		l.told[inst] = append(l.told[inst], status)
	}
}

// know reports whether the last status of n instances is status.
func (l *ledger) know(n int, status string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		list := l.told[fmt.Sprint("i", i)]
		if len(list) == 0 || list[len(list)-1] != status {
			return false
		}
	}
	return true
}

// ServeHTTP is a web hook, and an Alertmanager below /am.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	what := l.next()
	switch what {
	case refuses:
		w.WriteHeader(500)
		return
	case hangs:
		select {
		case <-r.Context().Done():
		case <-l.end:
		}
		return
	}
	if strings.HasPrefix(r.URL.Path, "/am/") {
		var list []struct {
			Labels           map[string]string
			StartsAt, EndsAt time.Time
		}
		if err := json.Unmarshal(body, &list); err != nil {
			w.WriteHeader(400)
			return
		}
		for _, a := range list {
			inst, status := a.Labels["instance"], "firing"
			if !a.EndsAt.After(time.Now()) {
				status = "resolved"
			}
			l.note(fmt.Sprint(inst, a.StartsAt, status), what == loses, map[string]string{inst: status})
		}
	} else {
		var a struct{ Instance, Status string }
		if err := json.Unmarshal(body, &a); err != nil {
			w.WriteHeader(400)
			return
		}
		l.note(r.Header.Get("Idempotency-Key"), what == loses, map[string]string{a.Instance: a.Status})
	}
	if what == loses {
		panic(http.ErrAbortHandler)
	}
}

// serveMail is a mail server, until the listener is closed.
func (l *ledger) serveMail(ln net.Listener) {
	var done sync.WaitGroup
	defer done.Wait()
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		done.Go(func() {
			defer conn.Close()
			l.talk(conn)
		})
	}
}

func (l *ledger) talk(conn net.Conn) {
	c := textproto.NewConn(conn)
	say := func(s string) bool { return c.PrintfLine("%s", s) == nil }
	if !say("220 mail") {
		return
	}
	for {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(line, " ")
		if verb != "DATA" {
			if !say("250 ok") || verb == "QUIT" {
				return
			}
			continue
		}
		if !say("354 go on") {
			return
		}
		b, err := c.ReadDotBytes()
		if err != nil {
			return
		}
		what := l.next()
		switch what {
		case refuses:
			say("451 later")
			return
		case hangs:
			c.ReadLine() // until the other side has enough of it
			return
		}
		m, err := mail.ReadMessage(bytes.NewReader(b))
		if err != nil {
			say("554 what")
			return
		}
		about := map[string]string{}
		text, err := io.ReadAll(m.Body)
		if err != nil {
			return
		}
		status := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if s, ok := strings.CutPrefix(line, "status: "); ok {
				status = s
			}
			if s, ok := strings.CutPrefix(line, "instance: "); ok {
				about[s] = status
			}
		}
		l.note(m.Header.Get("Message-Id"), what == loses, about)
		if what == loses || !say("250 taken") {
			return
		}
	}
}

// TestKilled kills pmie at any moment while it sends alerts of more and more instances to receivers
// that fail in all ways. In the end each receiver has got one message for each instance when it
// fired, and one when it was resolved: a repeated message is the same. It may be repeated only if
// its answer was lost, or not recorded before pmie was killed.
func TestKilled(t *testing.T) {
	rounds := longtest.N(14, 200)
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 4))
	dir := t.TempDir()
	var firing atomic.Int32 // instances that are
	var fetches atomic.Int64
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		list := make([]pcp.Instance, 2*rounds)
		for i := range list {
			list[i] = pcp.Instance{Inst: int32(i), Name: fmt.Sprint("i", i)}
		}
		return list, nil
	}}
	agent, err := pmda.NewTable(pmda.Config{Name: "kill", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "kill.level", InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(inst int32, i int) (pcp.Value, error) {
			if i == 0 {
				fetches.Add(1)
			}
			if inst < firing.Load() {
				return pcp.Uint32Value(99), nil
			}
			return pcp.Uint32Value(1), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	defer done.Wait()
	defer cancel()
	socket := filepath.Join(dir, "socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "kill", Domain: 400, Agent: agent}}})
	if err != nil {
		t.Fatal(err)
	}
	done.Go(func() { server.Run(ctx) })

	ledgers := map[string]*ledger{"hook": newLedger(), "am": newLedger(), "ops": newLedger()}
	web := func(l *ledger) string {
		srv := httptest.NewUnstartedServer(l)
		srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		srv.Start()
		t.Cleanup(srv.Close)
		return srv.URL
	}
	post, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done.Go(func() { ledgers["ops"].serveMail(post) })
	defer post.Close()
	receivers := fmt.Sprintf("spool %s\nreceiver hook\nkind webhook\nurl %s\nreceiver am\nkind alertmanager\nurl %s/am\nreceiver ops\nkind mail\nserver %s\ntls none\nfrom pmie@example.com\nto ops@example.com\n",
		filepath.Join(dir, "spool"), web(ledgers["hook"]), web(ledgers["am"]), post.Addr())
	const rules = `busy = some_inst kill.level > 50 -> webhook hook "%i" & alertmanager am "%i" & mail ops "%i";`
	for name, text := range map[string]string{"receivers": receivers, "rules": rules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer // of the process that runs
	start := func() *exec.Cmd {
		t.Helper()
		cmd := twin.Call{
			Tool: "pmie", Args: []string{"-q", "-f", "-t", "10msec", "-h", "unix:" + socket, "--receivers", filepath.Join(dir, "receivers"), "-c", filepath.Join(dir, "rules")},
			Env: []string{"PCP_RUN_DIR=" + filepath.Join(dir, "run"), "PCP_TMP_DIR=" + dir, "XDG_RUNTIME_DIR="},
		}.Command(ctx, t, true)
		stderr.Reset()
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := awaittest.Exit(t, cmd); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("pmie ended by itself: %v, %s", err, &stderr)
		}
	}
	await := func(what string, ready func() bool) {
		t.Helper()
		for limit := time.Now().Add(2 * time.Minute); !ready(); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%s: pmie does not go on: %s", what, &stderr)
			}
		}
	}
	for range rounds {
		cmd := start()
		first := fetches.Load()
		firing.Add(1 + rnd.Int32N(2))
		some := first + int64(rnd.IntN(7))
		await("while receivers fail", func() bool { return fetches.Load() >= some })
		for range rnd.IntN(3_000_000) { // within whatever it does by now
		}
		kill(cmd)
	}
	for _, l := range ledgers {
		l.mu.Lock()
		l.sick = false
		l.mu.Unlock()
		close(l.end)
	}
	n := int(firing.Load())
	cmd := start()
	for name, l := range ledgers {
		await(name, func() bool { return l.know(n, "firing") })
	}
	firing.Store(0)
	for name, l := range ledgers {
		await(name, func() bool { return l.know(n, "resolved") })
		l.mu.Lock()
		for inst, list := range l.told {
			if strings.Join(list, " ") != "firing resolved" {
				t.Errorf("%s was told of %s: %q", name, inst, list)
			}
		}
		if len(l.told) != n {
			t.Errorf("%s was told of %d instances, want %d", name, len(l.told), n)
		}
		again := 0
		for _, times := range l.keys {
			again += times - 1
		}
		// Of each process that was killed one message at the most was on its way.
		if name != "am" && again > l.lost+rounds {
			t.Errorf("%s got %d messages again; it lost %d answers, and pmie was killed %d times", name, again, l.lost, rounds)
		}
		t.Logf("%s: %d messages, %d of them again, %d answers lost", name, len(l.keys)+again, again, l.lost)
		l.mu.Unlock()
	}
	kill(cmd)
}
