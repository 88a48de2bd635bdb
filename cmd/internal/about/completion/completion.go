package completion

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is "pcp completion".
var Command = &cli.Command{
	Name:     "completion",
	Group:    cli.Administer,
	Summary:  "print a completion script for bash, zsh or fish",
	Synopsis: "[options] bash|zsh|fish",
	Doc:      `Prints a script that makes a shell complete commands, options, names of metrics and instances.`,
	Examples: []cli.Example{
		{Line: `source <(pcp completion bash)`, Text: `complete in this shell`},
		{Line: `pcp completion fish >~/.config/fish/completions/pcp.fish`, Text: `complete in each fish`},
	},
	DieOnSignal: true,
	Options:     func() []cli.Option { return []cli.Option{cli.Heading("General options"), cli.OptVersion, cli.OptHelp} },
	Run:         run,
}

func run(ctx context.Context, env *cli.Env) int {
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true})
	if len(o.Args) == 0 || len(o.Args) > 1 && !strings.HasSuffix(o.Args[0], "instances") {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	w := bufio.NewWriter(env.Stdout)
	defer w.Flush()
	switch o.Args[0] {
	case "instances":
		instances(ctx, env, o.Args[1:])
	case "quoted-instances": // of words as bash has them
		words := joined(o.Args[1:])
		for i, w := range words {
			words[i] = unquoted(w)
		}
		instances(ctx, env, words)
	case "bash":
		bash(w, env.Commands)
	case "zsh":
		zsh(w, env.Commands)
	case "fish":
		fish(w, env.Commands)
	default:
		return env.Fatalf("no completion for %q: bash, zsh and fish are known", o.Args[0])
	}
	return 0
}

// wantsMetrics reports whether the arguments of c are names of metrics.
func wantsMetrics(c *cli.Command) bool { return strings.Contains(c.Synopsis, "metricname") }

// wantsFile reports whether the argument of an option is a path.
func wantsFile(o *cli.Option) bool {
	return o.Arg == "FILE" || o.Arg == "DIR" || o.Arg == "PATH"
}

// options calls fn for each option of c that its help shows.
func options(c *cli.Command, fn func(o *cli.Option)) {
	for _, o := range c.OptionList() {
		if o.Help != "" && (o.Short != 0 || o.Long != "") {
			fn(&o)
		}
	}
}

// links returns the classic names.
func links(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		if c.Link != "" {
			names = append(names, c.Link)
		}
	}
	return names
}

// spellings returns how an option is written: -f, --fetch or both.
func spellings(o *cli.Option) []string {
	var s []string
	if o.Short != 0 {
		s = append(s, "-"+string(o.Short))
	}
	if o.Long != "" {
		s = append(s, "--"+o.Long)
	}
	return s
}

