package pcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestErrorText(t *testing.T) {
	f := func(e Error, want string) {
		t.Helper()
		if got := e.Error(); got != want {
			t.Errorf("Error(%d) = %q, want %q", int32(e), got, want)
		}
	}
	f(0, "No error")
	f(-2, "No such file or directory")
	f(-41, "Unknown error 41")
	f(-12344, "Unknown error 12344")
	f(ErrName, "Unknown metric name")
	f(ErrNYI, "Functionality not yet implemented")
	f(-12352, "No such PMAPI error code (-12352)") // retired, must not be reused
	f(7, "No such PMAPI error code (7)")
	f(-21357, "Authentication - authentication failure")
	f(-30000, "Unknown secure sockets error -30000 (-8656)")
	f(-1<<31, "Unknown secure sockets error -2147483648 (-2147462304)")

	seen := map[Error]bool{}
	for e := range Errors() {
		if seen[e] {
			t.Errorf("%v is listed twice", e)
		}
		seen[e] = true
		if text := e.Error(); len(text) >= MaxErrorLen || !strings.HasPrefix(e.Symbol(), "PM_ERR_") {
			t.Errorf("%d: %q %q", int32(e), e.Symbol(), text)
		}
	}
	for _, retired := range []Error{7, 11, 22, 48, 50, 51, 58} {
		if e := ErrGeneric - retired; seen[e] || e.Symbol() != "" {
			t.Errorf("%d is retired, but in use as %s", int32(e), e.Symbol())
		}
	}
}

func TestErrorIs(t *testing.T) {
	f := func(e Error, target error, want bool) {
		t.Helper()
		if got := errors.Is(fmt.Errorf("what was done: %w", e), target); got != want {
			t.Errorf("errors.Is(%v, %v) = %v", e, target, got)
		}
	}
	f(ErrPermission, ErrPermission, true)
	f(ErrPermission, fs.ErrPermission, true)
	f(ErrPermission, syscall.EACCES, false)
	f(ErrPMID, fs.ErrPermission, false)
	f(-2, fs.ErrNotExist, true)
	f(-2, syscall.ENOENT, true)
	f(-2, syscall.EPERM, false)
	f(-13, fs.ErrPermission, true)
	f(-17, fs.ErrExist, true)
	f(ErrTimeout, context.DeadlineExceeded, true)
	f(ErrTimeout, os.ErrDeadlineExceeded, false)
	f(-110, syscall.ETIMEDOUT, true)
	f(ErrEOF, io.EOF, true)
	f(ErrName, io.EOF, false)
	f(-12357, syscall.Errno(12357), false)
	f(2, syscall.ENOENT, false)
	f(0, fs.ErrNotExist, false)
	if !ErrTimeout.Timeout() || !Error(-110).Timeout() || ErrEOF.Timeout() {
		t.Error("Timeout")
	}
}

func TestCode(t *testing.T) {
	f := func(err error, want Error) {
		t.Helper()
		if got := Code(err); got != want {
			t.Errorf("Code(%v) = %d, want %d", err, int32(got), int32(want))
		}
	}
	f(nil, 0)
	f(ErrPMID, ErrPMID)
	f(fmt.Errorf("fetch: %w", ErrPMID), ErrPMID)
	f(fmt.Errorf("%w and %w", ErrPMID, ErrInst), ErrPMID)
	f(&os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, -2)
	f(syscall.ETIMEDOUT, -110)
	f(context.DeadlineExceeded, ErrTimeout)
	f(fmt.Errorf("x: %w", os.ErrDeadlineExceeded), ErrTimeout)
	f(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, ErrTimeout)
	f(context.Canceled, -4)
	f(io.EOF, ErrEOF)
	f(io.ErrUnexpectedEOF, ErrEOF)
	f(fs.ErrPermission, ErrPermission)
	f(fs.ErrNotExist, -2)
	f(fs.ErrExist, -17)
	f(errors.ErrUnsupported, ErrNYI)
	f(errors.New("anything"), ErrGeneric)
	f(&UnitsError{}, ErrConv)
	_, err := os.Open("/nonexistent/file")
	f(err, -2)
}

