package archive

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// BenchmarkReopen opens an archive whose recorder was killed inside of a record, and whose
// index is behind: 64 MB of records, 2 GB in the long form. It measures the time to the
// end, and to the first record.
func BenchmarkReopen(b *testing.B) {
	base := filepath.Join(b.TempDir(), "x")
	w, err := Create(base, WriterConfig{Label: Label{Version: Version3, Host: "h"}})
	if err != nil {
		b.Fatal(err)
	}
	id := pcp.NewPMID(1, 2, 3)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "a.metric"); err != nil {
		b.Fatal(err)
	}
	value := pcp.StringValue(string(make([]byte, 10_000)))
	var res pcp.Result
	size := int64(longtest.N(64<<20, 2<<30))
	for i := int64(0); ; i++ {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: 1000 + i}
		res.AddSet(id)
		res.Add(value)
		if err := w.WriteResult(&res); err != nil {
			b.Fatal(err)
		}
		if _, at, _ := w.Position(); at >= size {
			break
		}
	}
	if err := w.Flush(); err != nil { // without Close: the index has no entry for the end
		b.Fatal(err)
	}
	f, err := os.OpenFile(base+".0", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := f.Write(binary.BigEndian.AppendUint32(nil, 10_000)); err != nil {
		b.Fatal(err)
	}
	f.Close()
	for _, how := range []string{"open", "trim"} {
		b.Run(how, func(b *testing.B) {
			for b.Loop() {
				if how == "trim" {
					if _, err := Trim(base); err != nil {
						b.Fatal(err)
					}
				}
				a, err := Open(base)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := a.End(); err != nil {
					b.Fatal(err)
				}
				r := a.NewReader()
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
				r.Close()
				a.Close()
			}
		})
	}
	w.Discard()
}
