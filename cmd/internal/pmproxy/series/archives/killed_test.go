package archives_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// The process that a test kills is this program, started with these variables.
const (
	victimDir   = "ARCHIVES_VICTIM_DIR"
	victimIndex = "ARCHIVES_VICTIM_INDEX"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		if err := victim(dir, os.Getenv(victimIndex)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// victim writes to an index until it is killed.
func victim(dir, index string) error {
	s, err := archives.Open(context.Background(), archives.Config{Dirs: []string{dir}, Index: index, Background: true, Interval: -1})
	if err != nil {
		return err
	}
	fmt.Println("open")
	for n := 0; ; n++ {
		if err := s.GC(context.Background()); err != nil {
			return err
		}
		if err := s.PutExpr(context.Background(), sid.String(fmt.Sprint(n)), series.Expr{Query: "q"}); err != nil {
			return err
		}
	}
}

// TestKilled kills a process at any moment, while it adds archives that appear, grow and vanish. The
// next process must find the contents of the archives.
func TestKilled(t *testing.T) {
	dir, index := t.TempDir(), filepath.Join(t.TempDir(), "series.db")
	r := record(t, filepath.Join(dir, "grows"), "a", 1000).add(10)
	rounds := 6
	if longtest.Enabled() {
		rounds = 100
	}
	rnd := rand.New(rand.NewPCG(16, 9))
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), victimDir+"="+dir, victimIndex+"="+index)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatalf("round %d: it does not begin: %v", round, err)
		}
		end := time.Now().Add(time.Duration(rnd.IntN(30_000)) * time.Microsecond)
		for k := 0; time.Now().Before(end); k++ {
			r.add(1)
			path := filepath.Join(dir, fmt.Sprint("comes", k%3))
			for _, ext := range []string{".0", ".meta", ".index"} {
				os.Remove(path + ext)
			}
			record(t, path, fmt.Sprint("h", k%3), int64(5000+k)).add(3).close()
		}
		cmd.Process.Kill()
		await.Exit(t, cmd)

		look := func(index string) (stats series.Stats, n int) {
			s := open(t, archives.Config{Dirs: []string{dir}, Index: index})
			defer s.Close()
			for _, id := range sel(t, s, series.Matcher{Field: series.MetricName, Value: "kernel.all.load"}) {
				n += len(values(t, s, id, series.Window{}))
			}
			return s.Stats(), n
		}
		got, n := look(index)
		want, wantN := look("")
		if got != want || n != wantN || n < r.samples() {
			t.Fatalf("round %d: %+v, %d samples; of a new index %+v, %d", round, got, n, want, wantN)
		}
	}
}

// samples returns the number of added records.
func (r *recorder) samples() int { return int(r.n) }
