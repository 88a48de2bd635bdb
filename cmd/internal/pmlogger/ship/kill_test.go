package ship

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A trial is a recorder that is killed again and again, and what its archives had.
type trial struct {
	t       *testing.T
	srv     *objectstest.Server
	host    *objects.Dir
	dir     string // of the archives of the host
	environ []string
	args    []string
	output  bytes.Buffer

	records map[string]int               // of each archive by its name, which were whole
	files   map[string]map[string][]byte // contents of volumes and metadata that were not compressed, by archive and file
}

func (k *trial) start() *exec.Cmd {
	k.t.Helper()
	cmd := exec.Command(twin.Tool(k.t, "pcp"), k.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = k.environ, &k.output, &k.output
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return cmd
}

// count returns the records of an archive that are whole.
func count(base string) (n int) {
	a, err := archive.Open(base)
	if err != nil {
		return 0 // without a record
	}
	defer a.Close()
	for _, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			break // the end that is not whole
		}
		n++
	}
	return n
}

// look notes what the local archives have, while nothing writes them.
func (k *trial) look() {
	k.t.Helper()
	list, err := janitor.List(k.dir)
	if err != nil && len(k.records) > 0 {
		k.t.Fatal(err)
	}
	here := make(map[string]bool)
	for _, a := range list {
		name := filepath.Base(a.Base)
		here[name] = true
		// A kill during compression leaves a file twice, until the next start.
		twice := false
		seen := make(map[int]bool)
		for _, f := range a.Files {
			twice = twice || seen[f.Volume]
			seen[f.Volume] = true
		}
		if n := count(a.Base); !twice {
			if n < k.records[name] {
				k.t.Errorf("%s has %d records, and had %d", name, n, k.records[name])
			}
			if n > 0 {
				k.records[name] = n
			}
		}
		for _, f := range a.Files {
			if f.Suffix != "" || f.Volume == archive.VolIndex {
				continue
			}
			if k.files[name] == nil {
				k.files[name] = make(map[string][]byte)
			}
			if k.files[name][filepath.Base(f.Path)], err = os.ReadFile(f.Path); err != nil {
				k.t.Fatal(err)
			}
		}
	}
	for name := range k.records {
		if !here[name] {
			k.check(name)
		}
	}
}

// check checks that an archive is stored with all that it had.
func (k *trial) check(name string) {
	k.t.Helper()
	x, err := readIndexes(k.t.Context(), k.host)
	if err != nil {
		k.t.Fatal(err)
	}
	a := x.archives[name]
	if a == nil || !a.Complete {
		k.t.Errorf("%s is not stored: %+v", name, a)
		return
	}
	dir := k.t.TempDir()
	for _, f := range a.Files {
		got, _, err := k.host.Read(k.t.Context(), f.Name)
		if err != nil {
			k.t.Error(err)
			continue
		}
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != f.SHA256 || int64(len(got)) != f.Size {
			k.t.Errorf("%s is not stored as the index has it", f.Name)
		}
		if local, err := os.ReadFile(filepath.Join(k.dir, f.Name)); err == nil && !bytes.Equal(local, got) {
			k.t.Errorf("%s is stored with %d bytes, not %d", f.Name, len(got), len(local))
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), got, 0o644); err != nil {
			k.t.Fatal(err)
		}
		plain := got
		if strings.HasSuffix(f.Name, ".zst") {
			z, err := zstd.NewReader(bytes.NewReader(got))
			if err != nil {
				k.t.Fatal(err)
			}
			if plain, err = io.ReadAll(z); err != nil {
				k.t.Errorf("%s: %v", f.Name, err)
			}
			z.Close()
		}
		// The part of a record at the end was cut off.
		if was, ok := k.files[name][strings.TrimSuffix(f.Name, ".zst")]; ok && !bytes.HasPrefix(was, plain) {
			k.t.Errorf("%s has other contents than the file here had", f.Name)
		}
	}
	if n := count(filepath.Join(dir, name)); n != k.records[name] {
		k.t.Errorf("%s is stored with %d records of %d", name, n, k.records[name])
	}
}

