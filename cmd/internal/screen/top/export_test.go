package top

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
)

// TestWriteNew never overwrites a file.
func TestWriteNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.txt")
	if err := writeNew(path, "one\n"); err != nil {
		t.Fatal(err)
	}
	if err := writeNew(path, "two\n"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// TestTable has the tables of views. Unknown numbers are empty, and no text is a formula of a spreadsheet.
func TestTable(t *testing.T) {
	nan := math.NaN()
	s := &model.Snapshot{
		Time: pcp.Timestamp{Sec: 1795248000},
		Processes: []model.Process{
			{PID: 7, Parent: 1, Owner: "alice", Name: "=cmd|' /C calc'!A0", Args: "a, \"b\"\x1b[2J", State: 'R', CPU: 0.5, RSS: 4096, In: 12.5, Out: nan, Read: nan, Written: nan, GPU: nan, GPUMemory: nan, Time: 3, Start: 1, Size: nan},
			{PID: 8, Parent: 7, Group: 7, Name: "thread"},
			{PID: 9, Parent: 1, Name: "other"},
		},
		Disks:      []model.Disk{{Name: "sda", Busy: 0.25, Read: 1e6, Written: 0, Reads: nan, Writes: nan, ReadWait: nan, WriteWait: nan, Queue: nan}},
		Containers: []model.Container{{ID: "d1", Name: "web", Engine: "docker", State: "running", PID: 7, CGroup: model.CGroup{Path: "/docker/d1", Processes: 2, CPU: 1.5, Memory: nan, Read: nan, Written: nan, In: nan, Out: nan, PressCPU: nan, PressMem: nan, PressIO: nan}}},
		Charts:     []model.Chart{{Spec: "kernel.all.load", Units: "none", Lines: []model.Line{{Name: "1 minute", Value: 1.25}}}},
	}
	f := func(view ui.View, want ...string) {
		t.Helper()
		got := table(view, s, &model.Selection{Filter: "cmd"}, "@host")
		if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(got, "\n"), "\n")); diff != "" {
			t.Errorf("the table of view %d (-want +got):\n%s", view, diff)
		}
	}
	const at = "2026-11-21T08:00:00Z,'@host,"
	f(ui.Processes,
		"time,host,pid,ppid,user,name,command,state,cpu,cpu_time,resident,virtual,read,written,received,sent,gpu,gpu_memory,threads,nice,priority,processor,start,terminal,cgroup",
		at+`7,1,alice,'=cmd|' /C calc'!A0,"a, ""b""·[2J",R,0.5,3,4096,,,,12.5,,,,0,0,0,0,1,,`)
	f(ui.Disks, "time,host,name,busy,read,written,reads,writes,read_wait,write_wait,queue", at+"sda,0.25,1000000,0,,,,,")
	f(ui.Containers,
		"time,host,name,id,engine,image,state,pid,path,processes,cpu,memory,read,written,received,sent,pressure_cpu,pressure_memory,pressure_io",
		at+"web,d1,docker,,running,7,/docker/d1,2,1.5,,,,,,,,")
	f(ui.Charts, "time,host,metric,instance,value,units", at+"kernel.all.load,1 minute,1.25,none")
	f(ui.Network, "time,host,name,in,out,in_packets,out_packets,in_errors,out_errors,in_drops,out_drops,speed")
}
