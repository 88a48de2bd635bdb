//go:build linux

package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// status writes the status of a recorder that is this process.
func (g *stage) status(st recorderStatus) {
	g.t.Helper()
	if st.PID == 0 {
		st.PID = os.Getpid()
	}
	if st.Time.IsZero() {
		st.Time = time.Now()
	}
	b, err := json.Marshal(&st)
	if err != nil {
		g.t.Fatal(err)
	}
	g.write("log/pmlogger/record.status", string(b))
}

// archive writes an archive of an hour that ends at a time, and has the files changed then.
func (g *stage) archive(name string, end time.Time) string {
	g.t.Helper()
	g.mkdir(filepath.Dir(name))
	w, err := archive.Create(g.path(name), archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "www", TimeZone: "UTC"}})
	if err != nil {
		g.t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(60, 0, 4), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter}
	if err := w.Desc(desc, "disk.all.read"); err != nil {
		g.t.Fatal(err)
	}
	var res pcp.Result
	for i := range 60 {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: end.Unix() - int64(60*(59-i))}
		res.AddSet(desc.PMID)
		res.Add(pcp.Uint64Value(uint64(i)).WithInst(-1))
		if err := w.WriteResult(&res); err != nil {
			g.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		g.t.Fatal(err)
	}
	g.touch(name, end)
	return g.path(name)
}

// touch sets the times of the files of an archive.
func (g *stage) touch(name string, t time.Time) {
	g.t.Helper()
	files, err := filepath.Glob(g.path(name) + ".*")
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chtimes(f, t, t); err != nil {
			g.t.Fatal(err)
		}
	}
}

// TestRecorders stages faults of recorders, control files and receivers of samples.
func TestRecorders(t *testing.T) {
	t.Parallel()
	hosts := func(h share.Host) func(*stage) {
		return func(g *stage) { g.status(recorderStatus{Hosts: []share.Host{h}}) }
	}
	control := func(g *stage, line string) {
		g.write("etc/pmlogger/control", "$version=1.1\n"+line+"\n")
	}
	testStaged(t, []staged{
		{"recorder.gone", func(g *stage) { g.status(recorderStatus{PID: ended(g.t)}) }, "ended without notice", nil},
		{"recorder.stuck", func(g *stage) { g.status(recorderStatus{Time: time.Now().Add(-time.Hour)}) }, "1h0m0s ago", nil},
		{"recorder.status", func(g *stage) { g.write("log/pmlogger/record.status", "{") }, "unexpected end", nil},
		{"recorder.host", hosts(share.Host{Name: "web1", Spec: "web1", State: "waiting", Err: "connection refused"}), "web1 is not recorded: connection refused", nil},
		{"recorder.behind", hosts(share.Host{Name: "web1", State: "recording", Lag: 300}), "5m0s late", nil},
		{"clock.host", hosts(share.Host{Name: "web1", State: "recording", Clock: 30}), "ahead by 30s", nil},
		{"receiver.remote-write", func(g *stage) {
			g.status(recorderStatus{RemoteWrite: []send.Status{{URL: "http://vm:8428/api/v1/write", Err: "401 Unauthorized"}}})
		}, "401 Unauthorized", nil},
		{"receiver.ship", func(g *stage) {
			g.status(recorderStatus{Ship: []ship.Status{{Name: "web1", Err: "NoSuchBucket"}}})
		}, "NoSuchBucket", nil},
		{"recorder.silent", func(g *stage) {
			g.up("--no-web")
			g.site = func(s *site) { s.now = s.now.Add(time.Hour) }
		}, "wrote to its archives", nil},
		{"recorder.stopped", func(g *stage) {
			g.archive("log/pmlogger/www/20260101", time.Now().Add(-5*time.Hour))
			control(g, "www n n PCP_ARCHIVE_DIR/www -r")
		}, "the logger for www wrote to", nil},
		{"recorder.control", func(g *stage) { control(g, "www n n $(rm -rf /) -r") }, "line 2", nil},
		{"recorder.configuration-missing", func(g *stage) { control(g, "www n n PCP_ARCHIVE_DIR/www -c /no/such/config") }, "/no/such/config", nil},
		{"recorder.configuration", func(g *stage) {
			control(g, "www n n PCP_ARCHIVE_DIR/www -c "+g.write("config", "log mandatory on every second {\n"))
		}, "config", nil},
		{"clock.collector", func(g *stage) {
			g.pmcd(bareConf)
			g.host = "localhost:" + g.vars["PMCD_PORT"]
			g.site = func(s *site) { s.now = s.now.Add(-time.Hour) }
		}, "ahead by 1h0m", nil},
	})
}

