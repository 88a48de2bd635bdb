package overlap

import "testing"

// TestRecorder checks which names are those of recorders that share hosts.
func TestRecorder(t *testing.T) {
	for name, want := range map[string]string{
		"/a-b/20260101.00.10-r1": "r1", "20260101.00.10": "", "20260101.00.10-r-01-00": "r-01-00", "s3://b/h/20260101.00.10-r1": "r1",
		"20260101": "no", "20260101.25.10-r1": "no", "a": "no", "20260101.00.10.31": "no",
	} {
		by, ok := recorder(name)
		if !ok {
			by = "no"
		}
		if by != want {
			t.Errorf("%s: %q, want %q", name, by, want)
		}
	}
	if got := Parts(make([]Archive, 1)); len(got) != 1 || !got[0].Whole() {
		t.Errorf("%v", got)
	}
}
