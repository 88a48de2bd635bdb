package lc

import (
	"errors"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/control"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// connect connects to the target on a host and replaces the previous connection.
func (s *session) connect(host string) error {
	s.disconnect()
	s.closeCollector()
	s.flush()
	var err error
	s.client, err = s.dialer.Dial(s.ctx, host, &s.target)
	s.at = host
	return err
}

// connectTo is the statement connect.
func (s *session) connectTo(host string) {
	none := s.target.PID == control.NoPID && !s.socketPath
	switch {
	case s.socket == "unix:" && none:
		s.errorf("The 'unix:' url requires either 'primary', a pid or a socket path\n")
		return
	case s.socket == "local:" && none && s.target.Port == control.NoPort:
		s.errorf("The 'local:' url requires either 'primary', a pid, a port or a socket path\n")
		return
	}
	s.primary = s.target.Port == control.Primary || s.target.PID == control.Primary
	if err := s.connect(host); err != nil {
		s.cannotConnect(host, s.socketPath, "local socket", err)
		return
	}
	if s.zone == zoneLogger {
		s.useZone = true
	}
}

// disconnect ends the connection to the pmlogger, if there is one.
func (s *session) disconnect() {
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

func (s *session) closeCollector() {
	if s.collector != nil {
		s.collector.Close()
		s.collector = nil
	}
}

// connected reports whether there is a connection to a pmlogger. If not, it prints a message and skips the
// rest of the statement.
func (s *session) connected() bool {
	if s.client == nil {
		s.lex.errorf("Not connected to any pmlogger instance")
		return false
	}
	return true
}

// errText appends an error to a message. If the error means that the connection is lost, it disconnects.
func (s *session) errText(err error) {
	code := pcp.Code(err)
	switch {
	case code == pcp.ErrIPC, code == -pcp.Error(syscall.EPIPE):
		s.errorf("Lost connection to the pmlogger instance\n")
	case code == pcp.ErrTimeout:
		s.errorf("Timeout, closed connection to the pmlogger instance\n")
	default:
		s.errorf("%s\n", cli.ErrText(err))
		return
	}
	s.disconnect()
}

// isLocal reports whether the collector's host name means the host of the pmlogger.
func isLocal(host string) bool {
	return host == "localhost" || host == "local:" || host == "unix:"
}

// connectCollector connects to the collector whose metrics the pmlogger records, unless it is connected already.
// It reports whether statements about metrics can work; if not, it has printed the reason.
func (s *session) connectCollector() bool {
	if s.collector != nil {
		return true
	}
	s.flush()
	st, err := s.client.Status(s.ctx)
	if err != nil {
		s.statusError(err, "request to pmlogger")
		var re *control.RequestError
		// As in C, the statement is then read, and its metrics are not found.
		return errors.As(err, &re) && (re.Stage == control.StageRefused || re.Stage == control.StageUnexpected)
	}
	host := st.FQDN
	if isLocal(host) {
		host = s.at // may be a different machine
	}
	s.collector, err = s.o.Dial(s.ctx, host)
	if err != nil {
		s.env.Advise(nil) // the session continues
		s.errorf("Error trying to connect to PMCD on %s: %s\n", host, cli.ErrText(err))
		return false
	}
	return true
}

// statusError reports why a status request failed. Its argument what names the request if it was not sent.
func (s *session) statusError(err error, what string) {
	var re *control.RequestError
	if !errors.As(err, &re) {
		re = &control.RequestError{Stage: control.StageReceive, Err: err}
	}
	switch re.Stage {
	case control.StageSend:
		s.errorf("Error sending %s: ", what)
	case control.StageRefused:
		s.errorf("Error: ")
	case control.StageUnexpected:
		s.errorf("Error PDU response from pmlogger %v not LOG_STATUS or LOG_STATUS_V2 as expected\n", re.Type)
		return
	case control.StageDecode:
		s.errorf("Error decoding response from pmlogger: ")
	default:
		s.errorf("Error receiving response from pmlogger: ")
	}
	s.errText(re.Err)
}
