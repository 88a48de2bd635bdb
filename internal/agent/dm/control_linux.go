package dm

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// A control is the control device of the device mapper.
type control struct {
	path string
	file *os.File // nil until it is open
	buf  []byte
}

// call makes a call, with more room if the answer does not fit. The result is valid until the next call.
func (c *control) call(command int, device string, flags uint32, data []byte) (answered []byte, targets int, got uint32, err error) {
	if c.file == nil {
		if c.file, err = os.OpenFile(c.path, os.O_RDWR, 0); err != nil {
			c.file = nil
			return nil, 0, 0, err
		}
	}
	if c.buf == nil {
		c.buf = make([]byte, firstBuffer)
	}
	for {
		if err := header(c.buf, device, flags, data); err != nil {
			return nil, 0, 0, err
		}
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, c.file.Fd(), ioctlNumber(command), uintptr(unsafe.Pointer(&c.buf[0])))
		if errno != 0 {
			return nil, 0, 0, fmt.Errorf("%s: %w", c.path, errno)
		}
		answered, targets, got, err = answer(c.buf)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%s: %w", c.path, err)
		}
		if got&flagFull == 0 {
			return answered, targets, got, nil
		}
		if len(c.buf) >= maxBuffer {
			return nil, 0, 0, fmt.Errorf("%s: an answer of more than %d bytes", c.path, maxBuffer)
		}
		c.buf = make([]byte, 2*len(c.buf))
	}
}
