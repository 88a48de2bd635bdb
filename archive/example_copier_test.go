package archive_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// recordTwo writes an archive of two metrics.
func recordTwo(path string) error {
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Host: "dark.example.com", TimeZone: "UTC"}})
	if err != nil {
		return err
	}
	defer w.Close()
	procs := pcp.Desc{PMID: pcp.NewPMID(60, 2, 3), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	if err := w.Desc(procs, "kernel.all.nprocs", "nprocs"); err != nil {
		return err
	}
	uname := pcp.Desc{PMID: pcp.NewPMID(60, 12, 5), Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
	if err := w.Desc(uname, "kernel.uname"); err != nil {
		return err
	}
	for i := range 3 {
		res := pcp.Result{Time: pcp.Timestamp{Sec: int64(1000 + 10*i)}}
		res.AddSet(procs.PMID)
		res.Add(pcp.Uint32Value(uint32(100 + i)))
		res.AddSet(uname.PMID)
		res.Add(pcp.StringValue("dark 6.1"))
		if err := w.WriteResult(&res); err != nil {
			return err
		}
	}
	return w.Close()
}

// A copy of an archive without a metric, in which another metric has a new name.
func ExampleCopier() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "20260101") // or that of an archive of pmlogger
	if err := recordTwo(path); err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	drop, _ := a.Meta().LookupName("kernel.uname")
	w, err := archive.Create(filepath.Join(dir, "copy"), archive.WriterConfig{Label: a.Label()})
	if err != nil {
		log.Fatal(err)
	}
	c := archive.NewCopier(w)

	mr, closer, err := a.OpenMeta()
	if err != nil {
		log.Fatal(err)
	}
	defer closer.Close()
	for {
		m, err := mr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		body := mr.Body()
		if m.Type == archive.MetaDesc {
			if m.Desc.PMID == drop {
				continue
			}
			m.Names = append(m.Names, "my.nprocs")
			body = nil // m has changed
		}
		if err := c.Meta(m, body); err != nil {
			log.Fatal(err)
		}
	}

	s := archive.NewScanner(a)
	defer s.Close()
	for rec, err := range s.Records() {
		if err != nil {
			log.Fatal(err)
		}
		parts := []archive.Part{}
		for _, set := range rec.Sets {
			if set.PMID != drop {
				parts = append(parts, archive.Part{Set: set})
			}
		}
		if err := c.Record(rec, parts); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	copied, err := archive.Open(w.Path())
	if err != nil {
		log.Fatal(err)
	}
	defer copied.Close()
	for name := range copied.Meta().NamesInOrder() {
		fmt.Println(name)
	}
	for res, err := range copied.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Time.Sec, len(res.Sets))
	}
	// Output:
	// kernel.all.nprocs
	// nprocs
	// my.nprocs
	// 1000 1
	// 1010 1
	// 1020 1
}
