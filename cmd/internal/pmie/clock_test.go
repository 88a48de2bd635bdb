package pmie

import "testing"

// TestKeepUp sets the clock between two evaluations of a task, whose interval is 10 s.
func TestKeepUp(t *testing.T) {
	const day = 86400
	for _, test := range []struct {
		name      string
		now       float64 // after the evaluation of 1,000
		next      float64
		afterward float64 // when the evaluation after that is due
	}{
		{"in time", 1001, 1010, 1020},
		{"some are late", 1055, 1010, 1020},
		{"forward by a day", 1003 + day, 1010 + day, 1020 + day},
		{"back by a day", 1003 - day, 1013 - day, 1023 - day},
	} {
		task := &task{delta: 10, epoch: 0, tick: 100, due: 1000}
		task.reschedule(1000)
		task.keepUp(test.now)
		if task.due != test.next {
			t.Errorf("%s: the next evaluation is due at %v, want %v", test.name, task.due, test.next)
		}
		now := task.due
		task.reschedule(now)
		task.keepUp(now)
		if task.due != test.afterward {
			t.Errorf("%s: the one after that is due at %v, want %v", test.name, task.due, test.afterward)
		}
	}
}
