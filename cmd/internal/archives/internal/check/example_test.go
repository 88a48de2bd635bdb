package check_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
)

// An archive that was cut when the disk was full.
func ExampleChecker() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "20260101")
	if err := write(base); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.Truncate(base+".0", 840); err != nil {
		fmt.Println(err)
		return
	}
	c := check.Checker{Path: base, Found: func(f check.Finding) {
		fmt.Println(filepath.Base(f.File), f.Offset, f.Severity, f.Text)
	}}
	fmt.Println("whole:", c.Run())
	// Output:
	// 20260101.0 808 error [record 1] unexpected EOF in record body, wanted 36, got 28 bytes
	// 20260101.0 808 note last complete record ends here
	// whole: false
}

// write writes an archive of two records.
func write(base string) error {
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: "web1"}})
	if err != nil {
		return err
	}
	defer w.Close()
	id := pcp.NewPMID(60, 2, 0)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "example.users"); err != nil {
		return err
	}
	for sec := range int64(2) {
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1767225600 + sec}}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(7))
		if err := w.WriteResult(res); err != nil {
			return err
		}
	}
	return w.Close()
}