// The script for bash gives no text to compgen -W, which expands the words of its argument: a name would be code. Candidates are
// lines that are compared and quoted.
func bash(w io.Writer, commands []*cli.Command) {
	io.WriteString(w, `# bash completion of pcp, made by "pcp completion bash"

# _pcp_words PREFIX WORD...: the candidates are those words that begin with the prefix.
_pcp_words() {
    local prefix=$1 word
    shift
    for word; do
        if [[ $word == "$prefix"* ]]; then
            COMPREPLY+=("$word")
        fi
    done
}

# _pcp_lines PREFIX: the candidates are the lines of the input that begin with the prefix, quoted or not.
_pcp_lines() {
    local line quoted
    while IFS= read -r line; do
        if [[ $line == "$1"* ]]; then
            printf -v quoted %q "$line"
            COMPREPLY+=("$quoted")
        elif [[ $1 == *[\\\$]* ]]; then
            printf -v quoted %q "$line"
            if [[ $quoted == "$1"* ]]; then
                COMPREPLY+=("$quoted")
            fi
        fi
    done
}

# _pcp_files PREFIX: the candidates are paths, which readline quotes.
_pcp_files() {
    compopt -o default 2>/dev/null || _pcp_lines "$1" < <(compgen -f -- "$1")
}

_pcp() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local cmd=${COMP_WORDS[0]##*/} opts= files= values= metrics= insts= first=1
    COMPREPLY=()
    if [[ $cmd == pcp ]]; then
        if (( COMP_CWORD == 1 )); then
`)
	fmt.Fprintf(w, `            _pcp_words "$cur" %s
            return
        fi
        cmd=${COMP_WORDS[1]}
    fi
    case $cmd in
`, commandNames(commands))
	for _, c := range commands {
		if len(c.Sub) == 0 {
			continue
		}
		fmt.Fprintf(w, `    %s)
        if (( COMP_CWORD == 2 )); then
            _pcp_words "$cur" %s
            return
        fi
        cmd="$cmd ${COMP_WORDS[2]}"
        ;;
`, c.Name, below(c))
	}
	fmt.Fprint(w, `    esac
    case $cmd in
`)
	for _, c := range flat(commands) {
		pattern := quoteName(c.Name)
		if c.Link != "" && c.Link != c.Name {
			pattern += "|" + c.Link
		}
		var opts, files, values, insts []string
		options(c, func(o *cli.Option) {
			for _, s := range spellings(o) {
				if s != "-?" {
					opts = append(opts, s)
				}
				switch {
				case wantsInstances(o):
					insts = append(insts, s)
				case wantsFile(o):
					files = append(files, s)
				case o.Arg != "":
					values = append(values, s)
				}
			}
		})
		fmt.Fprintf(w, "    %s)\n        opts='%s'\n        files='%s'\n        values='%s'\n", pattern,
			strings.Join(opts, " "), strings.Join(files, " "), strings.Join(values, " "))
		if wantsMetrics(c) {
			fmt.Fprint(w, "        metrics=1\n")
		}
		if len(insts) > 0 {
			fmt.Fprintf(w, "        insts='%s'\n", strings.Join(insts, " "))
		}
		switch c.Name {
		case "help":
			for _, p := range commands {
				if len(p.Sub) > 0 {
					fmt.Fprintf(w, "        [[ $prev == %s ]] && { _pcp_words \"$cur\" %s; return; }\n", p.Name, below(p))
				}
			}
			fmt.Fprintf(w, "        [[ $cur == -* ]] || { _pcp_words \"$cur\" %s; return; }\n", commandNames(commands))
		case "completion":
			fmt.Fprint(w, "        [[ $cur == -* ]] || { _pcp_words \"$cur\" bash zsh fish; return; }\n")
		}
		fmt.Fprint(w, "        ;;\n")
	}
	fmt.Fprintf(w, `    *)  return ;;
    esac
    if [[ " $insts " == *" $prev "* ]]; then
        [[ ${COMP_WORDS[0]##*/} == pcp ]] && first=2
        _pcp_lines "$cur" < <(pcp completion quoted-instances "$cmd" "${COMP_WORDS[@]:first:COMP_CWORD-1-first}" "${COMP_WORDS[@]:COMP_CWORD+1}" 2>/dev/null)
    elif [[ " $files " == *" $prev "* ]]; then
        _pcp_files "$cur"
    elif [[ " $values " == *" $prev "* ]]; then
        return
    elif [[ $cur == -* ]]; then
        _pcp_words "$cur" $opts
    elif [[ -n $metrics ]]; then
        _pcp_lines "$cur" < <(pcp info 2>/dev/null)
    else
        _pcp_files "$cur"
    fi
}
complete -F _pcp %s
`, strings.Join(append([]string{"pcp"}, links(commands)...), " "))
}

func commandNames(commands []*cli.Command) string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

func zsh(w io.Writer, commands []*cli.Command) {
	fmt.Fprintf(w, "#compdef %s\n# zsh completion of pcp, made by \"pcp completion zsh\"\n\n",
		strings.Join(append([]string{"pcp"}, links(commands)...), " "))
	fmt.Fprint(w, `_pcp_metrics() {
    local -a names
    names=(${(f)"$(pcp info 2>/dev/null)"})
    compadd -a names
}

_pcp_instances() {
    local -a names
    names=(${(f)"$(pcp completion instances "${(Q)words[1]}" "${(@Q)words[2,CURRENT-2]}" "${(@Q)words[CURRENT+1,-1]}" 2>/dev/null)"})
    compadd -a names
}

_pcp_command() {
    case $1 in
`)
	for _, c := range commands {
		if len(c.Sub) > 0 {
			fmt.Fprintf(w, "    %s)\n        if (( CURRENT == 2 )); then\n            compadd -- %s\n        else\n"+
				"            words=(\"%s $words[2]\" $words[3,-1])\n            (( CURRENT-- ))\n            _pcp_command \"$words[1]\"\n        fi\n        ;;\n",
				c.Name, below(c), c.Name)
		}
	}
	for _, c := range flat(commands) {
		if len(c.Sub) > 0 {
			continue
		}
		pattern := quoteName(c.Name)
		if c.Link != "" && c.Link != c.Name {
			pattern += "|" + c.Link
		}
		fmt.Fprintf(w, "    %s)\n        _arguments -s", pattern)
		options(c, func(o *cli.Option) {
			for _, s := range spellings(o) {
				fmt.Fprintf(w, " \\\n            %s", zshSpec(o, s))
			}
		})
		switch {
		case c.Name == "help":
			fmt.Fprintf(w, " \\\n            '1:command:(%s)'", commandNames(commands))
			for _, p := range commands {
				if len(p.Sub) > 0 {
					fmt.Fprintf(w, " \\\n            '2:command:(%s)'", allBelow(commands))
					break
				}
			}
		case c.Name == "completion":
			fmt.Fprint(w, " \\\n            '1:shell:(bash zsh fish)'")
		case wantsMetrics(c):
			fmt.Fprint(w, " \\\n            '*:metric:_pcp_metrics'")
		default:
			fmt.Fprint(w, " \\\n            '*:file:_files'")
		}
		fmt.Fprint(w, "\n        ;;\n")
	}
	fmt.Fprint(w, `    esac
}

_pcp() {
    if [[ $service != pcp ]]; then
        _pcp_command $service
    elif (( CURRENT == 2 )); then
        local -a names
        names=(
`)
	for _, c := range commands {
		fmt.Fprintf(w, "            %s\n", quote(c.Name+":"+strings.ReplaceAll(c.Summary, ":", `\:`)))
	}
	fmt.Fprint(w, `        )
        _describe command names
    else
        shift words
        (( CURRENT-- ))
        _pcp_command $words[1]
    fi
}

if [[ $funcstack[1] == _pcp ]]; then
    _pcp "$@"
else
    compdef _pcp `+strings.Join(append([]string{"pcp"}, links(commands)...), " ")+`
fi
`)
}

