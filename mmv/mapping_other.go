//go:build !unix

package mmv

import (
	"errors"
	"unsafe"
)

// supported is not set: instrumented programs build, but New returns
// errors.ErrUnsupported.
const supported = false

// A mapping is never made here.
type mapping struct{ base unsafe.Pointer }

func createMapping(string, []byte, int) (*mapping, error) { return nil, errors.ErrUnsupported }

func (m *mapping) publish(string) error    { return errors.ErrUnsupported }
func (m *mapping) allocate(int, int) error { return errors.ErrUnsupported }
func (m *mapping) remove(string) error     { return errors.ErrUnsupported }
func (m *mapping) check(string) error      { return errors.ErrUnsupported }
func (m *mapping) release()                {}
