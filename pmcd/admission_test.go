package pmcd

import (
	"errors"
	"net"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

func TestAdmission(t *testing.T) {
	var e entry
	e.rules.Store(access.Default())
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	noted := 0
	a := &admission{entry: &e, noted: func(access.Ops) { noted++ }}
	woken := 0
	wake := func() { woken++ }

	a.readmit(from, false, wake) // it is not here yet
	if noted != 0 {
		t.Error("readmitted before it was admitted")
	}
	if err := a.admit(from, false); err != nil || a.denied() == access.OpAll {
		t.Errorf("admit: %v, denied %v", err, a.denied())
	}
	a.readmit(from, false, wake) // the rules are the same
	if noted != 1 {
		t.Errorf("admitted %d times", noted)
	}
	if err := a.identify(nil); err != nil {
		t.Error(err)
	}

	e.rules.Store(access.Default())
	a.readmit(from, false, wake)
	if noted != 2 || woken != 0 || a.ended() != nil {
		t.Errorf("new rules: admitted %d times, woken %d times, %v", noted, woken, a.ended())
	}

	e.requireCreds = true
	e.rules.Store(access.Default())
	a.readmit(from, false, wake)
	if woken != 1 || !errors.Is(a.ended(), pcp.ErrPermission) || a.denied() != access.OpAll {
		t.Errorf("refused by new rules: woken %d times, %v, denied %v", woken, a.ended(), a.denied())
	}
	e.rules.Store(access.Default())
	a.readmit(from, false, wake)
	if woken != 1 {
		t.Error("readmitted after it was refused")
	}
	a.depart()

	a = &admission{entry: &e, noted: func(access.Ops) {}}
	if err := a.admit(from, false); err != nil {
		t.Error(err)
	}
	if err := a.identify(nil); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("identify nobody where a user is required: %v", err)
	}
	if err := a.identify(&access.User{UID: 1, GID: 1}); err != nil {
		t.Error(err)
	}
	a.depart()
	if err := a.identify(nil); err != nil {
		t.Errorf("identify after the end: %v", err)
	}
}

func TestProfiles(t *testing.T) {
	var p profiles
	var clients roster
	set := func(context int32, insts int) error {
		list := []pcp.ProfileInDom{{InDom: 1, State: 1, Insts: make([]int32, insts)}}
		pdu := wire.Append(nil, 0, &wire.Profile{Context: context, Profile: pcp.Profile{InDoms: list}})
		return p.set(pdu[wire.HeaderSize:], defaultMaxContexts, &clients)
	}
	if p.of(1) != nil {
		t.Error("profile of a context without one")
	}
	for _, insts := range []int{0, 3, 3, 0} {
		if err := set(1, insts); err != nil || p.of(1) == nil || clients.profileBytes.Load() != int64(p.bytes) {
			t.Errorf("set: %v, counted %d of %d bytes", err, clients.profileBytes.Load(), p.bytes)
		}
	}
	clients.profileBytes.Store(maxAllProfileBytes)
	if err := set(2, smallProfileBytes/4); err != pcp.ErrTooBig {
		t.Errorf("set without room: %v", err)
	}
	for i := range int32(defaultMaxContexts - 1) {
		if err := set(i+10, 0); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := set(5, 0); err != pcp.ErrAgain {
		t.Errorf("set for one context more: %v", err)
	}
	if err := set(10, 0); err != nil {
		t.Errorf("set for a context that has one: %v", err)
	}
}
