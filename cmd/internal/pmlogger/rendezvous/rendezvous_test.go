package rendezvous_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
)

func hosts(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("host%05d.example.com", i)
	}
	return list
}

// TestFair gives 10,000 hosts to 1 to 10 members with similar names. No member has a share that differs from the
// fair one by more than 15 %.
func TestFair(t *testing.T) {
	for n := 1; n <= 10; n++ {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf("http://recorder-%d:44322", i))
		}
		counts := make([]int, n)
		for _, h := range hosts(10000) {
			counts[rendezvous.Owner(h, members)]++
		}
		for i, c := range counts {
			if fair := 10000 / n; c < fair*85/100 || c > fair*115/100+1 {
				t.Errorf("%d members: %s has %d hosts, a fair share is %d", n, members[i], c, fair)
			}
		}
	}
}

// TestMoves removes each of five members in turn. Only its hosts move, each to the member that followed in its order.
func TestMoves(t *testing.T) {
	members := []string{"a", "b", "c", "d", "e"}
	for gone := range members {
		rest := slices.Delete(slices.Clone(members), gone, gone+1)
		for _, h := range hosts(1000) {
			order := rendezvous.Order(h, members)
			if order[0] != rendezvous.Owner(h, members) {
				t.Fatalf("%s: the order %v does not begin with the owner", h, order)
			}
			want := members[order[0]]
			if order[0] == gone {
				want = members[order[1]]
			}
			if got := rest[rendezvous.Owner(h, rest)]; got != want {
				t.Fatalf("%s without %s: the owner is %s, want %s", h, members[gone], got, want)
			}
		}
	}
}

// TestAgreement checks that owners do not depend on the order of the members, nor on the version.
func TestAgreement(t *testing.T) {
	members := []string{"http://a:44322", "http://b:44322", "http://c:44322"}
	other := []string{members[2], members[0], members[1]}
	got := ""
	for _, h := range hosts(24) {
		owner := members[rendezvous.Owner(h, members)]
		if again := other[rendezvous.Owner(h, other)]; again != owner {
			t.Errorf("%s: owner %s and %s", h, owner, again)
		}
		got += owner[len("http://"):][:1]
	}
	if want := "bbabbbbacbacabbccaaaccbc"; got != want {
		t.Errorf("owners %s, want %s", got, want)
	}
	if rendezvous.Owner("h", nil) != -1 || len(rendezvous.Order("h", nil)) != 0 {
		t.Error("no members have an owner")
	}
}

// The owner of a host is the first in its order.
func ExampleOrder() {
	members := []string{"http://a:44322", "http://b:44322", "http://c:44322"}
	for _, i := range rendezvous.Order("www.example.com", members) {
		fmt.Println(members[i])
	}
	// Output:
	// http://c:44322
	// http://a:44322
	// http://b:44322
}
