// Package ieconf makes the configuration of pmie from rules that users adjust by name, as
// pmieconf(1) does.
//
//	text, err := ieconf.Generate(ieconf.Config{})
//
// A rule file defines rules, and variables that their text refers to as $name$. A user changes
// the values of variables, for all rules or for one, and switches rules on and off:
//
//	s, err := ieconf.Builtin(ieconf.Config{})
//	if err != nil {
//		return err
//	}
//	rules, err := s.Lookup("cpu")
//	if err != nil {
//		return err
//	}
//	for _, r := range rules {
//		if err := s.Modify(r, "holdoff", "1 hour"); err != nil {
//			return err
//		}
//	}
//	text, err := s.Generate()
//
// The configuration begins with the user's changes, as comments, so that [Set.Read] can read them
// back. The text after its generated section belongs to the user, and is kept as it is.
//
// The formats are those of pmieconf(5). The texts of errors are those of the C tool, as its users
// know them.
package ieconf
