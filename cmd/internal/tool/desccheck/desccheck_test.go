package desccheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pmns"), 0o777); err != nil {
		t.Fatal(err)
	}
	text := "/* comment */\n#define OURS 499\n#define BAD x\n#define FAR 99999\n#define SHORT\n"
	if err := os.WriteFile(filepath.Join(dir, "pmns", "stdpmid"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	known := Known(dir)
	f := func(change func(*pcp.Desc), want ...string) {
		t.Helper()
		d := pcp.Desc{
			PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeU64, InDom: pcp.NewInDom(60, 1), Sem: pcp.SemCounter,
			Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0),
		}
		change(&d)
		if got := Check(&d, known); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(func(*pcp.Desc) {})
	f(func(d *pcp.Desc) { d.PMID, d.InDom = pcp.NewPMID(499, 0, 0), pcp.NewInDom(499, 1) })
	f(func(d *pcp.Desc) { d.PMID, d.InDom = pcp.NewPMID(498, 0, 1), pcp.InDomNull },
		"Warning: domain (498) in metric pmid (498.0.1) is not recognized")
	f(func(d *pcp.Desc) { d.PMID, d.Type = pcp.NewPMID(498, 0, 1), pcp.TypeNoSupport },
		"Warning: domain (498) in metric pmid (498.0.1) is not recognized")
	f(func(d *pcp.Desc) { d.InDom = pcp.NewInDom(498, 3) },
		"Warning: domain (498) in metric indom (498.3) is not recognized",
		"Warning: domain (60) in metric pmid (60.2.0) different to domain (498) in metric indom (498.3)")
	f(func(d *pcp.Desc) { d.PMID = pcp.NewPMID(511, 0, 1) })
	f(func(d *pcp.Desc) { d.Type, d.Sem = 77, 2 },
		"Error: metric type (77) is not one of the valid PM_TYPE_* values",
		"Error: metric semantics (2) is not one of the valid PM_SEM_* values")
	f(func(d *pcp.Desc) { d.Units = pcp.NewUnits(3, -3, 7, 7, 6, 0) },
		"Warning: unusual dimension (3) for Space in pmUnits",
		"Warning: unusual dimension (-3) for Time in pmUnits",
		"Warning: unusual dimension (7) for Count in pmUnits",
		"Error: scale (7) for Space in pmUnits is not one of the valid PM_SPACE_* values",
		"Error: scale (6) for Time in pmUnits is not one of the valid PM_SPACE_* values")
	f(func(d *pcp.Desc) { d.Units = pcp.NewUnits(0, 0, 0, 1, 3, 6) },
		"Error: non-zero scale (1) with zero dimension for Space in pmUnits",
		"Error: non-zero scale (3) with zero dimension for Time in pmUnits",
		"Error: non-zero scale (6) with zero dimension for Count in pmUnits")
	f(func(d *pcp.Desc) { d.Units = pcp.Units{Extra: pcp.Microwatt} })
	f(func(d *pcp.Desc) { d.Units = pcp.Units{Extra: pcp.Celsius + 3} },
		"Error: extraScale (4) in pmUnits is not one of the valid PM_TEMPERATURE_* values")
	f(func(d *pcp.Desc) { d.Units = pcp.Units{Extra: 0xff} },
		"Error: extraUnit (-1) in pmUnits is not one of the valid PM_UNIT_* values")
}
