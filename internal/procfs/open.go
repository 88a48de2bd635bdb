package procfs

// An Open is a file that may stay open between readings, for files that the kernel
// regenerates at each, like most of those of a process. Its zero value is closed.
type Open struct {
	h    handle
	open bool
}

// IsOpen reports whether the file is open.
func (o *Open) IsOpen() bool { return o.open }

// Close closes the file if it is open.
func (o *Open) Close() {
	if o.open {
		o.open = false
		o.h.close()
	}
}

// ReadKept is [Buffer.Read] for a file that o keeps open. path is that of the file if o is
// closed, and is ignored otherwise. After an error o is closed.
func (r *Buffer) ReadKept(o *Open, path string, whole bool) ([]byte, error) {
	if !o.open {
		h, err := openAtOnce(path)
		if err != nil {
			return nil, err
		}
		o.h, o.open = h, true
	}
	b, err := r.read(o.h, whole)
	if err != nil {
		o.Close()
	}
	return b, err
}
