package linux

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
)

// Text implements pmda.Texter.
func (a *Agent) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if kind&pcp.TextInDom != 0 {
		indom := pcp.InDom(ident)
		if indom.Domain() == a.domain {
			for _, d := range indoms {
				if int(d.serial) == indom.Serial() {
					return d.help, nil
				}
			}
		}
		return "", fmt.Errorf("linux: text of instance domain %v: %w", indom, pcp.ErrText)
	}
	m := a.metric(pcp.PMID(ident))
	if m == nil {
		return "", fmt.Errorf("linux: text of metric %v: %w", pcp.PMID(ident), pcp.ErrText)
	}
	if m.help == "" {
		return "", pcp.ErrText
	}
	return m.help, nil
}
