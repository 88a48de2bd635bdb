package rewrite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/rewrite"
)

// An archive gets another host, and a metric another name and type.
func Example() {
	dir, err := os.MkdirTemp("", "rewrite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := record(filepath.Join(dir, "old")); err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(filepath.Join(dir, "old"))
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	rules := rewrite.New(a, rewrite.Config{})
	err = rules.Parse("fix.conf", []byte(`
		global { hostname -> attic }
		metric cellar.bottles { name -> attic.boxes  type -> U64 }
	`))
	if err != nil {
		log.Fatal(err)
	}
	if err := rules.Resolve(); err != nil {
		log.Fatal(err)
	}
	w, err := archive.Create(filepath.Join(dir, "new"), archive.WriterConfig{Label: rules.Label(), ManualIndex: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := rules.Rewrite(context.Background(), w, nil); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	b, err := archive.Open(filepath.Join(dir, "new"))
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	fmt.Println(b.Label().Host)
	for res, err := range b.Records(b.Label().Start, archive.Forward) {
		if err != nil {
			log.Fatal(err)
		}
		for _, vs := range res.Sets {
			desc, _ := b.Meta().Desc(vs.PMID)
			fmt.Println(b.Meta().Names(vs.PMID)[0], desc.Type, vs.Values[0])
		}
	}
	// Output:
	// attic
	// attic.boxes U64 12
	// attic.boxes U64 11
}

// Mistakes are found with their line.
func ExampleRules_Parse() {
	dir, err := os.MkdirTemp("", "rewrite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := record(filepath.Join(dir, "old")); err != nil {
		log.Fatal(err)
	}
	a, err := archive.Open(filepath.Join(dir, "old"))
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	rules := rewrite.New(a, rewrite.Config{Verbose: true, Warn: func(w rewrite.Warning) { fmt.Println("warning:", w) }})
	err = rules.Parse("fix.conf", []byte("metric cellar.bottles {\n  type -> U32\n}\nmetric cellar.bottles {\n  sem -> nonsense\n}\n"))
	fmt.Println(err)
	// Output:
	// warning: fix.conf:2: Metric: cellar.bottles (245.0.1): type: PM_TYPE_U32: No change
	// fix.conf[5]: Expecting XXX (from PM_SEM_XXX) in sem clause
}

// record writes an archive of two records.
func record(base string) error {
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: "cellar", TimeZone: "UTC"}})
	if err != nil {
		return err
	}
	bottles := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	if err := w.Desc(bottles, "cellar.bottles"); err != nil {
		return err
	}
	for i := range 2 {
		var res pcp.Result
		res.Time = pcp.Timestamp{Sec: int64(1700000000 + 10*i)}
		res.AddSet(bottles.PMID)
		res.Sets[0].ValFmt = pcp.ValInSitu
		res.Add(pcp.Uint32Value(uint32(12 - i)))
		if err := w.WriteResult(&res); err != nil {
			return err
		}
	}
	return w.Close()
}
