package mmv_test

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	file "github.com/go-pcp/pcp/mmv"
)

// TestTextsStay keeps a result across requests: a collector may encode it while
// the agent serves the next request.
func TestTextsStay(t *testing.T) {
	dir := t.TempDir()
	reg, err := file.New("stay", file.Options{Dir: dir, Cluster: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	text := reg.String(file.Metric{Name: "text", Item: 1})
	text.Set("")
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	id := pcp.NewPMID(70, 7, 1)
	var kept [][]byte
	for _, s := range []string{"", "one", "two", "two"} {
		text.Set(s)
		b := fetch(t, a, id)[0].Values[0].Bytes()
		want(t, "text", string(b), s)
		kept = append(kept, b)
	}
	for i, s := range []string{"", "one", "two", "two"} {
		want(t, "a text of before", string(kept[i]), s)
	}
	if kept[0] == nil {
		t.Error("an empty text is no text at all")
	}
	if &kept[2][0] != &kept[3][0] {
		t.Error("a text that did not change was copied again")
	}
}
