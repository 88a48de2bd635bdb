// Package rewrite changes archives by rules: those of pmlogrewrite(1), which
// rename, renumber, convert and delete metrics, instance domains, instances, help
// text and labels.
//
//	rules := rewrite.New(a, rewrite.Config{})
//	if err := rules.Parse("fix.conf", text); err != nil {
//		return err
//	}
//	if err := rules.Resolve(); err != nil {
//		return err
//	}
//	return rules.Rewrite(ctx, "/tmp/fixed")
//
// Rules look like this:
//
//	global { hostname -> web7  time -> +1:00:00 }
//	metric kernel.all.load { name -> system.load  type -> double }
//	indom 60.1 { iname "sda" -> "disk0"  inst 1 -> delete }
//
// They are read for one archive: names and patterns match its metrics and
// instances, and missing ones are not an error. A file of rules that cannot be
// parsed, or that contradicts itself, is an [Error] with its line.
//
// Records of values that no rule concerns are copied as bytes. An archive of
// version 2 can become one of version 3, but not the reverse. Compressed archives
// can be read; the copy is not compressed.
package rewrite
