package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/agent/nvidia"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain is pcp-gpu itself if it is started with a library.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasSuffix(os.Args[1], ".so") {
		main()
	}
	os.Exit(m.Run())
}

// fake compiles a library with functions of that version, and returns its path and a function that sets its cards.
func fake(t *testing.T, version int) (path string, set func(cards string)) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		oracle.Missing(t, "no C compiler")
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "fake.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", fmt.Sprintf("-DVERSION=%d", version), "-o", path, "testdata/nvml.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cards := filepath.Join(dir, "cards")
	t.Setenv("NVML_CARDS", cards)
	return path, func(text string) {
		t.Helper()
		if err := os.WriteFile(cards, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCards reads eight cards by the agent: one is lost, and one supports nothing.
func TestCards(t *testing.T) {
	for version := 1; version <= 3; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path, set := fake(t, version)
			set("ok many lost bare ok ok ok ok")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			a, err := nvidia.New(nvidia.Config{Root: t.TempDir(), Program: self, Library: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			got := agenttest.Read(t, a)
			if log.Len() > 0 {
				t.Errorf("log %s", &log)
			}
			bus := "0000:07:00.0"
			if version == 3 {
				bus = "00000000:07:00.0"
			}
			for metric, want := range map[string]string{
				"numcards ": "8", "cardname gpu0": `"Fake 0"`, "cardname gpu2": "", "cardname gpu3": `"Fake 3"`, "carduuid gpu7": `"GPU-7"`, "busid gpu7": `"` + bus + `"`,
				"temperature gpu7": "47", "temperature gpu3": "", "fanspeed gpu1": "31", "perfstate gpu0": "2", "gpuactive gpu7": "17", "memactive gpu7": "5", "gpuactive gpu3": "", "gpuactive gpu2": "",
				"memused gpu0": "1073741824", "memtotal gpu0": "85899345920", "memfree gpu0": "84825604096", "energy gpu0": "1099511627776", "power gpu1": "70001", "energy gpu3": "",
				"nprocs gpu0": "3", "nprocs gpu1": "100", "nprocs gpu2": "0", "nprocs gpu3": "0", "nprocs gpu4": "2",
				"proc.memused gpu0::70": "2000", "proc.memused gpu0::71": "0", "proc.memused gpu1::169": "100000", "proc.gpuactive gpu0::70": "66", "proc.gpuactive gpu4::70": "1", "proc.gpuactive gpu4::71": "44", "proc.memactive gpu4::71": "22",
				"proc.all.ngpus 000070": "7", "proc.compute.ngpus 000070": "6", "proc.graphics.ngpus 000070": "1", "proc.compute.gpulist 000070": "243", "proc.compute.time 000070": "9000", "proc.running gpu0::70": "1",
			} {
				name, inst, _ := strings.Cut(metric, " ")
				if got := got["nvidia."+name][inst]; got != want {
					t.Errorf("%s of %q is %s, want %s", name, inst, got, want)
				}
			}
			set("ok ok") // the others have vanished
			got = agenttest.Read(t, a)
			if diff := cmp.Diff(map[string]string{"gpu0": "10", "gpu1": "11"}, got["nvidia.gpuactive"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			set("unloaded")
			if got := agenttest.Read(t, a)["nvidia.numcards"][""]; got != "0" || !strings.Contains(log.String(), "the driver is not loaded") {
				t.Errorf("%s cards, log %s", got, &log)
			}
		})
	}
}

// TestServe checks how the program ends.
func TestServe(t *testing.T) {
	path, set := fake(t, 3)
	set("ok lost")
	f := func(in io.Reader, libraries []string, want int, wantText string) {
		t.Helper()
		var out strings.Builder
		if got := serve(in, &out, libraries, 50*time.Millisecond); got != want || !strings.Contains(out.String(), wantText) {
			t.Errorf("status %d, want %d, output %s", got, want, &out)
		}
	}
	f(strings.NewReader("{}\n{}\n"), []string{"/no/such.so", path}, 0, `"error":"the card is lost"`)
	f(strings.NewReader(""), []string{path}, 0, "")
	f(strings.NewReader("x\n"), []string{path}, 1, "")
	f(strings.NewReader("{}\n"), []string{"/no/such.so"}, 1, `"error":"`)
	r, w := io.Pipe()
	f(r, []string{path}, 0, "") // no request comes
	w.Close()
	set("unloaded")
	f(strings.NewReader("{}\n"), []string{path}, 1, "the driver is not loaded")
}
