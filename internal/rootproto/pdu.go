package rootproto

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
)

// A Type is what a PDU is (PDUROOT_*).
type Type int32

// Types of PDUs.
const (
	TypeInfo          Type = 0x9000
	TypeHostNameReq   Type = 0x9001
	TypeHostName      Type = 0x9002
	TypeProcessIDReq  Type = 0x9003
	TypeProcessID     Type = 0x9004
	TypeCGroupNameReq Type = 0x9005
	TypeCGroupName    Type = 0x9006
	TypeStartReq      Type = 0x9007
	TypeStart         Type = 0x9008
	TypeStopReq       Type = 0x9009
	TypeStop          Type = 0x900a
)

// String names t as the C headers do.
func (t Type) String() string {
	names := [...]string{
		"INFO", "HOSTNAME_REQ", "HOSTNAME", "PROCESSID_REQ", "PROCESSID", "CGROUPNAME_REQ", "CGROUPNAME",
		"STARTPMDA_REQ", "STARTPMDA", "STOPPMDA_REQ", "STOPPMDA",
	}
	if t >= TypeInfo && int(t-TypeInfo) < len(names) {
		return names[t-TypeInfo]
	}
	return fmt.Sprintf("%#x", int32(t))
}

// Version is that of the protocol (ROOT_PDU_VERSION).
const Version = 2

// Features of a server (PDUROOT_FLAG_*).
const (
	FeatureHostName   = 1 << 0
	FeatureProcessID  = 1 << 1
	FeatureCGroupName = 1 << 2
)

// Limits of the protocol. Longer texts are refused by both sides.
const (
	MaxName  = 4095 // bytes of a container's, host's or cgroup's name (MAXPATHLEN, less the NUL)
	MaxArgs  = 4095 // bytes of an agent's command
	MaxLabel = 63   // bytes of an agent's name (MAXPMDALEN, less the NUL)
	// MaxPDU is the length of the longest PDU.
	MaxPDU = startSize + MaxArgs + 1
)

const (
	headerSize    = 16
	infoSize      = headerSize + 8
	containerSize = headerSize + 8 // and the name
	labelSize     = MaxLabel + 1
	startSize     = headerSize + 24 + labelSize // and the command
	stopSize      = headerSize + 16
)

// A Header starts each PDU. Append fills in all but Type and Status.
type Header struct {
	Type    Type
	Length  int
	Status  pcp.Error
	Version int
}

// Info is the server's greeting.
type Info struct {
	Status   pcp.Error
	Features int
}

// A Container is a question about a container, or the answer. A question names
// a container, or with an empty name a process: the hostname of any is
// returned. In an answer Name is the requested name: that of a host or cgroup.
type Container struct {
	Type   Type
	Status pcp.Error
	PID    int
	Name   string
}

// Ways in which an agent is reached, as a [Start] has them.
const (
	IPCSocket = 1
	IPCPipe   = 2
)

// A Start asks for an agent to be started, or reports that it was. The answer for
// a pipe agent carries its standard input and output.
type Start struct {
	Type   Type
	Status pcp.Error
	PID    int    // of the answer
	IPC    int    // of the question: IPCSocket or IPCPipe
	Label  string // the agent's name
	Args   string // of the question: words of its command, with spaces between
}

// A Stop asks for the end of an agent's process, or whether one has ended, and
// answers both.
type Stop struct {
	Type   Type
	Status pcp.Error
	PID    int  // of the question: -1 for any that has ended; of the answer: 0 if there is none
	Code   int  // of the answer: how it ended, as from waitpid(2)
	Force  bool // of the question: kill it
}

func appendHeader(b []byte, t Type, length int, status pcp.Error) []byte {
	return appendInts(b, int32(t), int32(length), int32(status), Version)
}

