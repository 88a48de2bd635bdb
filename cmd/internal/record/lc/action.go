package lc

import (
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/control"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/wire"
)

// request makes a request and returns the number that answers it. It reports a failure to the user.
func (s *session) request(kind wire.LogRequestKind, name string) (n int, ok bool) {
	if !s.connected() {
		return 0, false
	}
	s.flush()
	n, err := s.client.Request(s.ctx, kind)
	if err == nil {
		return n, true
	}
	var re *control.RequestError
	if !errors.As(err, &re) {
		re = &control.RequestError{Stage: control.StageReceive, Err: err}
	}
	switch re.Stage {
	case control.StageSend:
		s.errorf("Error sending %s request to pmlogger: ", name)
	case control.StageRefused:
		s.errorf("Error: ")
	default:
		s.errorf("Error receiving response from pmlogger: ")
	}
	s.errText(re.Err)
	return 0, false
}

// showLoggers is the statement show.
func (s *session) showLoggers(host string) {
	list, err := s.findLoggers(host)
	if err != nil {
		return
	}
	if len(list) == 0 {
		s.printf("No pmloggers running on %s\n", host)
		return
	}
	// The entry of the primary pmlogger is a second name of another entry.
	port := -1
	for _, l := range list {
		if l.PID == control.Primary {
			port = l.Port
			break
		}
	}
	primary := -1
	for i, l := range list {
		if l.Port == port {
			primary = i
			break
		}
	}
	s.printf("The following pmloggers are running on %s:\n    ", host)
	if primary >= 0 {
		s.printf("primary (%d)", list[primary].PID)
	}
	for i, l := range list {
		if i != primary && l.PID != control.Primary {
			s.printf(" %d", l.PID)
		}
	}
	s.printf("\n")
}

// findLoggers returns the pmlogger processes of a host. It reports errors itself.
func (s *session) findLoggers(host string) ([]control.Logger, error) {
	s.flush()
	local, err := control.IsLocal(s.ctx, host)
	var list []control.Logger
	switch {
	case err != nil:
	case local:
		list, err = s.dialer.Local(control.AllPIDs)
	default:
		c, err := s.dialer.OpenCollector(s.ctx, host)
		if err != nil {
			s.errorf("Error trying to connect to PMCD on %s: %s\n", host, cli.ErrText(err))
			return nil, err
		}
		defer c.Close()
		if list, err = control.Remote(s.ctx, c, control.AllPIDs); err == nil {
			return list, nil
		}
	}
	if err != nil {
		s.errorf("Error finding pmloggers on %s: ", host)
		s.errText(err)
	}
	return list, err
}

// log is the statements query and log.
func (s *session) log() {
	if s.state == stateEnquire {
		if res := s.change(&wire.LogControl{Control: wire.LogEnquire}); res != nil {
			s.query(res)
		}
		return
	}
	if s.state == wire.LogOn && s.delta > wire.MaxLogDelta {
		s.errorf("Logging delta (%d msec) cannot be bigger than %d msec\n", s.delta, wire.MaxLogDelta)
		return
	}
	// If nothing is turned on, the interval is a leftover of an earlier statement, and is ignored.
	req := &wire.LogControl{Control: s.control, State: s.state, Delta: int32(min(s.delta, wire.MaxLogDelta))}
	if res := s.change(req); res != nil {
		s.compare(req, res)
	}
}

// change sends a request about the metrics and returns the answer. If it fails, it reports the error
// and returns nil.
func (s *session) change(req *wire.LogControl) *pcp.Result {
	if !s.connected() {
		return nil
	}
	s.flush()
	req.Metrics = s.metrics.request()
	res, err := s.client.Control(s.ctx, req)
	if err == nil {
		return res
	}
	var re *control.RequestError
	if errors.As(err, &re) {
		err = re.Err
	}
	s.errorf("Error receiving response from pmlogger: ")
	s.errText(err)
	return nil
}

// value returns pmlogger's state of an instance.
func value(vs *pcp.ValueSet, inst int32) (v wire.LogValue, ok bool) {
	for i := range vs.Values {
		if vs.Values[i].Inst == inst {
			return logValue(&vs.Values[i]), true
		}
	}
	return 0, false
}

func logValue(v *pcp.Value) wire.LogValue { return wire.LogValue(uint32(v.Bits())) }

// query prints the state of the metrics.
func (s *session) query(res *pcp.Result) {
	for i := range s.metrics.list {
		m, vs := &s.metrics.list[i], &res.Sets[i]
		s.printf("%s\n", m.name)
		switch {
		case vs.Err < 0:
			s.printf("    %s\n", vs.Err)
		case len(vs.Values) == 0 && m.insts == nil:
			s.printf("    (no instances)\n")
		case m.dom == nil:
			s.printf("    %s\n", stateText(logValue(&vs.Values[0])))
		case m.insts != nil:
			for _, inst := range m.insts {
				v, ok := value(vs, inst)
				if !ok {
					s.printf("                  [%d] (not found)\n", inst)
					continue
				}
				s.printf("    %s [%d or \"%s\"]\n", stateText(v), inst, m.dom.name(inst))
			}
		default:
			for j := range vs.Values {
				v := &vs.Values[j]
				s.printf("    %s [%d or \"%s\"]\n", stateText(logValue(v)), v.Inst, m.dom.name(v.Inst))
			}
		}
		s.printf("\n")
	}
}

