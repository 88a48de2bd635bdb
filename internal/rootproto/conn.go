//go:build unix

package rootproto

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// A Conn is one end of a connection, which sends and receives PDUs.
type Conn struct {
	conn *net.UnixConn
	in   [MaxPDU]byte
	got  int
	oob  []byte
}

// NewConn returns the end c of a connection.
func NewConn(c *net.UnixConn) *Conn { return &Conn{conn: c} }

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// maxFiles is how many descriptors a PDU brings along.
const maxFiles = 2

// Accept has Receive take descriptors and credentials, which it drops
// otherwise.
func (c *Conn) Accept() {
	c.oob = make([]byte, syscall.CmsgSpace(4*maxFiles)+syscall.CmsgSpace(credSize))
}

// Ancillary is the ancillary data of a PDU.
type Ancillary struct {
	Files []*os.File
	Cred  *Cred // of the sender, if the socket passes them
}

// A Cred identifies the sender of a message.
type Cred struct{ PID, UID, GID int }

// Close closes the files.
func (a *Ancillary) Close() {
	for _, f := range a.Files {
		f.Close()
	}
	a.Files = nil
}

// Receive returns the next PDU as it came, valid until the next call. wait is
// how long it may take to begin, 0 for any time, and rest how long from then
// to its end. At the end of the connection the error is io.EOF.
func (c *Conn) Receive(wait, rest time.Duration) (pdu []byte, with Ancillary, err error) {
	c.got = 0
	want := headerSize
	deadline(c.conn.SetReadDeadline, wait)
	for c.got < want {
		n, err := c.read(c.in[c.got:want], &with)
		if err != nil {
			with.Close()
			if err == io.EOF && c.got > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, with, err
		}
		if c.got == 0 {
			deadline(c.conn.SetReadDeadline, rest)
		}
		if c.got += n; want == headerSize && c.got == want {
			h, err := DecodeHeader(c.in[:headerSize])
			if err != nil {
				with.Close()
				return nil, with, err
			}
			want = h.Length
		}
	}
	return c.in[:want], with, nil
}

func deadline(set func(time.Time) error, d time.Duration) {
	if d == 0 {
		set(time.Time{})
	} else {
		set(time.Now().Add(d))
	}
}

// read reads some bytes, and their ancillary data.
func (c *Conn) read(b []byte, with *Ancillary) (int, error) {
	if c.oob == nil {
		return c.conn.Read(b) // the kernel drops all else
	}
	n, oobn, flags, _, err := c.conn.ReadMsgUnix(b, c.oob)
	if oobn > 0 {
		if aerr := with.parse(c.oob[:oobn]); aerr != nil && err == nil {
			err = aerr
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return 0, io.EOF // and not an error of the net package
	case err != nil:
		return n, err
	case flags&syscall.MSG_CTRUNC != 0:
		return n, fmt.Errorf("more descriptors came than a PDU has: %w", pcp.ErrIPC)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (a *Ancillary) parse(oob []byte) error {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("control message: %w", pcp.ErrIPC)
	}
	for i := range msgs {
		if msgs[i].Header.Level != syscall.SOL_SOCKET {
			continue
		}
		if cred, ok := parseCred(&msgs[i]); ok {
			// A user without permission could send all of a PDU except its end, and let root send that.
			if a.Cred != nil && (a.Cred.UID != cred.UID || a.Cred.GID != cred.GID) {
				return fmt.Errorf("PDU of the users %d and %d: %w", a.Cred.UID, cred.UID, pcp.ErrIPC)
			}
			a.Cred = cred
			continue
		}
		if msgs[i].Header.Type != syscall.SCM_RIGHTS {
			continue
		}
		fds, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			syscall.SetNonblock(fd, true) // so that it can have deadlines
			a.Files = append(a.Files, os.NewFile(uintptr(fd), "agent"))
		}
	}
	if len(a.Files) > maxFiles {
		return fmt.Errorf("%d descriptors came: %w", len(a.Files), pcp.ErrIPC)
	}
	return nil
}

// Send sends a PDU with files; the other end gets its own descriptors.
func (c *Conn) Send(pdu []byte, wait time.Duration, files ...*os.File) error {
	deadline(c.conn.SetWriteDeadline, wait)
	if len(files) == 0 {
		_, err := c.conn.Write(pdu)
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		raw, err := f.SyscallConn()
		if err == nil {
			// Fd would make it a blocking one.
			err = raw.Control(func(fd uintptr) { fds[i] = int(fd) })
		}
		if err != nil {
			return err
		}
	}
	n, _, err := c.conn.WriteMsgUnix(pdu, syscall.UnixRights(fds...), nil)
	if err == nil && n < len(pdu) {
		err = errors.New("PDU was sent in part")
	}
	return err
}