func appendInts(b []byte, list ...int32) []byte {
	for _, v := range list {
		b = binary.NativeEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// Append appends p to b.
func (p *Info) Append(b []byte) []byte {
	return appendInts(appendHeader(b, TypeInfo, infoSize, p.Status), int32(p.Features), 0)
}

// Append appends p to b. The name is no longer than MaxName.
func (p *Container) Append(b []byte) []byte {
	b = appendHeader(b, p.Type, containerSize+len(p.Name), p.Status)
	b = appendInts(b, int32(p.PID), int32(len(p.Name)))
	return append(b, p.Name...)
}

// Append appends p to b. Label and Args are no longer than MaxLabel and MaxArgs.
func (p *Start) Append(b []byte) []byte {
	b = appendHeader(b, p.Type, startSize+len(p.Args), p.Status)
	b = appendInts(b, int32(p.PID), 0, 0, int32(p.IPC), int32(len(p.Label)), int32(len(p.Args)))
	var label [labelSize]byte
	copy(label[:MaxLabel], p.Label)
	b = append(b, label[:]...)
	return append(b, p.Args...)
}

// Append appends p to b.
func (p *Stop) Append(b []byte) []byte {
	force := int32(0)
	if p.Force {
		force = 1
	}
	return appendInts(appendHeader(b, p.Type, stopSize, p.Status), int32(p.PID), int32(p.Code), force, 0)
}

// DecodeHeader reads the header at the start of b. The length it claims is
// within what any PDU can have.
func DecodeHeader(b []byte) (Header, error) {
	if len(b) < headerSize {
		return Header{}, fmt.Errorf("PDU of %d bytes: %w", len(b), pcp.ErrIPC)
	}
	h := Header{
		Type: Type(int32At(b, 0)), Length: int(int32At(b, 4)),
		Status: pcp.Error(int32At(b, 8)), Version: int(int32At(b, 12)),
	}
	switch {
	case h.Length < headerSize || h.Length > MaxPDU:
		return h, fmt.Errorf("%v PDU claims to have %d bytes: %w", h.Type, h.Length, pcp.ErrIPC)
	case h.Version < 1 || h.Version > Version:
		return h, fmt.Errorf("%v PDU of version %d: %w", h.Type, h.Version, pcp.ErrIPC)
	}
	return h, nil
}

func int32At(b []byte, i int) int32 { return int32(binary.NativeEndian.Uint32(b[i:])) }

// whole returns the header of b if b is all of a PDU of at least size bytes.
func whole(b []byte, size int) (Header, error) {
	h, err := DecodeHeader(b)
	if err != nil {
		return h, err
	}
	if h.Length != len(b) || len(b) < size {
		return h, fmt.Errorf("%v PDU of %d bytes, of which %d came: %w", h.Type, h.Length, len(b), pcp.ErrIPC)
	}
	return h, nil
}

// text returns n bytes at the start of b as a string. A NUL in it is refused:
// what the one side reads must be what the other acts upon.
func text(h Header, what string, b []byte, n int32, most int) (string, error) {
	if n < 0 || int(n) > most || int(n) > len(b) {
		return "", fmt.Errorf("%v PDU: %s of %d bytes: %w", h.Type, what, n, pcp.ErrIPC)
	}
	b = b[:n]
	if n > 0 && b[n-1] == 0 {
		b = b[:n-1] // C agents pass on strings of collectors including the terminating NUL
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return "", fmt.Errorf("%v PDU: %s has a NUL at %d: %w", h.Type, what, i, pcp.ErrIPC)
	}
	return string(b), nil
}

// Decode reads the PDU b.
func (p *Info) Decode(b []byte) error {
	h, err := whole(b, infoSize)
	if err != nil {
		return err
	}
	if h.Type != TypeInfo || h.Length != infoSize {
		return fmt.Errorf("%v PDU of %d bytes instead of a greeting: %w", h.Type, h.Length, pcp.ErrIPC)
	}
	*p = Info{Status: h.Status, Features: int(int32At(b, 16))}
	return nil
}

// Decode reads the PDU b.
func (p *Container) Decode(b []byte) error {
	h, err := whole(b, containerSize)
	if err != nil {
		return err
	}
	if h.Type < TypeHostNameReq || h.Type > TypeCGroupName {
		return fmt.Errorf("%v PDU instead of one about a container: %w", h.Type, pcp.ErrIPC)
	}
	name, err := text(h, "name", b[containerSize:], int32At(b, 20), MaxName)
	if err != nil {
		return err
	}
	*p = Container{Type: h.Type, Status: h.Status, PID: int(int32At(b, 16)), Name: name}
	return nil
}

// Decode reads the PDU b.
func (p *Start) Decode(b []byte) error {
	h, err := whole(b, startSize)
	if err != nil {
		return err
	}
	if h.Type != TypeStartReq && h.Type != TypeStart {
		return fmt.Errorf("%v PDU instead of one that starts an agent: %w", h.Type, pcp.ErrIPC)
	}
	*p = Start{Type: h.Type, Status: h.Status, PID: int(int32At(b, 16)), IPC: int(int32At(b, 28))}
	if p.Label, err = text(h, "label", b[startSize-labelSize:startSize], int32At(b, 32), MaxLabel); err != nil {
		return err
	}
	p.Args, err = text(h, "command", b[startSize:], int32At(b, 36), MaxArgs)
	return err
}

// Decode reads the PDU b.
func (p *Stop) Decode(b []byte) error {
	h, err := whole(b, stopSize)
	if err != nil {
		return err
	}
	if h.Type != TypeStopReq && h.Type != TypeStop || h.Length != stopSize {
		return fmt.Errorf("%v PDU of %d bytes instead of one that stops an agent: %w", h.Type, h.Length, pcp.ErrIPC)
	}
	*p = Stop{
		Type: h.Type, Status: h.Status, PID: int(int32At(b, 16)), Code: int(int32At(b, 20)),
		Force: int32At(b, 24) != 0,
	}
	return nil
}
