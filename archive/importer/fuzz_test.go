package importer_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// FuzzImport puts any strings into an archive: accepted strings can be read back.
func FuzzImport(f *testing.F) {
	for i, v := range numbers {
		f.Add("a.metric", "instance "+v, v, "label", v, uint8(i))
	}
	f.Add("a", "", "1", "n\"", `"`, uint8(5))
	f.Add("é", "a\x00b", "\x00", "a.b", "[1,2]", uint8(6))
	f.Add("a", strings.Repeat("x", 5000), strings.Repeat("y", 70000), "n", strings.Repeat("z", 70000), uint8(13))
	f.Fuzz(func(t *testing.T, name, inst, value, label, labelValue string, mode uint8) {
		im := start(t, importer.Options{Version: 2 + int(mode>>7), Host: name + "h", TimeZone: inst + "z", ZoneInfo: value})
		desc := pcp.Desc{PMID: pcp.PMIDNull, Type: pcp.Type(mode & 7), InDom: pcp.NewInDom(1, 2), Sem: pcp.SemInstant}
		if mode&8 != 0 {
			desc.InDom = pcp.InDomNull
		}
		must(t, func() error { _, err := im.AddMetric("sure", desc1); return err }())
		must(t, im.PutValue("sure", "", "1"))
		im.AddMetric(name, desc)
		added := im.AddInstance(desc.InDom, inst, 5) == nil
		im.AddInstance(desc.InDom, value, 6)
		taken := im.PutValue(name, inst, value) == nil
		im.PutText(pcp.TextPMID|pcp.TextHelp, 7, value)
		im.PutLabel(pcp.LabelFlags(1<<(mode&7)), 5, 5, label, labelValue)
		must(t, im.Write(t0))
		must(t, im.End())
		a := open(t, im)
		r := a.NewReader()
		defer r.Close()
		res, err := r.Next()
		must(t, err)
		if id, ok := a.Meta().LookupName(name); taken && name != "sure" && (!ok || len(res.Sets) != 2 || res.Sets[1].PMID != id) {
			t.Errorf("metric %q is %v, %t, not in %v", name, id, ok, res.Sets)
		}
		if taken && added && desc.InDom != pcp.InDomNull {
			if got, ok := a.Meta().View(desc.InDom, res.Time).Name(5); !ok || got != inst {
				t.Errorf("instance %q, want %q", got, inst)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("another record, or %v", err)
		}
		for _, part := range []string{".0", ".meta", ".index"} {
			os.Remove(im.Path() + part)
		}
	})
}

var desc1 = pcp.Desc{PMID: pcp.PMIDNull, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
