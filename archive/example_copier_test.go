package archive_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/archive"
)

// A copy of an archive without a metric, in which another one has a new name.
func ExampleCopier() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m := small(archive.Version3)
	base := filepath.Join(dir, "small")
	for suffix, b := range map[string][]byte{".meta": m.meta, ".0": m.data, ".index": m.index} {
		os.WriteFile(base+suffix, b, 0o666)
	}

	a, err := archive.Open(base)
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
			m.Names = append(m.Names, "my.load")
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
	// kernel.all.load
	// load
	// my.load
	// 1000 2
	// 1010 2
	// 1020 2
	// 1025 0
	// 1030 2
}
