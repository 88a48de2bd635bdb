// Releasecheck builds the program as its users will after a release: against the library as a
// module with a version, from a file proxy, without the workspace and the replace directive.
//
//	go run ./scripts/releasecheck              the version is that of cmd/go.mod
//
// It takes the files that git knows, so that a file forgotten in a commit is missed here and not by
// users. docs/releasing.md has the steps of a release.
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	library = "github.com/go-pcp/pcp"
	program = "cmd"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "releasecheck:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "releasecheck")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mod, err := os.ReadFile(program + "/go.mod")
	if err != nil {
		return err
	}
	version, mod, err := released(mod)
	if err != nil {
		return err
	}
	files, err := tracked()
	if err != nil {
		return err
	}
	proxy := filepath.Join(dir, "proxy")
	if err := publish(proxy, version, files); err != nil {
		return err
	}
	src := filepath.Join(dir, "src")
	for _, f := range moduleFiles(files, program) {
		if err := copyFile(filepath.Join(src, strings.TrimPrefix(f, program+"/")), f); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(src, "go.mod"), mod, 0o666); err != nil {
		return err
	}
	// The requirements of other modules are taken from the cache of this machine, and only the
	// library from the proxy.
	out, err := exec.Command("go", "env", "GOPROXY", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	upstream, cache, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "pcp"), "./pcp")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GONOSUMDB="+library,
		"GOMODCACHE="+filepath.Join(dir, "cache"),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(filepath.Join(cache, "cache", "download"))+","+upstream)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building the program against %s@%s: %w", library, version, err)
	}
	exec.Command("chmod", "-R", "u+w", filepath.Join(dir, "cache")).Run() // the module cache is read-only
	out, err = exec.Command(filepath.Join(dir, "pcp"), "version").Output()
	if err != nil {
		return fmt.Errorf("running the program: %w", err)
	}
	fmt.Printf("%s@%s and the program build apart: %s", library, version, out)
	return nil
}

// released returns the version of the library in the program's go.mod, and that file as a release
// has it: without the replace directive.
func released(mod []byte) (version string, released []byte, err error) {
	m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(library) + ` (v\S+)$`).FindSubmatch(mod)
	if m == nil {
		return "", nil, fmt.Errorf("%s/go.mod does not require %s", program, library)
	}
	replaced := regexp.MustCompile(`(?m)^(//.*\n)?replace ` + regexp.QuoteMeta(library) + ` => .*\n`)
	return string(m[1]), replaced.ReplaceAll(mod, nil), nil
}

// tracked returns the files that git knows and that exist.
func tracked() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(files, func(f string) bool {
		st, err := os.Lstat(f)
		return err != nil || !st.Mode().IsRegular()
	}), nil
}

// moduleFiles returns the files of the module in a folder, "" for the root: those below it that
// are not in a module further below.
func moduleFiles(files []string, dir string) []string {
	var nested []string
	for _, f := range files {
		if d := path.Dir(f); path.Base(f) == "go.mod" && d != "." && d != dir {
			nested = append(nested, d+"/")
		}
	}
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		if dir != "" && !strings.HasPrefix(f, dir+"/") {
			return true
		}
		return slices.ContainsFunc(nested, func(n string) bool { return len(n) > len(dir) && strings.HasPrefix(f, n) })
	})
}

// publish writes the library to a folder in the layout of a module proxy.
func publish(proxy, version string, files []string) error {
	dir := filepath.Join(proxy, filepath.FromSlash(library), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf(`{"Version":%q}`, version),
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, name := range moduleFiles(files, "") {
		w, err := z.Create(library + "@" + version + "/" + name)
		if err != nil {
			return err
		}
		if err := appendFile(w, name); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

func appendFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o666)
}
