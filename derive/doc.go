// Package derive is for clients that compute derived metrics, which are defined by expressions over the metrics of a
// source; see pmRegisterDerived(3).
//
//	var set derive.Set
//	if err := set.Add("disk.dev.avgsz", "delta(disk.dev.total_bytes) / delta(disk.dev.total)"); err != nil {
//		return err
//	}
//
// A [Set] holds definitions, from a program ([Set.Add]), from files ([Set.Load])
// or those of the installation ([Set.LoadInstalled]). It knows no metrics and so
// checks syntax only; [Error] has the message and the position.
//
// A [Binding] is the definitions over one [Source] of names, descriptors and
// instances. It looks up the operands of a metric when that is first requested, computes its
// descriptor, and refuses expressions that make no sense ([SemanticError]). To fetch, a client
// asks [Binding.Operands] for the operands of derived metrics, fetches those and passes the
// result to [Binding.Evaluate]:
//
//	wanted, err := b.Operands(ctx, ids)
//	if err != nil {
//		return err
//	}
//	if err := fetch(wanted, res); err != nil {
//		return err
//	}
//	b.Evaluate(ctx, res, len(ids))
//
// Package pmapi does all this for its contexts.
//
// # The language
//
// Names of metrics and numbers are joined by the operators of C: + - * /, < <= ==
// >= > !=, && || and !, and the ternary x ? y : z. The comparisons have one precedence, as have && and
// ||; all operators are left associative. x[name] is one instance of x. The functions are
//
//	avg count max min sum (metric)   one value of all instances
//	delta rate (x)                   the change since the last fetch, in all or a second
//	instant(x)                       a counter as it is
//	scalar(x)                        the first value, as one without an instance
//	matchinst([!]/pattern/, x)       the instances whose names match, or do not
//	rescale(x, "units")              x in other units
//	mkconst(1.5, type=double, semantics=instant, units="count / sec")
//	defined(metric)                  1 if the source has the metric, else 0
//	novalue()                        no value, as an arm of a ternary
//
// Descriptors, values and messages are those of version 6.0.3 of the C library. Additions of version 7
// are accepted too: delta, rate and instant of an expression, novalue, meta and indom in mkconst, lines
// that a backslash continues, and ternaries of which a constant guard leaves out an arm that cannot be
// bound.
package derive
