package sid

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
)

// Size is the length of an identifier in bytes. As text it has twice as many digits.
const Size = sha1.Size

// An ID identifies a series, an instance, a source or a string.
type ID [Size]byte

// ErrInvalid is the error of Parse.
var ErrInvalid = errors.New("invalid SID")

// String returns the 40 hexadecimal digits that users see.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id identifies nothing. It is also the source of series that
// were made from an expression.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders identifiers by their bytes.
func (id ID) Compare(other ID) int {
	for i := range id {
		if id[i] != other[i] {
			return int(id[i]) - int(other[i])
		}
	}
	return 0
}

// Parse reads 40 hexadecimal digits of either case. Its error wraps [ErrInvalid].
func Parse(s string) (ID, error) {
	var id ID
	if len(s) != hex.EncodedLen(Size) {
		return ID{}, fmt.Errorf("%w: %.64q has %d characters, not 40", ErrInvalid, s, len(s))
	}
	if n, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("%w: %q near offset %d", ErrInvalid, s, 2*n)
	}
	return id, nil
}

// String identifies a string: the name of a metric, an instance, a context or a label, or the
// value of a label as JSON.
func String(s string) ID {
	return sum(`{"series":"string","value":"`, s, `"}`)
}

// Source identifies a host or archive by the identifying labels of its context.
func Source(labels string) ID {
	return sum(`{"series":"source","labels":`, labels, `}`)
}

// Metric identifies a metric with one of its names: one that has several is as many series.
// Labels are those of [Labels] of its context, domain, instance domain, cluster and item, in
// this order.
func Metric(name, labels string, desc pcp.Desc) ID {
	return sum(`{"series":"metric","name":"`, name, `","labels":`, labels,
		`,"semantics":"`, desc.Sem.String(), `","type":"`, desc.Type.String(), `","units":"`, desc.Units.String(), `"}`)
}

// Instance identifies an instance. Labels are those of [Labels] of its context, domain,
// instance domain and itself, in this order. The instance domain is not part of it: instances of the same name and labels in two domains of a host are one.
func Instance(name, labels string) ID {
	return sum(`{"series":"instance","name":"`, name, `","labels":`, labels, `}`)
}

func sum(parts ...string) ID {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, 0, n)
	for _, p := range parts {
		b = append(b, p...)
	}
	return sha1.Sum(b)
}

// Labels returns the JSON of the identifying labels of sets, merged, the lowest precedence
// first: "null" if there are no sets. It is an error if there are more labels than can be.
func Labels(sets ...pcp.LabelSet) (string, error) {
	merged, err := pcp.MergeLabels(sets, func(l pcp.Label) bool { return l.Flags&pcp.LabelOptional == 0 })
	if err != nil {
		return "", err
	}
	if merged.JSON == "" {
		return "null", nil
	}
	return merged.JSON, nil
}
