package otlp

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
)

var errReply = errors.New("the reply is not a message of OTLP")

// fields calls f for each field of a message, with its number or its bytes.
func fields(b []byte, f func(field int, n uint64, p []byte)) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
			return errReply
		}
		b = b[n:]
		field := int(tag >> 3)
		switch tag & 7 {
		case varint:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return errReply
			}
			b = b[n:]
			f(field, v, nil)
		case length:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return errReply
			}
			f(field, 0, b[n:n+int(size)])
			b = b[n+int(size):]
		case fixed64, 5:
			size := 8
			if tag&7 == 5 {
				size = 4
			}
			if len(b) < size {
				return errReply
			}
			b = b[size:]
		default:
			return errReply
		}
	}
	return nil
}

// partial returns the number of data points that the server rejected by its ExportMetricsServiceResponse, and why.
func partial(b []byte) (rejected int64, message string, err error) {
	err = fields(b, func(field int, _ uint64, p []byte) {
		if field != 1 {
			return
		}
		if fields(p, func(field int, n uint64, p []byte) {
			switch field {
			case 1:
				rejected = int64(n)
			case 2:
				message = clean(p)
			}
		}) != nil {
			rejected = 0
		}
	})
	if err != nil {
		return 0, "", err
	}
	return max(rejected, 0), message, nil
}

// status returns the text of a google.rpc.Status, "" if it is not one.
func status(b []byte) (message string) {
	if fields(b, func(field int, _ uint64, p []byte) {
		if field == 2 {
			message = clean(p)
		}
	}) != nil {
		return ""
	}
	return message
}

// maxReason limits a message of a server.
const maxReason = 160

func clean(p []byte) string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(p[:min(len(p), maxReason)]), ""))
	return strings.TrimSpace(text)
}