// TestErrorsAsPmerr compares our table with pmerr -l line by line.
func TestErrorsAsPmerr(t *testing.T) {
	path, err := exec.LookPath("pmerr")
	if err != nil {
		t.Skip("real PCP is not installed: ", err)
	}
	out, _ := exec.Command(path, "-l").Output() // exits with 1
	ours := "  Code  Symbolic Name          Message\n"
	for e := range Errors() {
		ours += fmt.Sprintf("%6d  %-22s %s\n", int32(e), e.Symbol(), e)
	}
	if string(out) != ours {
		t.Errorf("pmerr -l:\n%s\nours:\n%s", out, ours)
	}
}

// TestConstantsAsHeader compares our constants with those of pmapi.h.
func TestConstantsAsHeader(t *testing.T) {
	const header = "/usr/include/pcp/pmapi.h"
	f, err := os.Open(header)
	if err != nil {
		t.Skip("real PCP is not installed: ", err)
	}
	defer f.Close()
	ours := map[string]int64{
		"PM_TYPE_NOSUPPORT": int64(TypeNoSupport), "PM_TYPE_32": int64(Type32), "PM_TYPE_U32": int64(TypeU32), "PM_TYPE_64": int64(Type64),
		"PM_TYPE_U64": int64(TypeU64), "PM_TYPE_FLOAT": int64(TypeFloat), "PM_TYPE_DOUBLE": int64(TypeDouble), "PM_TYPE_STRING": int64(TypeString),
		"PM_TYPE_AGGREGATE": int64(TypeAggregate), "PM_TYPE_AGGREGATE_STATIC": int64(TypeAggregateStatic), "PM_TYPE_EVENT": int64(TypeEvent),
		"PM_TYPE_HIGHRES_EVENT": int64(TypeHighResEvent), "PM_TYPE_UNKNOWN": int64(TypeUnknown),
		"PM_SEM_COUNTER": int64(SemCounter), "PM_SEM_INSTANT": int64(SemInstant), "PM_SEM_DISCRETE": int64(SemDiscrete),
		"PM_SPACE_BYTE": SpaceByte, "PM_SPACE_KBYTE": SpaceKByte, "PM_SPACE_MBYTE": SpaceMByte, "PM_SPACE_GBYTE": SpaceGByte, "PM_SPACE_TBYTE": SpaceTByte,
		"PM_SPACE_PBYTE": SpacePByte, "PM_SPACE_EBYTE": SpaceEByte, "PM_SPACE_ZBYTE": SpaceZByte, "PM_SPACE_YBYTE": SpaceYByte,
		"PM_TIME_NSEC": TimeNsec, "PM_TIME_USEC": TimeUsec, "PM_TIME_MSEC": TimeMsec, "PM_TIME_SEC": TimeSec, "PM_TIME_MIN": TimeMin, "PM_TIME_HOUR": TimeHour,
		"PM_COUNT_ONE": CountOne, "PM_MAXERRMSGLEN": MaxErrorLen,
		"PM_TEXT_ONELINE": int64(TextOneLine), "PM_TEXT_HELP": int64(TextHelp), "PM_TEXT_PMID": int64(TextPMID), "PM_TEXT_INDOM": int64(TextInDom), "PM_TEXT_DIRECT": int64(TextDirect),
		"PM_VAL_INSITU": int64(ValInSitu), "PM_VAL_DPTR": int64(ValDPtr), "PM_VAL_SPTR": int64(ValSPtr),
	}
	for e := range Errors() {
		ours[e.Symbol()] = int64(ErrGeneric - e)
	}
	found := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		w := strings.Fields(in.Text())
		if len(w) < 3 || w[0] != "#define" {
			continue
		}
		want, ok := ours[w[1]]
		if !ok {
			if strings.HasPrefix(w[1], "PM_ERR_") && !strings.HasPrefix(w[1], "PM_ERR_BASE") {
				t.Errorf("%s is not known", w[1])
			}
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(w[2], "(-PM_ERR_BASE-"), ")")
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil || n != want {
			t.Errorf("%s is %s, ours is %d", w[1], w[2], want)
		}
		found++
	}
	if found != len(ours) {
		t.Errorf("found %d of %d constants in %s", found, len(ours), header)
	}
}
