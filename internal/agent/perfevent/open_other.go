//go:build !linux

package perfevent

import "errors"

func openCounter(attr, int) (counter, error) {
	return nil, errors.New("not supported: this system has no perf_event_open")
}
