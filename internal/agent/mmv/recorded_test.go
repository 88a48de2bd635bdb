package mmv_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	file "github.com/go-pcp/pcp/mmv"
)

// instances returns what an archive knows at its end about the instances of mmv.grow.jobs: the last
// name and value of each, and its labels. It is empty while there is no archive.
func instances(path string) map[string]string {
	got := make(map[string]string)
	a, err := archive.Open(path)
	if err != nil {
		return got
	}
	defer a.Close()
	id, ok := a.Meta().LookupName("mmv.grow.jobs")
	if !ok {
		return got
	}
	desc, err := a.Meta().Desc(id)
	if err != nil {
		return got
	}
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			return got // the end is being written
		}
		for _, vs := range res.Sets {
			if vs.PMID != id {
				continue
			}
			labels := make(map[int32]string)
			sets, _ := a.Meta().LookupLabels(pcp.LabelInstances, uint32(desc.InDom), res.Time)
			for _, set := range sets {
				labels[set.Inst] = ownLabels.ReplaceAllString(set.JSON, "")
			}
			for _, v := range vs.Values {
				if name, ok := a.Meta().View(desc.InDom, res.Time).Name(v.Inst); ok {
					got[name] = fmt.Sprintf("%d is %s with %s", v.Inst, v.As(desc.Type), labels[v.Inst])
				}
			}
		}
	}
	return got
}

// TestOracleRecordsGrowth has pmlogger record a file whose instance domain grows: the archive has the new
// instance, and the labels that pmlogger asks for, whichever collector and agent serve it.
func TestOracleRecordsGrowth(t *testing.T) {
	s := startSides(t)
	r, err := file.New("grow", file.Options{Cluster: 77, Dir: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	jobs := r.IntGaugeVec(file.Metric{Name: "jobs"})
	jobs.WithLabels("one", file.Label{Name: "queue", Value: "first"}).Set(1)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("log mandatory on 50 msec { mmv.grow }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]string{"their agent": s.real.Unix, "our collector": s.ours, "our agent": s.daemon.Unix}
	loggers := make(map[string]*exec.Cmd)
	number := 0
	path := make(map[string]string)
	for name, host := range hosts {
		number++
		path[name] = filepath.Join(dir, fmt.Sprint("archive", number))
		cmd := exec.Command(oracle.Path("pmlogger"), "-h", host, "-c", config, "-l", path[name]+".log", path[name])
		cmd.Env = append(oracle.Env(), s.real.Env...)
		if err := oracle.StartWith(cmd, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		loggers[name] = cmd
	}
	for name := range hosts {
		await.Until(t, name+": the first instance is recorded", func() bool { return len(instances(path[name])) == 1 })
	}
	jobs.WithLabels("two", file.Label{Name: "queue", Value: "second"}, file.Label{Name: "size", Value: 3}).Set(2)
	for name := range hosts {
		await.Until(t, name+": the second instance is recorded", func() bool { return len(instances(path[name])) == 2 })
	}
	for name, cmd := range loggers {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := await.Exit(t, cmd); err != nil {
			t.Logf("%s: pmlogger: %v", name, err) // C's is ended by the signal
		}
	}
	want := instances(path["their agent"])
	if want["one"] != `0 is 1 with {"queue":"first"}` {
		t.Errorf("the archive has %q", want)
	}
	for name := range hosts {
		if d := cmp.Diff(want, instances(path[name])); d != "" {
			t.Errorf("%s (-theirs +ours):\n%s", name, d)
		}
		if out := oracle.Run(t, "pmlogcheck", path[name]); out.Exit != 0 {
			t.Errorf("%s: pmlogcheck: %+v", name, out)
		}
	}
}