// TestKillRecorder kills pcp record again and again, while it records and also stores its archives in a slow store: each whole record
// that it wrote is stored, no archive is removed here before, and after a start without a kill nothing is left over.
func TestKillRecorder(t *testing.T) {
	t.Parallel()
	kills := longtest.N(3, 30)
	srv := objectstest.Start(t, false)
	srv.Before(func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(20 * time.Millisecond)
		return false
	})
	top := t.TempDir()
	k := &trial{t: t, srv: srv, dir: filepath.Join(top, "archives", "www"), records: make(map[string]int), files: make(map[string]map[string][]byte)}
	k.environ = append(os.Environ(), "HOME="+top)
	for name, value := range srv.Env() {
		k.environ = append(k.environ, name+"="+value)
	}
	socket := filepath.Join(top, "s")
	up := exec.Command(twin.Tool(t, "pcp"), "up", "--port", "0", "--socket", socket, "--dir", filepath.Join(top, "up"), "--no-record", "--no-web")
	up.Env = k.environ
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		up.Process.Kill()
		up.Wait()
	}()
	await.Until(t, "the collector listens", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	config, list := filepath.Join(top, "config"), filepath.Join(top, "hosts")
	for path, text := range map[string]string{
		config: "log mandatory on 20msec { kernel.all.load kernel.all.cpu.user mem.util }\n",
		list:   "unix:" + socket + " name=www\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k.args = []string{"record", "-c", config, "-d", filepath.Dir(k.dir), "-f", list, "--ship", "s3://bucket/site", "--lifecycle", "off", "--keep-local", "0"}
	d, err := objects.OpenDir("s3://bucket/site", srv.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if k.host, err = d.Sub("www"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(longtest.Seed(t), 2))
	for i := range kills {
		cmd := k.start()
		pause := 200*time.Millisecond + time.Duration(random.Int64N(int64(3*time.Second)))
		if i%10 == 9 {
			pause += time.Minute // when archives are removed
		}
		time.Sleep(pause)
		cmd.Process.Kill()
		cmd.Wait()
		k.look()
	}
	if len(k.records) == 0 {
		t.Fatalf("nothing was recorded:\n%s", &k.output)
	}
	cmd := k.start()
	await.Until(t, "all archives of the killed recorders to be stored", func() bool {
		x, err := readIndexes(t.Context(), k.host)
		if err != nil {
			t.Fatal(err)
		}
		for name := range k.records {
			if a := x.archives[name]; a == nil || !a.Complete {
				return false
			}
		}
		return true
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := await.Exit(t, cmd); err != nil {
		t.Errorf("%v\n%s", err, &k.output)
	}
	k.look()
	total := 0
	for name, n := range k.records { // the last one as well
		k.check(name)
		total += n
	}
	if entries, err := os.ReadDir(k.dir); err != nil {
		t.Error(err)
	} else {
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".janitor") {
				t.Errorf("%s is left over", e.Name())
			}
		}
	}
	x, err := readIndexes(t.Context(), k.host)
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, a := range x.archives {
		for _, day := range archiveindex.Days(a.Begin, a.End) {
			if x.days[day].Find(a.Name) == nil {
				t.Errorf("%s is not in the index of %s", a.Name, day)
			}
		}
		for _, f := range a.Files {
			listed[f.Name] = true
		}
	}
	stored, err := k.host.List(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range stored {
		if name := e.Name; !e.Dir && !listed[name] {
			t.Errorf("%s is left over in the store", name)
		}
	}
	if strings.Contains(k.output.String(), "had not been shipped") {
		t.Errorf("an archive was dropped:\n%s", &k.output)
	}
	t.Logf("%d kills, %d archives, %d records", kills, len(k.records), total)
}
