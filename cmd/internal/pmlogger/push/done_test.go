package push

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzDone parses arbitrary lists of pushed archives. An accepted list has names of files in the directory only, and
// can be written and read again.
func FuzzDone(f *testing.F) {
	for _, text := range []string{
		"", "{", "null", `{"version":1}`, `{"version":2,"archives":[]}`,
		`{"version":1,"archives":[{"archive":"20261127.03.00","started":1795921200000000,"receiver":"https://r1:44322"}]}`,
		`{"version":1,"archives":[{"archive":"../x","started":1}]}`, `{"version":1,"archives":[{"archive":""}]}`,
		`{"version":1,"archives":[{"archive":"a","started":1e400}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseDone(b)
		if err != nil {
			return
		}
		for _, d := range list {
			if d.Archive == "" || d.Archive[0] == '.' {
				t.Errorf("name %q", d.Archive)
			}
			for _, c := range d.Archive {
				if c == '/' {
					t.Errorf("name %q", d.Archive)
				}
			}
		}
		again, err := json.Marshal(doneFile{Version: doneVersion, Archives: list})
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parseDone(again); err != nil || len(back) != len(list) || len(list) > 0 && !reflect.DeepEqual(back, list) {
			t.Errorf("%v, then %v, %v", list, back, err)
		}
	})
}
