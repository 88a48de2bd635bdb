package importer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/internal/importrun"
)

// TestProgram checks that a program is listed from Start to the end of its archive.
func TestProgram(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	listed := func(want ...string) {
		t.Helper()
		tools, err := importrun.List(run, func(pid int) bool { return pid == os.Getpid() })
		var got []string
		for _, tool := range tools {
			got = append(got, tool.Name+" "+tool.Version+" "+tool.Args+" "+filepath.Base(tool.Archive))
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("listed %v, %v, want %v", got, err, want)
		}
	}
	opt := importer.Options{Program: "tool", ProgramVersion: "1", ProgramArgs: "a.csv", ProgramDir: run, ProgramError: func(err error) { t.Error(err) }}
	for _, end := range []func(*importer.Importer) error{(*importer.Importer).End, (*importer.Importer).Discard} {
		im := start(t, opt)
		must(t, func() error { _, err := im.AddMetric("sure", desc1); return err }())
		must(t, im.PutValue("sure", "", "1"))
		must(t, im.Write(t0))
		listed("tool 1 a.csv " + filepath.Base(im.Path()))
		must(t, end(im))
		listed()
	}

	// Without a record; and the file of another process stays.
	im := start(t, opt)
	if err := im.End(); !errors.Is(err, importer.ErrNoData) {
		t.Errorf("End = %v", err)
	}
	listed()
	im = start(t, opt)
	must(t, importrun.Write(run, "tool", importrun.Status{Args: "other"}))
	must(t, im.Discard())
	listed("tool  other .")

	opt.Periodic = true
	im = start(t, opt)
	must(t, im.Discard())
	listed("tool 1 a.csv " + filepath.Base(im.Path()))

	// A program that cannot be listed writes its archive all the same.
	var failed error
	opt.Program, opt.ProgramError = "../x", func(err error) { failed = err }
	im = start(t, opt)
	if !errors.Is(failed, os.ErrInvalid) {
		t.Errorf("a path as the name: %v", failed)
	}
	must(t, im.Discard())
}
