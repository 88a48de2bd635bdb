# pmdaproc.sh: what the Install and Remove scripts of agents call.
#@MARK@
# The functions gather the variables of the script; the work is done by
# "pcp agent procedure".

. "$PCP_DIR/etc/pcp.env"

tmp=`mktemp -d "${PCP_TMPFILE_DIR:-/tmp}/pmdaproc.XXXXXXXXX"` || exit 1
status=0
trap 'rm -rf "$tmp"; exit $status' 0 1 2 3 15
prog=`basename "$0"`
uid=`id -u`

PMNSDIR=$PCP_VAR_DIR/pmns
NAMESPACE=${PMNS_DEFAULT-$PMNSDIR/root}
PMNSROOT=`basename "$NAMESPACE"`
LOGDIR=$PCP_LOG_DIR/pmcd
ECHONL="echo -n"

# What a script may change before it calls pmdaInstall.
dso_opt=false
perl_opt=false
python_opt=false
daemon_opt=true
pipe_opt=true
socket_opt=false
socket_inet_def=
ipc_prot=binary
forced_restart=false
check_delay=1
signal_delay=1
args=
pmns_source=pmns
pmns_dupok=false
help_source=help
pmda_dir=`pwd`
dso_suffix=so
do_check=true
__echo=false
__verbose=false

while [ $# -gt 0 ]
do
	case "$1" in
	-e) __echo=true ;;
	-Q) do_check=false ;;
	-V) __verbose=true ;;
	-n)
		if [ $# -lt 2 ]
		then
			echo "$prog: -n requires a name space file option"
			status=1
			exit
		fi
		NAMESPACE=$2
		PMNSROOT=`basename "$NAMESPACE"`
		PMNSDIR=`dirname "$NAMESPACE"`
		shift
		;;
	-R)
		echo "$prog: -R is not supported: set PCP_DIR to work in another tree"
		status=1
		exit
		;;
	*)
		echo "Usage: $prog [-eQV] [-n namespace]"
		status=1
		exit
		;;
	esac
	shift
done

# __procedure NAME has our program do a step, and takes over what it sets.
__procedure()
{
	: >"$tmp/set"
	@PCP@ agent procedure "$1" set="$tmp/set" prog="$prog" iam="$iam" \
		domain="$domain" SYMDOM="$SYMDOM" namespace="$NAMESPACE" \
		dso_opt="$dso_opt" perl_opt="$perl_opt" python_opt="$python_opt" \
		daemon_opt="$daemon_opt" pipe_opt="$pipe_opt" socket_opt="$socket_opt" \
		socket_inet_def="$socket_inet_def" ipc_prot="$ipc_prot" \
		pmda_name="$pmda_name" dso_name="$dso_name" dso_entry="$dso_entry" \
		perl_name="$perl_name" python_name="$python_name" \
		pmda_dir="$pmda_dir" args="$args" pmns_name="$pmns_name" \
		pmns_source="$pmns_source" pmns_dupok="$pmns_dupok" \
		help_source="$help_source" forced_restart="$forced_restart" \
		check_delay="$check_delay" signal_delay="$signal_delay" \
		do_check="$do_check" echo="$__echo" verbose="$__verbose" \
		configdir="$configdir" configfile="$configfile" \
		default_configfile="$default_configfile" || {
		status=1
		exit
	}
	. "$tmp/set"
}

pmdaSetup()
{
	if ! cd "$pmda_dir"
	then
		status=1
		exit
	fi
	pmda_dir=`pwd`
	pmns_name="${pmns_name-$iam}"
	pmda_name="${pmda_name-pmda$iam}"
	dso_name="${dso_name-$PCP_PMDAS_DIR/$iam/pmda_$iam.$dso_suffix}"
	dso_entry="${dso_entry-${iam}_init}"
	__procedure setup
}

pmdaChooseConfigFile()
{
	configdir="${configdir-$PCP_VAR_DIR/config/$iam}"
	__procedure config
}

pmdaInstall()
{
	__procedure install
}

pmdaRemove()
{
	__procedure remove
}
