package importcmd_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/exchange/importcmd"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"import": func() {
			os.Exit(importcmd.Command.Run(context.Background(), &cli.Env{
				Name: "pcp import", Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Getenv: os.Getenv, LookupEnv: os.LookupEnv, Version: "6.0.3", Command: importcmd.Command,
			}))
		},
		"labels": func() {
			if err := labels(os.Stdout, os.Args[1], os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
		"dump": func() {
			if err := dump(os.Stdout, os.Args[1]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

// labels prints the labels of the instances of a metric at the end of an archive.
func labels(w io.Writer, path, name string) error {
	a, err := archive.Open(path)
	if err != nil {
		return err
	}
	defer a.Close()
	id, _ := a.Meta().LookupName(name)
	desc, err := a.Meta().Desc(id)
	if err != nil {
		return err
	}
	sets, _ := a.Meta().LookupLabels(pcp.LabelInstances, uint32(desc.InDom), pcp.Timestamp{Sec: 1 << 40})
	for _, set := range sets {
		fmt.Fprintf(w, "%d %s\n", set.Inst, set.JSON)
	}
	return nil
}

// TestScripts runs the scripts in testdata/script; UPDATE=1 writes the outputs
// into them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TZ", "UTC")
			env.Setenv("PCP_ARCHIVE_VERSION", "3")
			env.Setenv("PCP_IMPORTRUN_DIR", env.WorkDir+"/run")
			return nil
		},
	})
}

// dump prints all that is in an archive.
func dump(w io.Writer, path string) error {
	a, err := archive.Open(path)
	if err != nil {
		return err
	}
	defer a.Close()
	l := a.Label()
	fmt.Fprintf(w, "version %d host %s zone %s\n", l.Version, l.Host, l.TimeZone)
	for _, d := range a.Meta().Descs() {
		fmt.Fprintf(w, "%s %s %s %s", d.PMID, a.Meta().Names(d.PMID)[0], d.Type, d.Sem)
		if d.Units != (pcp.Units{}) {
			fmt.Fprintf(w, " (%s)", d.Units)
		}
		if d.InDom != pcp.InDomNull {
			fmt.Fprintf(w, " of %s", d.InDom)
		}
		fmt.Fprintln(w)
	}
	list := a.Meta().InDoms()
	slices.Sort(list)
	for _, id := range list {
		for rec := range a.Meta().History(id) {
			fmt.Fprintf(w, "%s:", id)
			for _, in := range rec.Instances {
				fmt.Fprintf(w, " %d %q", in.Inst, in.Name)
			}
			fmt.Fprintln(w)
		}
	}
	for res, err := range a.Records(l.Start, archive.Forward) {
		if err != nil {
			return err
		}
		fmt.Fprint(w, res.Time.Time().UTC().Format(time.RFC3339Nano))
		for _, vs := range res.Sets {
			d, err := a.Meta().Desc(vs.PMID)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, " %d:", vs.PMID.Item())
			for _, v := range vs.Values {
				if v = v.As(d.Type); v.Inst != pcp.InNull {
					fmt.Fprintf(w, " [%d]", v.Inst)
				}
				if fmt.Fprint(w, " "); d.Type == pcp.TypeDouble {
					fmt.Fprint(w, v.Double())
				} else {
					fmt.Fprint(w, v)
				}
			}
		}
		fmt.Fprintln(w)
	}
	return nil
}