// zshSpec is an argument of _arguments for one spelling of an option.
func zshSpec(o *cli.Option, spelling string) string {
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	spec := "*" + strings.ReplaceAll(spelling, "?", `\?`)
	if o.Arg != "" && strings.HasPrefix(spelling, "--") {
		spec += "="
	} else if o.Arg != "" {
		spec += "+"
	}
	spec += "[" + escape.Replace(o.Help) + "]"
	switch {
	case wantsInstances(o):
		spec += ":" + escape.Replace(o.Arg) + ":_pcp_instances"
	case wantsFile(o):
		spec += ":" + escape.Replace(o.Arg) + ":_files"
	case o.Arg != "":
		spec += ":" + escape.Replace(o.Arg) + ": "
	}
	return quote(spec)
}

// quote makes s one word for zsh and fish.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fish(w io.Writer, commands []*cli.Command) {
	fmt.Fprint(w, `# fish completion of pcp, made by "pcp completion fish"

function __pcp_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

function __pcp_first
    test (count (commandline -opc)) -eq 1
end

function __pcp_sub
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test "$words[2]" = $argv[1]; and test "$words[3]" = $argv[2]
end

function __pcp_parent
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test "$words[2]" = $argv[1]
end

function __pcp_instances
    set -l words (commandline -opc)
    set -l first 1
    string match -qr '(^|/)pcp$' -- $words[1]; and set first 2
    set -l name (string replace -r '.*/' '' -- $words[$first])
    pcp completion instances $name $words[(math $first + 1)..-2] 2>/dev/null
end

complete -c pcp -f
`)
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c pcp -n __pcp_first -a %s -d %s\n", c.Name, quote(c.Summary))
	}
	for _, c := range commands {
		if len(c.Sub) > 0 {
			for _, s := range c.Sub {
				word := strings.TrimPrefix(s.Name, c.Name+" ")
				fmt.Fprintf(w, "complete -c pcp -n '__pcp_parent %s' -f -a %s -d %s\n", c.Name, word, quote(s.Summary))
				fishCommand(w, "-c pcp -n '__pcp_sub "+s.Name+"'", s, commands)
			}
			continue
		}
		within := "-c pcp -n '__pcp_is " + strings.TrimSpace(c.Name+" "+c.Link) + "'"
		fishCommand(w, within, c, commands)
		if c.Link != "" {
			fishCommand(w, "-c "+c.Link, c, commands)
		}
	}
}

func fishCommand(w io.Writer, within string, c *cli.Command, commands []*cli.Command) {
	options(c, func(o *cli.Option) {
		fmt.Fprintf(w, "complete %s", within)
		if o.Short != 0 {
			fmt.Fprintf(w, " -s %s", quote(string(o.Short)))
		}
		if o.Long != "" {
			fmt.Fprintf(w, " -l %s", o.Long)
		}
		switch {
		case wantsInstances(o):
			fmt.Fprint(w, " -x -a '(__pcp_instances)'")
		case wantsFile(o):
			fmt.Fprint(w, " -r -F")
		case o.Arg != "":
			fmt.Fprint(w, " -x")
		}
		fmt.Fprintf(w, " -d %s\n", quote(o.Help))
	})
	switch {
	case c.Name == "help":
		fmt.Fprintf(w, "complete %s -f -a '%s %s'\n", within, commandNames(commands), allBelow(commands))
	case c.Name == "completion":
		fmt.Fprintf(w, "complete %s -f -a 'bash zsh fish'\n", within)
	case wantsMetrics(c):
		fmt.Fprintf(w, "complete %s -f -a '(pcp info 2>/dev/null)'\n", within)
	default:
		fmt.Fprintf(w, "complete %s -F\n", within)
	}
}

// flat returns the commands and those below them.
func flat(commands []*cli.Command) []*cli.Command {
	var list []*cli.Command
	for _, c := range commands {
		list = append(append(list, c), flat(c.Sub)...)
	}
	return list
}

// below returns the names of the commands below c, as they are typed.
func below(c *cli.Command) string {
	names := make([]string, len(c.Sub))
	for i, s := range c.Sub {
		names[i] = strings.TrimPrefix(s.Name, c.Name+" ")
	}
	return strings.Join(names, " ")
}

// allBelow returns the names of the commands below any other.
func allBelow(commands []*cli.Command) string {
	var names []string
	for _, c := range commands {
		if len(c.Sub) > 0 {
			names = append(names, below(c))
		}
	}
	return strings.Join(names, " ")
}

// quoteName makes the name of a command one word.
func quoteName(name string) string {
	if strings.Contains(name, " ") {
		return quote(name)
	}
	return name
}