// TestArchives stages faults of archives and of their file systems.
func TestArchives(t *testing.T) {
	t.Parallel()
	yesterday := time.Now().Add(-24 * time.Hour)
	one := func(change func(g *stage, base string)) func(*stage) {
		return func(g *stage) {
			g.archive("log/pmlogger/www/20260101", yesterday)
			change(g, g.path("log/pmlogger/www/20260101"))
			g.touch("log/pmlogger/www/20260101", yesterday)
		}
	}
	remove := func(suffix string) func(g *stage, base string) {
		return func(g *stage, base string) {
			if err := os.Remove(base + suffix); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	testStaged(t, []staged{
		{"archive.damaged", one(func(g *stage, base string) {
			st, err := os.Stat(base + ".0")
			if err == nil {
				err = os.Truncate(base+".0", st.Size()-5)
			}
			if err != nil {
				g.t.Fatal(err)
			}
		}), "its last volume is cut", nil},
		{"archive.no-metadata", one(remove(".meta")), "no metadata", nil},
		{"archive.no-volume", one(remove(".0")), "no data", nil},
		{"archive.no-index", one(remove(".index")), "no index", nil},
		{"archive.owner", one(func(g *stage, base string) {
			for _, suffix := range []string{".0", ".meta", ".index"} {
				chown(g, strings.TrimPrefix(base, g.dir+"/")+suffix, 12345)
			}
		}), "12345", nil},
		{"archive.future", func(g *stage) { g.archive("log/pmlogger/www/20260101", time.Now().Add(48*time.Hour)) }, "is in the future", nil},
		{"disk.full", func(g *stage) {
			g.tmpfs("log/pmlogger", "size=20m")
			g.write("log/pmlogger/www/filler", strings.Repeat("x", 20<<20-8192))
		}, "left of 20 MB", nil},
		{"disk.inodes", func(g *stage) {
			g.tmpfs("log/pmlogger", "size=20m,nr_inodes=20")
			g.mkdir("log/pmlogger/www")
			for i := 0; os.WriteFile(g.path("log/pmlogger/www/"+strconv.Itoa(i)), nil, 0o644) == nil; i++ {
			}
		}, "more files", nil},
		{"disk.read-only", func(g *stage) {
			g.mkdir("log/pmlogger/www")
			g.tmpfs("log/pmlogger/www", "size=1m")
			if err := syscall.Mount("", g.path("log/pmlogger/www"), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				g.t.Fatal(err)
			}
		}, "read-only", nil},
		{"disk.filling", func(g *stage) {
			g.tmpfs("log/pmlogger", "size=40m")
			for i, age := range []int{72, 48, 25} {
				name := "log/pmlogger/www/2026010" + strconv.Itoa(i)
				g.archive(name, time.Now().Add(-time.Duration(age)*time.Hour))
				g.write(name+".1", strings.Repeat("x", 6<<20))
				g.touch(name, time.Now().Add(-time.Duration(age)*time.Hour))
			}
		}, "a day, and fill its file system", []string{"archive.damaged"}},
	})
}

// tmpfs mounts a file system until the test ends.
func (g *stage) tmpfs(name, options string) {
	g.t.Helper()
	if os.Geteuid() != 0 {
		g.t.Skip("this is a test for root")
	}
	if err := syscall.Mount("tmpfs", g.path(name), "tmpfs", 0, options); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		await.Until(g.t, "nothing uses "+name, func() bool { return syscall.Unmount(g.path(name), 0) == nil })
	})
}
