package dm

import "bytes"

// devices returns the names of all devices.
func (c *control) devices() ([]string, error) {
	b, _, _, err := c.call(dmListDevs, "", 0, nil)
	if err != nil {
		return nil, err
	}
	return parseNames(b)
}

// status returns the status of all targets of a type, as dmsetup prints it.
func (c *control) status(kind string) ([]byte, error) {
	devices, err := c.devices()
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, device := range devices {
		b, targets, _, err := c.call(dmStatus, device, flagNoFlush, nil)
		if err != nil {
			continue // it has gone
		}
		if text, err = appendStatus(text, device, kind, b, targets); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// message sends a message to a device and returns the answer.
func (c *control) message(device, text string) ([]byte, error) {
	data := append(make([]byte, 8), text...) // the sector is 0
	b, _, flags, err := c.call(dmTargetMsg, device, 0, append(data, 0))
	if err != nil || flags&flagDataOut == 0 {
		return nil, err
	}
	return []byte(cString(b)), nil
}

// cString returns the bytes before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
