package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// make makes all files of the release.
func (r *release) make(ctx context.Context) error {
	for _, f := range formats {
		if f.alone == nil || !slices.Contains(r.formats, f.name) {
			continue
		}
		if err := f.alone(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if slices.ContainsFunc(formats, func(f format) bool { return f.alone == nil && slices.Contains(r.formats, f.name) }) {
		if err := r.makePrograms(ctx); err != nil {
			return err
		}
	}
	return r.sums()
}

// makePrograms builds the programs, and makes the files that have them.
func (r *release) makePrograms(ctx context.Context) error {
	host, err := r.host(ctx)
	if err != nil {
		return err
	}
	usr, err := r.stage(ctx, host, "/usr")
	if err != nil {
		return err
	}
	local, err := r.stage(ctx, host, "/usr/local")
	if err != nil {
		return err
	}
	var ins []input
	for _, arch := range r.arches {
		program, err := r.program(ctx, arch)
		if err != nil {
			return err
		}
		gpu, err := r.gpuProgram(ctx, arch)
		if err != nil {
			return err
		}
		in := input{
			arch: arch, program: program, gpu: gpu, stage: r.staged("/usr"),
			usr:   usr.withProgram("/usr/bin/pcp", program).with("/usr/bin/pcp-gpu", gpu),
			local: local.withProgram("/usr/local/bin/pcp", program).with("/usr/local/bin/pcp-gpu", gpu),
		}
		ins = append(ins, in)
		r.started = time.Now()
		for _, f := range formats {
			if f.make == nil || !slices.Contains(r.formats, f.name) {
				continue
			}
			if err := f.make(ctx, r, in); err != nil {
				return fmt.Errorf("%s for %s: %w", f.name, arch, err)
			}
		}
	}
	for _, f := range formats {
		if f.together == nil || !slices.Contains(r.formats, f.name) {
			continue
		}
		if err := f.together(ctx, r, ins); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// An input is what the files for one architecture are made of.
type input struct {
	arch       string // in Go's words
	usr, local tree   // the installed files, with the program of the architecture
	program    string // its path
	gpu        string // the path of pcp-gpu
	stage      string // the directory above usr, where the program is that of this machine
}

// A format is a kind of file.
type format struct {
	name     string
	make     func(ctx context.Context, r *release, in input) error    // for each architecture
	together func(ctx context.Context, r *release, ins []input) error // for all
	alone    func(ctx context.Context, r *release) error              // of the source, without a program
}

// formats are all formats, in the order of the table of files.
var formats = []format{
	{name: "tar.gz", make: makeTar},
	{name: "deb", make: makePackages("deb")},
	{name: "rpm", make: makePackages("rpm")},
	{name: "apk", make: makePackages("apk")},
	{name: "archlinux", make: makePackages("archlinux")},
	{name: "image", make: makeImage},
	{name: "oci", together: makeLayout},
	{name: "sbom", make: makeSBOM},
	{name: "chart", alone: makeChart},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// host returns the path of a program for this machine, which lists the links and writes the manual pages.
func (r *release) host(ctx context.Context) (string, error) {
	if runtime.GOOS == "linux" && slices.Contains(r.arches, runtime.GOARCH) {
		return r.program(ctx, runtime.GOARCH)
	}
	return r.build(ctx, runtime.GOOS, runtime.GOARCH)
}

// program returns the path of the program for an architecture, which it builds once.
func (r *release) program(ctx context.Context, arch string) (string, error) {
	return r.build(ctx, "linux", arch)
}

func (r *release) build(ctx context.Context, goos, arch string) (string, error) {
	flags := "-s -w -buildid= -X github.com/go-pcp/pcp/internal/version.commit=" + r.source.commit
	return r.compile(ctx, goos, arch, "pcp", "", "-ldflags", flags, "./cmd/pcp")
}

// gpuProgram returns the path of pcp-gpu for an architecture. It is a module of its own, linked dynamically.
func (r *release) gpuProgram(ctx context.Context, arch string) (string, error) {
	return r.compile(ctx, "linux", arch, "pcp-gpu", "off", "-C", "cmd/pcp-gpu", "-ldflags", "-s -w -buildid=", ".")
}

// compile builds a program once, and returns its path. The first of args may be -C and a directory.
func (r *release) compile(ctx context.Context, goos, arch, name, work string, args ...string) (string, error) {
	path, err := filepath.Abs(filepath.Join(r.work, goos+"-"+arch, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	command := []string{"build"}
	if args[0] == "-C" {
		command, args = append(command, args[:2]...), args[2:]
	}
	command = append(append(command, "-trimpath", "-buildvcs=false", "-o", path), args...)
	cmd := exec.CommandContext(ctx, goCommand(), command...)
	// Variables that change the program are set, whatever they are in this environment.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK="+work, "GOFIPS140=off")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s for %s/%s: %w\n%s", name, goos, arch, err, strings.TrimSpace(string(out)))
	}
	fmt.Fprintf(os.Stderr, "release: built %s for %s/%s in %v\n", name, goos, arch, time.Since(start).Round(100*time.Millisecond))
	return path, nil
}

// goCommand returns the name of the go command, which make passes in GO.
func goCommand() string {
	return cmp.Or(os.Getenv("GO"), "go")
}

// goEnv returns a setting of the go command.
func goEnv(name string) (string, error) {
	out, err := exec.Command(goCommand(), "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}
