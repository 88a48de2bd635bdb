package timecontrol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// DefaultPort is the default port of a controller.
const DefaultPort = 43334

// MaxZone is the largest length of the name of a time zone and of its label, 511
// bytes each. The C library writes no names of more than 40.
const MaxZone = 511

// A Command is the purpose of a Message.
type Command uint32

// Commands (PM_TCTL_*). They are part of the protocol; do not change.
const (
	Set      Command = 1 << 0 // PM_TCTL_SET: a follower describes its view
	Step     Command = 1 << 1 // PM_TCTL_STEP: show Position
	Zone     Command = 1 << 2 // PM_TCTL_TZ: show times in another zone
	Change   Command = 1 << 3 // PM_TCTL_VCRMODE: state, delta or position have changed
	Drag     Command = 1 << 4 // PM_TCTL_VCRMODE_DRAG: the position is being moved
	ShowGUI  Command = 1 << 5 // PM_TCTL_GUISHOW
	HideGUI  Command = 1 << 6 // PM_TCTL_GUIHIDE
	Boundary Command = 1 << 7 // PM_TCTL_BOUNDS: more archives, or the end of them
	Ack      Command = 1 << 8 // PM_TCTL_ACK
)

// A State is what a controller does.
type State uint32

// States (PM_STATE_*).
const (
	Stopped  State = 0 // PM_STATE_STOP
	Forward  State = 1 // PM_STATE_FORWARD
	Backward State = 2 // PM_STATE_BACKWARD
)

// String returns "stopped", "forward" or "backward".
func (s State) String() string {
	switch s {
	case Stopped:
		return "stopped"
	case Forward:
		return "forward"
	case Backward:
		return "backward"
	}
	return fmt.Sprintf("state %d", uint32(s))
}

// A Mode is how a controller goes through an archive.
type Mode uint32

// Modes (PM_MODE_*).
const (
	StepMode   Mode = 0 // PM_MODE_STEP: one step at a time
	NormalMode Mode = 1 // PM_MODE_NORMAL: as fast as time passed, or a multiple of that
	FastMode   Mode = 2 // PM_MODE_FAST: as fast as followers can
)

// A Source is what a follower shows.
type Source int32

// Sources (PM_SOURCE_*).
const (
	NoSource Source = -1 // PM_SOURCE_NONE
	Host     Source = 0  // PM_SOURCE_HOST: present values
	Archive  Source = 1  // PM_SOURCE_ARCHIVE
)

// A Message is a message between controllers and followers (pmTime).
type Message struct {
	Command  Command
	Source   Source
	State    State
	Mode     Mode
	Delta    time.Duration // between two steps, in microseconds on the wire
	Position pcp.Timestamp // of the step; times have microseconds on the wire too
	Start    pcp.Timestamp // of archives
	End      pcp.Timestamp
	// Zone and ZoneLabel are the value of TZ and its origin. They are sent with Set
	// and Zone.
	Zone, ZoneLabel string
}

const (
	magic    = 0x54494d45 // PMTIME_MAGIC, "TIME"
	fixedLen = 88
	maxLen   = fixedLen + 2*(MaxZone+1)
)

// ErrMessage is what a message that is not one is.
var ErrMessage = errors.New("not a message of time control")

// Append appends the message. A zone or a label that is longer than MaxZone, or has
// a NUL in it, is cut there.
func (m *Message) Append(b []byte) []byte {
	start := len(b)
	ne := binary.NativeEndian
	for _, v := range []uint32{magic, 0, uint32(m.Command), uint32(m.Source), uint32(m.State), uint32(m.Mode)} {
		b = ne.AppendUint32(b, v)
	}
	b = appendTime(b, pcp.Timestamp{}.Add(m.Delta))
	for _, t := range []pcp.Timestamp{m.Position, m.Start, m.End} {
		b = appendTime(b, t)
	}
	if m.Zone != "" || m.ZoneLabel != "" {
		b = append(append(b, cut(m.Zone)...), 0)
		b = append(append(b, cut(m.ZoneLabel)...), 0)
	}
	ne.PutUint32(b[start+4:], uint32(len(b)-start))
	return b
}

func appendTime(b []byte, t pcp.Timestamp) []byte {
	b = binary.NativeEndian.AppendUint64(b, uint64(t.Sec))
	return binary.NativeEndian.AppendUint64(b, uint64(t.Nsec/1000))
}

func cut(s string) string {
	s = s[:min(len(s), MaxZone)]
	return ctext.String(s)
}

// Decode decodes a whole message.
func (m *Message) Decode(b []byte) error {
	n, err := messageLen(b)
	if err != nil {
		return err
	}
	if n != len(b) {
		return fmt.Errorf("%d bytes, and the message says %d: %w", len(b), n, ErrMessage)
	}
	ne := binary.NativeEndian
	d := Message{
		Command: Command(ne.Uint32(b[8:])),
		Source:  Source(ne.Uint32(b[12:])),
		State:   State(ne.Uint32(b[16:])),
		Mode:    Mode(ne.Uint32(b[20:])),
	}
	var delta pcp.Timestamp
	for i, t := range []*pcp.Timestamp{&delta, &d.Position, &d.Start, &d.End} {
		sec, usec := int64(ne.Uint64(b[24+16*i:])), int64(ne.Uint64(b[32+16*i:]))
		if usec < 0 || usec >= 1e6 {
			return fmt.Errorf("offset %d: %d microseconds: %w", 32+16*i, usec, ErrMessage)
		}
		*t = pcp.Timestamp{Sec: sec, Nsec: int32(usec) * 1000}
	}
	if delta.Sec < 0 || delta.Sec > maxDelta {
		return fmt.Errorf("offset 24: an interval of %d seconds: %w", delta.Sec, ErrMessage)
	}
	d.Delta = time.Duration(delta.Sec)*time.Second + time.Duration(delta.Nsec)
	if rest := b[fixedLen:]; len(rest) > 0 {
		zone, label, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return fmt.Errorf("offset %d: a time zone without an end: %w", fixedLen, ErrMessage)
		}
		d.Zone, d.ZoneLabel = string(zone), ctext.String(string(label))
	}
	*m = d
	return nil
}

// maxDelta is the largest interval in seconds: a time.Duration has room for it.
const maxDelta = 1 << 32

// messageLen returns the length of the message at the start of b, which must have
// its fixed part.
func messageLen(b []byte) (int, error) {
	if len(b) < fixedLen {
		return 0, fmt.Errorf("%d bytes: %w", len(b), ErrMessage)
	}
	ne := binary.NativeEndian
	if got := ne.Uint32(b); got != magic {
		return 0, fmt.Errorf("magic number %#x: %w", got, ErrMessage)
	}
	n := ne.Uint32(b[4:])
	if n < fixedLen || n > maxLen {
		return 0, fmt.Errorf("a length of %d bytes: %w", n, ErrMessage)
	}
	return int(n), nil
}

// read reads a message.
func (m *Message) read(r io.Reader) error {
	b := make([]byte, fixedLen, fixedLen+64)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	n, err := messageLen(b)
	if err != nil {
		return err
	}
	if n > fixedLen {
		b = append(b, make([]byte, n-fixedLen)...)
		if _, err := io.ReadFull(r, b[fixedLen:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return m.Decode(b)
}

// micros returns t as it goes over the wire.
func micros(t pcp.Timestamp) pcp.Timestamp {
	return pcp.Timestamp{Sec: t.Sec, Nsec: t.Nsec / 1000 * 1000}
}
