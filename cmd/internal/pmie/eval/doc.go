// Package eval evaluates expressions over metrics.
//
//	ev := eval.Evaluator{Names: names}
//	ev.Run(x) // with the values that the series of its metrics have
//	if x.Verdict() == eval.True {
//		// act
//	}
//
// An [Expr] is a node of an expression, with the values that it had last. Values of counters are rates, in canonical
// units (bytes, seconds, counts). A node without values is unknown.
//
// There is one set of operators, in [Compute]. [Evaluator.Run] evaluates an expression from its metrics up; a [Plan] evaluates
// the expressions of many rules in an order in which equal parts appear once, as long as the metrics have values for the
// same instances.
package eval
