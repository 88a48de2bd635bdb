// Package ask is pmconfirm, pmmessage and pmquery: they show a text, ask the user to choose a button or to type a text, and
// give the answer to a script. The C implementation opens a window; these ask in the terminal.
//
//	case "$(pmconfirm -t 'Really power down?' -b No -B Yes -icon question)" in
//	Yes) shutdown now;;
//	esac
package ask
