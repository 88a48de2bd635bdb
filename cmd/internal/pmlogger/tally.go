package pmlogger

import "time"

// A tally counts samples and bytes against the limits of a volume and of the whole recording.
type tally struct {
	volume, all Size // limits

	samples int       // in the volume
	total   int       // samples in all volumes
	bytes   int64     // in earlier volumes
	due     time.Time // when the next volume is due, the zero Time if never
}

// sample counts a sample in a volume that is now of a size. It returns the limit that the recording has reached.
func (c *tally) sample(size int64) error {
	c.total++
	if n := c.all.Samples; n > 0 && c.total >= n {
		return ErrSampleLimit
	}
	if c.spent(size) {
		return ErrByteLimit
	}
	c.samples++
	return nil
}

// spent reports whether the recording has reached its limit of bytes.
func (c *tally) spent(size int64) bool { return c.all.Bytes > 0 && c.bytes+size >= c.all.Bytes }

// full reports whether the volume has its number of samples.
func (c *tally) full() bool { return c.volume.Samples > 0 && c.samples >= c.volume.Samples }

// large reports whether a volume of a size has reached its limit of bytes.
func (c *tally) large(size int64) bool { return c.volume.Bytes > 0 && size >= c.volume.Bytes }

// elapsed reports whether the next volume is due, and sets the time of the one after it.
func (c *tally) elapsed(now time.Time) bool {
	if c.due.IsZero() || now.Before(c.due) {
		return false
	}
	c.due = c.due.Add(c.volume.Time)
	return true
}

// begin starts a volume after one of a size.
func (c *tally) begin(size int64) {
	c.bytes += size
	c.samples = 0
}

// restart makes the next volume due a whole period from now.
func (c *tally) restart(now time.Time) {
	if d := c.volume.Time; d > 0 {
		c.due = now.Add(d)
	}
}
