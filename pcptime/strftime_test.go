package pcptime

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// strftimeFormats are formats whose results a test compares with the C library's.
var strftimeFormats = []string{
	"%a %A %b %h %B %c", "%C %d %D %e %F %g %G", "%H %I %j %k %l %m %M", "%p %P %r %R %s %S %T", "%u %U %V %w %W %x %X %y %Y %z %Z %%",
	"%^a|%#a|%^B|%#p|%^p|%#Z|%^P|%#P", "%10a|%010a|%-10a|%_10d|%010d|%-d|%_d|%0e|%-e|%10Y|%_10Y", "%Ey %Od %5%", "plain text", "%n|%t|",
}

func TestStrftimeOracle(t *testing.T) {
	times := []int64{0, 951782400, 1704067199, 1735603200, 1795262400, 1795262400 + 6*3600, 1609459200}
	in, _ := json.Marshal([]any{strftimeFormats, times})
	out := oracle.Python(t, []string{"TZ=UTC"}, `
import json, sys, time
formats, times = json.loads(sys.argv[1])
print(json.dumps([[time.strftime(f, time.localtime(t)) for t in times] for f in formats]))
`, string(in))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want [][]string
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	for i, format := range strftimeFormats {
		for j, sec := range times {
			if got := Strftime(format, time.Unix(sec, 0).UTC()); got != want[i][j] {
				t.Errorf("%q at %d: %q, want %q", format, sec, got, want[i][j])
			}
		}
	}
}

func FuzzStrftime(f *testing.F) {
	for _, s := range strftimeFormats {
		f.Add(s)
	}
	f.Add("%99999999999999999999d")
	f.Add("%")
	f.Add("%-")
	f.Fuzz(func(t *testing.T, format string) {
		Strftime(format, time.Unix(1795262400, 0).UTC())
	})
}
