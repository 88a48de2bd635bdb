package sid

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
)

// Size is the length of an identifier in bytes. Its text has twice as many digits.
const Size = sha1.Size

// An ID identifies a series, an instance, a source or a string.
type ID [Size]byte

// ErrInvalid is the error of Parse.
var ErrInvalid = errors.New("invalid SID")

// String returns the identifier as 40 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id is the zero ID, which is also the source of expressions.
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

// Parse parses 40 hexadecimal digits of either case. Its error wraps [ErrInvalid].
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

// String returns the identifier of a string: the name of a metric, an instance, a context or
// a label, or the value of a label as JSON.
func String(s string) ID {
	return sum(`{"series":"string","value":"`, s, `"}`)
}

// Source returns the identifier of a host or archive, from the identifying labels of its context.
func Source(labels string) ID {
	return sum(`{"series":"source","labels":`, labels, `}`)
}

// Metric returns the identifier of a metric with one of its names: each name is a series of
// its own. Labels are the result of [Labels] for its context, domain, instance domain,
// cluster and item, in this order.
func Metric(name, labels string, desc pcp.Desc) ID {
	return sum(`{"series":"metric","name":"`, name, `","labels":`, labels,
		`,"semantics":"`, desc.Sem.String(), `","type":"`, desc.Type.String(), `","units":"`, desc.Units.String(), `"}`)
}

// Instance returns the identifier of an instance. Labels are the result of [Labels] for its context, domain, instance
// domain and itself, in this order. The instance domain is not included: instances of the same name and labels in two
// domains of a host have the same identifier.
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
// first: "null" if there are no sets. Too many labels are an error.
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