// stateText is the state of a metric or instance as query prints it.
func stateText(v wire.LogValue) string {
	b := make([]byte, 0, 32)
	if v&wire.LogBitMandatory != 0 {
		b = append(b, "mand "...)
	} else {
		b = append(b, "adv  "...)
	}
	on := v&wire.LogBitOn != 0
	if on {
		b = append(b, "on  "...)
	} else {
		b = append(b, "off "...)
	}
	switch {
	case v&wire.LogBitInLog == 0:
		b = append(b, "nl "...)
	case v&wire.LogBitAvailable == 0:
		b = append(b, "na "...)
	default:
		b = append(b, "   "...)
	}
	switch {
	case !on:
		b = append(b, "            "...)
	case v.Delta() == 0:
		b = append(b, "        once"...)
	default:
		b = appendInterval(b, v.Delta())
	}
	return string(b)
}

// appendInterval appends milliseconds in the largest unit that is not zero, with up to three decimals. As in C
// (actions.c: PrintState), intervals of a day or more are in days but labelled hours.
func appendInterval(b []byte, ms int32) []byte {
	units := [...]struct {
		name string
		size float32 // in the unit before
	}{{"msec", 1000}, {"sec ", 60}, {"min ", 60}, {"hour", 24}}
	t, unit := float32(ms), "hour"
	for _, u := range units {
		if t < u.size {
			unit = u.name
			break
		}
		t /= u.size
	}
	digits := 0
	switch frac := int((t - float32(int(t))) * 1000); {
	case frac%10 != 0:
		digits = 3
	case frac%100 != 0:
		digits = 2
	case frac%1000 != 0:
		digits = 1
	}
	return fmt.Appendf(b, "%*.*f %s", 7-digits, digits, t, unit)
}

// compare warns about metrics that are not in the requested state after a change.
func (s *session) compare(req *wire.LogControl, res *pcp.Result) {
	var want, mask wire.LogValue
	mask = wire.LogBitMandatory
	if req.State != wire.LogMaybe { // which leaves an advisory state unchanged
		mask |= wire.LogBitOn
		if req.Control == wire.LogMandatory {
			want |= wire.LogBitMandatory
		}
		if req.State == wire.LogOn {
			want |= wire.LogBitOn
		}
	}
	var delta int32
	if want&wire.LogBitOn != 0 {
		delta = req.Delta
	}
	bad := func(v wire.LogValue) bool { return v&mask != want || v.Delta() != delta }
	said := false
	say := func(format string, args ...any) {
		if !said {
			said = true
			s.printf("Warning: unable to change logging state for:\n")
		}
		s.printf(format, args...)
	}
	for i := range s.metrics.list {
		m, vs := &s.metrics.list[i], &res.Sets[i]
		switch {
		case vs.Err < 0:
			say("%s:%s\n", m.name, vs.Err)
			continue
		case m.dom == nil:
			if len(vs.Values) == 0 || bad(logValue(&vs.Values[0])) {
				say("%s\n\n", m.name)
			}
			continue
		}
		named := false
		instance := func(head string, inst int32, what string) {
			if !named {
				named = true
				say("%s%s\n", m.name, head)
			}
			s.printf("    [%d or \"%s\"]%s\n", inst, m.dom.name(inst), what)
		}
		if m.insts != nil {
			for _, inst := range m.insts {
				if v, ok := value(vs, inst); !ok {
					instance("", inst, " instance not found")
				} else if bad(v) {
					instance(" instance(s):", inst, "")
				}
			}
		} else {
			for j := range vs.Values {
				if v := &vs.Values[j]; bad(logValue(v)) {
					instance(" instance(s):", v.Inst, "")
				}
			}
		}
		if named {
			s.printf("\n")
		}
	}
}

// status is the statement of that name.
func (s *session) status() {
	if !s.connected() {
		return
	}
	s.flush()
	st, err := s.client.Status(s.ctx)
	if err != nil {
		s.statusError(err, "status request to pmlogger")
		return
	}
	who := fmt.Sprint(s.target.PID)
	if s.primary {
		who = "primary"
	}
	host := st.FQDN
	if isLocal(host) {
		host = st.Host
	}
	s.printf("pmlogger [%s] on host %s is logging metrics from host %s\nPMCD host        %s\n", who, s.at, st.Host, host)
	if st.State == wire.LogStateNew {
		s.printf("logging hasn't started yet\n")
		return
	}
	loc, zone := s.env.Local(), "local"
	switch {
	case !s.useZone || s.zone == zoneLocal:
	case s.zone == zoneLogger:
		zone = "pmlogger"
		if st.LoggerTimeZone != "" {
			loc = pcptime.Zone(st.LoggerTimeZone)
		}
	default:
		loc, zone = pcptime.Zone(s.zoneName), s.zoneName
	}
	for _, row := range []struct {
		name, note string
		t          pcp.Timestamp
	}{
		{"log started", " (times in " + zone + " time)", st.Start},
		{"last log entry", "", st.Last},
		{"current time", "", st.Now},
	} {
		date := pcptime.Ctime(row.t, loc) // Thu Sep  9 12:28:28 2021
		s.printf("%-16s %.10s %s.%09d %s%s\n", row.name, date, date[11:19], row.t.Nsec, date[20:], row.note)
	}
	s.printf("log volume       %d\nlog size         %d\n", st.Volume, st.Size)
}
