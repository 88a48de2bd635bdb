package agentadmin

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmns"
)

// defaultDomain is the domain of a new agent, which is not known to be in use.
const defaultDomain = 400

// maxName is the maximum length of an agent's name, so that it is valid as a file name.
const maxName = 64

var newCommand = &cli.Command{
	Name:     "agent new",
	Summary:  "generate a new agent in Go",
	Synopsis: "[options] name",
	Examples: []cli.Example{
		{Line: "pcp agent new hello", Text: "create a folder with an agent in Go, its test and its configuration"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Long: "dir", Arg: "DIR", Help: "where it is written [default ./NAME]"},
			optDomain,
			{Long: "module", Arg: "PATH", Help: "path of the Go module [default pmdaNAME]"},
			{Long: "module-dir", Arg: "DIR", Help: "build with the checkout of this software in DIR, not a published version"},
			{Long: "trivial", Help: "one metric and no more, in 25 lines"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         runNew,
}

//go:embed template
var templates embed.FS

func runNew(_ context.Context, env *cli.Env) int {
	var dir, module, checkout string
	trivial, domain := false, defaultDomain
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "dir":
			dir = arg
		case "domain":
			domain = parseDomain(o, arg)
		case "module":
			module = arg
		case "module-dir":
			checkout = arg
		case "trivial":
			trivial = true
		default:
			return false
		}
		return true
	}})
	if !o.WantsVersion() && !o.Errors() && len(o.Args) != 1 {
		o.Usagef("the name of one agent is needed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	name := o.Args[0]
	if module == "" {
		module = "pmda" + name
	}
	if dir == "" {
		dir = name
	}
	if err := checkNew(name, module, domain); err != nil {
		return env.Fatalf("%v", err)
	}
	goMod, goSum, err := modFiles(module, env.Version, checkout)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	files := append([]newFile{{"go.mod", goMod}}, newFiles(name, domain, trivial)...)
	if goSum != "" { // after go.mod, or make would think it outdated
		files = append(files, newFile{"go.sum", goSum})
	}
	if err := writeNew(dir, files); err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	fmt.Fprintf(env.Stdout, "%s: agent %s with domain %d; \"make check\" there builds and tests it\n", dir, name, domain)
	return 0
}

// checkNew checks the name and numbers of a new agent.
func checkNew(name, module string, domain int) error {
	if !pmns.ValidName(name) || strings.ContainsAny(name, ".") || strings.ToLower(name) != name || len(name) > maxName {
		return fmt.Errorf("%q cannot be the name of a new agent: it must be small letters, digits and underscores, %d at most, and begin with a letter", name, maxName)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~/-]*$`).MatchString(module) {
		return fmt.Errorf("%q cannot be the path of a Go module", module)
	}
	for _, b := range agent.Builtins() {
		if b.Name == name {
			return fmt.Errorf("%s is the name of an agent of this program", name)
		}
		if b.Domain == domain {
			return fmt.Errorf("domain %d is that of agent %s", domain, b.Name)
		}
	}
	return nil
}

// A newFile is a file of a new agent.
type newFile struct{ name, text string }

func newFiles(name string, domain int, trivial bool) []newFile {
	// The name of the type must be neither a keyword nor already in use.
	fill := strings.NewReplacer("@NAME@", name, "@TYPE@", name+"Agent", "@DOMAIN@", strconv.Itoa(domain))
	text := func(template string) string {
		b, err := templates.ReadFile("template/" + template + ".txt")
		if err != nil {
			panic(err) // it is built in
		}
		return fill.Replace(string(b))
	}
	source := "main.go"
	if trivial {
		source = "trivial.go"
	}
	return []newFile{
		{"main.go", text(source)},
		{"main_test.go", text("main_test.go")},
		{"Makefile", text("Makefile")},
		{"README.md", text("README.md")},
	}
}

// ourModule is the module that agents import.
const ourModule = "github.com/go-pcp/pcp"

// modFiles returns the go.mod of a new agent, and its go.sum if known: with a checkout
// of our module, which replaces a published version, both are derived from the files
// there and nothing must be fetched.
func modFiles(module, version, checkout string) (goMod, goSum string, err error) {
	mod := "module " + module + "\n\ngo 1.26.0\n"
	published := regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(version)
	if checkout == "" {
		if published {
			mod += "\nrequire " + ourModule + " " + version + "\n"
		}
		return mod + "\n// To build with a checkout of it on this machine:\n// replace " + ourModule + " => ../pcp\n", "", nil
	}
	if checkout, err = filepath.Abs(checkout); err != nil {
		return "", "", err
	}
	theirs, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return "", "", err
	}
	if !regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(ourModule) + `\s*$`).Match(theirs) {
		return "", "", fmt.Errorf("%s is not a checkout of %s", checkout, ourModule)
	}
	sum, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		return "", "", err
	}
	if !published {
		version = "v0.0.0"
	}
	mod += "\nrequire " + ourModule + " " + version + "\n\nreplace " + ourModule + " => " + strconv.Quote(checkout) + "\n"
	// The agent has the same requirements, in the same versions.
	for _, block := range regexp.MustCompile(`(?ms)^require \(\n.*?^\)\n`).FindAll(theirs, -1) {
		mod += "\n" + string(block)
	}
	return mod, string(sum), nil
}

// writeNew writes files into dir, which it creates; the files must not exist. On an
// error it removes the files written so far.
func writeNew(dir string, files []newFile) (err error) {
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists; nothing is written", path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var done []string
	defer func() {
		if err != nil {
			for _, path := range done {
				os.Remove(path)
			}
		}
	}()
	for _, file := range files {
		path := filepath.Join(dir, file.name)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		done = append(done, path)
		_, err = f.WriteString(file.text)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
