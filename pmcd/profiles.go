package pmcd

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/wire"
)

// profiles are those of the contexts of one client, which alone uses them.
type profiles struct {
	byContext map[int32]clientProfile
	bytes     int // of the PDUs that brought them
}

type clientProfile struct {
	profile *pcp.Profile
	size    int
}

// set answers PDU_PROFILE, which has no reply unless it is refused. The clients share the room
// for profiles; one client has at most limit contexts.
func (p *profiles) set(body []byte, limit int, clients *roster) error {
	var req wire.Profile
	if err := decode(&req, body); err != nil {
		return err
	}
	old, have := p.byContext[req.Context]
	if !have && len(p.byContext) >= limit {
		return pcp.ErrAgain
	}
	more := len(body) - old.size
	if p.bytes+more > maxProfileBytes || !clients.roomForProfile(p.bytes, more) {
		return pcp.ErrTooBig
	}
	profile := backend.Everything
	if !req.Profile.IsAll() {
		profile = &req.Profile
	}
	p.bytes += more
	if p.byContext == nil {
		p.byContext = map[int32]clientProfile{}
	}
	p.byContext[req.Context] = clientProfile{profile, len(body)}
	return nil
}

// of returns the profile of a context, nil if there is no such profile.
func (p *profiles) of(context int32) *pcp.Profile { return p.byContext[context].profile }
