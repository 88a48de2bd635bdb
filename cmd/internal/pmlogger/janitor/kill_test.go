//go:build unix

package janitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// childEnv makes the test a recorder: it has the socket of the collector and the directory.
const childEnv = "JANITOR_TEST_RECORDER"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		socket, dir, _ := strings.Cut(args, "\n")
		if err := child(socket, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child records and maintains a directory, with a new archive and something to compress
// every few milliseconds.
func child(socket, dir string) error {
	ctx := context.Background()
	c, err := pmapi.Dial(ctx, "unix:"+socket)
	if err != nil {
		return err
	}
	defer c.Close()
	base := filepath.Join(dir, time.Now().Format("20060102.150405.000000000"))
	r, err := pmlogger.New(ctx, c, pmlogger.Config{Archive: base, Version: archive.Version3, Volume: pmlogger.Size{Samples: 7}})
	if err != nil {
		return err
	}
	if _, err := r.Configure(ctx, strings.NewReader("log on 1 msec { count }"), "config"); err != nil {
		return err
	}
	j, err := New(Config{Dir: dir, Recorder: r, RotateBytes: 20000, Interval: 5 * time.Millisecond, Format: Format(os.Getpid() % 2), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	go func() {
		io.Copy(io.Discard, os.Stdin) // the test may end without killing
		os.Exit(0)
	}()
	go j.Run(ctx)
	fmt.Println("ready")
	return r.Run(ctx)
}

// counted is a listener that counts its open connections.
type counted struct {
	net.Listener
	mu   sync.Mutex
	none *sync.Cond // of mu: no connection is open
	open int
}

// wait waits until no connection is open.
func (l *counted) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open > 0 {
		l.none.Wait()
	}
}

func (l *counted) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open += n; l.open == 0 {
		l.none.Broadcast()
	}
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.add(1)
	return &countedConn{Conn: c, closed: sync.OnceFunc(func() { l.add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// serveCount serves count.n, which is larger each time, and count.some, whose instances change.
// The function it returns waits until all clients have disconnected: a pending fetch of a
// killed client would otherwise change the instances between two requests of the next.
func serveCount(t *testing.T, socket string) (gone func()) {
	t.Helper()
	n := uint64(0)
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		var list []pcp.Instance
		for i := range 10 + n%17 {
			inst := int32(n/5 + i)
			list = append(list, pcp.Instance{Inst: inst, Name: fmt.Sprintf("instance %d with a name that takes some bytes", inst)})
		}
		return list, nil
	}}
	refresh := func(_ context.Context, ids []pcp.PMID) error {
		if slices.Contains(ids, pcp.NewPMID(400, 0, 0)) {
			n++ // the instances are those of the last fetch until the next
		}
		return nil
	}
	a, err := pmda.NewTable(pmda.Config{Name: "count", Domain: 400, Refresh: refresh, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "count.n", Type: pcp.TypeU64, Sem: pcp.SemCounter, Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint64Value(n), nil
		}},
		{Name: "count.some", Item: 1, InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Uint32Value(uint32(inst)), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	clients := &counted{Listener: ln}
	clients.none = sync.NewCond(&clients.mu)
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{clients}, Agents: []pmcd.AgentSpec{{Name: "count", Domain: 400, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return clients.wait
}

// TestKill kills a recorder with its janitor at random moments, also while they rotate and
// compress. The remaining files open to their last complete record, and after the next run
// all of the directory replays, with a mark between two archives and nowhere else.
func TestKill(t *testing.T) {
	kills := longtest.N(40, 300)
	seed := longtest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 6))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	socket := filepath.Join(tmp, "s")
	gone := serveCount(t, socket)
	var states struct{ temporary, both, cut, samples int }
	const each = 10 // kills in a directory
	for done := 0; done < kills; {
		dir := filepath.Join(tmp, fmt.Sprint(done))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for k := 0; k < each && done < kills; k++ {
			kill(t, exe, socket, dir, time.Duration(random.IntN(150_000))*time.Microsecond)
			gone()
			done++
			for _, name := range names(t, dir) {
				if strings.HasSuffix(name, temporary) {
					states.temporary++
				}
			}
			list, err := List(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range list {
				if Written(a) {
					t.Errorf("kill %d: %s counts as written", done, a.Base)
				}
				for i := 1; i < len(a.Files); i++ {
					if a.Files[i].Volume == a.Files[i-1].Volume {
						states.both++
					}
				}
			}
			if k%2 == 1 { // else the next child does it
				if err := Recover(t.Context(), dir, Written, func(what, _ string) {
					if strings.HasPrefix(what, "cut ") {
						states.cut++
					}
				}); err != nil {
					t.Errorf("seed %d, kill %d: %v", seed, done, err)
				}
				states.samples += checkSet(t, dir, fmt.Sprintf("seed %d, kill %d", seed, done))
			}
		}
		if err := Recover(t.Context(), dir, Written, nil); err != nil {
			t.Errorf("seed %d, kill %d: %v", seed, done, err)
		}
		states.samples += checkSet(t, dir, fmt.Sprintf("seed %d, kill %d", seed, done))
		if t.Failed() {
			for _, name := range names(t, dir) {
				t.Log(name)
			}
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills: %d times a temporary file was left, %d times two files of one volume, %d times a record was cut; %d samples read", kills, states.temporary, states.both, states.cut, states.samples)
	if states.samples < kills {
		t.Error("too few samples to show anything")
	}
}

// kill runs a recorder for some time.
func kill(t *testing.T, exe, socket, dir string, after time.Duration) {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+socket+"\n"+dir)
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	_, ready := io.ReadFull(out, b)
	time.Sleep(after) // the moment is random; nothing waits for it
	cmd.Process.Kill()
	err = await.Exit(t, cmd)
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ready != nil || !ok || !status.Signaled() {
		t.Fatalf("the recorder ended before it was killed: %v\n%s", err, stderr.String())
	}
	if strings.Contains(stderr.String(), "level=ERROR") {
		t.Errorf("the janitor complains:\n%s", stderr.String())
	}
}

// checkSet reads all archives of a directory, separately and as a set, and returns the
// number of samples.
func checkSet(t *testing.T, dir, when string) int {
	t.Helper()
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return 0
	}
	for _, name := range names(t, dir) {
		if _, _, ok := archive.BaseName(name); !ok {
			t.Errorf("%s: left: %s", when, name)
		}
	}
	id, some := pcp.NewPMID(400, 0, 0), pcp.NewPMID(400, 0, 1)
	samples := 0
	for _, a := range list {
		one, err := archive.Open(a.Base)
		if err != nil {
			t.Errorf("%s: %v", when, err)
			continue
		}
		last := uint64(0)
		for rec, err := range one.Records(one.Label().Start, archive.Forward) {
			if err != nil {
				t.Errorf("%s: %s: %v", when, a.Base, err)
				break
			}
			for _, s := range rec.Sets {
				switch s.PMID {
				case id:
					v := s.Values[0].Uint64()
					if last > 0 && v != last+1 {
						t.Errorf("%s: %s: sample %d after %d", when, a.Base, v, last)
					}
					last = v
					samples++
				case some:
					for _, v := range s.Values {
						if _, ok := one.Meta().View(pcp.NewInDom(400, 1), rec.Time).Name(v.Inst); !ok {
							t.Errorf("%s: %s: at %v instance %d has no name", when, a.Base, rec.Time, v.Inst)
						}
					}
				}
			}
		}
		one.Close()
	}
	set, err := replay.Open(dir, replay.Options{})
	if err != nil {
		t.Errorf("%s: %v", when, err)
		return samples
	}
	defer set.Close()
	c := set.NewCursor()
	defer c.Close()
	var res pcp.Result
	marks, read := 0, 0
	for {
		err := c.Next(t.Context(), false, &res)
		if errors.Is(err, io.EOF) || errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Errorf("%s: as one: %v", when, err)
			break
		}
		if len(res.Sets) == 0 {
			marks++
		}
		for _, s := range res.Sets {
			if s.PMID == id {
				read++
			}
		}
	}
	if n := len(set.Archives()); marks != n-1 || read != samples || n != len(list) {
		t.Errorf("%s: %d marks between %d archives of %d; %d samples of %d", when, marks, n, len(list), read, samples)
	}
	return samples
}
