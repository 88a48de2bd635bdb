package getopt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
)

// FuzzOptions gives a program any arguments, and any text in the files that they can name.
func FuzzOptions(f *testing.F) {
	f.Add("-a x -h y -s 3 -t 5sec a b", "one\ntwo # three\n", "PCP_HOST=z")
	f.Add("--archive-folio file", "PCPFolio\nVersion: 1\nArchive: x y\nArchive: x\nArchive:\n", "")
	f.Add("-H file --host-list a,,b -n file", "root { a 1:2:3 }\n", "PCP_FOLIO=file")
	f.Add("-D pdu,7 -p 1 -g -z -Z x -S @1 --samp=9 -- -x", "", "PCP_SAMPLES=-1")
	f.Add("-? --help -V -wx -tx --width", "\x00", "POSIXLY_CORRECT=")
	f.Fuzz(func(t *testing.T, args, text, env string) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "#shell") || strings.ContainsAny(args+env, "/.%") {
			return // runs a command, or names a file of this machine
		}
		name, value, _ := strings.Cut(strings.ReplaceAll(env, "file", path), "=")
		if name == "PCP_STDERR" || name == "PCP_CONF" || name == "PCP_DIR" || name == "PCP_VAR_DIR" {
			return
		}
		var out bytes.Buffer
		words := strings.Fields(args)
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "file", path)
		}
		o := getopt.NewOptions(&getopt.Program{
			Options: getopt.General, Multi: true, Mixed: len(args)%2 == 0, Stdout: &out, Stderr: &out,
			Config: config.NewLookup(func(n string) (string, bool) {
				if n == "PCP_CONF" {
					return os.DevNull, true
				}
				if n == name {
					return value, true
				}
				return "", false
			}),
		}, append([]string{"tool"}, words...))
		o.Parse()
		wrong := o.Errors()
		status, exit := o.Done()
		switch {
		case exit != (wrong || o.WantsVersion()), exit && status != 0 != (wrong && !o.WantsVersion()):
			t.Errorf("status %d, exit %t, errors %t", status, exit, wrong)
		case exit && out.Len() == 0:
			t.Error("it exits and says nothing")
		case len(o.Args) > len(words):
			t.Errorf("%d arguments of %d words", len(o.Args), len(words))
		}
	})
}
