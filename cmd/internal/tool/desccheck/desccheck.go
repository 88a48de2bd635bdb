// Package desccheck finds mistakes in the descriptors of metrics, with the words of PCP 7.
package desccheck

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/stdpmid"
)

// maxPower is the largest power of a dimension that is likely.
const maxPower = 2

// Domains has a flag for each domain.
type Domains [stdpmid.MaxNumber + 1]bool

// Known returns the domains that have a name, in PCP or in the installed stdpmid of a directory.
func Known(varDir string) *Domains {
	known := &Domains{pcp.DomainDynamic: true}
	add := func(n int) {
		if n >= 0 && n < len(known) {
			known[n] = true
		}
	}
	for d := range stdpmid.All() {
		add(d.Number)
	}
	// Without the file, the table is all there is.
	text, _ := os.ReadFile(filepath.Join(varDir, "pmns", "stdpmid"))
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "#define" {
			continue
		}
		if n, err := strconv.Atoi(words[2]); err == nil {
			add(n)
		}
	}
	return known
}

// extraUnits has for each extra unit the word in the names of its scales, and the number of those.
var extraUnits = [...]struct {
	word   string
	scales int
}{1: {"TEMPERATURE", 3}, 2: {"VOLTAGE", 3}, 3: {"CURRENT", 3}, 4: {"POWER", 4}}

// Check returns a line for each mistake in a descriptor. It begins with Warning or Error.
func Check(d *pcp.Desc, known *Domains) []string {
	var lines []string
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}

	domain := d.PMID.Domain()
	add(!known[domain], "Warning: domain (%d) in metric pmid (%s) is not recognized", domain, d.PMID)
	if d.Type == pcp.TypeNoSupport {
		return lines // nothing else is known
	}
	if d.InDom != pcp.InDomNull {
		of := d.InDom.Domain()
		add(!known[of], "Warning: domain (%d) in metric indom (%s) is not recognized", of, d.InDom)
		add(domain != pcp.DomainDynamic && domain != of,
			"Warning: domain (%d) in metric pmid (%s) different to domain (%d) in metric indom (%s)", domain, d.PMID, of, d.InDom)
	}
	add(d.Type < pcp.Type32 || d.Type > pcp.TypeHighResEvent, "Error: metric type (%d) is not one of the valid PM_TYPE_* values", int(d.Type))
	add(d.Sem != pcp.SemCounter && d.Sem != pcp.SemInstant && d.Sem != pcp.SemDiscrete,
		"Error: metric semantics (%d) is not one of the valid PM_SEM_* values", int(d.Sem))

	u := &d.Units
	dims := []struct {
		name         string
		power, scale int
		largest      int // scale
	}{
		{"Space", int(u.DimSpace), int(u.ScaleSpace), pcp.SpaceEByte},
		{"Time", int(u.DimTime), int(u.ScaleTime), pcp.TimeHour},
		{"Count", int(u.DimCount), int(u.ScaleCount), int(u.ScaleCount)}, // each power of ten is possible
	}
	for _, dim := range dims {
		add(dim.power < -maxPower || dim.power > maxPower, "Warning: unusual dimension (%d) for %s in pmUnits", dim.power, dim.name)
	}
	for _, dim := range dims {
		add(dim.power == 0 && dim.scale != 0, "Error: non-zero scale (%d) with zero dimension for %s in pmUnits", dim.scale, dim.name)
		// The C tool names PM_SPACE_* for times as well.
		add(dim.scale > dim.largest, "Error: scale (%d) for %s in pmUnits is not one of the valid PM_SPACE_* values", dim.scale, dim.name)
	}

	switch unit, scale := int(int8(u.Extra)>>3), int(u.Extra&7); {
	case unit == 0:
	case unit < 0 || unit >= len(extraUnits):
		add(true, "Error: extraUnit (%d) in pmUnits is not one of the valid PM_UNIT_* values", unit)
	case scale < 1 || scale > extraUnits[unit].scales:
		add(true, "Error: extraScale (%d) in pmUnits is not one of the valid PM_%s_* values", scale, extraUnits[unit].word)
	}
	return lines
}
