package resctrl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

func TestAgent(t *testing.T) {
	data := mountPoint + "/mon_data/"
	a, err := New(Config{Root: agenttest.Tree(t, map[string]string{
		caches + "/index2/level": "2\n", caches + "/index2/size": "1024K\n",
		caches + "/index3/level": "3\n", caches + "/index3/size": "32768K\n",
		data + "mon_L3_00/llc_occupancy": "8388608\n", data + "mon_L3_00/mbm_local_bytes": "123456789012\n", data + "mon_L3_00/mbm_total_bytes": "223456789012\n",
		data + "mon_L3_01/llc_occupancy": "Unavailable\n", data + "mon_L3_01/mbm_local_bytes": "Error\n",
		data + "mon_MB_00/x": "1\n",
	})})
	if err != nil {
		t.Fatal(err)
	}
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
	v := agenttest.Read(t, a)
	for name, want := range map[string]string{
		"occupancy": "map[mon_L3_00:0.25]", "mbm_local": "map[mon_L3_00:123456789012]", "mbm_total": "map[mon_L3_00:223456789012]",
	} {
		if got := fmt.Sprint(v["resctrl.llc."+name]); got != want {
			t.Errorf("resctrl.llc.%s is %s, want %s", name, got, want)
		}
	}
}

// FuzzNumber reads a file of any bytes.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1\n", "32768K\n", "Unavailable\n", "99999999999999999999", "-1", ""} {
		f.Add([]byte(s), "K")
	}
	f.Fuzz(func(t *testing.T, b []byte, unit string) {
		if v, ok := parse(b, unit); ok && !strings.Contains(string(b), strconv.FormatUint(v, 10)) && v != math.MaxUint64 {
			t.Errorf("%q is %d", b, v)
		}
	})
}
